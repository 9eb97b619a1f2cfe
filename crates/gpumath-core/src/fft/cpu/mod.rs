//! Transforms on the CPU: passes over lines, which rustfft and realfft transform, `lane_fft` where
//! lines are strided, or a library with FFTW's interface.

mod engine;
mod fftw;
mod passes;
mod scale;

pub use engine::CpuFft;
pub use fftw::CpuLibrary;
pub(crate) use passes::lines;
