//! Products of matrices on the CPU: `out = alpha * a @ b + beta * c`, for matrices of any strides,
//! batches of them, and matrices of which a part is stored.
//!
//! A batch of products is cut into blocks of rows and columns of the results. Each block is the
//! work of one thread, of those of [`crate::parallel`].

#![expect(
    clippy::inline_always,
    reason = "functions of vectors have to become a part of what is compiled for a set of \
              instructions"
)]

mod blocks;
mod cut;
mod diagonal;
mod elementwise;
mod kernels;
mod library;
mod library_api;
mod library_gemm;
mod long_sums;
mod matrix;
mod narrow;
mod number;
mod panel;
mod room;
mod run;
mod short_rows;
mod small;
mod strips;
mod structure;
mod structured;
mod structured_run;
mod structured_vector;
mod tile;
mod transpose;
mod vector;
mod wide_rows;

use std::cell::Cell;
use std::num::NonZeroUsize;

use self::blocks::Block;
use self::cut::{Cut, Uncut};
use self::long_sums::LongSums;
use self::matrix::Matrix;
use self::run::Run;
use crate::error::Result;
use crate::memory::{check_available, zeroed};
use crate::parallel::parallel_for;
use crate::tensor::{BatchDim, BatchDims, Layout};

pub(crate) use library::engine_name;
pub(crate) use number::Number;
pub use small::{SmallFactor, are_small, multiply_small};
pub use structure::{Structure, Triangle};

/// Multiplications that are worth another thread: of matrices, and of a matrix and a vector, whose
/// elements are read faster than [`cut::work`] counts if they were read lately.
const WORTH_A_THREAD: usize = 1 << 18;
const OF_A_VECTOR: usize = 3 << 18;

/// Multiplications of a run of small products. A block computes one run.
const WORK_OF_A_RUN: usize = 1 << 16;

/// Most rows and columns of a block. They bound what a kernel allocates, a copy of its blocks, and
/// with the depth how long a call of it takes: about a tenth of a second.
const MAX_SIDE: usize = 1024;

/// Most elements of the large factor of a block that has few rows or few columns.
const MAX_THIN_BLOCK: usize = 1 << 23;

/// Most rows or columns of a block of a product with a vector, which allocates nothing.
const MAX_VECTOR_SIDE: usize = 1 << 16;

/// Most rows of a block of a product whose left factor has a structure, and if there are few
/// columns. What is beside the block's part on the diagonal is multiplied at once.
const MAX_STRUCTURED_SIDE: usize = 256;
const MAX_NARROW_STRUCTURED_SIDE: usize = 2048;

/// Bytes that the kernel allocates on the first use of a thread, at most: a part of a block, as
/// large as a cache.
const CACHE_BYTES: usize = 8 << 20;

/// Returns how many threads so many products of `[rows, columns, depth]` are worth.
fn worth_in_threads(count: usize, shape: [usize; 3]) -> f64 {
    let [rows, columns, _] = shape;
    let of_a_thread = if rows.min(columns) == 1 { OF_A_VECTOR } else { WORTH_A_THREAD };
    cut::work(shape) as f64 * count as f64 / of_a_thread as f64
}

/// A factor of products: the last two dimensions of the layout are those of the matrix, the others
/// those of the batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor<'a> {
    /// A diagonal matrix has the stride of its vector as that of the rows, and 0 for the columns.
    pub(crate) layout: &'a Layout,
    pub(crate) structure: Structure,
    /// Whether the complex conjugates of the elements are multiplied.
    pub(crate) is_conjugated: bool,
}

/// The addresses of a batch of products, and what their terms are multiplied by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<T> {
    /// Addresses of the elements at index (0, …, 0).
    pub(crate) a: usize,
    pub(crate) b: usize,
    /// Of no meaning if the products have no third operand. It may be that of the result.
    pub(crate) c: usize,
    pub(crate) out: usize,
    pub(crate) alpha: T,
    pub(crate) beta: T,
}

/// A batch of products of matrices with the same layouts. The factor with a structure is the left
/// one: otherwise the transposed products are meant.
#[derive(Debug)]
struct Batch {
    /// Extents of one product: rows, columns and depth.
    shape: [usize; 3],
    /// Steps along rows and columns of `a`, `b`, `c` and `out`.
    steps: [[isize; 2]; 4],
    are_conjugated: [bool; 2],
    structures: [Structure; 2],
    has_addend: bool,
    /// Whether `a` and `b` have changed places.
    is_swapped: bool,
    entries: BatchDims<4>,
    /// Products along the fastest dimension of the batch that a block has.
    run: usize,
    /// The blocks of one product.
    cut: Cut,
}

/// Products that are computed together, planned for a number of threads.
#[derive(Debug)]
pub(crate) struct CpuProducts {
    batches: Vec<Batch>,
    /// The number of each batch's first block; at the end the number of all blocks.
    first_blocks: Vec<usize>,
    threads: NonZeroUsize,
    /// How the only batch is computed if threads share its sums.
    long_sums: Option<Box<LongSums>>,
}

impl CpuProducts {
    /// Plans batches of products, none of them empty, each with its factors, its third operand and
    /// its result. The batch dimensions of a product's layouts have the same extents. An error if
    /// a library was asked for that cannot be used.
    pub(crate) fn new<'a>(
        products: impl IntoIterator<Item = ([Factor<'a>; 2], Option<&'a Layout>, &'a Layout)>,
        threads: NonZeroUsize,
    ) -> Result<Self> {
        library::library()?;
        let products = products.into_iter();
        let mut batches: Vec<Batch> =
            products.map(|(factors, addend, out)| Batch::new(factors, addend, out)).collect();
        let shares = batches.iter().fold(0.0, |shares, batch| {
            shares + worth_in_threads(batch.entries.count(), batch.shape)
        });
        let shares = (shares as usize).clamp(1, threads.get());
        let entries: usize = batches.iter().map(|batch| batch.entries.count()).sum();
        for batch in &mut batches {
            batch.cut(if entries >= 4 * shares { 1 } else { shares });
        }
        let mut products = Self::of_cut(batches, shares);
        if let [only] = &products.batches[..] {
            products.long_sums = LongSums::of(only, shares).map(Box::new);
        }
        Ok(products)
    }

    /// Plans batches that are cut into blocks.
    fn of_cut(batches: Vec<Batch>, threads: usize) -> Self {
        let mut first_blocks = vec![0];
        for batch in &batches {
            first_blocks.push(first_blocks[first_blocks.len() - 1] + batch.blocks());
        }
        let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
        Self { batches, first_blocks, threads, long_sums: None }
    }

    /// Computes. `terms` returns those of each batch. Blocks until the results are written.
    ///
    /// # Safety
    /// - The memory has the layouts of the plan, with elements of type `T`; that of operands can be
    ///   read, and that of results can be written, during the call.
    /// - Results overlap no operand, but a third operand that has the address and layout of its
    ///   result; no other thread uses them.
    pub(crate) unsafe fn multiply<T: Number>(
        &self,
        terms: impl Fn(usize) -> Terms<T> + Sync,
    ) -> Result<()> {
        if let Some(long_sums) = &self.long_sums {
            // SAFETY: the caller guarantees the memory.
            return unsafe { long_sums.multiply(&self.batches[0], terms(0)) };
        }
        // SAFETY: the caller guarantees that the factors can be read.
        let dense = unsafe { self.expand_right_factors(&terms) }?;
        let count = self.first_blocks[self.batches.len()];
        parallel_for(self.threads, count, |mut claimed| {
            let mut is_checked = false;
            let mut current: Option<(usize, Terms<T>)> = None;
            while let Some(number) = claimed.next() {
                let index = match self.batches.len() {
                    1 => 0,
                    _ => self.first_blocks.partition_point(|&first| first <= number) - 1,
                };
                let batch = &self.batches[index];
                let terms = match current {
                    Some((known, terms)) if known == index => terms,
                    _ => batch.ordered(terms(index)),
                };
                current = Some((index, terms));
                let dense = dense.get(index).filter(|dense| !dense.is_empty());
                let block = batch.block(number - self.first_blocks[index], &terms, dense);
                if !is_checked && block.allocates(batch.structures[0]) {
                    check_memory::<T>(self.largest_block(), claimed.threads())?;
                    is_checked = true;
                }
                // SAFETY: the caller guarantees that the memory is valid, and one thread alone
                // claims each block.
                unsafe { block.compute(&mut claimed, batch.structures[0]) }?;
            }
            Ok(())
        })
    }

    /// Elements of a factor's largest block.
    fn largest_block(&self) -> usize {
        let elements = |batch: &Batch| {
            let side = batch.cut.block[0].max(batch.cut.block[1]);
            side * batch.shape[2].min(blocks::depth_at_once(side))
        };
        self.batches.iter().map(elements).max().unwrap_or(0)
    }

    /// Returns, for each batch whose right factor has a structure too, these factors with all their
    /// elements, in C order.
    ///
    /// # Safety
    /// As for [`Self::multiply`].
    unsafe fn expand_right_factors<T: Number>(
        &self,
        terms: impl Fn(usize) -> Terms<T>,
    ) -> Result<Vec<Vec<T>>> {
        let is_general = |batch: &Batch| batch.structures[1] == Structure::General;
        if self.batches.iter().all(is_general) {
            return Ok(Vec::new());
        }
        let expanded = self.batches.iter().enumerate().map(|(index, batch)| {
            if is_general(batch) {
                return Ok(Vec::new());
            }
            let (terms, side) = (terms(index), batch.shape[1]);
            let address = if batch.is_swapped { terms.a } else { terms.b };
            let count = batch.entries.count();
            let all = count.saturating_mul(side).saturating_mul(side);
            let mut dense = zeroed::<T>(all, "a matrix with a structure")?;
            for (entry, dense) in dense.chunks_exact_mut(side * side).enumerate() {
                let first =
                    (address as *const T).wrapping_offset(batch.entries.offsets(entry)[1] as isize);
                let matrix = batch.matrix(1, first as usize);
                // SAFETY: the caller guarantees that the matrix can be read, and the memory is new.
                unsafe { structured::expand(matrix, batch.structures[1], dense, side) };
            }
            Ok(dense)
        });
        expanded.collect()
    }
}

impl Batch {
    fn new(factors: [Factor<'_>; 2], addend: Option<&Layout>, out: &Layout) -> Self {
        let ([a, b], axes) = (factors, out.ndim() - 2);
        let entries =
            BatchDims::outside(&[axes, axes + 1], [a.layout, b.layout, addend.unwrap_or(out), out]);
        let extent = |layout: &Layout, axis: usize| layout.shape[axes + axis] as usize;
        let steps = |layout: &Layout| [0, 1].map(|axis| layout.strides[axes + axis] as isize);
        let mut batch = Self {
            shape: [extent(out, 0), extent(out, 1), extent(a.layout, 1)],
            steps: [a.layout, b.layout, addend.unwrap_or(out), out].map(steps),
            are_conjugated: factors.map(|factor| factor.is_conjugated),
            structures: factors.map(|factor| factor.structure),
            has_addend: addend.is_some(),
            is_swapped: false,
            entries,
            run: 1,
            cut: Cut::default(),
        };
        let [left, right] = batch.structures;
        if (left == Structure::General && right != left)
            || (right.is_diagonal() && !left.is_diagonal())
        {
            batch.swap();
        }
        batch
    }

    /// Turns the products into the transposed ones, in the same memory.
    fn swap(&mut self) {
        let [rows, columns, depth] = self.shape;
        self.shape = [columns, rows, depth];
        self.steps.swap(0, 1);
        self.steps = self.steps.map(|[down, right]| [right, down]);
        self.are_conjugated.swap(0, 1);
        self.structures.swap(0, 1);
        self.structures = self.structures.map(Structure::transposed);
        for (structure, steps) in self.structures.iter().zip(&mut self.steps) {
            if structure.is_diagonal() {
                // A diagonal matrix is its own transposed one.
                steps.swap(0, 1);
            }
        }
        self.entries = BatchDims::merged(self.entries.iter().map(|dim| {
            let [a, b, c, out] = dim.strides;
            BatchDim { extent: dim.extent, strides: [b, a, c, out] }
        }));
        self.is_swapped = true;
    }

    /// Chooses the extents of blocks: such that the threads share a result, and that each block has
    /// bounded work.
    fn cut(&mut self, shares: usize) {
        let [rows, columns, depth] = self.shape;
        let is_general = self.structures[0] == Structure::General;
        let most = match (rows.min(columns), is_general) {
            (1, true) => MAX_VECTOR_SIDE,
            // Rows of the large factor are read along, the further the faster.
            (0..=kernels::FEW, true) => {
                let most = MAX_THIN_BLOCK / depth.clamp(1, blocks::MAX_DEPTH);
                most.min(MAX_SIDE * MAX_SIDE)
            }
            (_, true) => MAX_SIDE,
            // What is mirrored is still near the processor when it is read again.
            (_, false) if columns <= kernels::FEW => MAX_NARROW_STRUCTURED_SIDE,
            (_, false) => MAX_STRUCTURED_SIDE,
        };
        let has_columns = |[down, right]: [isize; 2]| down.unsigned_abs() < right.unsigned_abs();
        let uncut = Uncut {
            shape: self.shape,
            has_columns: [0, 1, 3].map(|operand: usize| has_columns(self.steps[operand])),
            most: [most, most.max(MAX_SIDE)],
            are_both_cut: is_general,
        };
        self.cut = uncut.cut(shares);
        // A factor may be one element, again and again, and the depth greater than any memory.
        let depth = if self.structures[0].is_diagonal() { 1 } else { depth.max(1) };
        let work = rows.saturating_mul(columns).saturating_mul(depth);
        let is_plain = self.structures[1] == Structure::General && !self.has_addend;
        if is_plain && shares == 1 && work <= kernels::MOST_OF_RUN {
            self.run = (WORK_OF_A_RUN / work).min(self.longest_run());
        }
    }

    /// Products along the fastest dimension of the batch.
    fn longest_run(&self) -> usize {
        self.entries.fastest().map_or(1, |dim| dim.extent as usize)
    }

    /// Number of blocks of all products.
    fn blocks(&self) -> usize {
        let longest = self.longest_run();
        self.entries.count() / longest * longest.div_ceil(self.run) * self.cut.blocks()
    }

    /// Exchanges the factors if those of the transposed products are meant.
    fn ordered<T>(&self, mut terms: Terms<T>) -> Terms<T> {
        if self.is_swapped {
            (terms.a, terms.b) = (terms.b, terms.a);
        }
        terms
    }

    /// Returns one of the four matrices at an address.
    fn matrix(&self, operand: usize, first: usize) -> Matrix {
        let is_conjugated = self.are_conjugated.get(operand).copied().unwrap_or(false);
        Matrix { first, steps: self.steps[operand], is_conjugated }
    }

    /// Describes a block. `dense` has the right factors if those in memory have a structure.
    fn block<T: Number>(
        &self,
        number: usize,
        terms: &Terms<T>,
        dense: Option<&Vec<T>>,
    ) -> Block<T> {
        // Divisions would take as long as a tiny product.
        let (entry, place) = match self.cut.blocks() {
            1 => (number, 0),
            blocks => (number / blocks, number % blocks),
        };
        let mut run = Run::ONE;
        let entry = if self.run > 1 {
            let longest = self.longest_run();
            let runs = longest.div_ceil(self.run);
            let first = entry % runs * self.run;
            run.count = self.run.min(longest - first);
            if let Some(dim) = self.entries.fastest() {
                run.steps = [0, 1, 3].map(|operand: usize| dim.strides[operand] as isize);
            }
            entry / runs * longest + first
        } else {
            entry
        };
        let offsets = match &self.entries[..] {
            [] => [0; 4],
            [only] => only.strides.map(|stride| stride * entry as i64),
            _ => self.entries.offsets(entry),
        };
        let start = self.cut.start(place);
        let address = |operand: usize, first: usize| {
            (first as *const T).wrapping_offset(offsets[operand] as isize) as usize
        };
        let side = self.shape[1];
        let b = match dense {
            Some(dense) => Matrix {
                first: dense[entry * side * side..].as_ptr() as usize,
                steps: [side as isize, 1],
                is_conjugated: false,
            },
            None => self.matrix(1, address(1, terms.b)),
        };
        Block {
            a: self.matrix(0, address(0, terms.a)),
            b,
            c: self.has_addend.then(|| self.matrix(2, address(2, terms.c))),
            out: self.matrix(3, address(3, terms.out)),
            alpha: terms.alpha,
            beta: terms.beta,
            depth: self.shape[2],
            start,
            extent: self.cut.block,
            run,
        }
        .within(self.shape)
    }
}

/// Returns `OutOfMemory` unless there is memory for what a call of the kernel allocates, for so
/// many elements of a block: the kernel would end the process. What other threads allocate for the
/// same products meanwhile must not take this thread's memory away.
fn check_memory<T>(elements: usize, threads: usize) -> Result<()> {
    thread_local! {
        static HAS_CACHE: Cell<bool> = const { Cell::new(false) };
    }
    const PURPOSE: &str = "this product";
    let of_cache = if HAS_CACHE.get() { 0 } else { CACHE_BYTES };
    let of_thread = elements.saturating_mul(size_of::<T>()).saturating_add(of_cache);
    check_available::<u8>(of_thread.saturating_mul(threads), PURPOSE)?;
    HAS_CACHE.set(true);
    Ok(())
}

#[cfg(test)]
mod tests;
