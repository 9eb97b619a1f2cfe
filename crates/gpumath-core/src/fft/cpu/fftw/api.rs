//! The functions of FFTW's interface that gpumath calls, in one precision.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Mutex;

use gpumath_sys::dynlib::DynamicLibrary;

use crate::fft::Precision;
use crate::loader::cpu_library::function_at;
use crate::process::PerProcess;

/// C struct `fftw_iodim64`: an extent, and a stride in the input and in the output, in elements.
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
    pub(super) plan_c2c: PlanC2C,
    pub(super) plan_r2c: PlanReal,
    pub(super) plan_c2r: PlanReal,
    pub(super) execute_c2c: Execute,
    pub(super) execute_r2c: Execute,
    pub(super) execute_c2r: Execute,
    pub(super) destroy_plan: unsafe extern "C" fn(RawPlan),
    /// `None` if the library has no threads of its own, which plans here do without.
    pub(super) plan_with_threads: Option<unsafe extern "C" fn(c_int)>,
}

/// Held while plans are made and destroyed, because the planner of FFTW's interface is not
/// thread-safe.
static PLANNER_LOCK: PerProcess<Mutex<()>> = PerProcess::new();

/// Calls `work` while no other call of this function in the process runs. Blocks until the others
/// are done.
pub(super) fn with_planner_lock<R>(work: impl FnOnce() -> R) -> R {
    let _guard = PLANNER_LOCK.lock();
    work()
}

impl FftwApi {
    /// Looks up the functions of `precision`. The error is the name of a symbol that is missing.
    pub(super) fn load(libraries: &[DynamicLibrary], precision: Precision) -> Result<Self, String> {
        let prefix = if precision == Precision::Single { "fftwf" } else { "fftw" };
        let find = |name: &str| {
            let symbol = format!("{prefix}_{name}");
            libraries.iter().find_map(|library| library.symbol(&symbol)).ok_or(symbol)
        };
        // SAFETY: FFTW's manual gives these types to the symbols.
        unsafe {
            let api = Self {
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
                // Other users of FFTW in this process do not take our lock.
                if let Ok(found) = find("make_planner_thread_safe") {
                    function_at::<unsafe extern "C" fn()>(found)();
                }
            });
            Ok(api)
        }
    }
}
