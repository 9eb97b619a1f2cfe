//! Operands of Rust programs.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::device::StreamRef;
use crate::error::{Error, Result};
use crate::tensor::{Element, Layout, MemoryLocation, TensorView};

/// Memory that is borrowed for executions: a slice, or memory of a device, which a stream orders.
///
/// It dereferences to the [`TensorView`] that describes it. Executions on one thread read and write
/// it one after the other, so it cannot be shared between threads.
#[derive(Debug)]
pub struct Operand<'a> {
    view: TensorView,
    stream: Option<StreamRef>,
    borrow: PhantomData<(&'a (), Cell<()>)>,
}

impl<'a> Operand<'a> {
    /// Borrows a slice to read it. A shape such as `[64, 1000]` stands for C order; a [`Layout`]
    /// with other strides begins at the first element too.
    ///
    /// # Errors
    /// `InvalidValue` if the layout leaves the slice.
    pub fn of_slice<T: Element>(slice: &'a [T], layout: impl Into<Layout>) -> Result<Self> {
        let view = view_of::<T>(slice.as_ptr() as usize, layout.into(), true);
        Self::within(view, size_of_val(slice))
    }

    /// Like [`Self::of_slice`], to read and write it.
    pub fn of_slice_mut<T: Element>(slice: &'a mut [T], layout: impl Into<Layout>) -> Result<Self> {
        let view = view_of::<T>(slice.as_mut_ptr() as usize, layout.into(), false);
        Self::within(view, size_of_val(slice))
    }

    /// Describes any memory. `stream` orders work on memory of a device.
    ///
    /// # Safety
    /// - `view` describes memory that is valid for reads, and for writes unless it is read-only,
    ///   until the work of executions with this operand is done.
    /// - Nothing else writes it meanwhile, nor reads it unless it is read-only; for memory of a
    ///   device that means: all other work on it is ordered by `stream`, which is one of that
    ///   device.
    #[must_use]
    pub const unsafe fn new(view: TensorView, stream: Option<StreamRef>) -> Self {
        Self { view, stream, borrow: PhantomData }
    }

    /// The stream that orders the work on memory of a device; `None` for host memory.
    #[must_use]
    pub const fn stream(&self) -> Option<StreamRef> {
        self.stream
    }

    /// Describes host memory of `size` bytes, which the caller has borrowed for `'a`.
    fn within(view: TensorView, size: usize) -> Result<Self> {
        check_range(&view, size)?;
        Ok(Self { view, stream: None, borrow: PhantomData })
    }
}

impl Deref for Operand<'_> {
    type Target = TensorView;

    fn deref(&self) -> &TensorView {
        &self.view
    }
}

/// Describes elements of a Rust type in host memory.
fn view_of<T: Element>(ptr: usize, layout: Layout, readonly: bool) -> TensorView {
    TensorView { ptr, dtype: T::DTYPE, layout, device: MemoryLocation::Host, readonly }
}

/// Returns `InvalidValue` unless all elements of `view` are in the `size` bytes from its first one.
pub(crate) fn check_range(view: &TensorView, size: usize) -> Result<()> {
    let layout = &view.layout;
    let fits = layout.shape.len() == layout.strides.len()
        && view.span_in_memory().is_some_and(|(start, span)| start == view.ptr && span <= size);
    if fits {
        return Ok(());
    }
    Err(Error::InvalidValue(format!(
        "an operand of {} does not fit into the {size} bytes from its first element; give more \
         memory, or another layout",
        view.describe()
    )))
}
