//! What cuBLASLt knows of a product: its descriptors, and the algorithms that it found.

use gpumath_sys::generated::cublaslt;

use super::super::geometry::{MATRICES, Matrix};
use super::super::problem::{InputRole, MatmulProblem, OutputRole};
use super::super::types::is_narrow;
use super::choice::{FEW_CANDIDATES, Preference, are_odd_columns_slow};
use super::codes::{data_type, emulation, layout, operation, preference};
use super::route::{Columns, Route};
use super::split_sums::{loses_products, other_splits};
use super::vector_options;
use crate::error::{Error, Result};
use crate::handle::Descriptor;
use crate::operation::MAX_ALIGNMENT;
use crate::status::call;
use crate::tensor::DType;

/// Algorithms that a request can ask for at most.
const MAX_ALGORITHMS: i32 = 1024;

/// An algorithm of cuBLASLt for one product, a `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FoundAlgorithm {
    /// A `cublasLtMatmulAlgo_t`.
    pub algorithm: [u64; 8],
    /// Bytes of workspace that it needs.
    pub workspace_size: usize,
    status: i32,
    /// How many times it fills the device's multiprocessors.
    pub waves: f32,
    reserved: [i32; 4],
}

const _: () = assert!(size_of::<FoundAlgorithm>() == 96);

impl FoundAlgorithm {
    /// What is no algorithm of cuBLASLt, but has its place among them.
    pub(in super::super) fn other(algorithm: [u64; 8], workspace_size: usize) -> Self {
        Self { algorithm, workspace_size, ..Self::default() }
    }
}

/// The descriptors of a product.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) operation: Descriptor,
    /// How a precision is emulated, if the user has chosen.
    pub(super) emulation: Option<Descriptor>,
    pub(super) left: Descriptor,
    pub(super) right: Descriptor,
    pub(super) addend: Descriptor,
    pub(super) result: Descriptor,
}

/// An address that a product's description has: the attribute, and what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    pub(super) attribute: i32,
    pub(super) target: Target,
}

/// What a description points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Matrix(Matrix),
    Input(usize),
    Output(usize),
}

/// Returns the attributes for the addresses of this problem. The factors of the transposed product
/// have changed places.
pub(super) fn pointers(problem: &MatmulProblem, is_transposed: bool) -> Vec<Pointer> {
    let dtypes = problem.matrix_dtypes();
    let (a, b) = if is_transposed {
        (operation::RIGHT_SCALE, operation::LEFT_SCALE)
    } else {
        (operation::LEFT_SCALE, operation::RIGHT_SCALE)
    };
    let matrices =
        [(Matrix::Vector, operation::BIAS_POINTER), (Matrix::Aux, operation::AUX_POINTER)]
            .into_iter()
            .filter(|&(matrix, _)| dtypes[matrix as usize].is_some())
            .map(|(matrix, attribute)| Pointer { attribute, target: Target::Matrix(matrix) });
    let inputs = [
        (InputRole::ScaleA, a),
        (InputRole::ScaleB, b),
        (InputRole::ScaleC, operation::ADDEND_SCALE),
        (InputRole::ScaleD, operation::RESULT_SCALE),
        (InputRole::ScaleAux, operation::AUX_SCALE),
    ]
    .into_iter()
    .filter_map(|(role, attribute)| {
        Some(Pointer { attribute, target: Target::Input(problem.input_index(role)?) })
    });
    let outputs = [
        (OutputRole::ResultAmax, operation::RESULT_AMAX),
        (OutputRole::AuxAmax, operation::AUX_AMAX),
        (OutputRole::ResultScales, operation::RESULT_OUT_SCALE),
    ]
    .into_iter()
    .filter_map(|(role, attribute)| {
        Some(Pointer { attribute, target: Target::Output(problem.output_index(role)?) })
    });
    matrices.chain(inputs).chain(outputs).collect()
}

impl Product {
    /// Describes the product of a route.
    pub(super) fn new(problem: &MatmulProblem, route: &Route) -> Result<Self> {
        let types = &problem.types;
        let describe = |matrix: Matrix, like: Matrix, dtype: DType| {
            let columns = route.columns(matrix).or(route.columns(like));
            let Some(columns) = columns else {
                return Err(Error::InvalidState("a product lacks one of its matrices".into()));
            };
            describe(columns, dtype, route, matrix)
        };
        let a = describe(Matrix::A, Matrix::A, types.a)?;
        let b = describe(Matrix::B, Matrix::B, types.b)?;
        let (left, right) = if route.is_transposed { (b, a) } else { (a, b) };
        let emulation = describe_emulation(problem)?;
        Ok(Self {
            operation: describe_operation(problem, route, emulation.as_ref())?,
            emulation,
            left,
            right,
            addend: describe(Matrix::C, Matrix::Result, types.c)?,
            result: describe(Matrix::Result, Matrix::Result, types.result)?,
        })
    }

    /// Asks for the best algorithms, or checks the one that the request names.
    pub(super) fn find_algorithms(
        &self,
        problem: &MatmulProblem,
        route: &Route,
        handle: usize,
        max_workspace: u64,
    ) -> Result<Vec<FoundAlgorithm>> {
        let search = &problem.search;
        let (depth, size) = (route.depth(), problem.types.a.size());
        let (left, right) = route.factors();
        let dtypes = problem.matrix_dtypes();
        // Without an addend, the result stands for it.
        let addend = if dtypes[Matrix::C as usize].is_some() { Matrix::C } else { Matrix::Result };
        let alignments = [left, right, addend, Matrix::Result].map(|matrix| {
            let dtype = dtypes[matrix as usize].unwrap_or(problem.types.result);
            route.alignment(matrix, dtype, problem.alignment) as u32
        });
        if let Some(algorithm) = search.algorithm {
            if loses_products(&FoundAlgorithm::other(algorithm, 0), depth, size) {
                return Err(Error::InvalidValue(format!(
                    "the algorithm splits sums of {depth} products into parts that do not have all \
                     of them, so results would be wrong; change its split_k, or plan without \
                     naming an algorithm"
                )));
            }
            return Ok(vec![self.check(handle, algorithm)?]);
        }
        // SAFETY: the library writes one descriptor to `to`, and reads values of the attributes'
        // types.
        let preference = unsafe {
            let preference = Descriptor::new(&cublaslt::MATMUL_PREFERENCE_DESTROY, |to| {
                call!(cublaslt::MATMUL_PREFERENCE_CREATE, to)
            })?;
            let set = &cublaslt::MATMUL_PREFERENCE_SET_ATTRIBUTE;
            preference.set(set, preference::MAX_WORKSPACE, max_workspace)?;
            for (attribute, alignment) in preference::MIN_ALIGNMENTS.zip(alignments) {
                preference.set(set, attribute, alignment)?;
            }
            if let Some(mask) = search.reduction_schemes {
                preference.set(set, preference::REDUCTION_SCHEMES, mask)?;
            }
            if search.max_waves != 0 {
                preference.set(set, preference::MAX_WAVES, search.max_waves)?;
            }
            if let Some(mask) = search.implementations {
                preference.set(set, preference::IMPLEMENTATIONS, mask)?;
            }
            preference
        };
        let limit = search.limit.clamp(1, MAX_ALGORITHMS);
        let own_preference = Preference::of(problem, route);
        let mut results = self.ask(problem, handle, &preference, limit)?;
        let set = &cublaslt::MATMUL_PREFERENCE_SET_ATTRIBUTE;
        let is_slow = results.first().is_some_and(|first| are_odd_columns_slow(first, problem));
        if is_slow && has_odd_columns(route, right) {
            // SAFETY: the library reads a number of four bytes.
            unsafe { preference.set(set, preference::MIN_ALIGNMENT_RIGHT, size as u32) }?;
            self.put_first(&mut results, problem, handle, &preference);
        }
        let mut count =
            own_preference.map_or(limit, |own| limit.max(own.candidates(results.first())));
        if results.first().is_some_and(|first| vector_options::is_slow(first, problem)) {
            count = count.max(FEW_CANDIDATES);
        }
        if count > limit {
            results = self.ask(problem, handle, &preference, count)?;
        }
        if own_preference == Some(Preference::ChosenWithoutWorkspace) {
            // SAFETY: the library reads a number of eight bytes.
            unsafe { preference.set(set, preference::MAX_WORKSPACE, 0_u64) }?;
            self.put_first(&mut results, problem, handle, &preference);
        }
        let whole = results.into_iter().filter_map(|found| {
            if !loses_products(&found, depth, size) {
                return Some(found);
            }
            other_splits(&found, depth, size)
                .filter_map(|other| self.check(handle, other).ok())
                .find(|checked| checked.workspace_size as u64 <= max_workspace)
        });
        let mut results: Vec<FoundAlgorithm> = whole.collect();
        if results.is_empty() {
            return Err(Error::InvalidValue(format!(
                "cuBLASLt has no algorithm for {}",
                describe_problem(problem)
            )));
        }
        if let Some(preference) = own_preference {
            preference.apply(&mut results);
        }
        vector_options::put_faster_first(&mut results, problem);
        results.truncate(limit as usize);
        Ok(results)
    }

    /// Returns an algorithm with what it needs, unless it is not for this product.
    fn check(&self, handle: usize, algorithm: [u64; 8]) -> Result<FoundAlgorithm> {
        let mut checked = FoundAlgorithm::default();
        // SAFETY: the descriptors are alive, and the library reads one algorithm and writes one
        // result.
        unsafe {
            call!(
                cublaslt::MATMUL_ALGO_CHECK,
                handle,
                self.operation.get(),
                self.left.get(),
                self.right.get(),
                self.addend.get(),
                self.result.get(),
                &raw const algorithm as usize,
                &raw mut checked as usize;
                |_| "the algorithm is not for this product".to_owned()
            )
        }?;
        Ok(FoundAlgorithm { algorithm, ..checked })
    }

    /// Puts the best algorithm by another preference before the others, if there is one.
    fn put_first(
        &self,
        results: &mut Vec<FoundAlgorithm>,
        problem: &MatmulProblem,
        handle: usize,
        preference: &Descriptor,
    ) {
        let chosen = self.ask(problem, handle, preference, 1).unwrap_or_default();
        results.retain(|found| chosen.iter().all(|one| one.algorithm != found.algorithm));
        results.splice(0..0, chosen);
    }

    /// Asks for so many algorithms.
    fn ask(
        &self,
        problem: &MatmulProblem,
        handle: usize,
        preference: &Descriptor,
        count: i32,
    ) -> Result<Vec<FoundAlgorithm>> {
        let mut results = vec![FoundAlgorithm::default(); count as usize];
        let mut found = 0_i32;
        // SAFETY: the descriptors are alive, and there is room for as many results as are asked
        // for.
        unsafe {
            call!(
                cublaslt::MATMUL_ALGO_GET_HEURISTIC,
                handle,
                self.operation.get(),
                self.left.get(),
                self.right.get(),
                self.addend.get(),
                self.result.get(),
                preference.get(),
                count,
                results.as_mut_ptr() as usize,
                &raw mut found as usize;
                |_| describe_problem(problem)
            )
        }?;
        results.truncate(found.max(0) as usize);
        results.retain(|result| result.status == 0);
        Ok(results)
    }
}

/// Whether the columns of a matrix have an odd number of elements, though they begin at multiples
/// of two.
fn has_odd_columns(route: &Route, matrix: Matrix) -> bool {
    route.columns(matrix).is_some_and(|columns| columns.length % 2 != 0 && columns.step % 2 == 0)
}

/// Describes a matrix of a route.
fn describe(columns: Columns, dtype: DType, route: &Route, matrix: Matrix) -> Result<Descriptor> {
    let (length, count) = (columns.length as u64, columns.count as u64);
    let data_type = data_type(dtype)?;
    // SAFETY: the library writes one descriptor to `to`, and reads values of the attributes' types.
    unsafe {
        let descriptor = Descriptor::new(&cublaslt::MATRIX_LAYOUT_DESTROY, |to| {
            call!(cublaslt::MATRIX_LAYOUT_CREATE, to, data_type, length, count, columns.step)
        })?;
        if route.batch.extent > 1 {
            // Without an addend, the result stands for it.
            let matrix = if route.columns(matrix).is_some() { matrix } else { Matrix::Result };
            let set = &cublaslt::MATRIX_LAYOUT_SET_ATTRIBUTE;
            descriptor.set(set, layout::BATCH_COUNT, route.batch.extent as i32)?;
            descriptor.set(set, layout::BATCH_STRIDE, route.batch.strides[matrix as usize])?;
        }
        Ok(descriptor)
    }
}

fn describe_emulation(problem: &MatmulProblem) -> Result<Option<Descriptor>> {
    let is_counted = problem.output_index(OutputRole::MantissaBitCount).is_some();
    if problem.emulation_strategy.is_none() && !is_counted {
        return Ok(None);
    }
    // SAFETY: the library writes one descriptor to `to`, and reads values of the attributes' types.
    unsafe {
        let descriptor = Descriptor::new(&cublaslt::EMULATION_DESC_DESTROY, |to| {
            call!(cublaslt::EMULATION_DESC_CREATE, to)
        })?;
        if let Some(strategy) = problem.emulation_strategy {
            let set = &cublaslt::EMULATION_DESC_SET_ATTRIBUTE;
            descriptor.set(set, emulation::STRATEGY, strategy)?;
        }
        Ok(Some(descriptor))
    }
}

fn describe_operation(
    problem: &MatmulProblem,
    route: &Route,
    emulation: Option<&Descriptor>,
) -> Result<Descriptor> {
    let types = &problem.types;
    let scale_type = match types.scale {
        DType::Int32 => 10,
        dtype => data_type(dtype)?,
    };
    let epilog = if route.is_transposed { problem.epilog.transposed() } else { problem.epilog };
    let (left, right) = route.factors();
    let [left, right] = [left, right].map(|factor| route.operation(factor, problem.conjugate));
    let strides: [i64; MATRICES] = route.batch.strides;
    // SAFETY: the library writes one descriptor to `to`, and reads values of the attributes' types.
    unsafe {
        let descriptor = Descriptor::new(&cublaslt::MATMUL_DESC_DESTROY, |to| {
            call!(cublaslt::MATMUL_DESC_CREATE, to, types.compute.code(), scale_type)
        })?;
        let set = &cublaslt::MATMUL_DESC_SET_ATTRIBUTE;
        descriptor.set(set, operation::TRANSPOSE_LEFT, left)?;
        descriptor.set(set, operation::TRANSPOSE_RIGHT, right)?;
        if epilog != super::super::Epilog::None {
            descriptor.set(set, operation::EPILOGUE, epilog.code())?;
        }
        let dtypes = problem.matrix_dtypes();
        if let Some(dtype) = dtypes[Matrix::Vector as usize] {
            if dtype != types.result {
                descriptor.set(set, operation::BIAS_DATA_TYPE, data_type(dtype)?)?;
            }
            if route.batch.extent > 1 {
                let stride = strides[Matrix::Vector as usize];
                descriptor.set(set, operation::BIAS_BATCH_STRIDE, stride)?;
            }
        }
        if let (Some(dtype), Some(columns)) =
            (dtypes[Matrix::Aux as usize], route.columns(Matrix::Aux))
        {
            // A matrix of bits counts bits.
            let unit = if dtype == DType::UInt8 { 8 } else { 1 };
            descriptor.set(set, operation::AUX_LEADING_DIMENSION, columns.step * unit)?;
            if route.batch.extent > 1 {
                let stride = strides[Matrix::Aux as usize] * unit;
                descriptor.set(set, operation::AUX_BATCH_STRIDE, stride)?;
            }
            // Beside a narrow result, the result's type is no default.
            if dtype != DType::UInt8 && (dtype != types.result || is_narrow(types.result)) {
                descriptor.set(set, operation::AUX_DATA_TYPE, data_type(dtype)?)?;
            }
        }
        if problem.search.sm_count_target != 0 {
            let count = problem.search.sm_count_target;
            descriptor.set(set, operation::SM_COUNT_TARGET, count)?;
        }
        if let Some(emulation) = emulation {
            descriptor.set(set, operation::EMULATION, emulation.get())?;
        }
        if problem.search.fast_accumulation {
            descriptor.set(set, operation::FAST_ACCUMULATION, 1_i8)?;
        }
        if let Some(format) = problem.block_scaling {
            descriptor.set(set, operation::LEFT_SCALE_MODE, format.mode())?;
            descriptor.set(set, operation::RIGHT_SCALE_MODE, format.mode())?;
            if problem.output_index(OutputRole::ResultScales).is_some() {
                descriptor.set(set, operation::RESULT_OUT_SCALE_MODE, format.mode())?;
            }
        }
        // The library chooses by whether there is something, and by how it is aligned.
        for pointer in pointers(problem, route.is_transposed) {
            let alignment = match pointer.target {
                Target::Matrix(matrix) => {
                    let dtype = dtypes[matrix as usize].unwrap_or(types.result);
                    route.alignment(matrix, dtype, problem.alignment)
                }
                // Numbers, and vectors of scales.
                Target::Input(_) | Target::Output(_) => MAX_ALIGNMENT,
            };
            descriptor.set(set, pointer.attribute, alignment)?;
        }
        Ok(descriptor)
    }
}

/// The product in words, for messages.
fn describe_problem(problem: &MatmulProblem) -> String {
    let types = &problem.types;
    format!(
        "the product of {} of shape {:?} and strides {:?} and {} of shape {:?} and strides {:?} to \
         {}, computed by {} with the epilog {}",
        types.a,
        problem.inputs[0].layout.shape,
        problem.inputs[0].layout.strides,
        types.b,
        problem.inputs[1].layout.shape,
        problem.inputs[1].layout.strides,
        types.result,
        types.compute.name(),
        problem.epilog.name()
    )
}
