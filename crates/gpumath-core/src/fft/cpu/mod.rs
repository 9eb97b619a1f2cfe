//! Transforms on the CPU: passes over lines, which rustfft and realfft transform, or a library with
//! FFTW's interface.

mod embedded;
mod engine;
mod fftw;
mod scale;
mod scratch;

pub(crate) use embedded::lines;
pub use engine::CpuFft;
pub use fftw::CpuLibrary;
