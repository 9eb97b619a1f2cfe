//! The kernel's blocks and threads are run one after the other, as `copy.cu` has them.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use super::*;
use crate::tensor::Dims;

const THREADS: i64 = 1 << THREAD_BITS;

/// What the threads do with each tile: they read and write a number, or a square of them, at a
/// position in the tile.
fn copied(copy: &TiledCopy, from: &[i64], to: &mut [i64], (from_zero, to_zero): (i64, i64)) {
    let (arguments, count) = (copy.arguments(), copy.square as i64);
    let dims = &arguments.dims[..arguments.rank as usize];
    let all = |of: fn(&TiledDim<i64>) -> i64| -> Vec<i64> { dims.iter().map(of).collect() };
    let (given, extents) = (all(|dim| dim.given), all(|dim| dim.extent));
    let (sources, targets) = (all(|dim| dim.from), all(|dim| dim.to));
    let Tiling { bits, read_threads, write_threads, read, write } = &arguments.tiling;
    let low = |number: i64, bits: i64| number & ((1 << bits) - 1);
    for tile in 0..arguments.tiles as i64 {
        let mut start = Vec::new();
        let mut rest = tile;
        for (dim, &TiledDim { count, .. }) in dims.iter().enumerate() {
            start.push((rest % count) << bits.get(dim).unwrap_or(&0));
            rest /= count;
        }
        let offset = |at: [i64; 3], strides: &[i64]| -> i64 {
            (0..start.len())
                .map(|dim| (start[dim] + at.get(dim).unwrap_or(&0)) * strides[dim])
                .sum()
        };
        let is_inside = |at: [i64; 3], extents: &[i64]| {
            (0..start.len()).all(|dim| start[dim] + at.get(dim).unwrap_or(&0) < extents[dim])
        };
        let mut shared = std::collections::BTreeMap::new();
        for (is_read, [dim, shift]) in [(true, *read), (false, *write)] {
            for thread in 0..THREADS {
                let at = if is_read || arguments.is_turned == 0 {
                    let [one, two] = *read_threads;
                    [low(thread, one), low(thread >> one, two), thread >> (one + two)]
                } else {
                    let [one, two] = *write_threads;
                    [low(thread >> two, one), low(thread, two), thread >> (one + two)]
                };
                for round in 0..arguments.rounds {
                    let mut at = at;
                    at[dim as usize] += round << shift;
                    if is_read {
                        let inside = is_inside(at, &given);
                        let start = from_zero + count * offset(at, &sources);
                        let number = |i: i64, j: i64| {
                            let across = if count > 1 { i * sources[1] } else { 0 };
                            if inside { from[(start + across + j) as usize] } else { 0 }
                        };
                        // Turned at once: one row for each element of a word.
                        let square: Vec<Vec<i64>> = (0..count)
                            .map(|j| (0..count).map(|i| number(i, j)).collect())
                            .collect();
                        assert!(shared.insert(at, square).is_none(), "read twice");
                    } else {
                        // What is written is what some thread read, also outside of the array.
                        let square = shared.remove(&at).unwrap();
                        let start = to_zero + count * offset(at, &targets);
                        let is_inside = is_inside(at, &extents);
                        for (j, row) in square.iter().enumerate().filter(|_| is_inside) {
                            let across = if count > 1 { j as i64 * targets[0] } else { 0 };
                            for (i, &number) in row.iter().enumerate() {
                                let place = &mut to[(start + across) as usize + i];
                                assert_eq!(*place, -1, "written twice");
                                *place = number;
                            }
                        }
                    }
                }
            }
        }
        assert!(shared.is_empty(), "a tile is not written whole");
        // The shared memory has one column more than the tile, and room for 3/2 of the largest.
        let rows = 1_i64 << (bits[0] + bits[2]);
        assert!(arguments.is_turned == 0 || rows * ((1 << bits[1]) + 1) <= 3 << (TILE_BITS - 1));
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    /// A permuted layout with gaps and, at times, a negative stride. All strides but 1 are
    /// multiples of `unit`, as extents are.
    fn layout(&mut self, shape: &[i64], unit: i64) -> Layout {
        let mut strides = Dims::from_elem(0, shape.len());
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        let mut step = if unit > 1 { 1 } else { 1 + self.below(2) as i64 };
        for axis in order {
            strides[axis] = if self.below(8) == 0 { -step } else { step };
            step *= shape[axis].max(1) + unit * self.below(2) as i64;
        }
        Layout { shape: shape.into(), strides }
    }
}

#[test]
fn every_element_is_copied_once() {
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(1, |time| time.as_nanos() as u64 | 1);
    let mut random = Random(seed);
    let mut squares = 0;
    for round in 0..480 {
        let rank = random.below(5) as usize;
        let most = [2000, 600, 60, 12, 6][rank.max(1) - 1];
        // Every other array has extents for squares of elements of this many bytes.
        let size = [8, 2, 1][round % 3];
        let unit = if round % 2 == 0 { 4 / (size as u64).min(4) } else { 1 };
        let most = if round % 5 == 0 { most / unit } else { 6 / unit + 1 };
        let mut extent = || ((1 + random.below(most)) * unit) as i64;
        let to_shape: Vec<i64> = (0..rank).map(|_| extent()).collect();
        let mut from_shape = to_shape.clone();
        if round % 4 == 3 {
            for extent in &mut from_shape {
                *extent = (*extent + random.below(4) as i64 - 2).max(0);
            }
        }
        let unit = unit as i64;
        let (to, mut from) = (random.layout(&to_shape, unit), random.layout(&from_shape, unit));
        if rank > 0 && round % 7 == 0 {
            from.strides[random.below(rank as u64) as usize] = 0;
        }
        // No neighbours are joined but those of squares.
        let copy = TiledCopy::of_aligned(&to, &from, size, size.max(4)).unwrap();
        squares += usize::from(copy.square > 1);
        if copy.square == 1 && copy.size != size {
            continue;
        }
        let (low, high) = from.offsets();
        let source: Vec<i64> = (1..=(high - low + 1).max(0)).collect();
        let (to_low, to_high) = to.offsets();
        let mut target = vec![-1; (to_high - to_low + 1) as usize];
        copied(&copy, &source, &mut target, (-low, -to_low));
        let mut expected = vec![-1; target.len()];
        for number in 0..to.len() {
            let (mut rest, mut from_offset, mut to_offset, mut inside) = (number, 0, 0, true);
            for axis in 0..rank {
                let index = rest % to.shape[axis];
                rest /= to.shape[axis];
                inside &= index < from.shape[axis];
                from_offset += index * from.strides[axis];
                to_offset += index * to.strides[axis];
            }
            let word = if inside { source[(from_offset - low) as usize] } else { 0 };
            expected[(to_offset - to_low) as usize] = word;
        }
        assert_eq!(target, expected, "seed {seed}, round {round}: {from:?} to {to:?}");
    }
    assert!(squares > 20, "{squares} copies were made of squares");
}

#[test]
fn small_elements_are_turned_in_squares() {
    let of = |to: [i64; 2], from: [i64; 2], size, alignment| {
        let layout = |strides: [i64; 2]| Layout {
            shape: [8, 40].as_slice().into(),
            strides: strides.as_slice().into(),
        };
        let copy = TiledCopy::of_aligned(&layout(to), &layout(from), size, alignment).unwrap();
        (copy.square, copy.alignment(), copy.element_size())
    };
    assert_eq!(of([40, 1], [1, 8], 1, 16), (4, 4, 1));
    assert_eq!(of([40, 1], [1, 8], 2, 16), (2, 4, 2));
    assert_eq!(of([1, 8], [40, 1], 2, 16), (2, 4, 2));
    assert_eq!(of([40, 1], [1, 8], 4, 16), (1, 4, 4));
    assert_eq!(of([40, 1], [1, 8], 2, 2), (1, 2, 2));
    assert_eq!(of([40, 1], [1, 10], 1, 16), (1, 1, 1));
    assert_eq!(of([40, 1], [2, 16], 2, 16), (1, 2, 2));
}

#[test]
fn what_is_fast_on_both_sides_is_not_turned() {
    let layout =
        |shape: &[i64], strides: &[i64]| Layout { shape: shape.into(), strides: strides.into() };
    let is_turned =
        |to: &Layout, from: &Layout| TiledCopy::of(to, from, 8).unwrap().arguments().is_turned == 1;
    let rows = layout(&[100, 200], &[200, 1]);
    assert!(!is_turned(&rows, &rows));
    assert!(!is_turned(&rows, &layout(&[100, 200], &[-400, 2])));
    assert!(is_turned(&rows, &layout(&[100, 200], &[1, 100])));
    assert!(!is_turned(&rows, &layout(&[100, 200], &[1, 1])));
    assert!(is_turned(&rows, &layout(&[100, 200], &[1, 0])));
}

#[test]
fn an_array_of_2_to_the_40_elements_is_copied_too() {
    let side = 1 << 20;
    let rows = Layout::contiguous(&[side, side]);
    let columns = Layout { shape: rows.shape.clone(), strides: [1, side].as_slice().into() };
    assert_eq!(TiledCopy::of(&rows, &columns, 8).unwrap().tiles(), 1 << 29);
}

#[test]
fn neighbours_are_copied_together() {
    let of = |to: [i64; 2], from: [i64; 2], alignment| {
        let layout = |strides: [i64; 2]| Layout {
            shape: [6, 40].as_slice().into(),
            strides: strides.as_slice().into(),
        };
        let copy = TiledCopy::of_aligned(&layout(to), &layout(from), 2, alignment).unwrap();
        let arguments = copy.arguments();
        let dims = &arguments.dims[..arguments.rank as usize];
        let words: i64 = dims.iter().map(|dim| dim.extent).product();
        (copy.element_size(), words)
    };
    assert_eq!(of([40, 1], [0, 1], 256), (16, 30));
    assert_eq!(of([40, 1], [0, 1], 8), (8, 60));
    assert_eq!(of([40, 1], [0, 1], 2), (2, 240));
    assert_eq!(of([40, 1], [44, 1], 256), (8, 60));
    assert_eq!(of([40, 1], [-42, 1], 256), (4, 120));
    assert_eq!(of([40, 1], [41, 1], 256), (2, 240));
    assert_eq!(of([40, 1], [80, 2], 256), (2, 240));
    // In squares of four.
    assert_eq!(of([1, 6], [40, 1], 256), (2, 60));
    let whole = Layout::contiguous(&[6, 40]);
    let less = Layout { shape: [6, 32].as_slice().into(), strides: [40, 1].as_slice().into() };
    assert_eq!(TiledCopy::of_aligned(&whole, &less, 2, 256).unwrap().element_size(), 2);
}
