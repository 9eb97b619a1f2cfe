//! Algorithms of cuBLASLt that leave out the last products of long sums.
//!
//! An algorithm may split each sum into parts, which different blocks of threads add up. Some
//! divide the length of the sum by the number of parts, round that down, and then up to a multiple
//! of 128 bytes of a factor. If it is a multiple after the first rounding, the remainder of the
//! division is in no part. On an H200, cuBLASLt 13.1 has such algorithms for halves and for float8,
//! and takes them first where the results are few. cuBLAS and PyTorch do, too.

use super::super::FoundAlgorithm;
use super::choice::{REDUCTION_SCHEME, SPLIT_COUNT, change_setting, setting};

/// Bytes of a factor whose products a block of threads adds up at a time.
const STEP_BYTES: usize = 128;

/// A part of a sum has more of these steps.
const LEAST_STEPS: i64 = 20;

/// By how many parts more an algorithm is tried.
const MORE_PARTS: i32 = 3;

/// The elements for which such algorithms were found have at most so many bytes.
const NARROW: usize = 2;

/// Returns how many products are added up at a time; `None` for elements of which all products are
/// in the sum.
fn step(size: usize) -> Option<i64> {
    (1..=NARROW).contains(&size).then(|| (STEP_BYTES / size) as i64)
}

/// Returns whether parts whose length is rounded in this way lack the end of a sum.
fn is_cut_short(depth: i64, parts: i64, step: i64) -> bool {
    parts > 1 && depth % parts != 0 && (depth / parts) % step == 0
}

/// Returns whether an algorithm may leave out products of a sum of `depth` products of elements of
/// `size` bytes.
pub(super) fn loses_products(algorithm: &FoundAlgorithm, depth: i64, size: usize) -> bool {
    let parts = || setting(algorithm, SPLIT_COUNT).map_or(1, i64::from);
    step(size).is_some_and(|step| is_cut_short(depth, parts(), step))
}

/// Returns the algorithm with other numbers of parts, the nearest ones first, with which it leaves
/// out none.
pub(super) fn other_splits(
    algorithm: &FoundAlgorithm,
    depth: i64,
    size: usize,
) -> impl Iterator<Item = [u64; 8]> {
    let parts = setting(algorithm, SPLIT_COUNT).unwrap_or(1);
    let others = (parts + 1..=parts + MORE_PARTS).chain((1..parts).rev());
    others.filter_map(move |parts| {
        let mut other = *algorithm;
        change_setting(&mut other, SPLIT_COUNT, parts)?;
        if parts == 1 {
            change_setting(&mut other, REDUCTION_SCHEME, 0)?;
        }
        (!loses_products(&other, depth, size)).then_some(other.algorithm)
    })
}

/// Returns whether there is any such algorithm for a sum.
pub(super) fn can_lose_products(depth: i64, size: usize) -> bool {
    step(size).is_some_and(|step| {
        (2..=depth / (LEAST_STEPS * step)).any(|parts| is_cut_short(depth, parts, step))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was seen on an H200: the length of a sum, bytes of an element, parts, and whether
    /// products were missing.
    #[test]
    fn sums_that_were_cut_short_and_others() {
        for (depth, size, parts, expected) in [
            (3201, 2, 2, true),
            (5634, 2, 4, true),
            (7685, 2, 6, true),
            (9604, 2, 5, true),
            (71728, 2, 56, true),
            (98179, 2, 73, true),
            (101_194, 2, 79, true),
            (91424, 1, 34, true),
            (3200, 2, 2, false),
            (3202, 2, 2, false),
            (48648, 2, 8, false),
            (176_544, 2, 14, false),
            (78096, 1, 10, false),
            (37648, 1, 14, false),
            (3201, 2, 1, false),
        ] {
            let step = step(size).unwrap_or_default();
            assert_eq!(is_cut_short(depth, parts, step), expected, "{depth} {size} {parts}");
            assert!(!expected || can_lose_products(depth, size), "{depth} {size}");
        }
    }

    #[test]
    fn sums_that_are_never_cut_short() {
        for (depth, size) in [(0, 2), (1, 2), (65, 2), (2561, 1), (8192, 2), (4104, 2)] {
            assert!(!can_lose_products(depth, size), "{depth} {size}");
        }
        for size in [4, 8, 16] {
            assert!(!can_lose_products(3201, size), "{size}");
        }
    }
}
