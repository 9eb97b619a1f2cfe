//! Transposition of a few rows of numbers in the registers of vectors.

use pulp::Simd;

/// Transposes single complex numbers, of which each is one number here: the result has the columns
/// one after the other.
#[inline(always)]
pub(super) fn transpose_single<S: Simd>(simd: S, rows: [S::f64s; 8]) -> [S::f64s; 8] {
    let four = |first: usize| [rows[first], rows[first + 1], rows[first + 2], rows[first + 3]];
    let two = |first: usize| simd.deinterleave_shfl_f64s([rows[first], rows[first + 1]]);
    match size_of::<S::f64s>() / size_of::<f64>() {
        8 => {
            let low = simd.deinterleave_shfl_f64s(four(0));
            let high = simd.deinterleave_shfl_f64s(four(4));
            let even = part_pairs(simd, [low[0], low[1], high[0], high[1]]);
            let odd = part_pairs(simd, [low[2], low[3], high[2], high[3]]);
            [even[0], even[1], odd[0], odd[1], even[2], even[3], odd[2], odd[3]]
        }
        4 => {
            let low = simd.deinterleave_shfl_f64s(four(0));
            let high = simd.deinterleave_shfl_f64s(four(4));
            [low[0], high[0], low[1], high[1], low[2], high[2], low[3], high[3]]
        }
        2 => {
            let parts = [two(0), two(2), two(4), two(6)];
            let column = |at: usize| parts.map(|part| part[at]);
            let ([first, second, third, fourth], last) = (column(0), column(1));
            [first, second, third, fourth, last[0], last[1], last[2], last[3]]
        }
        _ => rows,
    }
}

/// Transposes the first vectors, as many as each has numbers.
#[inline(always)]
pub(super) fn transpose_square<S: Simd>(simd: S, rows: &mut [S::f64s; 8]) {
    match size_of::<S::f64s>() / size_of::<f64>() {
        8 => *rows = transpose_single(simd, *rows),
        4 => {
            let columns = simd.deinterleave_shfl_f64s([rows[0], rows[1], rows[2], rows[3]]);
            rows[..4].copy_from_slice(&columns);
        }
        2 => {
            let columns = simd.deinterleave_shfl_f64s([rows[0], rows[1]]);
            rows[..2].copy_from_slice(&columns);
        }
        _ => {}
    }
}

/// Transposes double complex numbers, of which each is a pair of numbers.
#[inline(always)]
pub(super) fn transpose_double<S: Simd>(simd: S, rows: [S::f64s; 8]) -> [S::f64s; 8] {
    let four = |first: usize| [rows[first], rows[first + 1], rows[first + 2], rows[first + 3]];
    let (low, high) = (transpose_four(simd, four(0)), transpose_four(simd, four(4)));
    match size_of::<S::f64s>() / size_of::<[f64; 2]>() {
        4 => [low[0], high[0], low[1], high[1], low[2], high[2], low[3], high[3]],
        2 => [low[0], low[1], high[0], high[1], low[2], low[3], high[2], high[3]],
        _ => rows,
    }
}

/// Transposes four rows of double complex numbers.
#[inline(always)]
pub(super) fn transpose_four<S: Simd>(simd: S, rows: [S::f64s; 4]) -> [S::f64s; 4] {
    let parted = part_pairs(simd, [rows[0], rows[2], rows[1], rows[3]]);
    match size_of::<S::f64s>() / size_of::<[f64; 2]>() {
        4 => part_pairs(simd, [parted[0], parted[2], parted[1], parted[3]]),
        2 => parted,
        _ => rows,
    }
}

/// Makes rows of what [`transpose_four`] returns.
#[inline(always)]
pub(super) fn transpose_back<S: Simd>(simd: S, columns: [S::f64s; 4]) -> [S::f64s; 4] {
    if size_of::<S::f64s>() != 2 * size_of::<[f64; 2]>() {
        return transpose_four(simd, columns);
    }
    let parted = part_pairs(simd, columns);
    [parted[0], parted[2], parted[1], parted[3]]
}

/// Parts the pairs of numbers of the first and third vector, and of the second and fourth: those at
/// even places come first.
#[inline(always)]
fn part_pairs<S: Simd>(simd: S, vectors: [S::f64s; 4]) -> [S::f64s; 4] {
    // On processors whose vectors have several pairs, the function for four vectors begins with
    // the one for two, which is its own inverse. Compilers leave out both.
    let [first, second, third, fourth] = vectors;
    let [first, second] = simd.deinterleave_shfl_f64s([first, second]);
    let [third, fourth] = simd.deinterleave_shfl_f64s([third, fourth]);
    simd.deinterleave_shfl_f64s([first, second, third, fourth])
}
