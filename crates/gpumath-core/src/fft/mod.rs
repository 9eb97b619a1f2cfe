//! Fourier transforms: problem → plan → execute.

mod callback;
pub(crate) mod cufft;
mod cufft_xt;
mod cufft_xt_memory;
mod host_operands;
mod multi_gpu;
mod passes;
mod peer_access;
mod plan;
mod plan_description;
mod problem;
mod request;
mod transform;
mod workspace;

pub use callback::{Callback, Callbacks};
pub use plan::{Execution, FftPlan, Found};
pub use plan_description::{AdvancedLayout, PassInfo, PlanDescription};
pub use problem::{Direction, Norm, Precision, Problem, TransformKind};
pub use request::Request;
pub use transform::Transform;
