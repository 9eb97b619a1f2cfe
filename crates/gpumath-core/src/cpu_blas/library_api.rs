//! The functions of a library with the interface of CBLAS.

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use gpumath_sys::dynlib::DynamicLibrary;

use crate::loader::cpu_library::function_at;
use crate::process::PerProcess;

/// Names before and behind those of CBLAS. MKL has both sizes of integers in one file, so the names
/// for the larger ones come first.
const DECORATIONS: [(&str, &str); 5] =
    [("", "_64"), ("", "64_"), ("scipy_", "64_"), ("", ""), ("scipy_", "")];

/// The functions that multiply, and how the library is kept on one thread.
#[derive(Debug)]
pub(super) struct BlasApi {
    /// Whether integers have 64 bits.
    pub(super) has_long_integers: bool,
    /// Addresses of `cblas_sgemm`, `cblas_dgemm`, `cblas_cgemm` and `cblas_zgemm`.
    pub(super) gemm: [usize; 4],
    threads: Threads,
}

type SetThreads = unsafe extern "C" fn(c_int) -> c_int;
type GetThreads = unsafe extern "C" fn() -> c_int;

/// How the number of the library's own threads is set.
#[derive(Debug)]
enum Threads {
    /// There are none, or it cannot be set.
    None,
    /// For each calling thread; the function returns the number before.
    OfCaller(SetThreads),
    /// For the process.
    OfProcess(GetThreads, SetThreads),
}

/// How many threads are inside a library whose number of threads is that of the process, and the
/// number before.
static INSIDE: PerProcess<Mutex<(usize, c_int)>> = PerProcess::new();

impl BlasApi {
    /// Looks up the functions. The error says what is missing.
    pub(super) fn of(file: &DynamicLibrary) -> Result<Self, String> {
        let find = |(before, behind): (&str, &str), name: &str| {
            file.symbol(&format!("{before}{name}{behind}"))
        };
        let found = DECORATIONS.into_iter().find_map(|names| {
            let gemm = ["s", "d", "c", "z"].map(|type_| find(names, &format!("cblas_{type_}gemm")));
            let [Some(s), Some(d), Some(c), Some(z)] = gemm else { return None };
            Some((names, [s, d, c, z], find(names, "cblas_isamax")?))
        });
        let Some((names, gemm, isamax)) = found else {
            return Err("has no cblas_sgemm, cblas_dgemm, cblas_cgemm, cblas_zgemm and \
                        cblas_isamax, plain or with scipy_ before or 64_ or _64 behind"
                .into());
        };
        let has_long_integers = has_long_integers(isamax)
            .ok_or_else(|| "does not show whether its integers have 32 or 64 bits".to_owned())?;
        if names.1.contains("64") && !has_long_integers {
            return Err("has integers of 32 bits under names for 64 bits".into());
        }
        let threads = threads(file, |name| find(names, name));
        Ok(Self { has_long_integers, gemm, threads })
    }

    /// Calls `work`, in which the library uses no threads of its own.
    pub(super) fn on_this_thread<R>(&self, work: impl FnOnce() -> R) -> R {
        match self.threads {
            Threads::None => work(),
            Threads::OfCaller(set) => {
                // SAFETY: the functions take any positive number, and 0 for the default.
                unsafe {
                    let before = set(1);
                    let result = work();
                    set(before);
                    result
                }
            }
            Threads::OfProcess(get, set) => {
                let inside = INSIDE.get(Mutex::default);
                let lock = || inside.lock().unwrap_or_else(PoisonError::into_inner);
                {
                    let mut state = lock();
                    if state.0 == 0 {
                        // SAFETY: the function takes no argument.
                        state.1 = unsafe { get() };
                        if state.1 != 1 {
                            // SAFETY: the function takes any positive number.
                            unsafe { set(1) };
                        }
                    }
                    state.0 += 1;
                }
                let result = work();
                let mut state = lock();
                state.0 -= 1;
                if state.0 == 0 && state.1 != 1 {
                    // SAFETY: as above.
                    unsafe { set(state.1) };
                }
                result
            }
        }
    }
}

/// Finds how the library is kept on one thread.
fn threads(file: &DynamicLibrary, find: impl Fn(&str) -> Option<usize>) -> Threads {
    const OPENMP: c_int = 2;
    // SAFETY: the headers of MKL, NVPL and OpenBLAS give these types to the symbols. What the
    // function for the process returns is not used.
    unsafe {
        if let Some(set) = file.symbol("MKL_Set_Num_Threads_Local") {
            return Threads::OfCaller(function_at(set));
        }
        if let Some(set) = file.symbol("nvpl_blas_set_num_threads_local") {
            return Threads::OfCaller(function_at(set));
        }
        let parallel = find("openblas_get_parallel").map(|get| function_at::<GetThreads>(get)());
        let of_caller = ["openblas_set_num_threads_local"]
            .into_iter()
            .find_map(|name| file.symbol(name).filter(|_| parallel == Some(OPENMP)));
        if let Some(set) = of_caller {
            return Threads::OfCaller(function_at(set));
        }
        match (parallel, find("openblas_get_num_threads"), find("openblas_set_num_threads")) {
            (Some(0), ..) => Threads::None,
            (_, Some(get), Some(set)) => Threads::OfProcess(function_at(get), function_at(set)),
            _ => Threads::None,
        }
    }
}

/// Asks a library's `cblas_isamax` for the place of the greatest of so many numbers that this is 3
/// in 32 bits and negative in 64 bits: with long integers there are none. `None` if the answer is
/// neither.
fn has_long_integers(isamax: usize) -> Option<bool> {
    const COUNT: i64 = -(1 << 32) + 3;
    type Isamax = unsafe extern "C" fn(i64, *const f32, i64) -> usize;
    let numbers = [1.0_f32, 4.0, 2.0];
    // SAFETY: this is `cblas_isamax`. With integers of 32 bits it reads the lower half of each
    // argument's register, which makes them 3 and 1; it reads nothing of a negative number of them.
    let place = unsafe { function_at::<Isamax>(isamax)(COUNT, numbers.as_ptr(), 1) };
    match place as u32 {
        1 => Some(false),
        0 => Some(true),
        _ => None,
    }
}

/// `cblas_sgemm` and `cblas_dgemm` for integers `I` and elements `R`.
pub(super) type RealGemm<I, R> =
    unsafe extern "C" fn(c_int, c_int, c_int, I, I, I, R, *const R, I, *const R, I, R, *mut R, I);

/// `cblas_cgemm` and `cblas_zgemm` for integers `I`.
pub(super) type ComplexGemm<I> = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    I,
    I,
    I,
    *const c_void,
    *const c_void,
    I,
    *const c_void,
    I,
    *const c_void,
    *mut c_void,
    I,
);
