//! CUDA devices, contexts, streams and events, over the driver's table in `gpumath_sys`.
//!
//! The driver is not touched before the first call that needs it. Contexts are always the devices'
//! primary ones, which the CUDA runtime, CuPy and PyTorch use too; they are retained once and never
//! released.
//!
//! Most functions enter the context of their device ([`ContextGuard::enter`]). A function whose
//! name ends with `_in` takes the guard instead, as proof that the context is current, so that a
//! chain of calls asks the driver once.
//!
//! Destructors call CUDA only if `may_call_cuda_in_drop` allows it, and ignore its errors, which
//! they cannot report.

mod context;
#[expect(clippy::module_inception, reason = "a file is named after its main type, here `Device`")]
mod device;
mod device_set;
mod driver;
mod event;
mod graph;
mod polling;
mod stream;
mod stream_order;

pub(crate) use context::primary_context;
pub use context::{ContextGuard, is_current};
pub use device::Device;
pub use device_set::Devices;
pub(crate) use driver::may_call_cuda_in_drop;
pub use driver::{begin_shutdown, count, driver_version};
pub use event::Event;
pub use graph::{CaptureStatus, RelaxedCapture, drop_released, keep_with_graph};
pub use polling::PollingWait;
pub use stream::{Stream, StreamRef};
