//! Transforms in one pass over the lines of each axis.
//!
//! Threads share the tiles of lines of a pass, and the next pass begins when all are done. Where
//! blocks of the operand have all lines of several axes and fit in a core's cache (`blocks.rs`),
//! threads share the blocks instead, and each does all these passes over its block.

mod blocks;
mod complex_pass;
mod four_step;
mod grid_shape;
mod lane_pass;
mod line_tiles;
mod long_real;
mod real_grid;
mod real_pass;
mod short_lines;
mod tables;

/// What transforms of lines by other modules are made of.
pub(crate) mod lines {
    pub(crate) use super::grid_shape::is_faster_as_grid;
    pub(crate) use super::line_tiles::{BufferLayout, LineTiles, StridePair, Tile};
    pub(crate) use super::real_pass::{LineKernel, run_lines};
    pub(crate) use super::short_lines::{
        MAX_POINTS, plan_half_line, plan_line, plan_real_line, table_bytes,
    };
    pub(crate) use super::tables::{exp_i, fill_parallel, for_each_range};
    pub(crate) use super::{Scalar, levels_of, useful_threads};
}

use std::num::NonZeroUsize;

use rustfft::FftNum;
use rustfft::num_complex::Complex;
use rustfft::num_traits::MulAdd;

use self::blocks::{AxisGroup, group_axes, is_crowded};
use self::complex_pass::ComplexPass;
use self::lane_pass::LanePass;
use self::line_tiles::LineTiles;
use self::real_pass::plan_halved;
pub(super) use self::real_pass::{ForwardLine, InverseLine, LineKernel, make_ends_real};
use super::fftw::FftwPlanner;
use super::scale::RealParts;
use crate::error::Result;
use crate::fft::{Direction, FftProblem, TransformKind};
use crate::lane_fft::{Lane, LaneFft, largest_prime_factor};
use crate::memory::{ScratchBuffer, check_available, copy_between};
use crate::parallel::parallel_for;
use crate::tensor::{BatchDims, Layout};

/// Points times levels below which one thread finishes a transform before a second one would be
/// awake.
const MIN_PARALLEL_WORK: f64 = 5e5;

/// A line with a larger prime factor than [`FAST_PRIME`] takes about [`ROUGH_WORK`] times as long
/// as one without.
const FAST_PRIME: usize = 11;
const ROUGH_WORK: f64 = 3.0;

/// Returns `threads`, or 1 where waking other threads would cost more than they save.
pub(crate) fn useful_threads(work: f64, threads: NonZeroUsize) -> NonZeroUsize {
    if work < MIN_PARALLEL_WORK { NonZeroUsize::MIN } else { threads }
}

/// Returns how many levels of butterflies a line of so many points has. A short line with a large
/// prime factor counts for more, because it takes longer.
pub(crate) fn levels_of(points: usize) -> f64 {
    // The factors of longer lines make no difference, and may take long to find.
    let is_short = (points as f64) < MIN_PARALLEL_WORK;
    let is_rough = is_short && largest_prime_factor(points) > FAST_PRIME;
    (points as f64).log2().max(1.0) * if is_rough { ROUGH_WORK } else { 1.0 }
}

/// Returns points times levels.
fn work_of(problem: &FftProblem) -> f64 {
    let points: f64 = problem.input.shape.iter().map(|&extent| extent as f64).product();
    let extents = (0..problem.axes.len()).map(|position| problem.extent(position));
    points * extents.map(|extent| levels_of(extent as usize)).sum::<f64>()
}

/// The two precisions.
pub(crate) trait Scalar:
    FftNum + RealParts<Self> + Lane + Into<f64> + MulAdd<Output = Self>
{
}
impl Scalar for f32 {}
impl Scalar for f64 {}

/// A planned transform of either precision.
pub(super) trait Transform: Send + Sync {
    /// Returns about how many bytes the tables take, those of both directions where there are two.
    fn table_bytes(&self) -> usize;

    /// Transforms the operand at `input` into `output`, and multiplies the result by the factor if
    /// there is one.
    ///
    /// # Safety
    /// - The addresses are those of elements (0, …, 0) of memory in the problem's layouts, the
    ///   input readable and the output writable during the call.
    /// - The two do not overlap, or are equal if the problem is in place.
    unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
    ) -> Result<()>;
}

/// The buffers of a transform: the operand, the complex copy that C2R over several axes works in,
/// the result, and a thread's copy of a block.
const INPUT: usize = 0;
const COPY: usize = 1;
const OUTPUT: usize = 2;
const BLOCK: usize = 3;

/// The passes of a transform, one for each axis.
pub(super) struct AxisPasses<T: Scalar> {
    /// In the order in which they run; none where there is nothing to transform.
    stages: Vec<Stage<T>>,
    threads: NonZeroUsize,
    /// Elements of the copy; 0 if none is needed.
    copy: usize,
    /// Bytes of an element of each buffer.
    sizes: [usize; 4],
}

/// Passes that follow each other, over the whole operand on all threads, or over each of its blocks
/// on one thread.
struct Stage<T: Scalar> {
    blocks: BatchDims<3>,
    /// Elements of the copy in which a block is transformed, and how they lie there and in the
    /// result; none where the result itself serves.
    copied: usize,
    copy_back: BatchDims<2>,
    passes: Vec<Pass<T>>,
}

/// A pass from one buffer to another, or within one.
struct Pass<T: Scalar> {
    from: usize,
    to: usize,
    kernel: Box<dyn PassKernel<T>>,
}

/// The transform of all lines along one axis.
trait PassKernel<T>: Send + Sync {
    /// Returns about how many bytes the tables take, those of both directions where there are two.
    fn table_bytes(&self) -> usize;

    /// Transforms every line, and multiplies the result by the factor if there is one. An input
    /// apart from the result is only read.
    ///
    /// # Safety
    /// - `from` is readable and `to` writable in the layouts that the lines were made from, which
    ///   hold the kernel's types, and no other thread uses that memory during the call.
    /// - The two are equal if the pass is in place, and do not overlap otherwise.
    unsafe fn run(
        &self,
        from: *const u8,
        to: *mut u8,
        how: (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()>;
}

impl<T: Scalar> AxisPasses<T> {
    /// Plans a transform on up to `threads` threads, with the lines of a library if one is given.
    pub(super) fn new(
        problem: &FftProblem,
        threads: NonZeroUsize,
        library: Option<&FftwPlanner>,
    ) -> Result<Self> {
        let FftProblem { kind, input, output, .. } = problem;
        let (real, complex) = (size_of::<T>(), size_of::<Complex<T>>());
        let sizes = match kind {
            TransformKind::C2C => [complex; 4],
            TransformKind::R2C => [real, complex, complex, complex],
            TransformKind::C2R => [complex, complex, real, complex],
        };
        let threads = useful_threads(work_of(problem), threads);
        let mut passes = Self { stages: Vec::new(), threads, copy: 0, sizes };
        if input.is_empty() || output.is_empty() {
            return Ok(passes);
        }
        let copy = Layout::packed(&input.shape, &output.memory_order());
        // The fastest axis comes first and leaves its result in the output. The strided passes then
        // work in place, which is faster because what they write is in the cache already. But the
        // halved axis comes before all, and for C2R after all.
        let (halved, mut axes) = (problem.halved(), problem.dimensions());
        axes.sort_by_key(|&axis| (Some(axis) != halved, output.strides[axis].abs()));
        let mut groups = group_axes(&axes, [input, output], complex, threads);
        if *kind == TransformKind::C2R {
            groups.reverse();
            for group in &mut groups {
                group.axes.reverse();
            }
        }
        let mut from = if problem.inplace { OUTPUT } else { INPUT };
        for AxisGroup { axes, outside } in groups {
            // Sides that an axis is not halved on have other extents, but are not of this group.
            let layouts = match kind {
                TransformKind::R2C if from == OUTPUT => [output; 3],
                TransformKind::C2R if !halved.is_some_and(|halved| axes.contains(&halved)) => {
                    [input, &copy, &copy]
                }
                _ => [input, &copy, output],
            };
            let inside: Vec<usize> =
                (0..input.ndim()).filter(|axis| !outside.contains(axis)).collect();
            let blocks = BatchDims::outside(&inside, layouts);
            let layouts = layouts.map(|layout| {
                let mut block = layout.clone();
                for &axis in &outside {
                    block.shape[axis] = 1;
                }
                block
            });
            let threads = if blocks.count() == 1 { threads } else { NonZeroUsize::MIN };
            // A block whose parts displace each other in a cache is transformed elsewhere.
            let is_copied = *kind == TransformKind::C2C
                && axes.len() > 1
                && !blocks.is_empty()
                && is_crowded(&layouts[OUTPUT], complex);
            let block = Layout::packed(&layouts[OUTPUT].shape, &output.memory_order());
            let copied = if is_copied { block.len() as usize } else { 0 };
            let copy_back = BatchDims::outside(&[], [&block, &layouts[OUTPUT]]);
            let [first, second, third] = layouts;
            let layouts = [first, second, third, block];
            let mut stage = Stage { blocks, copied, copy_back, passes: Vec::new() };
            for axis in axes {
                let is_halved = Some(axis) == halved;
                let to = match kind {
                    TransformKind::C2R if !is_halved => COPY,
                    _ if is_copied => BLOCK,
                    _ => OUTPUT,
                };
                if to == COPY {
                    passes.copy = copy.len() as usize;
                }
                let lines = LineTiles::new(axis, &layouts[from], &layouts[to]);
                let points = input.shape[axis].max(output.shape[axis]) as usize;
                let is_sliced = library.is_some() && lines.are_slices();
                let kernel: Box<dyn PassKernel<T>> = if is_halved {
                    let is_forward = *kind == TransformKind::R2C;
                    plan_halved(points, is_forward, lines, threads, library)?
                } else if !is_sliced
                    && let Some(pass) = LanePass::<LaneFft<T>>::new(points, &lines, threads)
                {
                    Box::new(pass)
                } else {
                    let inplace = from == to;
                    // A line's work memory, in which it is transformed, is at least as long as the
                    // line. What cannot be had is refused before the length is looked into.
                    let what = format!("a transform of {points} points");
                    check_available::<Complex<T>>(points, &what)?;
                    Box::new(ComplexPass::new(points, lines, inplace, threads, library))
                };
                stage.passes.push(Pass { from, to, kernel });
                from = to;
            }
            from = if is_copied { OUTPUT } else { from };
            passes.stages.push(stage);
        }
        Ok(passes)
    }

    /// Runs the passes of a stage over one of its blocks.
    ///
    /// # Safety
    /// As for [`Transform::execute`], with the addresses of all buffers, for this block.
    unsafe fn run_block(
        &self,
        stage: &Stage<T>,
        block: usize,
        [input, copy, output]: [usize; 3],
        (direction, factor): (Direction, Option<T>),
        threads: NonZeroUsize,
    ) -> Result<()> {
        let mut scratch = ScratchBuffer::take(stage.copied * self.sizes[BLOCK])?;
        let copied = scratch.pieces().next::<Complex<T>>(stage.copied);
        let buffers = [input, copy, output, copied.as_mut_ptr().expose_provenance()];
        let [from, copy, to] = stage.blocks.offsets(block);
        let offsets = [from, copy, to, 0];
        let address = |buffer: usize| {
            buffers[buffer]
                .wrapping_add_signed(offsets[buffer] as isize * self.sizes[buffer] as isize)
        };
        for (index, pass) in stage.passes.iter().enumerate() {
            let from = std::ptr::with_exposed_provenance::<u8>(address(pass.from));
            let to = std::ptr::with_exposed_provenance_mut::<u8>(address(pass.to));
            let how = (direction, factor.filter(|_| index + 1 == stage.passes.len()));
            // SAFETY: each pass reads the layout that the one before it wrote, and the first one
            // the input. The caller guarantees that the buffers are valid.
            unsafe { pass.kernel.run(from, to, how, threads)? };
        }
        if stage.copied > 0 {
            let from = std::ptr::with_exposed_provenance::<Complex<T>>(address(BLOCK));
            let to = std::ptr::with_exposed_provenance_mut(address(OUTPUT));
            // SAFETY: the caller guarantees that the result is writable.
            unsafe { copy_between(from, to, &stage.copy_back) };
        }
        Ok(())
    }
}

impl<T: Scalar> Transform for AxisPasses<T> {
    fn table_bytes(&self) -> usize {
        let passes = self.stages.iter().flat_map(|stage| &stage.passes);
        passes.map(|pass| pass.kernel.table_bytes()).sum()
    }

    unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
    ) -> Result<()> {
        let mut scratch = ScratchBuffer::take(self.copy * self.sizes[COPY])?;
        let copy = scratch.pieces().next::<Complex<T>>(self.copy).as_mut_ptr().expose_provenance();
        let buffers = [input, copy, output];
        for (index, stage) in self.stages.iter().enumerate() {
            // Only the pass that writes the result scales it.
            let factor = factor.filter(|_| index + 1 == self.stages.len()).and_then(T::from_f64);
            let how = (direction, factor);
            // SAFETY: the copies were taken with room for their layouts, and blocks have no element
            // in common. The caller guarantees that input and output are valid.
            unsafe {
                if stage.blocks.is_empty() {
                    self.run_block(stage, 0, buffers, how, self.threads)?;
                    continue;
                }
                parallel_for(self.threads, stage.blocks.count(), |mut blocks| {
                    blocks.try_for_each(|block| {
                        self.run_block(stage, block, buffers, how, NonZeroUsize::MIN)
                    })
                })?;
            }
        }
        Ok(())
    }
}
