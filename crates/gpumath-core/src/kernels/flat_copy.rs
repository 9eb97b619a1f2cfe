//! Copies to memory without gaps, where what a thread stores at once cannot be loaded at once.
//!
//! The kernels are those of `copy_flat.cu`. For elements of two bytes they take about two thirds of
//! the time of copies in tiles, of which each thread stores single elements.

use std::ffi::CStr;

use super::BLOCK;
use super::tiled_copy::{CopyDim, MAX_WORD};

/// The kernels of `copy_flat.cu`.
pub(super) const PTX: &str = concat!(include_str!("generated/copy_flat.ptx"), "\0");

const MAX_RANK: usize = 4;

/// Words that each thread stores, as `copy_flat.cu` has them.
const WORDS: u64 = 2;
/// A word has up to so many elements, and up to [`MAX_WORD`] bytes.
const MOST_ELEMENTS: usize = 4;

/// Copies of fewer elements take a few microseconds by either kernel.
const LEAST_ELEMENTS: i64 = 1 << 17;
/// Shorter lines are left to tiles, because a thread divides to find where each line starts.
const LEAST_LINE: i64 = 16;

/// A copy of elements of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlatCopy {
    size: usize,
    pub(super) arguments: Arguments,
}

/// The argument of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Arguments {
    elements: u32,
    rank: u32,
    dims: [Dim; MAX_RANK],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Dim {
    extent: u32,
    from: i32,
}

impl FlatCopy {
    /// Describes a copy of elements of `size` bytes. `None` if the target has gaps or more than the
    /// source, or if tiles take less time.
    pub(super) fn of(dims: &[CopyDim], size: usize) -> Option<Self> {
        let mut dims = dims.to_vec();
        dims.sort_by_key(|dim| dim.to);
        let fastest = dims.first()?;
        let is_slower = |dim: &CopyDim| dim.from == 0 || dim.from.abs() >= fastest.from.abs();
        let is_turned = !dims.iter().all(is_slower) || fastest.from == 0;
        let (mut elements, mut reach) = (1_i64, 0_i64);
        for dim in &dims {
            if dim.to != elements || dim.given != dim.extent {
                return None;
            }
            elements = elements.saturating_mul(dim.extent);
            reach = reach.saturating_add(dim.extent.saturating_mul(dim.from.saturating_abs()));
        }
        let is_small = elements < LEAST_ELEMENTS || fastest.extent < LEAST_LINE;
        let is_large = elements.max(reach) > i64::from(i32::MAX) || dims.len() > MAX_RANK;
        if is_turned || is_small || is_large || size >= MAX_WORD {
            return None;
        }
        let rank = dims.len() as u32;
        let mut narrow = [Dim::default(); MAX_RANK];
        for (narrow, dim) in narrow.iter_mut().zip(&dims) {
            *narrow = Dim { extent: dim.extent as u32, from: dim.from as i32 };
        }
        Some(Self { size, arguments: Arguments { elements: elements as u32, rank, dims: narrow } })
    }

    /// Bytes of the elements, and of the words that are stored.
    pub(super) fn sizes(self) -> [usize; 2] {
        [self.size, MAX_WORD.min(MOST_ELEMENTS * self.size)]
    }

    pub(super) fn blocks(self) -> u64 {
        let [element, word] = self.sizes();
        let per_block = WORDS * u64::from(BLOCK) * (word / element) as u64;
        u64::from(self.arguments.elements).div_ceil(per_block)
    }

    /// The code and the name of the kernel.
    pub(super) fn kernel(self) -> (&'static str, &'static CStr) {
        let name = match self.size {
            1 => c"copy_flat_1",
            2 => c"copy_flat_2",
            4 => c"copy_flat_4",
            _ => c"copy_flat_8",
        };
        (PTX, name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::super::TiledCopy;
    use super::*;
    use crate::tensor::Layout;

    /// The copy of an array of this shape and strides to one in C order.
    fn copy(shape: &[i64], strides: &[i64], size: usize, alignment: usize) -> Option<FlatCopy> {
        let from = Layout { shape: shape.into(), strides: strides.into() };
        TiledCopy::to_workspace(&Layout::contiguous(shape), &from, size, alignment).unwrap().flat()
    }

    #[test]
    fn which_copies_are_without_tiles() {
        for (shape, strides, size, expected) in [
            (&[401, 523][..], &[600, 1][..], 2, Some([2, 8])),
            (&[401, 523], &[600, 1], 1, Some([1, 4])),
            (&[401, 523], &[600, 1], 4, Some([4, 16])),
            (&[401, 523], &[600, 1], 8, Some([8, 16])),
            (&[401, 523], &[600, 1], 16, None),
            (&[401, 523], &[0, 1], 2, Some([2, 8])),
            (&[401, 523], &[1800, -3], 2, Some([2, 8])),
            // The elements of a line are the same, or neighbours in the source along another axis.
            (&[401, 523], &[1, 0], 2, None),
            (&[401, 523], &[1, 401], 2, None),
            (&[3, 401, 523], &[1, 1569, 3], 2, None),
            // Neighbours are joined where they can be.
            (&[801, 522], &[600, 1], 2, Some([4, 16])),
            (&[801, 520], &[600, 1], 2, None),
            // Few elements, and short lines.
            (&[101, 523], &[600, 1], 2, None),
            (&[52300, 15], &[20, 1], 2, None),
            // More than 32 bits count.
            (&[1 << 20, 2049], &[4096, 1], 2, None),
        ] {
            let found = copy(shape, strides, size, 256).map(FlatCopy::sizes);
            assert_eq!(found, expected, "{shape:?}, {strides:?}, {size}");
        }
    }

    #[test]
    fn the_arguments_say_where_each_element_is() {
        let (shape, strides) = ([5, 211, 301], [100_000, -401, 1]);
        let flat = copy(&shape, &strides, 2, 2).unwrap();
        let Arguments { elements, rank, dims } = flat.arguments;
        assert_eq!((i64::from(elements), rank), (shape.iter().product(), 3));
        assert_eq!(flat.blocks(), u64::from(elements).div_ceil(256 * 2 * 4));
        for element in 0..elements {
            let (mut rest, mut from) = (element, 0);
            for dim in &dims[..rank as usize] {
                from += i64::from(dim.from) * i64::from(rest % dim.extent);
                rest /= dim.extent;
            }
            let at = i64::from(element);
            let indices = [at / (211 * 301), at / 301 % 211, at % 301];
            let expected: i64 = indices.iter().zip(strides).map(|(at, step)| at * step).sum();
            assert_eq!(from, expected);
        }
        let parameter = format!("copy_flat_2_param_2[{}]", size_of::<Arguments>());
        assert!(PTX.contains(&parameter), "{parameter}");
    }
}
