//! The one error type of the core. The bindings turn each of its variants into a Python exception.

use std::fmt;
use std::sync::Arc;

use gpumath_sys::generated::statuses::STATUSES;
use gpumath_sys::table::Release;

/// A result with the core's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// One place where the loader searched, and what it found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Search step: `"explicit"`, `"loaded"`, `"wheel"`, `"conda"`, `"system"` or `"cuda-path"`.
    pub step: &'static str,
    /// The folder or file, or the variable that could have named one.
    pub place: String,
    /// What the loader found: `"absent"`, `"wrong major: CUDA 13, but the set is CUDA 12"`, the
    /// dynamic loader's message, …
    pub outcome: String,
}

/// The details of [`Error::LibraryNotFound`].
#[derive(Clone, Debug)]
pub struct LibraryNotFound {
    /// Name of the library, such as `"cufft"`.
    pub library: String,
    /// One line that says what is wrong.
    pub reason: String,
    /// Every place that was tried, in order.
    pub tried: Vec<Attempt>,
    /// Names and values of the settings that the search depends on: environment variables, the root
    /// of the installation, the driver's CUDA version.
    pub environment: Vec<(String, String)>,
    /// One command or step that helps.
    pub fix: String,
}

/// The details of [`Error::FunctionNotFound`].
#[derive(Clone, Debug)]
pub struct FunctionNotFound {
    /// Qualified Python name, such as `"cufft.xt_exec"`.
    pub function: String,
    /// Symbol under which libraries export the function.
    pub symbol: String,
    /// Path of the library that lacks it.
    pub path: String,
    /// Version that the library reports; `"unknown"` if it reports none.
    pub version: String,
    /// First release that has the function; a CUDA release unless the library counts its own.
    pub since: Release,
    /// Last release, of those whose headers gpumath was made from, that has the function.
    pub until: Release,
    /// The releases whose headers declare the function, as text: `"CUDA 12.0 to 13.5"`.
    pub versions: String,
}

/// The details of a call of a CUDA library that failed.
#[derive(Clone, Debug)]
pub struct Status {
    /// Module name of the library, such as `"cufft"` or `"driver"`.
    pub library: &'static str,
    /// C name of the function that returned it.
    pub function: &'static str,
    /// The status that was returned, as a number; never success.
    pub code: i32,
    /// What was requested (shapes, sizes, device); empty if that says nothing more.
    pub context: String,
}

impl Status {
    /// The status' name in the library's header.
    #[must_use]
    pub fn name(&self) -> &'static str {
        name_and_meaning(self.library, self.code.into()).0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&status_text(self.library, self.code.into(), self.function, &self.context))
    }
}

/// Returns the text of an error: `"cufftPlan1d: CUFFT_INVALID_SIZE (8): a transform size …"`.
/// `library` is a module's name. `function` and `context`, which says what was asked, may be empty.
#[must_use]
pub fn status_text(library: &str, code: i128, function: &str, context: &str) -> String {
    let (name, meaning) = name_and_meaning(library, code);
    let mut text = format!("{name} ({code})");
    if !function.is_empty() {
        text = format!("{function}: {text}");
    }
    if !meaning.is_empty() {
        text = format!("{text}: {meaning}");
    }
    if context.is_empty() { text } else { format!("{text} [{context}]") }
}

/// Returns a status' name in the library's header, and what it usually means.
fn name_and_meaning(library: &str, code: i128) -> (&'static str, &'static str) {
    let statuses = STATUSES.iter().find(|(module, _)| *module == library);
    let row =
        statuses.and_then(|(_, rows)| rows.iter().find(|(number, ..)| i128::from(*number) == code));
    // The library may be newer than the table.
    row.map_or(("unknown status", ""), |(_, name, meaning)| (name, meaning))
}

/// An error of the caller's own code, on its way through the core.
#[derive(Clone, Debug)]
pub struct Foreign(Arc<dyn std::error::Error + Send + Sync>);

impl Foreign {
    /// Wraps an error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }

    /// The error, if it is of this type.
    #[must_use]
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

/// Everything that can go wrong in the core.
#[derive(Clone, Debug)]
pub enum Error {
    /// There is no file of the library, or none that can be used.
    LibraryNotFound(Box<LibraryNotFound>),
    /// The library is there, but its version does not have the function with the known signature.
    FunctionNotFound(Box<FunctionNotFound>),
    /// A library call failed.
    Status(Box<Status>),
    /// CUDA is unusable for the rest of the process, because this earlier call failed.
    Sticky(Box<Status>),
    /// Device or host memory is exhausted.
    OutOfMemory(String),
    /// Code that the caller handed in has failed, such as a memory manager.
    Foreign(Foreign),
    /// The request needs a GPU, but there is none, or no driver.
    NoDevice(String),
    /// A value is not allowed.
    InvalidValue(String),
    /// A type is not allowed.
    InvalidType(String),
    /// The object is freed, not planned, or belongs to another process.
    InvalidState(String),
    /// The request is valid, but no plan covers this memory layout.
    UnsupportedLayout {
        /// Text that says what is wrong and what to do.
        message: String,
        /// Axis order of a copy whose layout is supported.
        permutation: Vec<usize>,
        /// The axes of that copy that the operation works along.
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
                "{} needs the symbol {}, which {} (version {}) does not have; the headers of {} \
                 declare it",
                e.function, e.symbol, e.path, e.version, e.versions
            ),
            Self::Status(e) => e.fmt(f),
            Self::Sticky(e) => write!(
                f,
                "CUDA cannot be used in this process any more: an earlier call reported an error \
                 that outlasts it ({e}). Start a new process"
            ),
            Self::Foreign(error) => error.0.fmt(f),
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
