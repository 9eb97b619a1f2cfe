//! Copies to an array of other extents: cropped where it is shorter, padded with zeros where it is
//! longer.

use smallvec::smallvec;

use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::kernels::{self, CopyBetween, TiledCopy};
use crate::tensor::{Dims, MemoryLocation, TensorView};

/// Sets every element of `to` to the element of `from` whose index is greater by `starts`, or to
/// zero if `from` has no such element. Without `starts` the indices are equal. In device memory the
/// work is enqueued on `stream`, a stream of the arrays' device; in host memory `stream` is
/// ignored.
///
/// # Safety
/// - Both arrays are valid until the work is done, and nothing else uses `to` until then.
/// - The elements of `to` are distinct, and the arrays do not overlap.
pub unsafe fn crop_or_pad(
    to: &TensorView,
    from: &TensorView,
    starts: &[i64],
    stream: StreamRef,
) -> Result<()> {
    let ndim = to.layout.ndim();
    let are_alike = (to.dtype, to.device, ndim) == (from.dtype, from.device, from.layout.ndim());
    if !are_alike || !(starts.is_empty() || starts.len() == ndim) {
        return Err(Error::InvalidValue(format!(
            "an array of {} cannot be filled with one of {} from {starts:?} on: element type, \
             number of dimensions and device have to be equal",
            to.describe(),
            from.describe()
        )));
    }
    if to.layout.is_empty() {
        return Ok(());
    }
    if let MemoryLocation::Device(device) = to.device
        && device != stream.device()
    {
        return Err(Error::InvalidValue(format!(
            "the stream is of device {}, but the arrays are on device {device}; give a stream of \
             that",
            stream.device()
        )));
    }
    let parts = parts(to, from, starts);
    let size = to.dtype.size();
    let MemoryLocation::Device(device) = to.device else {
        for (to, from) in parts {
            // SAFETY: the caller's guarantees are those that the functions ask for, also for parts
            // of the arrays, and the elements have the size of the type.
            unsafe {
                match size {
                    1 => crop_or_pad_on_host::<[u8; 1]>(&to, &from),
                    2 => crop_or_pad_on_host::<[u8; 2]>(&to, &from),
                    4 => crop_or_pad_on_host::<[u8; 4]>(&to, &from),
                    8 => crop_or_pad_on_host::<[u8; 8]>(&to, &from),
                    _ => crop_or_pad_on_host::<[u8; 16]>(&to, &from),
                }
            }
        }
        return Ok(());
    };
    let copies = parts
        .iter()
        .map(|(to, from)| TiledCopy::of(&to.layout, &from.layout, size))
        .collect::<Result<Vec<_>>>()?;
    let copies: Vec<CopyBetween<'_>> =
        parts.iter().zip(&copies).map(|((to, from), copy)| (to.ptr, from.ptr, copy)).collect();
    let context = ContextGuard::enter(device)?;
    // SAFETY: as above.
    unsafe { kernels::copy_all(&context, &copies, stream) }
}

/// Returns parts of `to` and of `from`, in which equal indices belong together: what lies before
/// the first element of `from` along each dimension, with no elements of that, and the rest.
fn parts(to: &TensorView, from: &TensorView, starts: &[i64]) -> Vec<(TensorView, TensorView)> {
    let (mut to, mut from) = (to.clone(), from.clone());
    let mut parts = Vec::with_capacity(1);
    for (dim, &start) in starts.iter().enumerate() {
        let before = start.saturating_neg().clamp(0, to.layout.shape[dim]);
        if before > 0 {
            let (mut zeros, mut nothing) = (to.clone(), from.clone());
            zeros.layout.shape[dim] = before;
            nothing.layout.shape[dim] = 0;
            parts.push((zeros, nothing));
            to.remove_first(dim, before);
        }
        let skipped = start.clamp(0, from.layout.shape[dim]);
        from.remove_first(dim, skipped);
    }
    if !to.layout.is_empty() {
        parts.push((to, from));
    }
    parts
}

/// # Safety
/// - As for [`crop_or_pad`], with both arrays in host memory.
/// - The elements have the size of `E`.
unsafe fn crop_or_pad_on_host<E: Copy + Default>(to: &TensorView, from: &TensorView) {
    let order = to.layout.memory_order();
    let Some((&inner, outer)) = order.split_last() else {
        // SAFETY: without dimensions each array has one element, which the caller guarantees to be
        // valid.
        unsafe { copy_line::<E>((to.ptr, 1), (from.ptr, 1), (1, 1)) };
        return;
    };
    let extents = |axis: usize| (to.layout.shape[axis], from.layout.shape[axis]);
    let lines: i64 = outer.iter().map(|&axis| to.layout.shape[axis]).product();
    let size = size_of::<E>() as i64;
    let (to_step, from_step) = (to.layout.strides[inner] as isize, from.layout.strides[inner]);
    let (extent, given) = extents(inner);
    // The place of a line along the outer dimensions. Divisions by their extents would take longer
    // than a short line.
    let mut place: Dims = smallvec![0; outer.len()];
    let (mut to_offset, mut from_offset) = (0, 0);
    for _ in 0..lines {
        let is_inside = outer.iter().zip(&place).all(|(&axis, &at)| at < extents(axis).1);
        let given = if is_inside { given } else { 0 };
        let to_line = (to.ptr.wrapping_add_signed((to_offset * size) as isize), to_step);
        let from_line = from.ptr.wrapping_add_signed((from_offset * size) as isize);
        let from_line = (from_line, from_step as isize);
        // SAFETY: the offsets are those of one line of each layout, whose elements the caller
        // guarantees to be valid; `given` is 0 where `from` has no such line.
        unsafe { copy_line::<E>(to_line, from_line, (extent as usize, given as usize)) };
        for (&axis, at) in outer.iter().zip(&mut place).rev() {
            *at += 1;
            to_offset += to.layout.strides[axis];
            from_offset += from.layout.strides[axis];
            let extent = to.layout.shape[axis];
            if *at < extent {
                break;
            }
            *at = 0;
            to_offset -= extent * to.layout.strides[axis];
            from_offset -= extent * from.layout.strides[axis];
        }
    }
}

/// # Safety
/// - `to` is the address of `extent` elements that are `to_step` elements apart, and can be
///   written.
/// - `from` is the address of at least the lesser of `given` and `extent` elements that are
///   `from_step` apart.
/// - The elements of the two do not overlap.
unsafe fn copy_line<E: Copy + Default>(
    (to, to_step): (usize, isize),
    (from, from_step): (usize, isize),
    (extent, given): (usize, usize),
) {
    let to = std::ptr::with_exposed_provenance_mut::<E>(to);
    let from = std::ptr::with_exposed_provenance::<E>(from);
    let given = given.min(extent);
    // SAFETY: the caller guarantees that the elements are valid; they are arrays of bytes, which
    // any address aligns.
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
