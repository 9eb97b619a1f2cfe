//! The ways to plan a product, and the algorithms that are found in them.

use super::super::FoundAlgorithm;
use super::super::problem::MatmulProblem;
use super::super::request::AlgorithmSearch;
use super::gemm::{self, Gemm};
use super::product::Product;
use super::route::Route;
use super::ways::{Demands, Entries, Extents, Way};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::handle;

/// Bytes of workspace that an algorithm has use for, for each multiprocessor: the sums of two of
/// the largest tiles in single precision, 128 × 256. An H200 comes to 33 MiB.
const WORKSPACE_PER_MULTIPROCESSOR: u64 = 2 * 128 * 256 * 4;

/// Copies that only save time take this part of a device's memory at most.
const MOST_COPIED: usize = 16;

/// A product that is planned in one way.
pub(super) struct Planned {
    pub(super) route: Route,
    pub(super) product: Product,
    /// What was found, the best one first.
    pub(super) algorithms: Vec<FoundAlgorithm>,
    /// The `cublasLtMatmulAlgo_t` of the first one, or what stands for cuBLAS.
    pub(super) used: [u64; 8],
    pub(super) gemm: Option<Gemm>,
}

impl Planned {
    /// Plans by the fewest demands for which there is an algorithm.
    pub(super) fn best(problem: &MatmulProblem, device: i32, handle: usize) -> Result<Self> {
        let [first, others @ ..] = Demands::of(problem) else {
            return Err(Error::InvalidState("a product is planned by no demands".into()));
        };
        let named = problem.search.algorithm;
        let attempt = |demands: Demands| {
            if let Some(way) = named.as_ref().and_then(Way::of_code) {
                return Self::by_first(problem, device, handle, (demands, way));
            }
            let is_apart = named == Some(gemm::code(Entries::Apart));
            let way = if is_apart { Way::APART } else { Way::USUAL };
            Self::new(problem, device, handle, (demands, way))
        };
        others.iter().fold(attempt(*first), |found, demands| found.or_else(|_| attempt(*demands)))
    }

    fn new(
        problem: &MatmulProblem,
        device: i32,
        handle: usize,
        (demands, way): (Demands, Way),
    ) -> Result<Self> {
        let limit = max_workspace(problem, device)?;
        let mut route = Route::of(problem, demands, way)?;
        if route.has_whole_pieces && way.extents == Extents::Usual {
            let most = Device::new(device)?.total_memory()? / MOST_COPIED;
            if route.staged_size > most {
                route = Route::of(problem, demands, Way { extents: Extents::Given, ..way })?;
            }
        }
        if problem.block_scaling.is_some() && route.outer.count() != 1 {
            return Err(Error::InvalidState("a batch of scaled matrices takes one call".into()));
        }
        let product = Product::new(problem, &route)?;
        let workspace = handle::cublas_workspace(device)?.min(limit as usize);
        let gemm = Gemm::of(problem, (&route, way.entries), workspace);
        let find = || product.find_algorithms(problem, &route, handle, limit);
        let algorithms = algorithms_of(&problem.search, gemm.as_ref(), find)?;
        let used = algorithms.first().map_or([0; 8], |first| first.algorithm);
        Ok(Self { route, product, algorithms, used, gemm })
    }

    /// Plans by cuBLASLt's first algorithm in a way that a number stands for.
    fn by_first(
        problem: &MatmulProblem,
        device: i32,
        handle: usize,
        (demands, way): (Demands, Way),
    ) -> Result<Self> {
        // The first two may be cuBLAS and one of cuBLASLt.
        let problem = problem.with_search(None, 2);
        let mut planned = Self::new(&problem, device, handle, (demands, way))?;
        planned.algorithms.retain(|found| !gemm::is_code(&found.algorithm));
        planned.algorithms.truncate(1);
        let Some(first) = planned.algorithms.first_mut() else {
            return Err(Error::InvalidValue(
                "cuBLASLt has no algorithm for this product in this way; plan it without naming an \
                 algorithm"
                    .into(),
            ));
        };
        planned.used = std::mem::replace(&mut first.algorithm, way.code());
        Ok(planned)
    }
}

/// Returns the algorithms of a product, which cuBLAS may compute too: the one that the user names,
/// or the best ones, of which `find` returns those of cuBLASLt.
fn algorithms_of(
    search: &AlgorithmSearch,
    gemm: Option<&Gemm>,
    find: impl FnOnce() -> Result<Vec<FoundAlgorithm>>,
) -> Result<Vec<FoundAlgorithm>> {
    let limit = search.limit.max(1) as usize;
    match (gemm, search.algorithm) {
        (None, Some(code)) if gemm::is_code(&code) => Err(gemm::refusal()),
        (Some(gemm), Some(code)) if gemm::is_code(&code) => Ok(vec![gemm.algorithm()]),
        (Some(gemm), None) if gemm.is_first() && limit == 1 => Ok(vec![gemm.algorithm()]),
        (Some(gemm), None) => {
            let mut found = find()?;
            let place = if gemm.is_first() { 0 } else { found.len().min(1) };
            found.insert(place, gemm.algorithm());
            found.truncate(limit);
            Ok(found)
        }
        _ => find(),
    }
}

/// Bytes of workspace that algorithms may take: as many as the device has use for, or as the user
/// allows.
fn max_workspace(problem: &MatmulProblem, device: i32) -> Result<u64> {
    let processors = Device::new(device)?.multiprocessors()? as u64;
    let wide = (problem.types.result.size() as u64 / 4).max(1);
    let useful = if problem.types.compute.may_be_emulated() {
        // The narrow parts of the factors are there: how large they are, only cuBLASLt knows.
        Device::new(device)?.total_memory()? as u64
    } else {
        processors * WORKSPACE_PER_MULTIPROCESSOR * wide
    };
    Ok(problem.search.max_workspace.map_or(useful, |most| most.min(useful)))
}
