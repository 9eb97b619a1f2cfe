//! The one error type of the core. Each variant becomes one Python exception class in the bindings.

use std::fmt;

use gpumath_sys::table::Release;

/// Result with the core's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// One place that the loader looked at, and what it found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which search step: `"explicit"`, `"loaded"`, `"wheel"`, `"conda"`, `"system"`, `"cuda-path"`.
    pub step: &'static str,
    /// The folder or file.
    pub place: String,
    /// What was there: `"absent"`, `"wrong major: 12, the set is 13"`, the dynamic loader's own message, …
    pub outcome: String,
}

/// A library that could not be found or used.
#[derive(Clone, Debug)]
pub struct LibraryNotFound {
    /// Module name of the library, such as `"cufft"`.
    pub library: String,
    /// One line: what is wrong.
    pub reason: String,
    /// Every place tried, in order.
    pub tried: Vec<Attempt>,
    /// What of the surroundings had a say: environment variables, the driver.
    pub environment: Vec<(String, String)>,
    /// One command or step that fixes it.
    pub fix: String,
}

/// A function that the installed version of a library does not have.
#[derive(Clone, Debug)]
pub struct FunctionNotFound {
    /// Qualified Python name, such as `"cufft.xt_exec"`.
    pub function: String,
    /// The exported symbol that was looked up.
    pub symbol: String,
    /// Path of the library that lacks it.
    pub path: String,
    /// Version of that library, as it reports it.
    pub version: String,
    /// First CUDA release that has the function.
    pub since: Release,
    /// Last CUDA release, of those read, that has the function.
    pub until: Release,
    /// The releases whose headers declare it, in words.
    pub versions: String,
}

/// A status other than success from a CUDA library.
#[derive(Clone, Debug)]
pub struct Status {
    /// Module name of the library, such as `"cufft"` or `"driver"`.
    pub library: &'static str,
    /// C name of the function that returned it.
    pub function: &'static str,
    /// The number.
    pub code: i32,
    /// What was asked (shapes, sizes, device), or empty.
    pub context: String,
}

/// Everything that can go wrong in the core.
#[derive(Clone, Debug)]
pub enum Error {
    /// No usable library file.
    LibraryNotFound(Box<LibraryNotFound>),
    /// The library is there, the function is not.
    FunctionNotFound(Box<FunctionNotFound>),
    /// A library call failed.
    Status(Box<Status>),
    /// This earlier failure of a call has made CUDA unusable for the rest of the process.
    Sticky(Box<Status>),
    /// Device or host memory is exhausted.
    OutOfMemory(String),
    /// There is no GPU, or no driver, and the request needs one.
    NoDevice(String),
    /// A value is not allowed.
    InvalidValue(String),
    /// A type is not allowed.
    InvalidType(String),
    /// The object is freed, not planned, or belongs to another process.
    InvalidState(String),
    /// Valid, but no plan covers this memory layout.
    UnsupportedLayout {
        /// What is wrong and what to do.
        message: String,
        /// Axis order which, applied by a transposing copy, makes the layout supported.
        permutation: Vec<usize>,
        /// The transform axes after that permutation.
        axes: Vec<usize>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LibraryNotFound(e) => {
                write!(f, "library {} was not found: {}", e.library, e.reason)?;
                for attempt in &e.tried {
                    write!(f, "\n  {:<9} {}: {}", attempt.step, attempt.place, attempt.outcome)?;
                }
                for (name, value) in &e.environment {
                    write!(f, "\n  {name} = {value}")?;
                }
                write!(f, "\nTo fix it: {}", e.fix)
            }
            Self::FunctionNotFound(e) => write!(
                f,
                "{} needs the symbol {}, which {} (version {}) does not have; the headers of {} declare it",
                e.function, e.symbol, e.path, e.version, e.versions
            ),
            Self::Status(e) => {
                write!(f, "{} returned status {}", e.function, e.code)?;
                if e.context.is_empty() { Ok(()) } else { write!(f, " ({})", e.context) }
            }
            Self::Sticky(e) => write!(
                f,
                "CUDA cannot be used in this process any more, since {} returned status {}; start a new process",
                e.function, e.code
            ),
            Self::OutOfMemory(text)
            | Self::NoDevice(text)
            | Self::InvalidValue(text)
            | Self::InvalidType(text)
            | Self::InvalidState(text)
            | Self::UnsupportedLayout { message: text, .. } => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
