//! Calls of cuBLAS. Matrices are in column-major order there, and have a stride between columns.

use gpumath_sys::generated::cublas;
use gpumath_sys::table::Function;

use crate::error::Result;
use crate::status::call;
use crate::tensor::{BatchDim, BatchDims, DType};

/// `cublasOperation_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    None = 0,
    Transposed = 1,
    /// Transposed and conjugated.
    Adjoint = 2,
}

/// What a call computes. `x` and `y` are its operands, and `z` the result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// `alpha * x @ y + beta * z`
    General([Transform; 2]),
    /// The same for a symmetric or Hermitian `x`, which is the left factor or the right one.
    Symmetric { is_right: bool, is_upper: bool, is_hermitian: bool },
    /// `alpha * x @ y` for a triangular `x`.
    Triangular { is_right: bool, is_upper: bool, transform: Transform, has_unit_diagonal: bool },
    /// `alpha * x + beta * y`
    Sum([Transform; 2]),
}

/// A batch of equal calls.
#[derive(Clone, Debug)]
pub(super) struct BlasCall {
    pub(super) kind: Kind,
    /// Rows and columns of the result, and the depth.
    pub(super) shape: [i64; 3],
    /// Elements from a column to the next, of `x`, `y` and `z`.
    pub(super) columns: [i64; 3],
    /// Calls in loops, and those that one call computes.
    outer: BatchDims<3>,
    strided: BatchDim<3>,
}

type General = Function<
    unsafe extern "C" fn(
        usize,
        i32,
        i32,
        i64,
        i64,
        i64,
        usize,
        usize,
        i64,
        usize,
        i64,
        usize,
        usize,
        i64,
    ) -> i32,
>;
type GeneralBatch = Function<
    unsafe extern "C" fn(
        usize,
        i32,
        i32,
        i64,
        i64,
        i64,
        usize,
        usize,
        i64,
        i64,
        usize,
        i64,
        i64,
        usize,
        usize,
        i64,
        i64,
        i64,
    ) -> i32,
>;
type Symmetric = Function<
    unsafe extern "C" fn(
        usize,
        i32,
        i32,
        i64,
        i64,
        usize,
        usize,
        i64,
        usize,
        i64,
        usize,
        usize,
        i64,
    ) -> i32,
>;
type Triangular = Function<
    unsafe extern "C" fn(
        usize,
        i32,
        i32,
        i32,
        i32,
        i64,
        i64,
        usize,
        usize,
        i64,
        usize,
        i64,
        usize,
        i64,
    ) -> i32,
>;
type Sum = Function<
    unsafe extern "C" fn(
        usize,
        i32,
        i32,
        i64,
        i64,
        usize,
        usize,
        i64,
        usize,
        usize,
        i64,
        usize,
        i64,
    ) -> i32,
>;

/// The functions for one element type.
struct Functions {
    general: &'static General,
    general_batch: &'static GeneralBatch,
    symmetric: &'static Symmetric,
    hermitian: &'static Symmetric,
    triangular: &'static Triangular,
    sum: &'static Sum,
}

macro_rules! functions {
    ($general:ident, $batch:ident, $symmetric:ident, $hermitian:ident, $triangular:ident,
     $sum:ident) => {
        Functions {
            general: &cublas::$general,
            general_batch: &cublas::$batch,
            symmetric: &cublas::$symmetric,
            hermitian: &cublas::$hermitian,
            triangular: &cublas::$triangular,
            sum: &cublas::$sum,
        }
    };
}

// A real Hermitian matrix is a symmetric one.
static SINGLE: Functions =
    functions!(SGEMM_64, SGEMM_STRIDED_BATCHED_64, SSYMM_64, SSYMM_64, STRMM_64, SGEAM_64);
static DOUBLE: Functions =
    functions!(DGEMM_64, DGEMM_STRIDED_BATCHED_64, DSYMM_64, DSYMM_64, DTRMM_64, DGEAM_64);
static COMPLEX: Functions =
    functions!(CGEMM_64, CGEMM_STRIDED_BATCHED_64, CSYMM_64, CHEMM_64, CTRMM_64, CGEAM_64);
static DOUBLE_COMPLEX: Functions =
    functions!(ZGEMM_64, ZGEMM_STRIDED_BATCHED_64, ZSYMM_64, ZHEMM_64, ZTRMM_64, ZGEAM_64);

/// A number as cuBLAS reads it, in host memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar([u64; 2]);

impl Scalar {
    pub(super) fn new([real, imaginary]: [f64; 2], dtype: DType) -> Self {
        let bits = |part: f64| u64::from((part as f32).to_bits());
        Self(match dtype {
            // The real part comes first: in the lower half of the first word.
            DType::Float32 | DType::Complex64 => [bits(real) | bits(imaginary) << 32, 0],
            _ => [real.to_bits(), imaginary.to_bits()],
        })
    }

    /// Its bytes, as many as an element of this type has.
    pub(super) fn bytes(self, dtype: DType) -> smallvec::SmallVec<[u8; 16]> {
        let all = self.0.iter().flat_map(|word| word.to_le_bytes());
        all.take(dtype.size()).collect()
    }

    fn address(&self) -> usize {
        &raw const self.0 as usize
    }
}

impl BlasCall {
    /// Describes the calls for all entries of a batch. cuBLAS has batches of general products
    /// only.
    pub(super) fn new(
        kind: Kind,
        shape: [i64; 3],
        columns: [i64; 3],
        mut batch: BatchDims<3>,
    ) -> Self {
        let strided = match kind {
            Kind::General(_) => batch.remove_longest(),
            _ => None,
        };
        let strided = strided.unwrap_or(BatchDim { extent: 1, strides: [0; 3] });
        Self { kind, shape, columns, outer: batch, strided }
    }

    /// Number of products.
    pub(super) fn products(&self) -> usize {
        self.count() * self.strided.extent as usize
    }

    /// The addresses of the matrices of each product, for elements of `size` bytes.
    pub(super) fn matrices(
        &self,
        size: usize,
        addresses: [usize; 3],
    ) -> impl Iterator<Item = [usize; 3]> {
        (0..self.outer.count()).flat_map(move |entry| {
            let offsets = self.outer.offsets(entry);
            (0..self.strided.extent).map(move |inner| {
                [0, 1, 2].map(|index| {
                    let offset = offsets[index] + inner * self.strided.strides[index];
                    addresses[index].wrapping_add_signed(offset as isize * size as isize)
                })
            })
        })
    }

    /// Number of calls.
    pub(super) fn count(&self) -> usize {
        self.outer.count()
    }

    /// Enqueues the calls on the handle's stream.
    ///
    /// # Safety
    /// The addresses are those of the first elements of device memory in these layouts, valid until
    /// the work is done, with elements of `dtype`; `z` may be written.
    #[expect(clippy::too_many_lines, reason = "the arguments of seven functions, one a line")]
    pub(super) unsafe fn enqueue(
        &self,
        handle: usize,
        dtype: DType,
        addresses: [usize; 3],
        [alpha, beta]: [Scalar; 2],
    ) -> Result<()> {
        let functions = match dtype {
            DType::Float32 => &SINGLE,
            DType::Float64 => &DOUBLE,
            DType::Complex64 => &COMPLEX,
            _ => &DOUBLE_COMPLEX,
        };
        let ([rows, columns, depth], [x_step, y_step, z_step]) = (self.shape, self.columns);
        let (alpha, beta) = (alpha.address(), beta.address());
        for entry in 0..self.outer.count() {
            let offsets = self.outer.offsets(entry);
            let [x, y, z] = [0, 1, 2].map(|index| {
                addresses[index]
                    .wrapping_add_signed(offsets[index] as isize * dtype.size() as isize)
            });
            let BatchDim { extent: count, strides } = self.strided;
            // SAFETY: the caller guarantees that the memory is valid, and the numbers are alive.
            unsafe {
                match self.kind {
                    Kind::General([left, right]) if count == 1 => call!(
                        *functions.general,
                        handle,
                        left as i32,
                        right as i32,
                        rows,
                        columns,
                        depth,
                        alpha,
                        x,
                        x_step,
                        y,
                        y_step,
                        beta,
                        z,
                        z_step
                    ),
                    Kind::General([left, right]) => call!(
                        *functions.general_batch,
                        handle,
                        left as i32,
                        right as i32,
                        rows,
                        columns,
                        depth,
                        alpha,
                        x,
                        x_step,
                        strides[0],
                        y,
                        y_step,
                        strides[1],
                        beta,
                        z,
                        z_step,
                        strides[2],
                        count
                    ),
                    Kind::Symmetric { is_right, is_upper, is_hermitian } => {
                        let function =
                            if is_hermitian { functions.hermitian } else { functions.symmetric };
                        call!(
                            *function,
                            handle,
                            i32::from(is_right),
                            i32::from(is_upper),
                            rows,
                            columns,
                            alpha,
                            x,
                            x_step,
                            y,
                            y_step,
                            beta,
                            z,
                            z_step
                        )
                    }
                    Kind::Triangular { is_right, is_upper, transform, has_unit_diagonal } => call!(
                        *functions.triangular,
                        handle,
                        i32::from(is_right),
                        i32::from(is_upper),
                        transform as i32,
                        i32::from(has_unit_diagonal),
                        rows,
                        columns,
                        alpha,
                        x,
                        x_step,
                        y,
                        y_step,
                        z,
                        z_step
                    ),
                    Kind::Sum([left, right]) => call!(
                        *functions.sum,
                        handle,
                        left as i32,
                        right as i32,
                        rows,
                        columns,
                        alpha,
                        x,
                        x_step,
                        beta,
                        y,
                        y_step,
                        z,
                        z_step
                    ),
                }
            }?;
        }
        Ok(())
    }
}
