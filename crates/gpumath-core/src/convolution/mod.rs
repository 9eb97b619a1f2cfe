//! Convolutions of arrays in device memory: as sums of products, and the steps around Fourier
//! transforms.

mod pieces;
mod spectra;
mod sums;

pub use pieces::join_pieces;
pub use spectra::multiply_spectra;
pub use sums::{check, convolve, takes};
