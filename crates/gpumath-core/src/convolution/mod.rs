//! Convolutions as sums of products, and in device memory the steps around Fourier transforms.

mod host;
mod host_integers;
mod host_lines;
mod pieces;
mod spectra;
mod sums;

pub use pieces::join_pieces;
pub use spectra::multiply_spectra;
pub use sums::{check, convolve, takes};
