//! The embedded engine: transforms by rustfft and realfft, in one pass over memory for each axis.
//!
//! A pass transforms all lines along its axis. Threads share its tiles of lines, and the next pass
//! begins when all are done.

mod complex_pass;
mod four_step;
mod grid_shape;
mod line_tiles;
mod long_real;
mod real_pass;
mod short_lines;
mod tables;

/// What transforms of lines by other modules are made of.
pub(crate) mod lines {
    pub(crate) use super::super::scratch::{ScratchBuffer, ScratchPieces};
    pub(crate) use super::line_tiles::{BufferLayout, LineTiles, StridePair};
    pub(crate) use super::real_pass::{LineKernel, run_lines};
    pub(crate) use super::short_lines::{plan_half_line, plan_line, plan_real_line, table_bytes};
    pub(crate) use super::tables::exp_i;
    pub(crate) use super::{Scalar, useful_threads};
}

use std::num::NonZeroUsize;

use rustfft::FftNum;
use rustfft::num_complex::Complex;

use self::complex_pass::ComplexPass;
use self::line_tiles::LineTiles;
use self::real_pass::RealPass;
pub(super) use self::real_pass::{ForwardLine, InverseLine, LineKernel, make_ends_real};
use super::fftw::FftwPlanner;
use super::scale::RealParts;
use super::scratch::ScratchBuffer;
use crate::error::Result;
use crate::fft::{Direction, FftProblem, TransformKind};
use crate::memory::check_available;
use crate::tensor::Layout;

/// Points times levels below which one thread finishes a transform before a second one would be
/// awake.
const MIN_PARALLEL_WORK: f64 = 5e5;

/// Returns `threads`, or 1 where waking other threads would cost more than they save.
pub(crate) fn useful_threads(work: f64, threads: NonZeroUsize) -> NonZeroUsize {
    if work < MIN_PARALLEL_WORK { NonZeroUsize::MIN } else { threads }
}

/// Returns points times levels.
fn work_of(problem: &FftProblem) -> f64 {
    let points: f64 = problem.input.shape.iter().map(|&extent| extent as f64).product();
    let extents = (0..problem.axes.len()).map(|position| problem.extent(position) as f64);
    points * extents.map(|extent| extent.log2().max(1.0)).sum::<f64>()
}

/// The two precisions.
pub(crate) trait Scalar: FftNum + RealParts<Self> {}
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

/// One pass for each axis, in the order in which they run.
pub(super) struct AxisPasses<T: Scalar> {
    kind: TransformKind,
    /// Whether there is nothing to transform.
    empty: bool,
    threads: NonZeroUsize,
    complex: Vec<ComplexPass<T>>,
    /// The first pass of R2C, the last one of C2R, none of C2C.
    real: Option<RealPass<T>>,
    /// Elements of the complex copy that a C2R transform over several axes works in; 0 if none is
    /// needed.
    intermediate: usize,
    library: Option<FftwPlanner>,
}

impl<T: Scalar> AxisPasses<T> {
    /// Plans a transform on up to `threads` threads, with the lines of a library if one is given.
    pub(super) fn new(
        problem: &FftProblem,
        threads: NonZeroUsize,
        library: Option<FftwPlanner>,
    ) -> Result<Self> {
        let (input, output) = (&problem.input, &problem.output);
        let empty = input.is_empty() || output.is_empty();
        let mut passes = Self {
            kind: problem.kind,
            empty,
            threads: useful_threads(work_of(problem), threads),
            complex: Vec::new(),
            real: None,
            intermediate: 0,
            library,
        };
        if empty {
            return Ok(passes);
        }
        let mut axes: Vec<usize> = problem.axes.iter().map(|&axis| axis as usize).collect();
        let points = |axis: usize| input.shape[axis] as usize;
        match problem.kind {
            TransformKind::C2C => {
                // The fastest axis comes first and leaves its result in the output. The strided
                // passes then work in place, which is faster because what they write is in the
                // cache already.
                axes.sort_by_key(|&axis| output.strides[axis].abs());
                let mut from = input;
                let mut inplace = problem.inplace;
                for axis in axes {
                    let lines = LineTiles::new(axis, from, output);
                    passes.add(points(axis), lines, inplace)?;
                    (from, inplace) = (output, true);
                }
            }
            TransformKind::R2C => {
                if let Some(axis) = axes.pop() {
                    let lines = LineTiles::new(axis, input, output);
                    passes.add_real(points(axis), true, lines)?;
                }
                for axis in axes {
                    let lines = LineTiles::new(axis, output, output);
                    passes.add(points(axis), lines, true)?;
                }
            }
            TransformKind::C2R => {
                let halved = axes.pop();
                let intermediate = Layout::packed(&input.shape, &output.memory_order());
                let mut from = input;
                for axis in axes {
                    let inplace = std::ptr::eq(from, &raw const intermediate);
                    let lines = LineTiles::new(axis, from, &intermediate);
                    passes.add(points(axis), lines, inplace)?;
                    passes.intermediate = intermediate.len() as usize;
                    from = &intermediate;
                }
                if let Some(axis) = halved {
                    let lines = LineTiles::new(axis, from, output);
                    passes.add_real(output.shape[axis] as usize, false, lines)?;
                }
            }
        }
        Ok(passes)
    }

    /// Adds a pass over complex lines.
    fn add(&mut self, points: usize, lines: LineTiles, inplace: bool) -> Result<()> {
        // A line's work memory, in which it is transformed, is at least as long as the line. What
        // cannot be had is refused before the length is looked into.
        check_available::<Complex<T>>(points, &format!("a transform of {points} points"))?;
        let library = self.library.clone();
        self.complex.push(ComplexPass::new(points, lines, inplace, self.threads, library));
        Ok(())
    }

    /// Adds the pass over lines of so many real points.
    fn add_real(&mut self, points: usize, is_forward: bool, lines: LineTiles) -> Result<()> {
        let library = self.library.as_ref();
        self.real = Some(RealPass::new(points, is_forward, lines, self.threads, library)?);
        Ok(())
    }
}

impl<T: Scalar> Transform for AxisPasses<T> {
    fn table_bytes(&self) -> usize {
        let complex: usize = self.complex.iter().map(ComplexPass::table_bytes).sum();
        complex + self.real.as_ref().map_or(0, RealPass::table_bytes)
    }

    unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
    ) -> Result<()> {
        if self.empty {
            return Ok(());
        }
        let input = std::ptr::with_exposed_provenance::<u8>(input);
        let output = std::ptr::with_exposed_provenance_mut::<u8>(output);
        let (factor, threads) = (factor.and_then(T::from_f64), self.threads);
        let mut intermediate = match self.intermediate {
            0 => None,
            len => Some(ScratchBuffer::take(len * size_of::<Complex<T>>())?),
        };
        let output_complex = match &mut intermediate {
            Some(buffer) => buffer.pieces().next(self.intermediate).as_mut_ptr(),
            None => output.cast(),
        };
        let mut from = input.cast::<Complex<T>>();
        // SAFETY: each pass reads the layout that the one before it wrote, and the first one the
        // input. The caller guarantees that input and output are valid, and the intermediate copy
        // was taken with room for its layout.
        unsafe {
            if let (TransformKind::R2C, Some(pass)) = (self.kind, &self.real) {
                let factor = factor.filter(|_| self.complex.is_empty());
                pass.run(input, output, factor, threads)?;
                from = output_complex;
            }
            let last = self.complex.len().saturating_sub(1);
            for (index, pass) in self.complex.iter().enumerate() {
                // Only the pass that writes the result scales it.
                let factor = factor.filter(|_| self.kind != TransformKind::C2R && index == last);
                pass.run(from, output_complex, direction, factor, threads)?;
                from = output_complex;
            }
            if let (TransformKind::C2R, Some(pass)) = (self.kind, &self.real) {
                pass.run(from.cast(), output, factor, threads)?;
            }
        }
        Ok(())
    }
}
