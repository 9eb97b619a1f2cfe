//! The engine that needs no GPU.

mod buffer;
mod embedded;
pub mod fft;
mod parallel;
