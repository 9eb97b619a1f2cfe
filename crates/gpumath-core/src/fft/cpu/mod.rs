//! Transforms on the CPU: by the embedded engine, or by a library with FFTW's interface.

mod embedded;
mod engine;
mod fftw;
mod scale;
mod scratch;

pub(crate) use embedded::lines;
pub use engine::CpuFft;
pub use fftw::CpuLibrary;

use crate::error::Error;

/// Returns the error for operands of half precision.
fn half_precision_error() -> Error {
    Error::InvalidValue(
        "the CPU engines have single and double precision; convert the operand to complex64 or \
         float32, or run half precision on a GPU"
            .into(),
    )
}
