//! The ways to plan a product, and the algorithms that are found in them.

use super::super::FoundAlgorithm;
use super::super::problem::MatmulProblem;
use super::super::request::AlgorithmSearch;
use super::gemm::{self, Gemm};
use super::product::Product;
use super::route::{Demands, Entries, Route};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::handle;

/// Bytes of workspace that an algorithm has use for, for each multiprocessor: the sums of two of
/// the largest tiles in single precision, 128 × 256. An H200 comes to 33 MiB.
const WORKSPACE_PER_MULTIPROCESSOR: u64 = 2 * 128 * 256 * 4;

/// What stands for cuBLASLt's first algorithm for a batch whose entries stay apart, though others
/// are for one matrix of them. cuBLASLt has no such number.
pub(super) const APART: [u64; 8] = [u64::from_le_bytes(*b"apart\0\0\xff"), 0, 0, 0, 0, 0, 0, 0];

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
        let attempt = |demands: Demands| match problem.search.algorithm {
            Some(APART) => Self::apart(problem, device, handle, demands).map(|mut planned| {
                planned.algorithms.truncate(1);
                planned
            }),
            Some(named) if named == gemm::code(Entries::Apart) => {
                Self::new(problem, device, handle, (demands, Entries::Apart))
            }
            Some(_) => Self::new(problem, device, handle, (demands, Entries::Joined)),
            None => Self::among_all(problem, device, handle, demands),
        };
        others.iter().fold(attempt(*first), |found, demands| found.or_else(|_| attempt(*demands)))
    }

    fn new(
        problem: &MatmulProblem,
        device: i32,
        handle: usize,
        (demands, entries): (Demands, Entries),
    ) -> Result<Self> {
        let limit = max_workspace(problem, device)?;
        let route = Route::of(problem, demands, entries)?;
        if problem.block_scaling.is_some() && route.outer.count() != 1 {
            return Err(Error::InvalidState("a batch of scaled matrices takes one call".into()));
        }
        let product = Product::new(problem, &route)?;
        let workspace = handle::cublas_workspace(device)?.min(limit as usize);
        let gemm = Gemm::of(problem, (&route, entries), workspace);
        let find = || product.find_algorithms(problem, &route, handle, limit);
        let algorithms = algorithms_of(&problem.search, gemm.as_ref(), find)?;
        let used = algorithms.first().map_or([0; 8], |first| first.algorithm);
        Ok(Self { route, product, algorithms, used, gemm })
    }

    /// Plans a batch whose entries stay apart, by cuBLASLt; cuBLAS may be a second algorithm.
    fn apart(
        problem: &MatmulProblem,
        device: i32,
        handle: usize,
        demands: Demands,
    ) -> Result<Self> {
        let problem = problem.with_search(None, 2);
        let mut planned = Self::new(&problem, device, handle, (demands, Entries::Apart))?;
        let is_by_cublas = |found: &FoundAlgorithm| gemm::is_code(&found.algorithm);
        let found = std::mem::take(&mut planned.algorithms);
        let Some(mut first) = found.iter().copied().find(|found| !is_by_cublas(found)) else {
            return Err(Error::InvalidValue(
                "cuBLASLt has no algorithm for this batch; plan it without naming an algorithm"
                    .into(),
            ));
        };
        planned.used = std::mem::replace(&mut first.algorithm, APART);
        // A second one of cuBLASLt would be taken for one of joined entries.
        planned.algorithms.push(first);
        planned.algorithms.extend(found.into_iter().filter(is_by_cublas));
        Ok(planned)
    }

    /// Plans by the best algorithm. If entries of a batch are joined, and there is a choice of
    /// algorithms, those for a batch of them are there behind the first two.
    fn among_all(
        problem: &MatmulProblem,
        device: i32,
        handle: usize,
        demands: Demands,
    ) -> Result<Self> {
        let mut planned = Self::new(problem, device, handle, (demands, Entries::Joined))?;
        let limit = problem.search.limit.max(1) as usize;
        if limit > 1 && planned.route.has_joined(problem) {
            let apart = Self::apart(problem, device, handle, demands);
            let others = apart.map_or_else(|_| Vec::new(), |apart| apart.algorithms);
            let place = planned.algorithms.len().min(2);
            planned.algorithms.splice(place..place, others);
            planned.algorithms.truncate(limit);
        }
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
