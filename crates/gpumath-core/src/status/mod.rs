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

/// Statuses that mean "no memory".
const OUT_OF_MEMORY: [&str; 9] = [
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "CUFFT_ALLOC_FAILED",
    "CURAND_STATUS_ALLOCATION_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", // of the device's memory
    "NVRTC_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
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
    let status = Status { library: function.library, function: function.c_name, code, context };
    if OUT_OF_MEMORY.contains(&status.name()) {
        Error::OutOfMemory(status.to_string())
    } else if matches!(status.library, "driver" | "runtime") {
        sticky::error(status)
    } else {
        Error::Status(Box::new(status))
    }
}

#[cfg(test)]
mod tests {
    use gpumath_sys::generated::statuses::STATUSES;
    use gpumath_sys::generated::{
        cublas, cublaslt, cufft, curand, cusolverdn, cusparse, driver, nvrtc, runtime,
    };

    use super::*;
    use crate::loader::catalog;

    fn checked(function: &'static Symbol, code: i32, context: &str) -> String {
        match check(function, code, |_| context.to_owned()) {
            Ok(()) => "fine".to_owned(),
            Err(Error::OutOfMemory(text)) => text,
            Err(other) => format!("other: {other}"),
        }
    }

    #[test]
    fn each_library_has_its_own_statuses_for_no_memory() {
        assert_eq!(
            checked(cufft::CREATE.symbol(), 2, "8 points"),
            "cufftCreate: CUFFT_ALLOC_FAILED (2): cuFFT could not allocate device or host memory \
             [8 points]"
        );
        for (function, code, name) in [
            (driver::MEM_ALLOC.symbol(), 2, "CUDA_ERROR_OUT_OF_MEMORY"),
            (runtime::MALLOC.symbol(), 2, "cudaErrorMemoryAllocation"),
            (cublas::CREATE.symbol(), 3, "CUBLAS_STATUS_ALLOC_FAILED"),
            (cublaslt::CREATE.symbol(), 3, "CUBLAS_STATUS_ALLOC_FAILED"),
            (cusolverdn::CREATE.symbol(), 2, "CUSOLVER_STATUS_ALLOC_FAILED"),
            (cusparse::CREATE.symbol(), 2, "CUSPARSE_STATUS_ALLOC_FAILED"),
            (cusparse::CREATE.symbol(), 11, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"),
            (curand::CREATE_GENERATOR.symbol(), 102, "CURAND_STATUS_ALLOCATION_FAILED"),
            (nvrtc::CREATE_PROGRAM.symbol(), 1, "NVRTC_ERROR_OUT_OF_MEMORY"),
        ] {
            let expected = format!("{}: {name} ({code}): ", function.c_name);
            let text = checked(function, code, "");
            assert!(text.starts_with(&expected), "{text}");
        }
        assert!(checked(cublaslt::CREATE.symbol(), 2, "").starts_with("other"));
    }

    #[test]
    fn other_statuses_stay_as_they_are() {
        assert_eq!(checked(cufft::CREATE.symbol(), 0, ""), "fine");
        assert_eq!(
            checked(cublaslt::CREATE.symbol(), 77, "of mine"),
            "other: cublasLtCreate: unknown status (77) [of mine]"
        );
        assert!(matches!(
            check(cufft::CREATE.symbol(), 5, |code| format!("status {code}")),
            Err(Error::Status(status))
                if status.library == "cufft" && status.code == 5 && status.context == "status 5"
        ));
    }

    #[test]
    fn every_library_has_its_statuses() {
        for (module, statuses) in STATUSES {
            assert!(!catalog::symbols_of(module).is_empty(), "{module}");
            assert_eq!(statuses[0].0, SUCCESS, "{module}");
        }
        for name in OUT_OF_MEMORY {
            let known = STATUSES.iter().flat_map(|(_, rows)| *rows);
            assert!(known.into_iter().any(|row| row.1 == name), "{name}");
        }
    }
}
