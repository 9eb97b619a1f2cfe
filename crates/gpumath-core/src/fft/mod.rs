//! Fourier transforms: problem → plan → execute.

mod areas;
mod callback;
mod connected;
pub(crate) mod cufft;
mod host_operands;
mod multi;
mod outline;
mod passes;
mod plan;
mod problem;
mod request;
mod spread;
mod spread_memory;

pub use callback::{Callback, Callbacks};
pub use outline::{AdvancedLayout, Outline, Pass};
pub use plan::{Execution, FftPlan, Found};
pub use problem::{Direction, Kind, Norm, Precision, Problem};
pub use request::Request;
