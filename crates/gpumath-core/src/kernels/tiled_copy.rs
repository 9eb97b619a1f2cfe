//! Copies of one array to another of any strides, cropped or padded with zeros, in tiles.
//!
//! `copy.cu` says how a block copies a tile. Here it is decided which dimensions a tile
//! spans, and how far.

use super::flat_copy::FlatCopy;
use super::{MAX_RANK, filled};
use crate::error::{Error, Result};
use crate::tensor::{BatchDim, BatchDims, Layout};

/// Binary logarithm of the threads of a block, and of the elements of a tile at most.
const THREAD_BITS: i64 = 8;
const TILE_BITS: i64 = 11;
/// Of small copies, which have so many elements at most.
const SMALL_TILE_BITS: i64 = 10;
const SMALL_COPY: i64 = 1 << 21;
/// Blocks that fill a large GPU: tiles are smaller where there would be fewer.
const MANY_BLOCKS: i64 = 264;
/// A dimension of at most 2^2 elements is thin: a tile has all of them.
const THIN_BITS: i64 = 2;
/// Elements that a block reads in a row where it turns tiles, as a binary logarithm. They fill a
/// cache line.
const ROW_BITS: i64 = 5;

/// Bytes that a thread loads at once at most.
pub(super) const MAX_WORD: usize = 16;
/// Bytes that it loads at once of smaller elements that are turned.
const SQUARE_WORD: usize = 4;

/// A kernel starts sooner if its argument has few dimensions, which most copies have, and if it is
/// for small tiles.
pub(super) const FEW: usize = 4;

/// The argument of the kernels.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Arguments<Number, Index, const RANK: usize> {
    tiles: u64,
    rank: Number,
    is_turned: Number,
    rounds: Number,
    tiling: Tiling<Number>,
    dims: [TiledDim<Index>; RANK],
}

/// A dimension of both arrays, and how many tiles there are along it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct TiledDim<Index> {
    extent: Index,
    given: Index,
    from: Index,
    to: Index,
    count: Index,
}

impl TiledDim<i64> {
    /// Takes fewer bytes for each number; `None` if one of them does not fit.
    fn narrow(&self) -> Option<TiledDim<i32>> {
        let of = |number: i64| i32::try_from(number).ok();
        Some(TiledDim {
            extent: of(self.extent)?,
            given: of(self.given)?,
            from: of(self.from)?,
            to: of(self.to)?,
            count: of(self.count)?,
        })
    }
}

/// How a tile lies in the first three dimensions, and the threads in a tile, as binary logarithms.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Tiling<Number> {
    bits: [Number; 3],
    /// Threads along dimensions 0 and 1, for reading and for writing. The others are along
    /// dimension 2.
    read_threads: [Number; 2],
    write_threads: [Number; 2],
    /// Dimension along which a thread goes from one element to the next, and its steps.
    read: [Number; 2],
    write: [Number; 2],
}

/// A copy between arrays of two layouts.
#[derive(Debug)]
pub(crate) struct TiledCopy {
    /// Bytes of a word: what a thread loads and stores at once, and strides count.
    size: usize,
    /// How many words a thread turns at a time, each of so many elements; else 1.
    square: usize,
    arguments: Box<Arguments<i64, i64, MAX_RANK>>,
    /// The same in fewer bytes, of a small copy of few dimensions.
    few: Option<Arguments<u8, i32, FEW>>,
    /// The copy without tiles, where that takes less time.
    flat: Option<FlatCopy>,
}

/// A dimension of both arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyDim {
    pub(super) extent: i64,
    /// How many of these elements the source has.
    pub(super) given: i64,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// What stands for a dimension that is not there.
const NONE: CopyDim = CopyDim { extent: 1, given: 1, from: 0, to: 0 };

impl TiledCopy {
    /// Bytes of the argument of the kernels.
    #[cfg(test)]
    pub(super) const ARGUMENTS_SIZE: usize = size_of::<Arguments<i64, i64, MAX_RANK>>();

    /// Describes a copy of elements of `size` bytes. Both layouts have as many dimensions.
    pub(crate) fn of(to: &Layout, from: &Layout, size: usize) -> Result<Self> {
        Self::of_aligned(to, from, size, size)
    }

    /// Like [`Self::of`], where the addresses are multiples of `alignment` bytes: elements that are
    /// neighbours in both arrays are copied together, up to 16 bytes at a time. Small elements that
    /// are neighbours along one dimension in the source and along another one in the target are
    /// copied in squares.
    pub(crate) fn of_aligned(
        to: &Layout,
        from: &Layout,
        size: usize,
        alignment: usize,
    ) -> Result<Self> {
        let mut dims = dims(to, from);
        let size = size * join_neighbours(&mut dims, size, alignment);
        let target = position_of_least(&dims, |dim| dim.to);
        let source = position_of_least(&dims, |dim| dim.from);
        // Where the source is as fast along the target's dimension, nothing has to be turned.
        let source = match (source, target) {
            (Some(source), Some(target)) if dims[source].from.abs() < dims[target].from.abs() => {
                source
            }
            (Some(source), Some(target)) if dims[target].from == 0 => source,
            (_, target) => target.unwrap_or(0),
        };
        let target = target.filter(|&target| target != source);
        let square = target.map_or(1, |target| {
            join_squares(&mut dims, (source, target), size, alignment) as usize
        });
        let size = size * square;
        let first = dims.get(source).copied().unwrap_or(NONE);
        let second = target.map(|target| dims[target]);
        // One square along either dimension is turned by its thread.
        let is_turned =
            second.is_some_and(|second| square == 1 || first.extent > 1 && second.extent > 1);
        let mut position = 0;
        dims.retain(|_| {
            position += 1;
            position - 1 != source && Some(position - 1) != target
        });
        dims.sort_by_key(|dim| dim.extent);
        let second = second.or_else(|| dims.pop()).unwrap_or(NONE);
        let third = dims.pop().unwrap_or(NONE);
        let elements = [first, second, third]
            .iter()
            .chain(&dims)
            .fold(1_i64, |elements, dim| elements.saturating_mul(dim.extent));
        let tile_bits = tile_bits(elements);
        let tiling = Tiling::of(first, second, third, is_turned, tile_bits);
        dims.splice(0..0, [first, second, third]);
        let counts: Vec<i64> = dims
            .iter()
            .enumerate()
            .map(|(index, dim)| match tiling.bits.get(index) {
                Some(&bits) => (dim.extent + (1 << bits) - 1) >> bits,
                None => dim.extent,
            })
            .collect();
        let tiles = counts.iter().try_fold(1_u64, |tiles, &count| tiles.checked_mul(count as u64));
        let Some(tiles) = tiles.filter(|&tiles| u32::try_from(tiles).is_ok()) else {
            return Err(Error::InvalidValue(format!(
                "a copy of an array of shape {:?} and strides {:?} is too much for a kernel: copy \
                 parts of it",
                from.shape.as_slice(),
                from.strides.as_slice()
            )));
        };
        let all: Vec<TiledDim<i64>> = dims
            .iter()
            .zip(counts)
            .map(|(&CopyDim { extent, given, from, to }, count)| TiledDim {
                extent,
                given,
                from,
                to,
                count,
            })
            .collect();
        let arguments = Arguments {
            tiles,
            rank: dims.len() as i64,
            is_turned: i64::from(is_turned),
            rounds: 1 << (tile_bits - THREAD_BITS),
            tiling,
            dims: filled(&all)?,
        };
        let few = arguments.few();
        Ok(Self { size, square, few, arguments: Box::new(arguments), flat: None })
    }

    /// Like [`Self::of_aligned`], for a part of the workspace as the target: it is aligned to
    /// [`MAX_WORD`] bytes, and the last one of its words of so many bytes need not be full.
    pub(crate) fn to_workspace(
        to: &Layout,
        from: &Layout,
        size: usize,
        alignment: usize,
    ) -> Result<Self> {
        let mut joined = dims(to, from);
        let joined_size = size * join_neighbours(&mut joined, size, alignment);
        let flat = FlatCopy::of(&joined, joined_size);
        Ok(Self { flat, ..Self::of_aligned(to, from, size, alignment)? })
    }

    /// Bytes that addresses are multiples of.
    pub(crate) fn alignment(&self) -> usize {
        self.size
    }

    /// Bytes of the smallest part that is copied at once by itself.
    pub(crate) fn element_size(&self) -> usize {
        self.size / self.square
    }

    /// The copy without tiles; `None` where tiles take less time.
    pub(super) fn flat(&self) -> Option<FlatCopy> {
        self.flat
    }

    /// Whether one kernel can make both copies.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.size, self.square) == (other.size, other.square)
    }

    /// Whether small elements are turned in squares.
    pub(super) fn has_squares(&self) -> bool {
        self.square > 1
    }

    /// Number of tiles, each of which is work for one block.
    pub(super) fn tiles(&self) -> u64 {
        self.arguments.tiles
    }

    pub(super) fn arguments(&self) -> &Arguments<i64, i64, MAX_RANK> {
        &self.arguments
    }

    /// The arguments of a small copy of few dimensions, in fewer bytes; `None` if it is another.
    pub(super) fn few(&self) -> Option<Arguments<u8, i32, FEW>> {
        self.few
    }

    /// Bytes of shared memory of a block: a tile that is turned, with one more column in each row.
    pub(super) fn shared(&self) -> u32 {
        let [rows, columns, planes] = self.arguments.tiling.bits;
        let elements = ((1_u64 << columns) + 1) << (rows + planes);
        if self.arguments.is_turned == 0 {
            0
        } else {
            elements as u32 * (self.size * self.square) as u32
        }
    }
}

impl Arguments<i64, i64, MAX_RANK> {
    /// The same in fewer bytes, if it is a small copy of few dimensions.
    fn few(&self) -> Option<Arguments<u8, i32, FEW>> {
        let Arguments { tiles, rank, is_turned, rounds, ref tiling, ref dims } = *self;
        let narrow = Tiling {
            bits: tiling.bits.map(|bits| bits as u8),
            read_threads: tiling.read_threads.map(|bits| bits as u8),
            write_threads: tiling.write_threads.map(|bits| bits as u8),
            read: tiling.read.map(|number| number as u8),
            write: tiling.write.map(|number| number as u8),
        };
        // How far a thread can get in either array, also beyond its end.
        let reach =
            dims.iter().take(rank as usize).enumerate().fold(0_i64, |reach, (index, dim)| {
                let extent = dim.count << tiling.bits.get(index).unwrap_or(&0);
                let step = dim.from.saturating_abs().max(dim.to.saturating_abs());
                reach.saturating_add(extent.saturating_mul(step))
            });
        let are_small = rounds <= 1 << (SMALL_TILE_BITS - THREAD_BITS);
        if rank > FEW as i64 || !are_small || reach > i64::from(i32::MAX) {
            return None;
        }
        let mut few = [TiledDim::default(); FEW];
        for (few, dim) in few.iter_mut().zip(dims) {
            *few = dim.narrow()?;
        }
        Some(Arguments {
            tiles,
            rank: rank as u8,
            is_turned: is_turned as u8,
            rounds: rounds as u8,
            tiling: narrow,
            dims: few,
        })
    }
}

/// Returns the dimensions of a copy: merged where both arrays have all elements, and without those
/// of which there is one element only.
fn dims(to: &Layout, from: &Layout) -> Vec<CopyDim> {
    let axes = || (0..to.ndim()).filter(|&axis| to.shape[axis] != 1 || from.shape[axis] == 0);
    let is_whole = |&axis: &usize| to.shape[axis] == from.shape[axis];
    let whole = BatchDims::merged(axes().filter(is_whole).map(|axis| BatchDim {
        extent: to.shape[axis],
        strides: [from.strides[axis], to.strides[axis]],
    }));
    let cut = axes().filter(|axis| !is_whole(axis)).map(|axis| CopyDim {
        extent: to.shape[axis],
        given: from.shape[axis],
        from: from.strides[axis],
        to: to.strides[axis],
    });
    let whole = whole.iter().map(|&BatchDim { extent, strides: [from, to] }| CopyDim {
        extent,
        given: extent,
        from,
        to,
    });
    whole.chain(cut).collect()
}

/// Makes one element of as many neighbours as both arrays allow, and returns how many these are.
fn join_neighbours(dims: &mut [CopyDim], size: usize, alignment: usize) -> usize {
    let along = |dim: &CopyDim| dim.from == 1 && dim.to == 1 && dim.given == dim.extent;
    let Some(position) = dims.iter().position(along) else { return 1 };
    let fits = |count: i64| {
        let are_apart = dims.iter().enumerate().all(|(index, dim)| {
            let distances = if index == position { [dim.extent; 2] } else { [dim.from, dim.to] };
            distances.iter().all(|distance| distance % count == 0)
        });
        are_apart && alignment.is_multiple_of(size * count as usize)
    };
    let most = (MAX_WORD / size).max(1);
    let counts = (0..=most.trailing_zeros()).rev().map(|bits| 1_i64 << bits);
    let count = counts.into_iter().find(|&count| fits(count)).unwrap_or(1);
    for (index, dim) in dims.iter_mut().enumerate() {
        if index == position {
            dim.extent /= count;
            dim.given /= count;
        } else {
            dim.from /= count;
            dim.to /= count;
        }
    }
    count as usize
}

/// Makes words of small elements that are neighbours along `source` in the source and along
/// `target` in the target, and one element of each square of them. Returns how many elements are a
/// word, and words a square: 1 if it makes none.
fn join_squares(
    dims: &mut [CopyDim],
    (source, target): (usize, usize),
    size: usize,
    alignment: usize,
) -> i64 {
    let count = (SQUARE_WORD / size) as i64;
    let is_whole = |dim: &CopyDim| dim.given == dim.extent && dim.extent % count == 0;
    let fits = count > 1
        && alignment.is_multiple_of(SQUARE_WORD)
        && (dims[source].from, dims[target].to) == (1, 1)
        && is_whole(&dims[source])
        && is_whole(&dims[target])
        && dims.iter().enumerate().all(|(index, dim)| {
            (index == source || dim.from % count == 0) && (index == target || dim.to % count == 0)
        });
    if !fits {
        return 1;
    }
    for (index, dim) in dims.iter_mut().enumerate() {
        if index == source || index == target {
            // From one square to the next there are `count` elements, and strides are of words.
            dim.extent /= count;
            dim.given /= count;
        } else {
            dim.from /= count;
            dim.to /= count;
        }
    }
    count
}

/// Returns the position of the dimension with the least stride; a stride of 0 counts as the
/// largest, because it leads to no neighbour.
fn position_of_least(dims: &[CopyDim], stride: fn(&CopyDim) -> i64) -> Option<usize> {
    (0..dims.len()).min_by_key(|&position| match stride(&dims[position]).unsigned_abs() {
        0 => u64::MAX,
        stride => stride,
    })
}

/// Binary logarithm of the elements of a tile, of a copy of so many elements.
fn tile_bits(elements: i64) -> i64 {
    let most = if elements > SMALL_COPY { TILE_BITS } else { SMALL_TILE_BITS };
    let fills = |&bits: &i64| elements >> bits >= MANY_BLOCKS;
    (THREAD_BITS..=most).rev().find(fills).unwrap_or(THREAD_BITS)
}

impl Tiling<i64> {
    fn of(
        first: CopyDim,
        second: CopyDim,
        third: CopyDim,
        is_turned: bool,
        tile_bits: i64,
    ) -> Self {
        // Shared memory has room for a column more in each row if rows have two columns at least.
        let bits = |dim: CopyDim| {
            let bits = (dim.extent as u64).next_power_of_two().trailing_zeros();
            i64::from(bits.max(u32::from(is_turned)))
        };
        let (one, two) = (bits(first), bits(second));
        if is_turned && one + two >= tile_bits && one.min(two) > THIN_BITS {
            let two = two.min(tile_bits - one.min(ROW_BITS)).min(THREAD_BITS);
            let one = tile_bits - two;
            return Self {
                bits: [one, two, 0],
                read_threads: [one, THREAD_BITS - one],
                write_threads: [THREAD_BITS - two, two],
                read: [1, THREAD_BITS - one],
                write: [0, THREAD_BITS - two],
            };
        }
        // In all other cases a thread goes along one dimension, for reading and writing.
        let (threads, dim) = if is_turned && one + two < tile_bits {
            let two = two.min(THREAD_BITS - one.min(THREAD_BITS / 2));
            ([one.min(THREAD_BITS - two), two], 2)
        } else if is_turned && two <= THIN_BITS {
            ([THREAD_BITS - two, two], 0)
        } else if second.extent == 1 && third.extent == 1 {
            ([THREAD_BITS, 0], 0)
        } else if one + two <= THREAD_BITS {
            ([one, two], 2)
        } else {
            let one = one.min(THREAD_BITS);
            ([one, THREAD_BITS - one], 1)
        };
        let mut bits = [threads[0], threads[1], THREAD_BITS - threads[0] - threads[1]];
        let step = [dim as i64, bits[dim]];
        bits[dim] += tile_bits - THREAD_BITS;
        Self { bits, read_threads: threads, write_threads: threads, read: step, write: step }
    }
}

#[cfg(test)]
#[path = "tiled_copy_tests.rs"]
mod tests;
