//! Element types.

use std::fmt;

/// The element type of an operand. An operation supports some of these types, but operands of
/// all of them can be described and passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// 8-bit signed integer.
    Int8,
    /// 16-bit signed integer.
    Int16,
    /// 32-bit signed integer.
    Int32,
    /// 64-bit signed integer.
    Int64,
    /// 8-bit unsigned integer.
    UInt8,
    /// 16-bit unsigned integer.
    UInt16,
    /// 32-bit unsigned integer.
    UInt32,
    /// 64-bit unsigned integer.
    UInt64,
    /// Four exponent and three mantissa bits; finite numbers and NaN.
    Float8E4M3Fn,
    /// Five exponent and two mantissa bits.
    Float8E5M2,
    /// A power of two; the scale of block formats.
    Float8E8M0Fnu,
    /// Two numbers of two exponent bits and one mantissa bit, the first in the lower half.
    Float4E2M1FnX2,
    /// The upper half of single precision.
    BFloat16,
    /// IEEE half precision.
    Float16,
    /// Single precision.
    Float32,
    /// Double precision.
    Float64,
    /// Two half-precision numbers (PyTorch's `complex32`).
    Complex32,
    /// Two single-precision numbers.
    Complex64,
    /// Two double-precision numbers.
    Complex128,
}

impl DType {
    /// All types, real ones first.
    pub const ALL: [Self; 20] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::UInt8,
        Self::UInt16,
        Self::UInt32,
        Self::UInt64,
        Self::Float8E4M3Fn,
        Self::Float8E5M2,
        Self::Float8E8M0Fnu,
        Self::Float4E2M1FnX2,
        Self::BFloat16,
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::Complex32,
        Self::Complex64,
        Self::Complex128,
    ];

    /// Returns NumPy's name of the type, such as `"complex64"`, or the name in `ml_dtypes` and
    /// PyTorch if NumPy has none.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float8E4M3Fn => "float8_e4m3fn",
            Self::Float8E5M2 => "float8_e5m2",
            Self::Float8E8M0Fnu => "float8_e8m0fnu",
            Self::Float4E2M1FnX2 => "float4_e2m1fn_x2",
            Self::BFloat16 => "bfloat16",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Complex32 => "complex32",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }

    /// Returns the type of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Returns the bytes of an element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Bool
            | Self::Int8
            | Self::UInt8
            | Self::Float8E4M3Fn
            | Self::Float8E5M2
            | Self::Float8E8M0Fnu
            | Self::Float4E2M1FnX2 => 1,
            Self::Int16 | Self::UInt16 | Self::BFloat16 | Self::Float16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::Complex32 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }

    /// Returns whether an element has an imaginary part.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Complex32 | Self::Complex64 | Self::Complex128)
    }

    /// Returns the bytes that the address of an element is a multiple of. For a complex number
    /// these are the bytes of its real part.
    #[must_use]
    pub const fn alignment(self) -> usize {
        if self.is_complex() { self.size() / 2 } else { self.size() }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
