//! Elements of any type, as double precision numbers.

use half::{bf16, f16};

use super::{Geometry, Matrix};
use crate::tensor::DType;

/// Reads the element at an address as its real and imaginary part.
///
/// # Safety
/// There is an element of the type that the function is for.
pub(super) type Reader = unsafe fn(usize) -> [f64; 2];

/// Writes an element, rounded to its type. Integers of 32 bits wrap around, and those of 8 bits
/// stop at the least and the greatest.
///
/// # Safety
/// As for [`Reader`], in memory that may be written.
pub(super) type Writer = unsafe fn(usize, [f64; 2]);

macro_rules! element {
    ($type:ty, $to:expr, $from:expr) => {{
        let functions: (Reader, Writer) = (
            // SAFETY: the caller guarantees an element of this type.
            |at| unsafe { $to((at as *const $type).read_unaligned()) },
            // SAFETY: likewise.
            |at, number| unsafe { (at as *mut $type).write_unaligned($from(number)) },
        );
        functions
    }};
}

/// Returns what reads and writes elements of a type. Types that no product has are read as float32.
fn functions(dtype: DType) -> (Reader, Writer) {
    match dtype {
        DType::Int8 => {
            element!(i8, |value: i8| [f64::from(value), 0.0], |[real, _]: [f64; 2]| real
                .round_ties_even()
                as i8)
        }
        DType::Int32 => {
            element!(i32, |value: i32| [f64::from(value), 0.0], |[real, _]: [f64; 2]| real as i64
                as i32)
        }
        DType::Float16 => {
            element!(f16, |value: f16| [value.to_f64(), 0.0], |[real, _]: [f64; 2]| f16::from_f64(
                real
            ))
        }
        DType::BFloat16 => {
            element!(bf16, |value: bf16| [value.to_f64(), 0.0], |[real, _]: [f64; 2]| {
                bf16::from_f64(real)
            })
        }
        DType::Float64 => {
            element!(f64, |value: f64| [value, 0.0], |[real, _]: [f64; 2]| real)
        }
        DType::Complex64 => {
            element!([f32; 2], |value: [f32; 2]| value.map(f64::from), |number: [f64; 2]| number
                .map(|part| part as f32))
        }
        DType::Complex128 => {
            element!([f64; 2], |value: [f64; 2]| value, |number: [f64; 2]| number)
        }
        _ => element!(f32, |value: f32| [f64::from(value), 0.0], |[real, _]: [f64; 2]| real as f32),
    }
}

/// Returns what reads elements of a type.
pub(super) fn reader(dtype: DType) -> Reader {
    functions(dtype).0
}

/// Returns what writes elements of a type.
pub(super) fn writer(dtype: DType) -> Writer {
    functions(dtype).1
}

/// Where the elements of one of the matrices are.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    geometry: &'a Geometry,
    matrix: Matrix,
    first: usize,
    size: usize,
}

impl<'a> Elements<'a> {
    pub(super) fn of(geometry: &'a Geometry, matrix: Matrix, first: usize, dtype: DType) -> Self {
        Self { geometry, matrix, first, size: dtype.size() }
    }

    /// Returns the matrix of one entry of the batch.
    pub(super) fn entry(self, entry: usize) -> Self {
        let offset = self.geometry.batch.offsets(entry)[self.matrix as usize];
        Self { first: self.shifted(offset), ..self }
    }

    /// Returns the address of an element.
    pub(super) fn address(self, row: usize, column: usize) -> usize {
        let [down, right] = self.geometry.strides(self.matrix);
        self.shifted(row as i64 * down + column as i64 * right)
    }

    fn shifted(self, offset: i64) -> usize {
        self.first.wrapping_add_signed(offset as isize * self.size as isize)
    }
}
