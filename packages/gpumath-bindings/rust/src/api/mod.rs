//! The module `gpumath.bindings.core`, on which the host library is built.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "doc comments of Python classes are docstrings, in NumPy's style"
)]

pub(crate) mod array;
pub(crate) mod c_api;
pub(crate) mod convolution;
pub(crate) mod cosine;
pub(crate) mod crop_or_pad;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod fft;
pub(crate) mod libraries;
pub(crate) mod matmul;
pub(crate) mod memory;
pub(crate) mod operation;
pub(crate) mod shutdown;
pub(crate) mod stream;
pub(crate) mod structured_matmul;
pub(crate) mod tensor_view;
pub(crate) mod wait;
