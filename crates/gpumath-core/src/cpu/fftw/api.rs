//! The functions of FFTW's interface that are used here, in one precision.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use gpumath_sys::dynlib::DynamicLibrary;

use crate::fft::Precision;
use crate::parallel::PerProcess;

/// `fftw_iodim64`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct IoDim64 {
    pub(super) n: isize,
    pub(super) from: isize,
    pub(super) to: isize,
}

pub(super) type RawPlan = *mut c_void;

pub(super) const PRESERVE_INPUT: c_uint = 1 << 4;
pub(super) const DESTROY_INPUT: c_uint = 1;
pub(super) const UNALIGNED: c_uint = 1 << 1;
pub(super) const ESTIMATE: c_uint = 1 << 6;

type PlanC2C = unsafe extern "C" fn(
    c_int,
    *const IoDim64,
    c_int,
    *const IoDim64,
    *mut c_void,
    *mut c_void,
    c_int,
    c_uint,
) -> RawPlan;
type PlanReal = unsafe extern "C" fn(
    c_int,
    *const IoDim64,
    c_int,
    *const IoDim64,
    *mut c_void,
    *mut c_void,
    c_uint,
) -> RawPlan;
pub(super) type Execute = unsafe extern "C" fn(RawPlan, *mut c_void, *mut c_void);

/// The functions of one precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct FftwApi {
    pub(super) real_size: isize,
    pub(super) plan_c2c: PlanC2C,
    pub(super) plan_r2c: PlanReal,
    pub(super) plan_c2r: PlanReal,
    pub(super) execute_c2c: Execute,
    pub(super) execute_r2c: Execute,
    pub(super) execute_c2r: Execute,
    pub(super) destroy_plan: unsafe extern "C" fn(RawPlan),
    pub(super) plan_with_threads: Option<unsafe extern "C" fn(c_int)>,
}

/// Planning is not thread-safe in FFTW's interface.
static PLANNER_LOCK: PerProcess<Mutex<()>> = PerProcess::new();

/// Runs `work` while nobody else in this process plans through here.
pub(super) fn with_planner_lock<R>(work: impl FnOnce() -> R) -> R {
    let lock = PLANNER_LOCK.get(Mutex::default);
    let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

impl FftwApi {
    /// The functions of `precision`, or the name of a symbol that is missing.
    pub(super) fn load(libraries: &[DynamicLibrary], precision: Precision) -> Result<Self, String> {
        let prefix = if precision == Precision::Single { "fftwf" } else { "fftw" };
        let find = |name: &str| {
            let symbol = format!("{prefix}_{name}");
            libraries.iter().find_map(|library| library.symbol(&symbol)).ok_or(symbol)
        };
        // SAFETY: these are the types that FFTW's manual gives to the symbols looked up.
        unsafe {
            let api = Self {
                real_size: precision.real().size() as isize,
                plan_c2c: function_at(find("plan_guru64_dft")?),
                plan_r2c: function_at(find("plan_guru64_dft_r2c")?),
                plan_c2r: function_at(find("plan_guru64_dft_c2r")?),
                execute_c2c: function_at(find("execute_dft")?),
                execute_r2c: function_at(find("execute_dft_r2c")?),
                execute_c2r: function_at(find("execute_dft_c2r")?),
                destroy_plan: function_at(find("destroy_plan")?),
                plan_with_threads: find("plan_with_nthreads").ok().map(|found| function_at(found)),
            };
            with_planner_lock(|| {
                if let Ok(found) = find("init_threads") {
                    function_at::<unsafe extern "C" fn() -> c_int>(found)();
                }
                // Other users of FFTW in this process do not know the lock above.
                if let Ok(found) = find("make_planner_thread_safe") {
                    function_at::<unsafe extern "C" fn()>(found)();
                }
            });
            Ok(api)
        }
    }
}

/// # Safety
/// `address` must be that of a function of type `F`.
pub(super) unsafe fn function_at<F: Copy>(address: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let pointer = std::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: the sizes agree; the caller vouches for the type.
    unsafe { std::mem::transmute_copy(&pointer) }
}
