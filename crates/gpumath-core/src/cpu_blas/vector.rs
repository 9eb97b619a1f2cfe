//! Products of a matrix and a vector.
//!
//! They take as long as reading the matrix does, if it is read as it lies in memory: by dot
//! products with its rows, or by adding up its columns. `pulp` chooses among the sets of
//! instructions that a processor may have.

use pulp::{Arch, Simd, WithSimd};

use super::matrix::Matrix;
use super::number::Number;
use super::tile::store;
use crate::memory::fetch;

/// Elements of the result that are computed before the next, and of a vector that are copied to
/// make them neighbours.
const CHUNK: usize = 256;

/// Rows or columns that are processed at a time; [`FEW`] of those that are left, then one.
const MANY: usize = 8;
const FEW: usize = 4;

/// Bytes of a part of a column below which the next columns are asked for, because no processor
/// notices by itself where a short part goes on; of a longer one, what lies so many bytes ahead.
const SHORT: usize = 1 << 11;
const AHEAD: usize = 768;

/// Computes `out = alpha * a @ x + beta * out` for a matrix one of whose steps is 1, and a vector.
///
/// # Safety
/// As for [`multiply_add`](super::kernels::multiply_add), for a result of one column.
pub(super) unsafe fn multiply_vector<T: Number>(
    rows: usize,
    depth: usize,
    alpha: T,
    a: Matrix,
    x: Matrix,
    beta: Option<T>,
    out: Matrix,
) {
    let arch = Arch::new();
    let has_rows = a.steps[1] == 1;
    if !has_rows && out.steps[0] == 1 && (T::IS_REAL || !a.is_conjugated) {
        // SAFETY: the caller guarantees the extents, and that nothing else uses the result.
        unsafe {
            let out = std::slice::from_raw_parts_mut(out.at::<T>(0, 0), rows);
            add_columns_in_place(arch, out, a, x, (alpha, beta), depth);
        }
        return;
    }
    let mut sums = [T::ZERO; CHUNK];
    for top in (0..rows).step_by(CHUNK) {
        let sums = &mut sums[..CHUNK.min(rows - top)];
        sums.fill(T::ZERO);
        let a = a.from::<T>(top, 0);
        // SAFETY: the caller guarantees the extents.
        unsafe {
            if x.steps[0] == 1 && (T::IS_REAL || x.is_conjugated == a.is_conjugated) {
                let x = std::slice::from_raw_parts(x.at::<T>(0, 0), depth);
                add_product(arch, sums, a, x);
            } else {
                add_product_with_copy(arch, sums, a, x, depth);
            }
        }
        for (row, &sum) in sums.iter().enumerate() {
            let sum = if a.is_conjugated { sum.conjugate() } else { sum };
            // SAFETY: the row is below the extent.
            unsafe { store(out.at(top + row, 0), alpha, sum, beta) };
        }
    }
}

/// Computes `out = alpha * a @ x + beta * out` for columns of `a` and a result whose elements lie
/// side by side: whole columns are added, because parts of long ones are too far apart.
///
/// # Safety
/// `a` has a row for each element of the result, and both have the depth.
#[inline(never)]
unsafe fn add_columns_in_place<T: Number>(
    arch: Arch,
    out: &mut [T],
    a: Matrix,
    x: Matrix,
    (alpha, beta): (T, Option<T>),
    depth: usize,
) {
    match beta {
        None => out.fill(T::ZERO),
        Some(beta) if beta == T::ONE => {}
        Some(beta) => out.iter_mut().for_each(|element| *element = beta * *element),
    }
    let mut copy = [T::ZERO; CHUNK];
    for first in (0..depth).step_by(CHUNK) {
        let copy = &mut copy[..CHUNK.min(depth - first)];
        for (offset, element) in copy.iter_mut().enumerate() {
            // SAFETY: the index is below the extent.
            *element = unsafe { alpha * x.get(first + offset, 0) };
        }
        arch.dispatch(ColumnSums { sums: out, a: a.from::<T>(0, first), x: copy });
    }
}

/// Adds the product of `a` and a copy of `x`, which is conjugated if only one of them counts
/// conjugated: the other conjugates the sums.
///
/// # Safety
/// `a` has a row for each of the sums, and both have the depth.
#[inline(never)]
unsafe fn add_product_with_copy<T: Number>(
    arch: Arch,
    sums: &mut [T],
    a: Matrix,
    x: Matrix,
    depth: usize,
) {
    let mut copy = [T::ZERO; CHUNK];
    let x = if a.is_conjugated { x.conjugated() } else { x };
    for first in (0..depth).step_by(CHUNK) {
        let copy = &mut copy[..CHUNK.min(depth - first)];
        for (offset, element) in copy.iter_mut().enumerate() {
            // SAFETY: the index is below the extent.
            *element = unsafe { x.get(first + offset, 0) };
        }
        // SAFETY: the caller guarantees the extents.
        unsafe { add_product(arch, sums, a.from::<T>(0, first), copy) };
    }
}

/// Adds the product of `a`, as it is in memory, and `x`.
///
/// # Safety
/// `a` has a row for each of the sums and a column for each element of `x`.
#[inline(always)]
pub(super) unsafe fn add_product<T: Number>(arch: Arch, sums: &mut [T], a: Matrix, x: &[T]) {
    if a.steps[1] == 1 {
        arch.dispatch(RowProducts { sums, a, x });
    } else {
        arch.dispatch(ColumnSums { sums, a, x });
    }
}

/// Reads as many numbers as a vector has.
///
/// # Safety
/// They are in memory that can be read.
#[inline(always)]
pub(super) unsafe fn load<T: Number, S: Simd>(from: *const T) -> T::Vector<S> {
    // SAFETY: the caller guarantees it, and a vector has no bits of its own.
    unsafe { from.cast::<T::Vector<S>>().read_unaligned() }
}

/// Reads a vector, or the numbers of a mask, with zeros for the others.
///
/// # Safety
/// They are in memory that can be read.
#[inline(always)]
pub(super) unsafe fn load_part<T: Number, S: Simd>(
    simd: S,
    from: *const T,
    mask: Option<T::Mask<S>>,
) -> T::Vector<S> {
    // SAFETY: the caller guarantees it.
    unsafe {
        match mask {
            Some(mask) => T::load_masked(simd, from, mask),
            None => load::<T, S>(from),
        }
    }
}

/// Writes a vector, or the numbers of a mask.
///
/// # Safety
/// They have their places in memory that can be written.
#[inline(always)]
pub(super) unsafe fn store_part<T: Number, S: Simd>(
    simd: S,
    to: *mut T,
    mask: Option<T::Mask<S>>,
    vector: T::Vector<S>,
) {
    // SAFETY: the caller guarantees it.
    unsafe {
        match mask {
            Some(mask) => T::store_masked(simd, to, mask, vector),
            None => to.cast::<T::Vector<S>>().write_unaligned(vector),
        }
    }
}

/// Adds to each of the sums the product of a row of `a`, whose elements lie side by side, and `x`.
struct RowProducts<'a, T> {
    sums: &'a mut [T],
    a: Matrix,
    x: &'a [T],
}

impl<T: Number> WithSimd for RowProducts<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { sums, a, x } = self;
        let has_registers = S::REGISTER_COUNT >= 32;
        let mut top = 0;
        // SAFETY: `a` has a row for each of the sums, as long as `x`.
        unsafe {
            while top + MANY <= sums.len() {
                if has_registers {
                    add_dot_products::<T, S, MANY, 2>(simd, sums, top, a, x);
                } else {
                    add_dot_products::<T, S, MANY, 1>(simd, sums, top, a, x);
                }
                top += MANY;
            }
            while top + FEW <= sums.len() {
                add_dot_products::<T, S, FEW, 2>(simd, sums, top, a, x);
                top += FEW;
            }
            for top in top..sums.len() {
                add_dot_products::<T, S, 1, 8>(simd, sums, top, a, x);
            }
        }
    }
}

/// Adds the dot products of `N` rows of `a` from `top` on and `x` to as many sums, from `U` sums of
/// vectors each.
///
/// # Safety
/// `a` has so many rows, as long as `x`, whose elements lie side by side.
#[inline(always)]
unsafe fn add_dot_products<T: Number, S: Simd, const N: usize, const U: usize>(
    simd: S,
    sums: &mut [T],
    top: usize,
    a: Matrix,
    x: &[T],
) {
    // SAFETY: the caller guarantees the rows.
    let found = unsafe { dot_products::<T, S, N, U>(simd, a.from::<T>(top, 0), x) };
    for (sum, found) in sums[top..].iter_mut().zip(found) {
        *sum = *sum + found;
    }
}

/// Returns the dot products of the first `N` rows of `a` and `x`, from `U` sums of vectors each.
///
/// # Safety
/// `a` has so many rows, as long as `x`, whose elements lie side by side.
#[inline(always)]
unsafe fn dot_products<T: Number, S: Simd, const N: usize, const U: usize>(
    simd: S,
    a: Matrix,
    x: &[T],
) -> [T; N] {
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    let mut vectors = [[T::splat(simd, T::ZERO); U]; N];
    let mut at = 0;
    // SAFETY: all indices are below the length of `x`.
    unsafe {
        while at + U * lanes <= x.len() {
            for unrolled in 0..U {
                let first = at + unrolled * lanes;
                let right = load::<T, S>(x.as_ptr().add(first));
                for (row, sums) in vectors.iter_mut().enumerate() {
                    let left = load::<T, S>(a.at::<T>(row, 0).add(first));
                    sums[unrolled] = T::multiply_add(simd, left, right, sums[unrolled]);
                }
            }
            at += U * lanes;
        }
        while at + lanes <= x.len() {
            let right = load::<T, S>(x.as_ptr().add(at));
            for (row, sums) in vectors.iter_mut().enumerate() {
                let left = load::<T, S>(a.at::<T>(row, 0).add(at));
                sums[0] = T::multiply_add(simd, left, right, sums[0]);
            }
            at += lanes;
        }
        if at < x.len() {
            let mask = T::mask(simd, x.len() - at);
            let right = T::load_masked(simd, x.as_ptr().add(at), mask);
            for (row, sums) in vectors.iter_mut().enumerate() {
                let left = T::load_masked(simd, a.at::<T>(row, 0).add(at), mask);
                sums[0] = T::multiply_add(simd, left, right, sums[0]);
            }
        }
    }
    let mut found = [T::ZERO; N];
    for (found, mut sums) in found.iter_mut().zip(vectors) {
        let mut half = U / 2;
        while half > 0 {
            for place in 0..half {
                sums[place] = T::add_vectors(simd, sums[place], sums[place + half]);
            }
            half /= 2;
        }
        *found = T::sum(simd, sums[0]);
    }
    found
}

/// Adds to the sums the columns of `a`, whose elements lie side by side, each times an element of
/// `x`.
struct ColumnSums<'a, T> {
    sums: &'a mut [T],
    a: Matrix,
    x: &'a [T],
}

impl<T: Number> WithSimd for ColumnSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { sums, a, x } = self;
        let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
        let vectors = sums.len().div_ceil(lanes);
        // So many sums leave registers for the rest.
        let fits = vectors <= S::REGISTER_COUNT / 2;
        let mut left = 0;
        // SAFETY: `a` has a column for each element of `x`, as long as the sums.
        unsafe {
            match vectors {
                1 => return add_short_columns::<T, S, 1, 8>(simd, sums, a, x),
                2 => return add_short_columns::<T, S, 2, 4>(simd, sums, a, x),
                3 => return add_short_columns::<T, S, 3, 2>(simd, sums, a, x),
                4 => return add_short_columns::<T, S, 4, 2>(simd, sums, a, x),
                5 => return add_short_columns::<T, S, 5, 1>(simd, sums, a, x),
                6 => return add_short_columns::<T, S, 6, 1>(simd, sums, a, x),
                7 => return add_short_columns::<T, S, 7, 1>(simd, sums, a, x),
                8 => return add_short_columns::<T, S, 8, 1>(simd, sums, a, x),
                9 if fits => return add_short_columns::<T, S, 9, 1>(simd, sums, a, x),
                10 if fits => return add_short_columns::<T, S, 10, 1>(simd, sums, a, x),
                11 if fits => return add_short_columns::<T, S, 11, 1>(simd, sums, a, x),
                12 if fits => return add_short_columns::<T, S, 12, 1>(simd, sums, a, x),
                13 if fits => return add_short_columns::<T, S, 13, 1>(simd, sums, a, x),
                14 if fits => return add_short_columns::<T, S, 14, 1>(simd, sums, a, x),
                15 if fits => return add_short_columns::<T, S, 15, 1>(simd, sums, a, x),
                16 if fits => return add_short_columns::<T, S, 16, 1>(simd, sums, a, x),
                _ => {}
            }
            while left + MANY <= x.len() {
                add_columns::<T, S, MANY>(simd, sums, a, x, left);
                left += MANY;
            }
            while left + FEW <= x.len() {
                add_columns::<T, S, FEW>(simd, sums, a, x, left);
                left += FEW;
            }
            for left in left..x.len() {
                add_columns::<T, S, 1>(simd, sums, a, x, left);
            }
        }
    }
}

/// Adds all columns of `a`, which have at most `V` vectors of numbers, each times its element of
/// `x`. The sums stay in registers, `U` of each, because other additions begin while one is not
/// done.
///
/// # Safety
/// `a` has a column for each element of `x`, whose elements lie side by side, as many as there are
/// sums, which are more than `V - 1` vectors have.
#[inline(always)]
unsafe fn add_short_columns<T: Number, S: Simd, const V: usize, const U: usize>(
    simd: S,
    sums: &mut [T],
    a: Matrix,
    x: &[T],
) {
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    let last = (V - 1) * lanes;
    let mask = (sums.len() - last < lanes).then(|| T::mask(simd, sums.len() - last));
    let mut found = [[T::splat(simd, T::ZERO); V]; U];
    let whole = x.len() - x.len() % U;
    // SAFETY: the indices are below the number of columns and of sums, and the mask ends with the
    // numbers.
    unsafe {
        for left in (0..whole).step_by(U) {
            for (unrolled, found) in found.iter_mut().enumerate() {
                add_column::<T, S, V>(simd, found, a, x, left + unrolled, mask);
            }
        }
        for left in whole..x.len() {
            add_column::<T, S, V>(simd, &mut found[0], a, x, left, mask);
        }
        let (first, others) = found.split_at_mut(1);
        for (index, total) in first[0].iter_mut().enumerate() {
            for other in &*others {
                *total = T::add_vectors(simd, *total, other[index]);
            }
            let mask = if index < V - 1 { None } else { mask };
            let target = sums.as_mut_ptr().add(index * lanes);
            let sum = T::add_vectors(simd, *total, load_part(simd, target, mask));
            store_part(simd, target, mask, sum);
        }
    }
}

/// Adds a column of `a` times its element of `x` to `V` vectors of sums, of which the last one has
/// the numbers of the mask.
///
/// # Safety
/// `a` has the column, with so many elements, which lie side by side.
#[inline(always)]
unsafe fn add_column<T: Number, S: Simd, const V: usize>(
    simd: S,
    sums: &mut [T::Vector<S>; V],
    a: Matrix,
    x: &[T],
    left: usize,
    mask: Option<T::Mask<S>>,
) {
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    let (column, factor) = (a.at::<T>(0, left), T::splat(simd, x[left]));
    for (index, sum) in sums.iter_mut().enumerate() {
        let mask = if index < V - 1 { None } else { mask };
        // SAFETY: the caller guarantees the elements.
        let numbers = unsafe { load_part(simd, column.wrapping_add(index * lanes), mask) };
        *sum = T::multiply_add(simd, numbers, factor, *sum);
    }
}

/// Adds `N` columns of `a` from `left` on, each times its element of `x`.
///
/// # Safety
/// `a` has so many columns, as long as the sums, whose elements lie side by side.
#[inline(always)]
unsafe fn add_columns<T: Number, S: Simd, const N: usize>(
    simd: S,
    sums: &mut [T],
    a: Matrix,
    x: &[T],
    left: usize,
) {
    let lanes = size_of::<T::Vector<S>>() / size_of::<T>();
    let mut vectors = [T::splat(simd, T::ZERO); N];
    for (vector, &factor) in vectors.iter_mut().zip(&x[left..]) {
        *vector = T::splat(simd, factor);
    }
    let a = a.from::<T>(0, left);
    let is_short = size_of_val(sums) < SHORT;
    // Measured: with vectors of half a cache line, asking takes more time than it saves.
    let is_fetched = lanes * size_of::<T>() >= 64 && (!is_short || left + 2 * N <= x.len());
    let ahead = if is_short {
        a.steps[1].wrapping_mul(N as isize)
    } else {
        (AHEAD / size_of::<T>()) as isize
    };
    let mut at = 0;
    while at + lanes <= sums.len() {
        // SAFETY: the indices are below the number of the sums.
        unsafe {
            let target = sums.as_mut_ptr().add(at);
            let mut sum = load::<T, S>(target);
            for (column, &factor) in vectors.iter().enumerate() {
                let from = a.at::<T>(0, column).add(at);
                if is_fetched {
                    fetch(from.wrapping_offset(ahead), 1);
                }
                sum = T::multiply_add(simd, load::<T, S>(from), factor, sum);
            }
            target.cast::<T::Vector<S>>().write_unaligned(sum);
        }
        at += lanes;
    }
    if at < sums.len() {
        let mask = T::mask(simd, sums.len() - at);
        // SAFETY: the mask ends with the sums.
        unsafe {
            let target = sums.as_mut_ptr().add(at);
            let mut sum = T::load_masked(simd, target, mask);
            for (column, &factor) in vectors.iter().enumerate() {
                let left = T::load_masked(simd, a.at::<T>(0, column).add(at), mask);
                sum = T::multiply_add(simd, left, factor, sum);
            }
            T::store_masked(simd, target, mask, sum);
        }
    }
}
