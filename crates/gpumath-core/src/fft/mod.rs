//! Fourier transforms: problem → plan → execute.

mod callback;
mod costs;
pub mod cpu;
pub(crate) mod cufft;
mod cufft_xt;
mod cufft_xt_handle;
mod cufft_xt_memory;
mod measured_costs;
mod multi_gpu;
mod passes;
mod peer_access;
mod plan;
mod plan_description;
mod problem;
mod request;
mod route;
mod transform;
mod workspace;

pub use callback::{Callback, Callbacks};
pub use plan::{Fft, FftArguments, FftEngine, FftPlan};
pub use plan_description::{AdvancedLayout, PassInfo, PlanDescription};
pub use problem::{Direction, FftProblem, Norm, Precision, TransformKind};
pub use request::{FftRequest, ResultLayout};
pub use transform::Transform;
