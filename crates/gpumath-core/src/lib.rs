//! GPU math in Rust: Fourier transforms ([`fft`]) and products of matrices ([`matmul`]), on NVIDIA
//! GPUs by cuFFT and cuBLASLt, and on the CPU without any library.
//!
//! Nothing is linked: the CUDA libraries are found at run time ([`loader`]), those of CUDA 12 or
//! 13, where NVIDIA's installers, package managers and the variables `CUDA_PATH` and
//! `LD_LIBRARY_PATH` put them. A missing library is an error that names the places that were
//! searched, and a program that computes on the CPU needs none.
//!
//! # On the CPU, or with slices on a GPU
//!
//! [`operation::compute`] takes operands that borrow slices, and returns a new one.
//! [`operation::Execution`] says where to compute.
//!
//! ```
//! use gpumath_core::fft::{Direction, Fft, FftArguments, FftRequest};
//! use gpumath_core::operation::{Execution, Operand, compute};
//!
//! let signal = [1.0, 0.0, 0.0, 0.0_f64];
//! let signal = Operand::of_slice(&signal, [4])?;
//! let forward = FftArguments { direction: Direction::Forward, factor: None };
//! let request = FftRequest::default();
//! let spectrum = compute::<Fft, [f64; 2]>(&request, &[&signal], forward, Execution::cpu())?;
//! assert_eq!(spectrum.memory, [[1.0, 0.0]; 3]);
//! # Ok::<(), gpumath_core::Error>(())
//! ```
//!
//! # With arrays of cudarc's
//!
//! With the feature `cudarc`, the module `cudarc` does the same with `CudaSlice`s
//! and their views, on any `CudaStream`:
//!
//! ```bash
//! cargo add gpumath-core --features cudarc
//! cargo add cudarc --features cuda-12080    # a release of CUDA that is not newer than the driver
//! ```
//!
//! # With other memory, and again and again
//!
//! A [`Plan`](operation::Plan) is made once for operands of some layouts, types and places, and is
//! kept in a cache. [`Plan::run`](operation::Plan::run) writes to memory that is given, works in
//! place where the request says so, and can be captured into a CUDA graph.
//! [`Operand::new`](operation::Operand::new) describes memory of any other library.

pub mod convolution;
pub mod cosine;
mod cpu_blas;
#[cfg(feature = "cudarc")]
pub mod cudarc;
pub mod device;
pub mod error;
pub mod fft;
pub mod handle;
mod kernels;
mod lane_fft;
pub mod loader;
pub mod matmul;
pub mod memory;
pub mod operation;
pub mod parallel;
pub mod process;
pub mod status;
pub mod structured_matmul;
pub mod tensor;
pub mod version;

pub use error::{Error, Result};
