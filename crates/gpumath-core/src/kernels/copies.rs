//! Launches copies: one of any number of dimensions, or two of few dimensions at once.

use std::ffi::CStr;

use super::tiled_copy::{Arguments, FEW};
use super::{TiledCopy, launch, launch_with};
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};

/// The argument of the kernels for copies of few dimensions: one copy or two, and how many blocks
/// do the second one.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Copies {
    second_blocks: u64,
    to: [usize; 2],
    from: [usize; 2],
    parts: [Arguments<u8, i32, FEW>; 2],
}

/// The kernels of `copy_words.cu` and `copy_squares.cu`.
pub(super) const WORDS: &str = concat!(include_str!("generated/copy_words.ptx"), "\0");
pub(super) const SQUARES: &str = concat!(include_str!("generated/copy_squares.ptx"), "\0");

/// An address to copy to, one to copy from, and how.
pub(crate) type CopyBetween<'a> = (usize, usize, &'a TiledCopy);

/// Enqueues a copy on `stream`, in the context of the stream's device. The work can be captured
/// into a graph.
///
/// # Safety
/// - The addresses are those of the elements with index (0, …, 0) of arrays with the layouts of
///   `copy`, in memory of the stream's device, and valid until the work is done.
/// - No two indices of the target share an element, and the arrays do not overlap.
pub(crate) unsafe fn copy(
    context: &ContextGuard,
    to: usize,
    from: usize,
    copy: &TiledCopy,
    stream: StreamRef,
) -> Result<()> {
    // SAFETY: the caller guarantees it.
    unsafe { copy_all(context, &[(to, from, copy)], stream) }
}

/// Enqueues copies that do not depend on each other, two at a time where one kernel can.
///
/// # Safety
/// As for [`copy`], for each of them.
pub(crate) unsafe fn copy_all(
    context: &ContextGuard,
    copies: &[CopyBetween<'_>],
    stream: StreamRef,
) -> Result<()> {
    let mut copies = copies.iter().filter(|(_, _, copy)| copy.tiles() > 0).peekable();
    while let Some(first @ &(to, from, copy)) = copies.next() {
        check(first)?;
        let is_in_pair = |other: &&CopyBetween<'_>| {
            copy.few().is_some() && other.2.is_like(copy) && other.2.few().is_some()
        };
        let second = copies.next_if(is_in_pair);
        let alone = |kernel, blocks: u64, arguments: usize| {
            let parameters = [&raw const to as usize, &raw const from as usize, arguments];
            // SAFETY: the kernel takes two addresses and the arguments of its kind of copy; the
            // caller guarantees that they fit the memory, and the addresses are aligned. It has
            // shared memory of its own.
            unsafe { launch(context, kernel, blocks, &parameters, stream) }
        };
        let flat = copy.flat().filter(|_| second.is_none());
        match (&flat, copy.few()) {
            (Some(flat), _) => {
                let arguments = std::ptr::from_ref(&flat.arguments) as usize;
                alone(flat.kernel(), flat.blocks(), arguments)?;
            }
            (None, None) => {
                let arguments = std::ptr::from_ref(copy.arguments()) as usize;
                alone(kernel(copy, false), copy.tiles(), arguments)?;
            }
            (None, Some(few)) => {
                let (other_to, other_from, other) = *second.unwrap_or(first);
                check(&(other_to, other_from, other))?;
                let second_blocks = second.map_or(0, |_| other.tiles());
                let arguments = Copies {
                    second_blocks,
                    to: [to, other_to],
                    from: [from, other_from],
                    parts: [few, other.few().unwrap_or(few)],
                };
                let launched = (copy.tiles() + second_blocks, copy.shared().max(other.shared()));
                let parameters = [&raw const arguments as usize];
                let kernel = kernel(copy, true);
                // SAFETY: the kernel takes this argument; the caller guarantees that it fits the
                // memory, and the addresses are aligned.
                unsafe { launch_with(context, kernel, launched, &parameters, stream) }?;
            }
        }
    }
    Ok(())
}

fn check(&(to, from, copy): &CopyBetween<'_>) -> Result<()> {
    let size = copy.alignment();
    match [to, from].into_iter().find(|address| !address.is_multiple_of(size)) {
        None => Ok(()),
        Some(address) => Err(Error::InvalidValue(format!(
            "the address {address:#x} of an array of elements of {size} bytes is not a multiple of \
             {size}; copy it to new memory first"
        ))),
    }
}

/// The code and the name of the kernel for a copy, in arrays of few dimensions or of many.
fn kernel(copy: &TiledCopy, are_few: bool) -> (&'static str, &'static CStr) {
    if copy.has_squares() {
        let name = match (copy.element_size(), are_few) {
            (1, true) => c"copies_square_1",
            (_, true) => c"copies_square_2",
            (1, false) => c"copy_square_1",
            (_, false) => c"copy_square_2",
        };
        return (SQUARES, name);
    }
    let name = match (copy.element_size(), are_few) {
        (1, true) => c"copies_1",
        (2, true) => c"copies_2",
        (4, true) => c"copies_4",
        (8, true) => c"copies_8",
        (_, true) => c"copies_16",
        (1, false) => c"copy_1",
        (2, false) => c"copy_2",
        (4, false) => c"copy_4",
        (8, false) => c"copy_8",
        (_, false) => c"copy_16",
    };
    (WORDS, name)
}
