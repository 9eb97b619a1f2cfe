//! CUDA devices, contexts, streams and events, over the driver's table in `gpumath_sys`.
//!
//! The driver is not touched before the first call that needs it. Contexts are always the devices' primary ones, which
//! the CUDA runtime, CuPy and PyTorch use too; they are retained once and never released.

mod context;
mod device;
mod device_set;
mod driver;
mod event;
mod graph;
mod polling;
mod sticky;
mod stream;
mod stream_order;

pub(crate) use context::primary_context;
pub use context::{ContextGuard, is_current};
pub use device::Device;
pub use device_set::Devices;
pub use driver::{begin_shutdown, count, driver_version};
pub(crate) use driver::{call, check, may_call_cuda_in_drop};
pub use event::Event;
pub use graph::{RelaxedCapture, drop_released, is_capturing, keep_with_graph};
pub use polling::PollingWait;
pub(crate) use sticky::check as check_sticky;
pub use sticky::note as note_status;
pub use stream::{Stream, is_default, query, synchronize};
pub use stream_order::order;
