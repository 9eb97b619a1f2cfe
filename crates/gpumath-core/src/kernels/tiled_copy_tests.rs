//! The kernel's blocks and threads are run one after the other, as `scale_and_copy.cu` has them.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use super::*;
use crate::tensor::Dims;

const THREADS: i64 = 1 << THREAD_BITS;

/// What one thread does with one tile: the elements that it reads and writes, by their position in
/// the tile and their offsets. `None` stands for a zero.
fn copied(
    arguments: &Arguments<i64, MAX_RANK>,
    from: &[i64],
    to: &mut [i64],
    (from_zero, to_zero): (i64, i64),
) {
    let dims = &arguments.dims[..arguments.rank as usize];
    let all = |of: fn(&TiledDim) -> i64| -> Vec<i64> { dims.iter().map(of).collect() };
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
                for round in 0..1 << (TILE_BITS - THREAD_BITS) {
                    let mut at = at;
                    at[dim as usize] += round << shift;
                    if is_read {
                        let inside = is_inside(at, &given);
                        let from_offset = from_zero + offset(at, &sources);
                        let word = if inside { from[from_offset as usize] } else { 0 };
                        assert!(shared.insert(at, word).is_none(), "read twice");
                    } else {
                        // What is written is what some thread read, also outside of the array.
                        let word = shared.remove(&at).unwrap();
                        if is_inside(at, &extents) {
                            let place = &mut to[(to_zero + offset(at, &targets)) as usize];
                            assert_eq!(*place, -1, "written twice");
                            *place = word;
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

    /// A permuted layout with gaps and, at times, a negative stride.
    fn layout(&mut self, shape: &[i64]) -> Layout {
        let mut strides = Dims::from_elem(0, shape.len());
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        let mut step = 1 + self.below(2) as i64;
        for axis in order {
            strides[axis] = if self.below(8) == 0 { -step } else { step };
            step *= shape[axis].max(1) + self.below(2) as i64;
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
    for round in 0..400 {
        let rank = random.below(5) as usize;
        let most = [2000, 600, 60, 12, 6][rank.max(1) - 1];
        let mut extent = || 1 + random.below(if round % 3 == 0 { most } else { 6 }) as i64;
        let to_shape: Vec<i64> = (0..rank).map(|_| extent()).collect();
        let mut from_shape = to_shape.clone();
        if round % 4 == 0 {
            for extent in &mut from_shape {
                *extent = (*extent + random.below(4) as i64 - 2).max(0);
            }
        }
        let (to, mut from) = (random.layout(&to_shape), random.layout(&from_shape));
        if rank > 0 && round % 7 == 0 {
            from.strides[random.below(rank as u64) as usize] = 0;
        }
        let copy = TiledCopy::of(&to, &from, 8).unwrap();
        let (low, high) = from.offsets();
        let source: Vec<i64> = (1..=(high - low + 1).max(0)).collect();
        let (to_low, to_high) = to.offsets();
        let mut target = vec![-1; (to_high - to_low + 1) as usize];
        copied(copy.arguments(), &source, &mut target, (-low, -to_low));
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
    assert_eq!(of([1, 6], [40, 1], 256), (2, 240));
    let whole = Layout::contiguous(&[6, 40]);
    let less = Layout { shape: [6, 32].as_slice().into(), strides: [40, 1].as_slice().into() };
    assert_eq!(TiledCopy::of_aligned(&whole, &less, 2, 256).unwrap().element_size(), 2);
}
