//! GPU math without Python: where the CUDA libraries are, what a device is, how memory is owned,
//! and how a problem becomes a plan that runs on the GPU or on the CPU.

pub mod device;
pub mod error;
pub mod fft;
pub mod handle;
mod kernels;
pub mod loader;
pub mod matmul;
pub mod memory;
pub mod operation;
mod parallel;
pub mod process;
pub mod status;
pub mod tensor;
pub mod version;

pub use error::{Error, Result};
