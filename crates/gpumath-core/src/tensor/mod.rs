//! Operands without their array library: an address, an element type, a layout and a device.

mod batch;
mod dtype;
mod element;
mod layout;
mod overlap;

pub(crate) use batch::{BatchDim, BatchDims};
pub use dtype::DType;
pub use element::Element;
pub use layout::{Dims, Layout};
pub use overlap::Overlap;

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryLocation {
    /// Host memory.
    Host,
    /// Memory of the CUDA device with this ordinal.
    Device(i32),
}

impl MemoryLocation {
    /// Ordinal of the device; `None` for host memory.
    #[must_use]
    pub const fn device(self) -> Option<i32> {
        match self {
            Self::Host => None,
            Self::Device(ordinal) => Some(ordinal),
        }
    }

    /// The location in messages.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Host => "in host memory".to_owned(),
            Self::Device(ordinal) => format!("on CUDA device {ordinal}"),
        }
    }
}

/// A borrowed operand. It does not keep the memory alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorView {
    /// Address of the element at index (0, …, 0).
    pub ptr: usize,
    /// Element type.
    pub dtype: DType,
    /// Shape and strides.
    pub layout: Layout,
    /// Where it lives.
    pub device: MemoryLocation,
    /// Whether writing through `ptr` is forbidden.
    pub readonly: bool,
}

impl TensorView {
    /// Removes the first elements along a dimension, which has at least so many.
    pub(crate) fn remove_first(&mut self, dim: usize, count: i64) {
        let bytes = count * self.layout.strides[dim] * self.dtype.size() as i64;
        self.ptr = self.ptr.wrapping_add_signed(bytes as isize);
        self.layout.shape[dim] -= count;
    }

    /// Returns the lowest address and the number of bytes of the memory range that contains all
    /// elements.
    #[must_use]
    pub fn span(&self) -> (usize, usize) {
        let (low, high) = self.layout.offsets();
        let size = self.dtype.size();
        (
            self.ptr.wrapping_add_signed(low as isize * size as isize),
            (high - low + 1) as usize * size,
        )
    }

    /// Like [`Self::span`], but returns `None` for a view that cannot be: a negative extent,
    /// address 0, or a range that leaves the address space. A view without elements takes 0 bytes
    /// at any address.
    #[must_use]
    pub fn span_in_memory(&self) -> Option<(usize, usize)> {
        let (low, end) = self.layout.byte_range(self.dtype.size())?;
        if self.layout.is_empty() {
            return Some((self.ptr, 0));
        }
        let first = self.ptr.checked_add_signed(low)?;
        let end = self.ptr.checked_add_signed(end)?;
        (first != 0).then_some((first, end - first))
    }

    /// Returns the type, shape, strides and device in words, for messages.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "type {}, shape {} and strides {} {}",
            self.dtype,
            as_tuple(&self.layout.shape),
            as_tuple(&self.layout.strides),
            self.device.describe()
        )
    }
}

/// Returns numbers as Python writes a tuple.
fn as_tuple(numbers: &[i64]) -> String {
    if let [only] = numbers {
        return format!("({only},)");
    }
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("({})", texts.join(", "))
}
