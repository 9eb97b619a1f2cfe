//! Element types.

use std::fmt;

/// Element type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
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
    pub const ALL: [Self; 6] = [
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::Complex32,
        Self::Complex64,
        Self::Complex128,
    ];

    /// NumPy's name of it, such as `"complex64"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Complex32 => "complex32",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }

    /// Bytes per element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Float16 => 2,
            Self::Float32 | Self::Complex32 => 4,
            Self::Float64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }

    /// Whether an element has an imaginary part.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Complex32 | Self::Complex64 | Self::Complex128)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
