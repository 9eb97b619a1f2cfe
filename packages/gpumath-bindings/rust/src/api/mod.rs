//! `gpumath.bindings.core`: what the host library is built on.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "doc comments of Python classes are docstrings, in NumPy's style"
)]

pub(crate) mod array;
pub(crate) mod c_api;
pub(crate) mod device;
pub(crate) mod fft;
pub(crate) mod libraries;
pub(crate) mod matmul;
pub(crate) mod memory;
pub(crate) mod operation;
pub(crate) mod resize;
pub(crate) mod tensor_view;
