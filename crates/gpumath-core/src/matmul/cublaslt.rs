//! Products on a GPU, by cuBLASLt.
//!
//! cuBLASLt's matrices are in column-major order. It takes a matrix in C order for its transpose.
//! So a result in C order is computed as the transposed product, `out.T = b.T @ a.T`, and an
//! operand is transposed by cuBLASLt where its order is not that of the result.

use gpumath_sys::generated::{cublaslt, driver};

use super::MatmulArguments;
use super::problem::MatmulProblem;
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::handle::{self, CUBLASLT, Descriptor};
use crate::operation::{Call, Engine};
use crate::status::call;
use crate::tensor::{DType, Layout};

/// Bytes of workspace that an algorithm may need, as NVIDIA recommends for its newer GPUs.
const MAX_WORKSPACE: u64 = 32 << 20;

/// `cudaDataType_t` and `cublasComputeType_t` of the element types.
const FLOAT32: (i32, i32) = (0, 68);
const FLOAT64: (i32, i32) = (1, 70);

/// `CUBLASLT_MATMUL_DESC_TRANSA` and `…_TRANSB`, and the first value that they take.
const TRANSPOSE_LEFT: i32 = 3;
const TRANSPOSE_RIGHT: i32 = 4;

/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`, and `…_MIN_ALIGNMENT_A_BYTES` to `…_D_BYTES`.
const PREFERENCE_MAX_WORKSPACE: i32 = 1;
const PREFERENCE_MIN_ALIGNMENTS: std::ops::RangeInclusive<i32> = 5..=8;

/// A product on one GPU.
#[derive(Debug)]
pub struct CublasltMatmul {
    /// Bytes of an element, and the bits of the number 1 in the element type.
    element: (usize, u64),
    result: Columns,
    /// `None` if there is nothing to add up, because `a` has no columns: the result is zero.
    product: Option<Product>,
}

/// What cuBLASLt knows of a product.
#[derive(Debug)]
struct Product {
    operation: Descriptor,
    left: Descriptor,
    right: Descriptor,
    result: Descriptor,
    algorithm: HeuristicResult,
}

/// `cublasLtMatmulHeuristicResult_t`
#[repr(C)]
#[derive(Debug, Default)]
struct HeuristicResult {
    algorithm: [u64; 8],
    workspace_size: usize,
    status: i32,
    waves: f32,
    reserved: [i32; 4],
}

const _: () = assert!(size_of::<HeuristicResult>() == 96);

/// A matrix in cuBLASLt's terms: columns that are as many elements apart as `step` says.
#[derive(Clone, Copy, Debug)]
struct Columns {
    /// Whether the rows of the matrix are what cuBLASLt sees as columns.
    are_rows: bool,
    length: i64,
    count: i64,
    step: i64,
}

impl Columns {
    fn of(name: &str, layout: &Layout) -> Result<Self> {
        let (shape, strides) = (&layout.shape, &layout.strides);
        for (fast, slow) in [(1, 0), (0, 1)] {
            let (length, count) = (shape[fast], shape[slow]);
            let step = if count > 1 { strides[slow] } else { length.max(1) };
            if (length <= 1 || strides[fast] == 1) && step >= length.max(1) {
                return Ok(Self { are_rows: fast == 1, length, count, step });
            }
        }
        Err(Error::UnsupportedLayout {
            message: format!(
                "{name} has the shape {:?} and the strides {:?}, but cuBLASLt needs one stride of \
                 1, and another that is not below the extent of that axis; copy it in C order, or \
                 use execution=\"cpu\"",
                shape.as_slice(),
                strides.as_slice()
            ),
            permutation: vec![0, 1],
            axes: vec![0, 1],
        })
    }

    /// Describes the matrix to cuBLASLt.
    fn descriptor(self, data_type: i32) -> Result<Descriptor> {
        let (length, count) = (self.length as u64, self.count as u64);
        // SAFETY: the library writes one descriptor to `to`.
        Descriptor::new(&cublaslt::MATRIX_LAYOUT_DESTROY, |to| unsafe {
            call!(cublaslt::MATRIX_LAYOUT_CREATE, to, data_type, length, count, self.step)
        })
    }
}

impl CublasltMatmul {
    /// Plans the product.
    pub(super) fn new(problem: &MatmulProblem, device: i32) -> Result<Self> {
        problem.check_plain("cuBLASLt")?;
        let (types, one) = match problem.types.a {
            DType::Float32 => (FLOAT32, u64::from(1.0_f32.to_bits())),
            _ => (FLOAT64, 1.0_f64.to_bits()),
        };
        let (a, b) = (&problem.inputs[0].layout, &problem.inputs[1].layout);
        let out = &problem.outputs[0].layout;
        let (element, result) = ((problem.types.a.size(), one), Columns::of("out", out)?);
        if a.shape[1] == 0 {
            ContextGuard::enter(device)?;
            return Ok(Self { element, result, product: None });
        }
        let (a, b) = (Columns::of("a", a)?, Columns::of("b", b)?);
        let factors = if result.are_rows { [b, a] } else { [a, b] };
        let product = handle::with(&CUBLASLT, device, |handle| {
            Product::new(handle, factors, result, types, problem.alignment as u32)
        })?;
        Ok(Self { element, result, product: Some(product) })
    }
}

impl Product {
    /// Chooses an algorithm, in the context of the handle's device.
    fn new(
        handle: usize,
        [left, right]: [Columns; 2],
        result: Columns,
        (data_type, compute_type): (i32, i32),
        alignment: u32,
    ) -> Result<Self> {
        let transposed = [left, right].map(|factor| i32::from(factor.are_rows != result.are_rows));
        // SAFETY: the library writes one descriptor to each `to` and reads values of the
        // attributes' types; all descriptors are alive.
        unsafe {
            let operation = Descriptor::new(&cublaslt::MATMUL_DESC_DESTROY, |to| {
                call!(cublaslt::MATMUL_DESC_CREATE, to, compute_type, data_type)
            })?;
            let set = &cublaslt::MATMUL_DESC_SET_ATTRIBUTE;
            operation.set(set, TRANSPOSE_LEFT, transposed[0])?;
            operation.set(set, TRANSPOSE_RIGHT, transposed[1])?;
            let preference = Descriptor::new(&cublaslt::MATMUL_PREFERENCE_DESTROY, |to| {
                call!(cublaslt::MATMUL_PREFERENCE_CREATE, to)
            })?;
            let set = &cublaslt::MATMUL_PREFERENCE_SET_ATTRIBUTE;
            preference.set(set, PREFERENCE_MAX_WORKSPACE, MAX_WORKSPACE)?;
            for attribute in PREFERENCE_MIN_ALIGNMENTS {
                preference.set(set, attribute, alignment)?;
            }
            let mut product = Self {
                operation,
                left: left.descriptor(data_type)?,
                right: right.descriptor(data_type)?,
                result: result.descriptor(data_type)?,
                algorithm: HeuristicResult::default(),
            };
            let mut found = 0_i32;
            call!(
                cublaslt::MATMUL_ALGO_GET_HEURISTIC,
                handle,
                product.operation.get(),
                product.left.get(),
                product.right.get(),
                product.result.get(),
                product.result.get(),
                preference.get(),
                1,
                &raw mut product.algorithm as usize,
                &raw mut found as usize;
                |_| format!("{left:?} times {right:?} to {result:?}")
            )?;
            if found == 1 && product.algorithm.status == 0 {
                return Ok(product);
            }
        }
        Err(Error::InvalidValue(format!(
            "cuBLASLt has no algorithm for {left:?} times {right:?} to {result:?}"
        )))
    }
}

impl Engine for CublasltMatmul {
    type Arguments = MatmulArguments;

    fn name(&self) -> &'static str {
        "cublaslt"
    }

    fn workspace_size(&self) -> usize {
        self.product.as_ref().map_or(0, |product| product.algorithm.workspace_size)
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, MatmulArguments>,
    ) -> Result<()> {
        let (&[a, b], &[out], Some(context), Some(stream)) =
            (call.inputs, call.outputs, context, call.stream)
        else {
            return Err(Error::InvalidState("matmul on a GPU needs operands and a stream".into()));
        };
        let (Columns { are_rows, length, count, step }, (size, one)) = (self.result, self.element);
        let Some(product) = &self.product else {
            let [pitch, width] = [step, length].map(|length| length as u64 * size as u64);
            // SAFETY: the caller guarantees that the result can be written and the stream is valid.
            return unsafe {
                call!(
                    driver::MEMSET_D2D8_ASYNC,
                    out,
                    pitch,
                    0,
                    width,
                    count as u64,
                    stream.handle()
                )
            };
        };
        let (left, right) = if are_rows { (b, a) } else { (a, b) };
        let zero = 0_u64;
        handle::with_in(context, &CUBLASLT, |handle| {
            // SAFETY: the descriptors are alive and those that the algorithm was chosen for; the
            // library reads `one` and `zero` during the call. The caller guarantees the rest.
            unsafe {
                call!(
                    cublaslt::MATMUL,
                    handle,
                    product.operation.get(),
                    &raw const one as usize,
                    left,
                    product.left.get(),
                    right,
                    product.right.get(),
                    &raw const zero as usize,
                    out,
                    product.result.get(),
                    out,
                    product.result.get(),
                    &raw const product.algorithm as usize,
                    call.workspace,
                    product.algorithm.workspace_size as u64,
                    stream.handle()
                )
            }
        })
    }
}
