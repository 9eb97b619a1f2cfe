//! Version numbers as the CUDA libraries report them.

use std::fmt;

/// A library's version: `12.5.0` for cuFFT, `13.0` for the driver and the compilers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Patch number, where the library has one.
    pub patch: Option<u32>,
}

impl Version {
    /// A version of two numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor, patch: None }
    }

    /// From the form that the driver and the runtime use: 13000 is 13.0, 12040 is 12.4.
    #[must_use]
    pub const fn from_thousands(number: u32) -> Self {
        Self::new(number / 1000, number % 1000 / 10)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}
