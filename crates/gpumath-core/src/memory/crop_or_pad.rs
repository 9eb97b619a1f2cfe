//! Copies of other extents: cut where they are shorter, filled up with zeros where they are longer.

use crate::error::{Error, Result};
use crate::kernels;
use crate::tensor::{MemoryLocation, TensorView};

/// Gives every element of `to` the value of the element of `from` at the same index, or zeros where there is none. In
/// device memory the work is enqueued on `stream`.
///
/// # Safety
/// Both are valid until the work is done, `to` is nobody else's, its elements are distinct, and the two do not overlap;
/// `stream` is a valid stream handle of the device.
pub unsafe fn crop_or_pad(to: &TensorView, from: &TensorView, stream: usize) -> Result<()> {
    if to.dtype != from.dtype || to.device != from.device || to.layout.ndim() != from.layout.ndim()
    {
        return Err(Error::InvalidValue(format!(
            "an array of {} cannot be filled with one of {}: element type, number of dimensions and device have to be equal",
            to.describe(),
            from.describe()
        )));
    }
    if to.layout.is_empty() {
        return Ok(());
    }
    // SAFETY: passed on, with the size of the element type.
    unsafe {
        match (to.device, to.dtype.size()) {
            (MemoryLocation::Device(device), _) => {
                return kernels::crop_or_pad(to, from, device, stream);
            }
            (MemoryLocation::Host, 1) => crop_or_pad_on_host::<[u8; 1]>(to, from),
            (MemoryLocation::Host, 2) => crop_or_pad_on_host::<[u8; 2]>(to, from),
            (MemoryLocation::Host, 4) => crop_or_pad_on_host::<[u8; 4]>(to, from),
            (MemoryLocation::Host, 8) => crop_or_pad_on_host::<[u8; 8]>(to, from),
            (MemoryLocation::Host, _) => crop_or_pad_on_host::<[u8; 16]>(to, from),
        }
    }
    Ok(())
}

/// # Safety
/// As for [`crop_or_pad`], in host memory, for elements of the size of `E`.
unsafe fn crop_or_pad_on_host<E: Copy + Default>(to: &TensorView, from: &TensorView) {
    let order = to.layout.memory_order();
    let Some((&inner, outer)) = order.split_last() else {
        // SAFETY: no dimensions: one element.
        unsafe { copy_line::<E>((to.ptr, 1), (from.ptr, 1), (1, 1)) };
        return;
    };
    let extents = |axis: usize| (to.layout.shape[axis], from.layout.shape[axis]);
    let lines: i64 = outer.iter().map(|&axis| to.layout.shape[axis]).product();
    let size = size_of::<E>() as i64;
    for line in 0..lines {
        let (mut rest, mut to_offset, mut from_offset, mut is_inside) = (line, 0, 0, true);
        for &axis in outer.iter().rev() {
            let (extent, given) = extents(axis);
            let index = rest % extent;
            rest /= extent;
            is_inside &= index < given;
            to_offset += index * to.layout.strides[axis];
            from_offset += index * from.layout.strides[axis];
        }
        let (extent, given) = extents(inner);
        let given = if is_inside { given } else { 0 };
        let to_line = to.ptr.wrapping_add_signed((to_offset * size) as isize);
        let from_line = from.ptr.wrapping_add_signed((from_offset * size) as isize);
        let to_line = (to_line, to.layout.strides[inner] as isize);
        let from_line = (from_line, from.layout.strides[inner] as isize);
        // SAFETY: a line of both layouts, as far as it is there.
        unsafe { copy_line::<E>(to_line, from_line, (extent as usize, given as usize)) };
    }
}

/// # Safety
/// `to` and its step are those of `extent` elements, `from` and its step those of `given`, if it is fewer.
unsafe fn copy_line<E: Copy + Default>(
    (to, to_step): (usize, isize),
    (from, from_step): (usize, isize),
    (extent, given): (usize, usize),
) {
    let to = std::ptr::with_exposed_provenance_mut::<E>(to);
    let from = std::ptr::with_exposed_provenance::<E>(from);
    let given = given.min(extent);
    // SAFETY: the caller vouches for the elements; arrays of bytes have no alignment.
    unsafe {
        if to_step == 1 && from_step == 1 {
            std::ptr::copy_nonoverlapping(from, to, given);
        } else {
            for index in 0..given as isize {
                *to.offset(index * to_step) = *from.offset(index * from_step);
            }
        }
        for index in given as isize..extent as isize {
            *to.offset(index * to_step) = E::default();
        }
    }
}
