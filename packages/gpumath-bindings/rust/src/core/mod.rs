//! `gpumath.bindings.core`: what the host library is built on.

pub(crate) mod device;
pub(crate) mod fft;
pub(crate) mod libraries;
pub(crate) mod memory;
pub(crate) mod tensor;
