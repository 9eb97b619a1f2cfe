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
mod problem;
mod request;
mod route;

pub use callback::{Callback, Callbacks};
pub use passes::{Pass, Side};
pub use plan::{Fft, FftArguments, FftPlan};
pub use problem::{Direction, FftProblem, Norm, Precision, TransformKind};
pub use request::{FftRequest, ResultLayout};
pub use route::Route;
