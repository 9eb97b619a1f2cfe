//! Version numbers as the CUDA libraries report them.

use std::fmt;

/// A library's version, such as 12.5.0 for cuFFT or 13.0 for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Patch number; `None` if the library reports two numbers only.
    pub patch: Option<u32>,
}

impl Version {
    /// Creates a version of two numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor, patch: None }
    }

    /// Creates a version from the number that the driver and the runtime report: 12040 means 12.4.
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
