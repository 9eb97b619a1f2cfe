//! The driver as a whole: its initialisation, and when it must be left alone.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use gpumath_sys::generated::driver;

use crate::error::{Error, Result};
use crate::loader;
use crate::process::SetOnce;
use crate::status::{call, check, is_sticky_error_set};

/// `CUDA_ERROR_NO_DEVICE`
const NO_DEVICE: i32 = 100;

/// The process that initialised CUDA, or is about to; 0 before that.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// The result of that.
static INITIALISED: SetOnce<Result<()>> = SetOnce::new();
/// Whether the process is about to end.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);

/// Initialises the driver, once for the process. Fails with `InvalidState` in a child that was
/// forked after that, or while a thread of its parent did it.
pub(super) fn initialise() -> Result<()> {
    let result = INITIALISED.get();
    // Where CUDA could not be initialised, there is nothing that a child cannot use.
    if !matches!(result, Some(Err(_))) && !owns_cuda() {
        return Err(Error::InvalidState(
            "CUDA was initialised before this process was forked, and cannot be used here; start \
             worker processes with multiprocessing's \"spawn\" method, or fork before the first \
             CUDA call"
                .into(),
        ));
    }
    result.unwrap_or_else(|| INITIALISED.get_or_init(first_call)).clone()
}

/// Returns whether this process is the one that initialised CUDA, or may become it.
fn owns_cuda() -> bool {
    let process = std::process::id();
    let owner = OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
    owner.map_or_else(|owner| owner == process, |_| true)
}

fn first_call() -> Result<()> {
    let cpu = "computations can run on the CPU, with execution=\"cpu\"";
    let init = loader::function(&driver::INIT).map_err(|error| match error {
        Error::LibraryNotFound(missing) => Error::NoDevice(format!(
            "there is no NVIDIA driver on this machine ({}); {}; without a GPU, {cpu}",
            missing.reason, missing.fix
        )),
        other => other,
    })?;
    // SAFETY: cuInit(0) may be called at any time.
    match unsafe { init(0) } {
        NO_DEVICE => Err(Error::NoDevice(format!(
            "the NVIDIA driver is there, but sees no CUDA device (CUDA_VISIBLE_DEVICES hides \
             devices too); {cpu}"
        ))),
        code => check(driver::INIT.symbol(), code, |_| String::new()),
    }
}

/// Returns the number of CUDA devices that this process sees; 0 without a driver.
pub fn count() -> Result<i32> {
    match initialise() {
        Err(Error::NoDevice(_)) => return Ok(0),
        other => other?,
    }
    let mut count = 0_i32;
    // SAFETY: the driver writes one number to `count`, a live `i32`.
    unsafe { call!(driver::DEVICE_GET_COUNT, &raw mut count as usize) }?;
    Ok(count)
}

/// Returns the newest CUDA release that the driver supports, as major and minor number.
pub fn driver_version() -> Result<(i32, i32)> {
    let mut version = 0_i32;
    // SAFETY: the driver writes one number to `version`, a live `i32`.
    unsafe { call!(driver::DRIVER_GET_VERSION, &raw mut version as usize) }?;
    Ok((version / 1000, version % 1000 / 10))
}

/// Makes destructors leave everything to the end of the process from now on. The bindings call this
/// function when the interpreter exits, because CUDA may already be unloaded after that.
pub fn begin_shutdown() {
    SHUTTING_DOWN.store(true, Ordering::Relaxed);
}

/// Returns whether a destructor may call CUDA. It may not while the process ends, in a forked
/// child, or after a sticky error, which the destructor's own error would hide.
pub(crate) fn may_call_cuda_in_drop() -> bool {
    !SHUTTING_DOWN.load(Ordering::Relaxed)
        && !is_sticky_error_set()
        && INITIALISED.get().is_some()
        && OWNER.load(Ordering::Relaxed) == std::process::id()
}
