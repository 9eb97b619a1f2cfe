//! The engine that needs no GPU.

mod embedded;
pub mod fft;
mod fftw;
mod scale;
mod scratch;

pub use fftw::CpuLibrary;

use crate::error::Error;

fn half_precision_error() -> Error {
    Error::InvalidValue(
        "the CPU engines have single and double precision; convert the operand to complex64 or \
         float32, or run half precision on a GPU"
            .into(),
    )
}
