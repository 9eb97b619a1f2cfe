//! Callbacks: device functions of the user, which cuFFT calls for each element that it reads or
//! writes.
//!
//! A callback gets the element's offset from the start of the memory that a call of cuFFT works on.
//! So a side with a callback allows no copy to another layout (`route.rs`). The code comes as
//! LTO-IR, which cuFFT links with nvJitLink when it makes the plan. cuFFT keeps the addresses that
//! it was given until the plan is destroyed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use gpumath_sys::generated::{cufft, nvjitlink};

use super::problem::{FftProblem, Precision, TransformKind};
use crate::error::{Error, FunctionNotFound, Result};
use crate::loader::{self, LibraryInfo};
use crate::status::call;
use crate::version::Version;

/// The first cuFFT with callbacks in LTO-IR, of CUDA 12.6 Update 2.
const FIRST_VERSION: Version = Version::new(11, 3);

/// `CUFFT_NOT_SUPPORTED`
const NOT_SUPPORTED: i32 = 16;

/// A device function in LTO-IR under the name that cuFFT looks for, and the address of its data.
#[derive(Clone, Debug)]
pub struct Callback {
    ltoir: Arc<[u8]>,
    /// Hash of the LTO-IR, so that looking up a plan need not read the code each time.
    hash: u64,
    /// Device address; 0 for none.
    data: usize,
}

impl Callback {
    /// Makes a callback from its code. `data` is the device address that the function gets with
    /// each call; 0 for none.
    #[must_use]
    pub fn new(ltoir: &[u8], data: usize) -> Self {
        let mut hasher = DefaultHasher::new();
        ltoir.hash(&mut hasher);
        Self { ltoir: ltoir.into(), hash: hasher.finish(), data }
    }

    /// Returns the code.
    #[must_use]
    pub fn ltoir(&self) -> &[u8] {
        &self.ltoir
    }

    /// Returns the device address of the data; 0 for none.
    #[must_use]
    pub const fn data(&self) -> usize {
        self.data
    }
}

impl PartialEq for Callback {
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data && self.hash == other.hash && self.ltoir == other.ltoir
    }
}

impl Eq for Callback {}

impl Hash for Callback {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.hash, self.data).hash(state);
    }
}

/// The callbacks of a transform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Callbacks {
    /// Loads each element of the input.
    pub prolog: Option<Callback>,
    /// Stores each element of the output.
    pub epilog: Option<Callback>,
}

impl Callbacks {
    /// Returns whether there is no callback.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.prolog.is_none() && self.epilog.is_none()
    }

    /// Returns what there is, for messages; `None` without callbacks.
    pub(super) const fn names(&self) -> Option<&'static str> {
        match (&self.prolog, &self.epilog) {
            (None, None) => None,
            (Some(_), None) => Some("a prolog"),
            (None, Some(_)) => Some("an epilog"),
            (Some(_), Some(_)) => Some("a prolog and an epilog"),
        }
    }

    /// Refuses callbacks that no plan can have, before cuFFT is looked for.
    pub(super) fn check(problem: &FftProblem) -> Result<()> {
        if !problem.callbacks.is_empty() && problem.precision == Precision::Half {
            return Err(Error::InvalidValue(
                "cuFFT has no prolog and no epilog in half precision; convert the operand to \
                 single precision"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Opens the libraries that cuFFT links callbacks with, and refuses callbacks that this version
    /// of cuFFT cannot have.
    pub(super) fn prepare(problem: &FftProblem) -> Result<()> {
        if problem.callbacks.is_empty() {
            return Ok(());
        }
        let library = loader::library("cufft")?;
        check_version(&library)?;
        check_length(problem, library.version)?;
        // cuFFT opens nvJitLink by its bare name, which the dynamic loader only knows for sure if
        // it is open already.
        loader::function(&nvjitlink::VERSION)?;
        Ok(())
    }

    /// Attaches the prolog to the pass that reads the input and the epilog to the one that writes
    /// the output.
    pub(super) fn attach(
        problem: &FftProblem,
        position: PassPosition,
        plan: i32,
    ) -> Result<AttachedCallbacks> {
        let prolog = problem.callbacks.prolog.as_ref().filter(|_| position.is_first);
        let epilog = problem.callbacks.epilog.as_ref().filter(|_| position.is_last);
        let mut attached = AttachedCallbacks::default();
        for (callback, stores) in [(prolog, false), (epilog, true)] {
            let Some(callback) = callback else { continue };
            let is_complex =
                problem.kind != if stores { TransformKind::C2R } else { TransformKind::R2C };
            let kind = kind_of(stores, is_complex, problem.precision);
            attached.0.push((Box::new(callback.data), callback.clone()));
            let data = attached.0.last().map_or(0, |(data, _)| &raw const **data as usize);
            let code = callback.ltoir();
            let set_callback = set_jit_callback()?;
            let describe = |_| {
                let name = if stores { "epilog" } else { "prolog" };
                format!("{name} of {} bytes of LTO-IR", code.len())
            };
            let (address, size) = (code.as_ptr() as usize, code.len() as u64);
            // SAFETY: the caller created `plan` and has not planned it yet. The code and the array
            // of one address live as long as the result, which the plan's owner keeps. Without a
            // name, cuFFT looks for the function name that its header gives callbacks of this kind.
            unsafe { call!(*set_callback, plan, 0, address, size, kind, data; describe) }?;
        }
        Ok(attached)
    }

    /// Returns the part of a planning error with this status that is about the callbacks; empty
    /// without callbacks.
    pub(super) fn describe(&self, status: i32) -> String {
        let Some(names) = self.names() else { return String::new() };
        if status == NOT_SUPPORTED {
            return format!(
                "; with {names}, which cuFFT refuses for some lengths with prime factors above 127"
            );
        }
        let linker = loader::library("nvjitlink").ok().and_then(|library| library.version);
        let version = linker.map_or_else(|| "?".to_owned(), |version| version.to_string());
        format!(
            "; with {names}, which nvJitLink {version} links: it takes LTO-IR of compilers of its \
             CUDA major that are not newer than it"
        )
    }
}

/// The position of a pass among the passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassPosition {
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

/// The callbacks whose addresses cuFFT has. They have to be dropped after the plan.
#[derive(Debug, Default)]
pub(super) struct AttachedCallbacks(Vec<(Box<usize>, Callback)>);

type SetCallback =
    gpumath_sys::table::Function<unsafe extern "C" fn(i32, usize, usize, u64, i32, usize) -> i32>;

/// Returns the function that the library's header calls. The cuFFT of CUDA 12 exports the plain
/// name too, for another function.
fn set_jit_callback() -> Result<&'static SetCallback> {
    let version = loader::library("cufft")?.version;
    let is_cuda_12 = version.is_some_and(|version| version.major < 12);
    Ok(if is_cuda_12 { &cufft::XT_SET_JIT_CALLBACK_12_7 } else { &cufft::XT_SET_JIT_CALLBACK })
}

/// Refuses a cuFFT without callbacks in LTO-IR.
fn check_version(library: &LibraryInfo) -> Result<()> {
    let Some(version) = library.version.filter(|version| *version < FIRST_VERSION) else {
        return Ok(());
    };
    let symbol = cufft::XT_SET_JIT_CALLBACK_12_7.symbol();
    Err(Error::FunctionNotFound(Box::new(FunctionNotFound {
        function: "a prolog or an epilog".to_owned(),
        symbol: symbol.symbol.to_owned(),
        path: library.path.display().to_string(),
        version: version.to_string(),
        since: symbol.since,
        until: symbol.until,
        versions: "cuFFT 11.3 (CUDA 12.6 Update 2) and newer".to_owned(),
    })))
}

/// Refuses lengths for which cuFFT 12.3 computes wrong results with a callback on the real side.
/// Older versions refuse them themselves, and newer ones are right.
fn check_length(problem: &FftProblem, version: Option<Version>) -> Result<()> {
    if version.is_none_or(|version| (version.major, version.minor) != (12, 3)) {
        return Ok(());
    }
    let name = match (problem.kind, &problem.callbacks) {
        (TransformKind::R2C, Callbacks { prolog: Some(_), .. }) => "prolog",
        (TransformKind::C2R, Callbacks { epilog: Some(_), .. }) => "epilog",
        _ => return Ok(()),
    };
    let length = problem.extent(problem.axes.len() - 1);
    let first_wrong = if problem.precision == Precision::Double { 4096 } else { 8192 };
    if length % 2 != 0 || length < first_wrong || largest_factor_is_at_most(127, length) {
        return Ok(());
    }
    Err(Error::InvalidValue(format!(
        "cuFFT 12.3 (CUDA 13.3) computes wrong results with the {name} of a {:?} transform of \
         {length} points, an even length with a prime factor above 127; use CUDA 13.4, apply the \
         function on the complex side, or pad to another length",
        problem.kind
    )))
}

/// Returns whether no prime factor of a number is above `bound`.
pub(super) fn largest_factor_is_at_most(bound: i64, mut number: i64) -> bool {
    for factor in 2..=bound {
        while number % factor == 0 {
            number /= factor;
        }
    }
    number == 1
}

/// Returns the `cufftXtCallbackType`.
const fn kind_of(stores: bool, is_complex: bool, precision: Precision) -> i32 {
    let double = matches!(precision, Precision::Double) as i32;
    4 * stores as i32 + 2 * !is_complex as i32 + double
}

#[cfg(test)]
#[path = "callback_tests.rs"]
mod tests;
