//! Cosine and sine transforms in host memory, line by line: an operation of its own.
//!
//! Lines of a few points are transformed by products with a matrix; many that fit in a core's cache
//! together, in the lanes of vectors, if they are strided or their length is awkward; others in
//! pairs; and a line that is alone, or one of a few for each thread, by itself. Long lines are
//! transformed step by step, and so are those of middle length if there are fewer than threads,
//! because threads can share the steps.

use std::fmt;
use std::num::NonZeroUsize;

use rustfft::num_complex::Complex;

use super::lanes::{LanePlan, Operands};
use super::long::LongPlan;
use super::pairs::PairPlan;
use super::short::{self, ShortPlan};
use super::single::{CosineKernel, LinePlan};
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::fft::cpu::lines::{
    LineKernel, LineTiles, MAX_POINTS as MOST_WHOLE, Scalar, is_faster_as_grid, levels_of,
    run_lines, table_bytes, useful_threads,
};
use crate::memory::{ScratchBuffer, ScratchPieces, check_available};
use crate::operation::{
    Call, Engine, Execution, OperandSpec, Operation, PlanCache, Problem, RecentPlans, Request,
};
use crate::parallel::{SyncPtr, parallel_for};
use crate::tensor::{DType, Layout, MemoryLocation, TensorView};

/// A line is long if its tables may take more bytes in double precision.
const LONG_BYTES: usize = 64 << 20;

/// Points from which on threads share a line if there is not one for each.
const SHARED_POINTS: i64 = 1 << 16;

/// Lines of a few points that a thread transforms at a time.
const SHORT_LINES: usize = 1 << 12;

/// The last one of an odd number of lines is transformed by itself where these are at most so many,
/// of at least so many points. Else it is paired with zeros.
const MOST_ODD_LINES: usize = 15;
const LEAST_ODD_POINTS: usize = 256;

/// About what part of its time by itself a line takes in lanes with others, and in a pair.
const TIME_IN_LANES: f64 = 0.5;
const TIME_IN_PAIRS: f64 = 0.9;

/// Cosine and sine transforms of lines in host memory. The parts of complex numbers are transformed
/// each for itself.
#[derive(Debug)]
pub struct CosineLines;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CosineRequest {
    /// The type, 1 to 4.
    pub kind: u8,
    /// Whether it is a sine transform.
    pub is_sine: bool,
    /// Axis of the lines.
    pub axis: usize,
}

/// What an execution takes besides its operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosineFactors {
    /// Factor of the result.
    pub scale: f64,
    /// Factors of the first and the last element of the operand's lines.
    pub before: [f64; 2],
    /// Factors of the first and the last element of the result's lines.
    pub after: [f64; 2],
}

/// A transform of an array, into one in C order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CosineProblem {
    request: CosineRequest,
    dtype: DType,
    from: Layout,
    to: Layout,
}

impl CosineRequest {
    /// Returns whether an operand is in host memory, where this operation transforms its lines. In
    /// device memory there are [`super::transform_short_lines`], and the steps around a Fourier
    /// transform.
    #[must_use]
    pub fn is_by_lines(operand: &TensorView) -> bool {
        operand.device == MemoryLocation::Host
    }

    /// Checks that an operand has such a transform.
    ///
    /// # Errors
    /// [`Error::InvalidType`] if its elements are of no type that is transformed, and
    /// [`Error::InvalidValue`] if the axis, the type of the transform or the number of points is
    /// wrong, or the elements are not aligned.
    pub fn check(&self, operand: &TensorView) -> Result<()> {
        let CosineRequest { kind, is_sine, axis } = *self;
        let Some(real) = real_type(operand.dtype) else {
            return Err(Error::InvalidType(format!(
                "the operand is {}, but numbers of single or double precision are needed",
                operand.dtype
            )));
        };
        let Some(&points) = operand.layout.shape.get(axis) else {
            return Err(Error::InvalidValue(format!(
                "there is no axis {axis} in an operand of {} dimensions",
                operand.layout.ndim()
            )));
        };
        let fewest = if kind == 1 && !is_sine { 2 } else { 1 };
        if !(1..=4).contains(&kind) || (points < fewest && !operand.layout.is_empty()) {
            return Err(Error::InvalidValue(format!(
                "there is no cosine or sine transform of type {kind} of {points} points; the types \
                 are 1 to 4, and this one has at least {fewest} points"
            )));
        }
        if !operand.ptr.is_multiple_of(real.size()) {
            return Err(Error::InvalidValue(format!(
                "the operand at {:#x} is not aligned to {} bytes; copy it to new memory",
                operand.ptr,
                real.size()
            )));
        }
        Ok(())
    }
}

impl Request for CosineRequest {
    type Problem = CosineProblem;

    fn problem(&self, inputs: &[&TensorView], _execution: Execution) -> Result<CosineProblem> {
        let &[operand] = inputs else {
            return Err(Error::InvalidValue("a cosine transform has one operand".into()));
        };
        self.check(operand)?;
        let from = operand.layout.clone();
        let to = Layout::contiguous(&from.shape);
        Ok(CosineProblem { request: *self, dtype: operand.dtype, from, to })
    }

    fn is_about_inputs_alone(&self) -> bool {
        true
    }
}

impl Problem for CosineProblem {
    fn input(&self, index: usize) -> Option<OperandSpec<'_>> {
        let spec = OperandSpec { name: "the operand", dtype: self.dtype, layout: &self.from };
        (index == 0).then_some(spec)
    }

    fn output(&self, index: usize) -> Option<OperandSpec<'_>> {
        let spec = OperandSpec { name: "the result", dtype: self.dtype, layout: &self.to };
        (index == 0).then_some(spec)
    }

    fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    fn fits_input(&self, _index: usize, view: &TensorView, _location: MemoryLocation) -> bool {
        real_type(self.dtype).is_some_and(|real| view.ptr.is_multiple_of(real.size()))
    }
}

impl Operation for CosineLines {
    type Request = CosineRequest;
    type Problem = CosineProblem;
    type Engine = Box<dyn Engine<Arguments = CosineFactors>>;
    type Arguments = CosineFactors;

    fn plan(problem: &CosineProblem, execution: Execution) -> Result<Self::Engine> {
        let Execution::Cpu { threads } = execution else {
            return Err(Error::InvalidValue(
                "lines are transformed one by one on the CPU; a GPU takes the steps around a \
                 Fourier transform"
                    .into(),
            ));
        };
        Ok(match real_type(problem.dtype) {
            Some(DType::Float32) => Box::new(LineTransform::<f32>::new(problem, threads)?),
            _ => Box::new(LineTransform::<f64>::new(problem, threads)?),
        })
    }

    fn plan_cache() -> &'static PlanCache<Self> {
        thread_local! {
            static RECENT: RecentPlans<CosineLines> = RecentPlans::default();
        }
        static PLANS: PlanCache<CosineLines> = PlanCache::new(&RECENT);
        &PLANS
    }
}

/// A transform of all lines of an array.
struct LineTransform<T: Scalar> {
    kernel: Kernel<T>,
    points: usize,
    /// Bytes of the tables, or the most that they take.
    table_bytes: usize,
    lines: LineTiles,
    threads: NonZeroUsize,
}

enum Kernel<T: Scalar> {
    /// With the plan for a last line that has no partner.
    Pairs(Box<PairPlan<T>>, Option<LinePlan<T>>),
    Single(LinePlan<T>),
    Lanes(Box<LanePlan<T>>),
    Short(Box<ShortPlan>),
    /// With the number of lines that are transformed at a time.
    Long(Box<LongPlan<T>>, NonZeroUsize),
}

impl<T: Scalar> fmt::Debug for LineTransform<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineTransform").field("points", &self.points).finish_non_exhaustive()
    }
}

impl<T: Scalar> Engine for LineTransform<T> {
    type Arguments = CosineFactors;

    fn name(&self) -> &'static str {
        "embedded"
    }

    fn host_memory(&self) -> usize {
        self.table_bytes
    }

    unsafe fn execute(
        &self,
        _context: Option<&ContextGuard>,
        call: &Call<'_, CosineFactors>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees that these are the addresses of such arrays.
        unsafe { self.run(call.inputs[0], call.outputs[0], call.arguments) }
    }
}

impl<T: Scalar> LineTransform<T> {
    fn new(problem: &CosineProblem, threads: NonZeroUsize) -> Result<Self> {
        let CosineRequest { kind, is_sine, axis } = problem.request;
        let [from, to] = [&problem.from, &problem.to].map(|layout| {
            if problem.dtype.is_complex() { layout.of_parts() } else { layout.clone() }
        });
        let points = from.shape[axis];
        // What cannot be had is refused before the length is looked into.
        check_available::<T>(points as usize, &format!("a transform of {points} points"))?;
        let mut table_bytes = plan_bytes::<T>(points as usize);
        let threads = useful_threads(from.len() as f64 * levels_of(points as usize), threads);
        let mut lines = LineTiles::new(axis, &from, &to);
        let are_contiguous = lines.are_slices();
        let most_multiplied = short::most_points(kind, are_contiguous);
        let most_short = if are_contiguous {
            most_multiplied
        } else {
            short::most_strided_points::<T>(lines.neighbours())
        };
        let is_shared = lines.count() < threads.get() && points >= SHARED_POINTS;
        // The Fourier transforms of such lines are grids, which `LinePlan` does not have.
        let is_grid = lines.count() == 1 && kind > 1 && is_faster_as_grid(points as usize);
        let is_long = plan_bytes::<f64>(points as usize) > LONG_BYTES;
        let kernel = if is_long || is_shared || is_grid {
            lines.cut_into_tiles(1);
            let (at_once, of_line) = share_out(threads, lines.count(), points as usize);
            let plan = LongPlan::new(kind, points as usize, is_sine, of_line)?;
            table_bytes = plan.table_bytes();
            Kernel::Long(Box::new(plan), at_once)
        } else if points as usize > most_short
            && let Some(plan) = LanePlan::new(kind, points as usize, is_sine, lines.count())
            && plan.suits(&lines)
            && !is_faster_one_by_one(&lines, plan.lines_at_once(), threads)
        {
            Kernel::Lanes(Box::new(plan))
        } else if points as usize <= most_multiplied {
            lines.cut_into_tiles(SHORT_LINES);
            Kernel::Short(Box::new(ShortPlan::new(kind, points as usize, is_sine)))
        } else if lines.count() > 1
            && let plan = PairPlan::new(kind, points as usize, is_sine)?
            && let together = plan.lines_at_once().unwrap_or(2)
            && !is_faster_one_by_one(&lines, together, threads)
        {
            lines.cut_for_copies(points as usize * size_of::<T>(), threads);
            lines.cut_into_tiles(lines.width().next_multiple_of(together));
            let neighbours = lines.neighbours();
            let is_odd = !neighbours.is_multiple_of(2) && neighbours <= MOST_ODD_LINES;
            let last = (is_odd && points as usize >= LEAST_ODD_POINTS)
                .then(|| LinePlan::new(kind, points, is_sine))
                .transpose()?;
            Kernel::Pairs(Box::new(plan), last)
        } else {
            lines.cut_into_tiles(1);
            Kernel::Single(LinePlan::new(kind, points, is_sine)?)
        };
        Ok(Self { kernel, points: points as usize, table_bytes, lines, threads })
    }

    /// # Safety
    /// The addresses are those of arrays of the problem's layouts in host memory, which do not
    /// overlap and which nothing else uses until the function returns.
    unsafe fn run(&self, from: usize, to: usize, factors: CosineFactors) -> Result<()> {
        let from = std::ptr::with_exposed_provenance::<T>(from);
        let to = std::ptr::with_exposed_provenance_mut::<T>(to);
        // SAFETY: the caller guarantees the same of the arrays.
        unsafe {
            match &self.kernel {
                Kernel::Pairs(plan, last) => {
                    self.run_pairs((plan, last.as_ref()), factors, from, to)
                }
                Kernel::Short(plan) => self.run_short(plan, factors, from, to),
                Kernel::Lanes(plan) => self.run_in_lanes(plan, factors, from, to),
                Kernel::Long(plan, at_once) => self.run_long((plan, *at_once), factors, from, to),
                Kernel::Single(plan) => {
                    let kernel = CosineKernel { plan, factors };
                    run_lines(&kernel, &self.lines, (from, to), None, self.threads)
                }
            }
        }
    }

    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_long(
        &self,
        (plan, at_once): (&LongPlan<T>, NonZeroUsize),
        factors: CosineFactors,
        from: *const T,
        to: *mut T,
    ) -> Result<()> {
        let lines = &self.lines;
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(at_once, lines.tiles(), |mut numbers| {
            numbers.try_for_each(|number| {
                let tile = lines.tile(number);
                // SAFETY: the tile has one line of the layouts, for which the caller guarantees
                // that the addresses are valid. No other tile has this line.
                unsafe {
                    let from = from.get().offset(tile.from).cast_const();
                    plan.run(factors, (from, to.get().offset(tile.to)), lines.along)
                }
            })
        })
    }

    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_short(
        &self,
        plan: &ShortPlan,
        factors: CosineFactors,
        from: *const T,
        to: *mut T,
    ) -> Result<()> {
        let lines = &self.lines;
        let matrix = plan.scaled::<T>(factors);
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(self.threads, lines.tiles(), |numbers| {
            for number in numbers {
                let tile = lines.tile(number);
                // SAFETY: the tile has lines of the layouts, for which the caller guarantees that
                // the addresses are valid. No other tile has these lines.
                unsafe {
                    let from = from.get().offset(tile.from).cast_const();
                    let ends = (from, to.get().offset(tile.to));
                    matrix.multiply(ends, (lines.along, lines.across), tile.lines);
                }
            }
            Ok(())
        })
    }

    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_in_lanes(
        &self,
        plan: &LanePlan<T>,
        factors: CosineFactors,
        from: *const T,
        to: *mut T,
    ) -> Result<()> {
        let lines = &self.lines;
        let together = plan.lines_at_once();
        let bytes = ScratchPieces::bytes::<T>(plan.work_len());
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        parallel_for(self.threads, lines.count().div_ceil(together), |numbers| {
            let mut memory = ScratchBuffer::take(bytes)?;
            let work = memory.pieces().next(plan.work_len());
            let (from, to) = (from.get().cast_const(), to.get());
            let operands = Operands { from, to, along: lines.along, across: lines.across };
            let mut parts = Vec::with_capacity(together);
            for number in numbers {
                let first = number * together;
                parts.clear();
                parts.extend(lines.parts(first..lines.count().min(first + together)));
                // SAFETY: the parts have lines of the layouts, for which the caller guarantees that
                // the addresses are valid. No other number has these lines.
                unsafe { plan.run(factors, &operands, &parts, work) };
            }
            Ok(())
        })
    }

    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_pairs(
        &self,
        (plan, last): (&PairPlan<T>, Option<&LinePlan<T>>),
        factors: CosineFactors,
        from: *const T,
        to: *mut T,
    ) -> Result<()> {
        let lines = &self.lines;
        let last = last.map(|plan| CosineKernel { plan, factors });
        let of_last = last.as_ref().map_or((0, 0, 0), LineKernel::lengths);
        let room = plan.layout().len(lines.width().div_ceil(2));
        let bytes = ScratchPieces::bytes::<Complex<T>>(room)
            + ScratchPieces::bytes::<Complex<T>>(plan.scratch_len())
            + ScratchPieces::bytes::<T>(of_last.0)
            + ScratchPieces::bytes::<T>(of_last.1)
            + ScratchPieces::bytes::<Complex<T>>(of_last.2);
        let (from, to) = (SyncPtr::new(from.cast_mut()), SyncPtr::new(to));
        let strides = (lines.along, lines.across);
        parallel_for(self.threads, lines.tiles(), |numbers| {
            let mut memory = ScratchBuffer::take(bytes)?;
            let mut pieces = memory.pieces();
            let buffer = pieces.next(room);
            let scratch = pieces.next(plan.scratch_len());
            let (line, result) = (pieces.next::<T>(of_last.0), pieces.next::<T>(of_last.1));
            let work = pieces.next(of_last.2);
            for number in numbers {
                let tile = lines.tile(number);
                let paired = tile.lines - if last.is_some() { tile.lines % 2 } else { 0 };
                // SAFETY: the tile has lines of the layouts, for which the caller guarantees that
                // the addresses are valid. No other tile has these lines.
                unsafe {
                    let from = from.get().offset(tile.from);
                    let to = to.get().offset(tile.to);
                    plan.run(factors, (from, to), strides, paired, buffer, scratch);
                    if let Some(last) = last.as_ref().filter(|_| paired < tile.lines) {
                        let from = from.offset(paired as isize * lines.across.from);
                        for (at, value) in line.iter_mut().enumerate() {
                            *value = *from.offset(at as isize * lines.along.from);
                        }
                        last.run(line, result, work);
                        let to = to.offset(paired as isize * lines.across.to);
                        for (at, value) in result.iter().enumerate() {
                            *to.offset(at as isize * lines.along.to) = *value;
                        }
                    }
                }
            }
            Ok(())
        })
    }
}

/// Whether the threads are done sooner if each transforms one contiguous line at a time. A line
/// takes less time together with others, but if there are few such groups, some threads get none.
fn is_faster_one_by_one(lines: &LineTiles, together: usize, threads: NonZeroUsize) -> bool {
    let rounds = |tasks: usize| tasks.div_ceil(threads.get());
    let share = if together > 2 { TIME_IN_LANES } else { TIME_IN_PAIRS };
    let time_together = (rounds(lines.count().div_ceil(together)) * together) as f64 * share;
    threads.get() > 1 && lines.are_slices() && (rounds(lines.count()) as f64) < time_together
}

/// Returns how many long lines are transformed at a time, and how many threads each is planned for.
/// All threads share the longest lines, whose work memory is large; such lines always are grids.
/// Of others each thread has one, and threads without one help those that have.
fn share_out(threads: NonZeroUsize, lines: usize, points: usize) -> (NonZeroUsize, NonZeroUsize) {
    if points > MOST_WHOLE {
        (NonZeroUsize::MIN, threads)
    } else if lines < threads.get() {
        (threads, threads)
    } else {
        (threads, NonZeroUsize::MIN)
    }
}

/// Returns the most bytes that the tables of a transform take.
fn plan_bytes<T: Scalar>(points: usize) -> usize {
    table_bytes::<T>(points) + points * size_of::<Complex<T>>()
}

/// The type of the numbers, or of their parts, that is transformed.
fn real_type(dtype: DType) -> Option<DType> {
    match dtype {
        DType::Float32 | DType::Complex64 => Some(DType::Float32),
        DType::Float64 | DType::Complex128 => Some(DType::Float64),
        _ => None,
    }
}
