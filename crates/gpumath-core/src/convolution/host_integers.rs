//! Convolutions of integers in host memory.
//!
//! They are computed in double precision where all sums are exact in it, which is far faster, else
//! in 64 bits. Sums beyond the type wrap around.

#![expect(
    clippy::cast_lossless,
    reason = "the macro is for types that are shorter and for those that are not"
)]

use std::num::Wrapping;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use super::host::Call;
use super::host_lines::Real;
use crate::error::Result;
use crate::memory::zeroed;
use crate::tensor::{BatchDims, DType, Layout, TensorView};

/// Integers below this one are exact in double precision, and none above it is rounded to less.
const MOST_EXACT: f64 = (1_u64 << 53) as f64;

/// An integer of any width.
pub(super) trait Integer: Copy {
    /// Returns the number, rounded.
    fn to_real(self) -> f64;
    /// Converts from an integer below 2^63.
    fn of_real(sum: f64) -> Self;
    /// Returns the number modulo 2^64.
    fn to_wrapping(self) -> Wrapping<u64>;
    /// Converts from a number modulo 2^64.
    fn of_wrapping(sum: Wrapping<u64>) -> Self;
}

macro_rules! integers {
    ($($integer:ident),*) => {
        $(
            impl Integer for $integer {
                fn to_real(self) -> f64 {
                    self as f64
                }

                fn of_real(sum: f64) -> Self {
                    sum as i64 as Self
                }

                fn to_wrapping(self) -> Wrapping<u64> {
                    Wrapping(self as u64)
                }

                fn of_wrapping(sum: Wrapping<u64>) -> Self {
                    sum.0 as Self
                }
            }
        )*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Call<'_> {
    /// Convolves arrays of integers, the result first, then the operand and the filter.
    ///
    /// # Safety
    /// As for [`convolve`](super::host::convolve); the elements are of the type.
    pub(super) unsafe fn compute_integers<I: Integer>(
        &self,
        [to, from, filter]: [&TensorView; 3],
    ) -> Result<()> {
        // SAFETY: the caller guarantees the arrays.
        unsafe {
            let operands = [wide(from, I::to_real)?, wide(filter, I::to_real)?];
            let most = operands.each_ref().map(|numbers: &Vec<f64>| {
                numbers.iter().fold(0.0_f64, |most, number| most.max(number.abs()))
            });
            let taps: i64 = self.axes.iter().map(|&axis| filter.layout.shape[axis]).product();
            if most[0] * most[1] * (taps as f64) < MOST_EXACT {
                return self.compute_wide([to, from, filter], operands, I::of_real);
            }
            let operands = [wide(from, I::to_wrapping)?, wide(filter, I::to_wrapping)?];
            self.compute_wide([to, from, filter], operands, I::of_wrapping)
        }
    }

    /// Convolves copies of arrays as numbers of 64 bits, and converts the result.
    ///
    /// # Safety
    /// As for [`Self::compute_integers`].
    unsafe fn compute_wide<I, R: Real>(
        &self,
        [to, from, filter]: [&TensorView; 3],
        mut operands: [Vec<R>; 2],
        convert: impl Fn(R) -> I,
    ) -> Result<()> {
        let mut sums = zeroed::<R>(to.layout.len() as usize, PURPOSE)?;
        let [from_copy, filter_copy] = &mut operands;
        let copies = [(to, &mut sums), (from, from_copy), (filter, filter_copy)];
        // Copies of 64 bits are elements of one such type.
        let [wide_to, wide_from, wide_filter] = copies.map(|(view, numbers)| TensorView {
            ptr: numbers.as_mut_ptr().expose_provenance(),
            dtype: DType::Float64,
            layout: Layout::contiguous(&view.layout.shape),
            ..view.clone()
        });
        // SAFETY: these are arrays of such numbers, and the result is contiguous.
        unsafe {
            self.compute::<R, 1>([&wide_to, &wide_from, &wide_filter])?;
            let first = with_exposed_provenance_mut::<I>(to.ptr);
            for (at, &sum) in sums.iter().enumerate() {
                first.add(at).write(convert(sum));
            }
        }
        Ok(())
    }
}

/// What an allocation is for.
const PURPOSE: &str = "a convolution of integers on the CPU";

/// Copies an array in C order, converted.
///
/// # Safety
/// The array can be read, and its elements are of the type.
unsafe fn wide<I: Integer, R: Real>(view: &TensorView, convert: impl Fn(I) -> R) -> Result<Vec<R>> {
    let mut numbers = zeroed::<R>(view.layout.len() as usize, PURPOSE)?;
    let layout = Layout::contiguous(&view.layout.shape);
    let mut outer = BatchDims::outside(&[], [&view.layout, &layout]);
    let inner = outer.pop_fastest();
    let from = with_exposed_provenance::<I>(view.ptr);
    for entry in 0..outer.count() {
        let [source, target] = outer.offsets(entry);
        for at in 0..inner.extent {
            let source = from.wrapping_offset((source + at * inner.strides[0]) as isize);
            // SAFETY: the caller guarantees the element.
            let number = unsafe { source.read_unaligned() };
            numbers[(target + at * inner.strides[1]) as usize] = convert(number);
        }
    }
    Ok(numbers)
}
