//! Statuses of the CUDA libraries: `call!` calls a function, `check` turns what it returned
//! into a `Result`.
//!
//! All libraries return 0 for success. A status that means "no memory" becomes
//! [`Error::OutOfMemory`], because callers can act on it: they free what gpumath itself keeps, and
//! try again. A status of the driver or the runtime that ends the use of CUDA becomes
//! [`Error::Sticky`]. Any other status is kept as it is.

mod sticky;

use gpumath_sys::table::Symbol;

use crate::error::{Error, Result, Status};

pub use sticky::note as note_status;
pub(crate) use sticky::{check as check_sticky, is_set as is_sticky_error_set};

const SUCCESS: i32 = 0;

/// Statuses that mean "no memory": module name of the library, text of the error, numbers.
const OUT_OF_MEMORY: [(&str, &str, &[i32]); 14] = [
    ("driver", "the device is out of memory", &[2]),
    ("runtime", "the device is out of memory", &[2]),
    ("cublas", "cuBLAS could not allocate memory", &[3]),
    ("cublasLt", "cuBLASLt could not allocate memory", &[3]),
    ("cublasXt", "cuBLASXt could not allocate memory", &[3]),
    ("cufft", "cuFFT could not allocate memory for its plan", &[2]),
    ("curand", "cuRAND could not allocate memory", &[102]),
    ("cusolver", "cuSOLVER could not allocate memory", &[2]),
    ("cusolverDn", "cuSOLVER could not allocate memory", &[2]),
    ("cusolverMg", "cuSOLVER could not allocate memory", &[2]),
    ("cusolverRf", "cuSOLVER could not allocate memory", &[2]),
    ("cusolverSp", "cuSOLVER could not allocate memory", &[2]),
    // ALLOC_FAILED, and INSUFFICIENT_RESOURCES, which is about memory of the device too.
    ("cusparse", "cuSPARSE could not allocate memory", &[2, 11]),
    ("nvrtc", "NVRTC could not allocate memory", &[1]),
];

/// Calls a function of a library's table and turns its status into a `Result<()>`. The call has to
/// be in an `unsafe` block: the arguments must be what the C declaration asks for.
///
/// A closure may follow after a semicolon. It gets the status and returns what was asked, for the
/// error's text; it is called only for an error.
macro_rules! call {
    ($function:expr $(, $argument:expr)* $(,)?) => {
        $crate::status::call!($function $(, $argument)*; |_| String::new())
    };
    ($function:expr $(, $argument:expr)* $(,)?; $context:expr) => {{
        let row = &$function;
        $crate::loader::function(row).and_then(|function| {
            $crate::status::check(row.symbol(), function($($argument),*), $context)
        })
    }};
}
pub(crate) use call;

/// Returns `Ok` for success, otherwise the error that the status means; `context` then returns what
/// was asked.
#[inline]
pub(crate) fn check(
    function: &'static Symbol,
    code: i32,
    context: impl FnOnce(i32) -> String,
) -> Result<()> {
    if code == SUCCESS { Ok(()) } else { Err(error(function, code, context(code))) }
}

#[cold]
fn error(function: &Symbol, code: i32, context: String) -> Error {
    let (library, c_name) = (function.library, function.c_name);
    let row =
        OUT_OF_MEMORY.iter().find(|(name, _, codes)| *name == library && codes.contains(&code));
    if let Some((_, what, _)) = row {
        let context = if context.is_empty() { context } else { format!(" ({context})") };
        return Error::OutOfMemory(format!("{c_name}: {what}{context}"));
    }
    let status = Status { library, function: c_name, code, context };
    if matches!(library, "driver" | "runtime") {
        sticky::error(status)
    } else {
        Error::Status(Box::new(status))
    }
}

#[cfg(test)]
mod tests {
    use gpumath_sys::generated::{cublaslt, cufft, curand, cusparse, driver};

    use super::*;
    use crate::loader::catalog;

    fn text(function: &'static Symbol, code: i32, context: &str) -> String {
        match check(function, code, |_| context.to_owned()) {
            Ok(()) => "fine".to_owned(),
            Err(Error::OutOfMemory(text)) => text,
            Err(other) => format!("other: {other}"),
        }
    }

    #[test]
    fn each_library_has_its_own_statuses_for_no_memory() {
        assert_eq!(
            text(cufft::CREATE.symbol(), 2, "8 points"),
            "cufftCreate: cuFFT could not allocate memory for its plan (8 points)"
        );
        assert_eq!(
            text(driver::MEM_ALLOC.symbol(), 2, ""),
            "cuMemAlloc: the device is out of memory"
        );
        for (function, code) in [
            (cublaslt::CREATE.symbol(), 3),
            (cusparse::CREATE.symbol(), 2),
            (cusparse::CREATE.symbol(), 11),
            (curand::CREATE_GENERATOR.symbol(), 102),
        ] {
            assert!(text(function, code, "").contains("could not allocate"), "{}", function.c_name);
        }
        assert!(text(cublaslt::CREATE.symbol(), 2, "").starts_with("other"));
    }

    #[test]
    fn other_statuses_stay_as_they_are() {
        assert_eq!(text(cufft::CREATE.symbol(), 0, ""), "fine");
        assert!(matches!(
            check(cufft::CREATE.symbol(), 5, |code| format!("status {code}")),
            Err(Error::Status(status))
                if status.library == "cufft" && status.code == 5 && status.context == "status 5"
        ));
    }

    #[test]
    fn the_table_names_libraries_that_there_are() {
        for (name, ..) in OUT_OF_MEMORY {
            assert!(!catalog::symbols_of(name).is_empty(), "{name}");
        }
    }
}
