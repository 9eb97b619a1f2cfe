//! Products with few results and long sums. Threads that shared the results would each read much of
//! the factors, or find nothing to do; so they add up parts of the sums.

use super::cut::Cut;
use super::matrix::Matrix;
use super::number::Number;
use super::structure::Structure;
use super::{Batch, CpuProducts, Terms};
use crate::error::Result;
use crate::memory::{ScratchBuffer, ScratchPieces};
use crate::tensor::{BatchDim, BatchDims};

/// Most results of a batch of such products.
const MOST_RESULTS: usize = 1 << 12;

/// Most results of a product of a matrix and a vector that are sums of the matrix's lines. Pieces
/// of longer lines are read as fast as whole ones.
const MOST_ADDED: usize = 1 << 14;

/// A sum is so many times as long as the rows and columns of the result are.
const LONG: usize = 32;

/// Products of a part, at least, and what their number is a multiple of.
const LEAST_OF_A_PART: usize = 1 << 10;
const UNIT: usize = 64;

/// Parts for each thread: one that comes late leaves a part to the others.
const PARTS_OF_A_THREAD: usize = 2;

/// Whether a batch is of products of a matrix and a vector, whose results are sums of the matrix's
/// lines in memory. Threads that shared the results would each read pieces of the lines.
fn adds_lines(batch: &Batch) -> bool {
    let ([rows, columns, _], [a, b, ..]) = (batch.shape, batch.steps);
    (rows == 1 && columns > 1 && b[1] == 1) || (columns == 1 && rows > 1 && a[0] == 1)
}

/// How a batch of products is computed in parts of its sums.
#[derive(Debug)]
pub(super) struct LongSums {
    /// The products of the parts: of those of equal lengths, and of what is left.
    parts: CpuProducts,
    /// Number of parts of equal lengths, and the length of each.
    equal: [usize; 2],
    /// Number of all parts.
    count: usize,
    /// Numbers in the results of one part. They are in C order, one entry of the batch after the
    /// other.
    results: usize,
}

impl LongSums {
    /// Returns how so many threads share a batch of products, which is cut into blocks; `None`
    /// where they share these blocks, because there are enough.
    pub(super) fn of(batch: &Batch, threads: usize) -> Option<Self> {
        let ([rows, columns, depth], entries) = (batch.shape, batch.entries.count());
        let one = rows.saturating_mul(columns);
        let results = one.saturating_mul(entries);
        let is_general = batch.structures == [Structure::General; 2];
        let wanted = (PARTS_OF_A_THREAD * threads).div_ceil(entries);
        // One thread adds up what all parts give.
        let is_worth = depth / LONG >= wanted * threads / 2 && results <= MOST_ADDED;
        let adds_lines = adds_lines(batch) && is_worth;
        let is_long = depth / LONG >= rows.max(columns) && results <= MOST_RESULTS;
        if threads <= entries || !(is_long || adds_lines) || !is_general {
            return None;
        }
        if adds_lines {
            let length = depth.div_ceil(wanted).next_multiple_of(UNIT);
            return Some(Self::of_parts(batch, threads, length));
        }
        let length = depth.div_ceil(wanted).max(LEAST_OF_A_PART).next_multiple_of(UNIT);
        let count = depth.div_ceil(length);
        // Blocks of a matrix and a vector read each element of the matrix once, as parts do.
        let has_vector = rows.min(columns) == 1;
        let blocks = batch.blocks();
        let are_many = blocks > 1 && 2 * blocks >= threads;
        if count * entries <= blocks || has_vector && are_many {
            return None;
        }
        Some(Self::of_parts(batch, threads, length))
    }

    /// Returns how so many threads share sums in parts of a length.
    fn of_parts(batch: &Batch, threads: usize, length: usize) -> Self {
        let [rows, columns, depth] = batch.shape;
        let one = rows.saturating_mul(columns);
        let results = one.saturating_mul(batch.entries.count());
        let (equal, rest, count) = (depth / length, depth % length, depth.div_ceil(length));
        let [a, b, ..] = batch.steps;
        let mut distance = one as i64;
        let mut dims: Vec<BatchDim<4>> = Vec::new();
        for dim in batch.entries.iter().rev() {
            let [of_a, of_b, ..] = dim.strides;
            dims.push(BatchDim { extent: dim.extent, strides: [of_a, of_b, 0, distance] });
            distance *= dim.extent;
        }
        let products = |parts: usize, length: usize| {
            let strides =
                [a[1] as i64 * length as i64, b[0] as i64 * length as i64, 0, results as i64];
            let part = BatchDim { extent: parts as i64, strides };
            let mut products = Batch {
                shape: [rows, columns, length],
                steps: [a, b, [0; 2], [columns as isize, 1]],
                are_conjugated: batch.are_conjugated,
                structures: batch.structures,
                has_addend: false,
                is_swapped: false,
                entries: BatchDims::merged(dims.iter().copied().chain([part])),
                run: 1,
                cut: Cut::default(),
            };
            products.cut(1);
            products
        };
        let mut batches = vec![products(equal, length)];
        if rest > 0 {
            batches.push(products(1, rest));
        }
        let parts = CpuProducts::of_cut(batches, threads);
        Self { parts, equal: [equal, length], count, results }
    }

    /// Computes the products of a batch, whose parts these are.
    ///
    /// # Safety
    /// As for [`CpuProducts::multiply`].
    pub(super) unsafe fn multiply<T: Number>(&self, batch: &Batch, terms: Terms<T>) -> Result<()> {
        let Self { parts, equal: [equal, length], count, results } = self;
        let all = count * results;
        let mut scratch = ScratchBuffer::take(ScratchPieces::bytes::<T>(all))?;
        let sums = scratch.pieces().next::<T>(all);
        let a_of_rest = batch.matrix(0, terms.a).from::<T>(0, equal * length).first;
        let b_of_rest = batch.matrix(1, terms.b).from::<T>(equal * length, 0).first;
        let out = sums.as_mut_ptr() as usize;
        let out_of_rest = out + equal * results * size_of::<T>();
        let terms_of = |index: usize| {
            let [a, b, out] = [[terms.a, terms.b, out], [a_of_rest, b_of_rest, out_of_rest]][index];
            Terms { a, b, c: 0, out, ..terms }
        };
        // SAFETY: the parts of the factors can be read, as the caller guarantees, and their results
        // have memory of their own.
        unsafe { parts.multiply(terms_of) }?;
        let (total, others) = sums.split_at_mut(*results);
        for other in others.chunks_exact(*results) {
            for (total, &other) in total.iter_mut().zip(other) {
                *total = *total + other;
            }
        }
        let [rows, columns, _] = batch.shape;
        for (entry, total) in total.chunks_exact(rows * columns).enumerate() {
            let offsets = batch.entries.offsets(entry);
            let matrix = |operand: usize, first: usize| -> Matrix {
                let first = (first as *const T).wrapping_offset(offsets[operand] as isize);
                batch.matrix(operand, first as usize)
            };
            let c = (batch.has_addend && terms.beta != T::ZERO).then(|| matrix(2, terms.c));
            let out = matrix(3, terms.out);
            let follow_each_other = |[down, right]: [isize; 2]| {
                (columns == 1 || right == 1) && (rows == 1 || down == columns as isize)
            };
            if c.is_none() && follow_each_other(out.steps) {
                // SAFETY: the caller guarantees that the result can be written. It overlaps no
                // operand, nor the sums, which have memory of their own.
                unsafe { std::ptr::copy_nonoverlapping(total.as_ptr(), out.at(0, 0), total.len()) };
                continue;
            }
            for (index, &sum) in total.iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                // SAFETY: the caller guarantees that `c` can be read and the result be written.
                unsafe {
                    let added = c.map(|c| terms.beta * c.get::<T>(row, column));
                    *out.at::<T>(row, column) = added.map_or(sum, |added| sum + added);
                }
            }
        }
        Ok(())
    }
}
