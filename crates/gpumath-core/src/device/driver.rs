//! The driver as a whole: its initialisation, its statuses, and when it must be left alone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gpumath_sys::generated::driver;
use gpumath_sys::table::Symbol;

use super::sticky;
use crate::error::{Error, Result, Status};
use crate::loader;

const SUCCESS: i32 = 0;
const OUT_OF_MEMORY: i32 = 2;
const NO_DEVICE: i32 = 100;

/// Calls a function of the driver's table and turns its status into a `Result`. Needs an unsafe context: the
/// arguments must be what the C declaration asks for.
macro_rules! call {
    ($function:path $(, $argument:expr)* $(,)?) => {
        crate::loader::function(&$function).and_then(|function| {
            crate::device::check($function.symbol(), function($($argument),*))
        })
    };
}
pub(crate) use call;

/// `Ok` for success, otherwise the error that the status means.
pub(crate) fn check(function: &'static Symbol, code: i32) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        OUT_OF_MEMORY => {
            Err(Error::OutOfMemory(format!("{}: the device is out of memory", function.c_name)))
        }
        _ => Err(sticky::error(Status {
            library: "driver",
            function: function.c_name,
            code,
            context: String::new(),
        })),
    }
}

/// The process that initialised CUDA, and how that went.
static INITIALISED: OnceLock<(u32, Result<()>)> = OnceLock::new();
static CLOSING: AtomicBool = AtomicBool::new(false);

/// Initialises the driver once.
pub(super) fn initialise() -> Result<()> {
    let (process, result) = INITIALISED.get_or_init(|| (std::process::id(), first_call()));
    if *process != std::process::id() {
        return Err(Error::InvalidState(
            "CUDA was initialised before this process was forked, and cannot be used here; start worker processes \
             with multiprocessing's \"spawn\" method, or fork before the first CUDA call"
                .into(),
        ));
    }
    result.clone()
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
            "the NVIDIA driver is there and sees no CUDA device (CUDA_VISIBLE_DEVICES hides devices too); {cpu}"
        ))),
        code => check(driver::INIT.symbol(), code),
    }
}

/// Number of CUDA devices that this process sees; 0 without a driver.
pub fn count() -> Result<i32> {
    match initialise() {
        Err(Error::NoDevice(_)) => return Ok(0),
        other => other?,
    }
    let mut count = 0_i32;
    // SAFETY: the address is that of a live i32.
    unsafe { call!(driver::DEVICE_GET_COUNT, &raw mut count as usize) }?;
    Ok(count)
}

/// The newest CUDA release that the driver supports, as major and minor number.
pub fn driver_version() -> Result<(i32, i32)> {
    let mut version = 0_i32;
    // SAFETY: the address is that of a live i32.
    unsafe { call!(driver::DRIVER_GET_VERSION, &raw mut version as usize) }?;
    Ok((version / 1000, version % 1000 / 10))
}

/// From now on destructors leave everything to the end of the process. The bindings call it when the interpreter exits:
/// after that, CUDA may already be gone.
pub fn begin_shutdown() {
    CLOSING.store(true, Ordering::Relaxed);
}

/// Whether a destructor may call CUDA: not while the process ends, not in a forked child, and not after a sticky error,
/// which a destructor's own would bury.
pub(crate) fn may_call_cuda_in_drop() -> bool {
    !CLOSING.load(Ordering::Relaxed)
        && !sticky::is_set()
        && INITIALISED.get().is_some_and(|&(process, _)| process == std::process::id())
}
