//! CUDA devices, contexts, streams and events, over the driver's table in `gpumath_sys`.
//!
//! The driver is not touched before the first call that needs it. Contexts are always the devices' primary ones, which
//! the CUDA runtime, CuPy and PyTorch use too; they are retained once and never released.

mod context;
mod devices;
mod driver;
mod event;
mod graph;
mod order;
mod sticky;
mod stream;
mod wait;

pub(crate) use context::primary_context;
pub use context::{ContextGuard, Device, is_current};
pub use devices::Devices;
pub(crate) use driver::{call, check, may_free};
pub use driver::{close, count, driver_version};
pub use event::Event;
pub use graph::{RelaxedCapture, drop_released, is_capturing, keep_with_graph};
pub use order::order;
pub(crate) use sticky::check as check_sticky;
pub use sticky::note as note_status;
pub use stream::{Stream, is_default, query, synchronize};
pub use wait::Wait;
