//! What an operand is once its library no longer matters: an address, an element type, a layout, a device.

mod dtype;
mod layout;

pub use dtype::DType;
pub use layout::{Dims, Layout};

/// Where the elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// Host memory.
    Host,
    /// Memory of the CUDA device with this ordinal.
    Cuda(i32),
}

/// An operand, borrowed: nothing here keeps the memory alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorView {
    /// Address of the element at index (0, …, 0).
    pub ptr: usize,
    /// Element type.
    pub dtype: DType,
    /// Shape and strides.
    pub layout: Layout,
    /// Where it lives.
    pub device: Device,
    /// Whether writing through `ptr` is forbidden.
    pub readonly: bool,
}
