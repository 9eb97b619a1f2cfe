//! Rust types that are elements of operands.

use rustfft::num_complex::Complex;

use super::DType;

/// A Rust type that represents an element type.
///
/// Complex numbers are `num_complex::Complex`, or arrays of two numbers, the real part first.
///
/// # Safety
/// The type is as long as `DTYPE` says, represents a number in the same way, and every pattern of
/// bits is one of its values.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),* $(,)?) => {
        $(
            // SAFETY: the type is the machine's number of this kind and width, or two of them.
            unsafe impl Element for $type {
                const DTYPE: DType = DType::$dtype;
            }
        )*
    };
}

elements! {
    i8 => Int8,
    i16 => Int16,
    i32 => Int32,
    i64 => Int64,
    u8 => UInt8,
    u16 => UInt16,
    u32 => UInt32,
    u64 => UInt64,
    f32 => Float32,
    f64 => Float64,
    [f32; 2] => Complex64,
    [f64; 2] => Complex128,
    Complex<f32> => Complex64,
    Complex<f64> => Complex128,
}
