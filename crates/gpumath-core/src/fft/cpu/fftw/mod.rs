//! Transforms by a library with FFTW's interface: MKL, NVPL or FFTW itself.

mod api;
mod library;
mod plan;

use std::num::NonZeroUsize;
use std::sync::Arc;

pub use self::library::CpuLibrary;

use self::plan::{FftwPlan, PlanKind, PlanRequest};
use super::scale::scale;
use super::scratch::ScratchBuffer;
use crate::error::{Error, Result};
use crate::fft::{Direction, FftProblem, Precision, TransformKind};
use crate::tensor::{BatchDim, BatchDims, Layout};
use rustfft::num_complex::Complex;

/// A transform planned by a library.
pub(super) struct FftwFft {
    library: Arc<CpuLibrary>,
    problem: FftProblem,
    threads: NonZeroUsize,
    plans: FftwPlans,
}

/// The plans of each kind of transform. Where there is a copy, they read that instead of the input.
enum FftwPlans {
    /// There is nothing to transform.
    Nothing,
    /// The copy goes to the output, where the plans work in place.
    C2C {
        copy: Option<PackedCopy>,
        forward: FftwPlan,
        inverse: FftwPlan,
    },
    R2C {
        copy: Option<PackedCopy>,
        plan: FftwPlan,
    },
    C2R(Box<PackedC2r>),
}

/// How the input is copied, to packed memory or to the output. Inputs with strides of zero or below
/// are copied, because such strides can drive the planner of FFTW 3.3.10 into endless recursion.
/// For the same reason FFTW declines outputs with negative strides.
struct PackedCopy {
    precision: Precision,
    /// All dimensions of the input and the copy but the fastest.
    outer: BatchDims<2>,
    fastest: BatchDim<2>,
    /// Elements of the copy.
    len: usize,
}

/// C2R, which always works on a copy: FFTW's interface overwrites the input of C2R over several
/// axes, and does not say how the imaginary parts at the ends of a Hermitian half count.
struct PackedC2r {
    copy: PackedCopy,
    /// The layout of the copy.
    layout: Layout,
    /// The axis along which the input has half of the numbers only.
    halved: usize,
    /// Whether the result has an even length along that axis; the last number is at an end then.
    even: bool,
    /// The transforms over every axis but the last, in place within the copy; `None` with one axis.
    others: Option<FftwPlan>,
    /// The transform over the last axis, from the copy to the output.
    last: FftwPlan,
}

impl FftwFft {
    /// Plans a transform. Returns an error if the library has no plan for it.
    pub(super) fn new(
        problem: &FftProblem,
        threads: NonZeroUsize,
        library: Arc<CpuLibrary>,
    ) -> Result<Self> {
        let threads = if library.lost_its_threads() { NonZeroUsize::MIN } else { threads };
        let (input, output) = (&problem.input, &problem.output);
        let api = library.api(problem.precision)?;
        let axes: Vec<usize> = problem.axes.iter().map(|&axis| axis as usize).collect();
        let plan = |request: &PlanRequest<'_>| {
            FftwPlan::new(&api, request, threads)
                .ok_or_else(|| Error::InvalidValue(no_plan_message(&library, problem)))
        };
        if library.name() == "fftw" && has_stride(output, |stride| stride < 0) {
            return Err(Error::InvalidValue(no_plan_message(&library, problem)));
        }
        let indirect = !problem.inplace && has_stride(input, |stride| stride <= 0);
        let copy_to = |layout: &Layout| {
            let mut outer = BatchDims::outside(&[], [input, layout]);
            let fastest = outer.pop_fastest();
            let len = layout.len() as usize;
            PackedCopy { precision: problem.precision, outer, fastest, len }
        };
        let plans = if input.is_empty() || output.is_empty() {
            FftwPlans::Nothing
        } else {
            match problem.kind {
                TransformKind::C2C => {
                    let both = |direction: Direction| {
                        let sign = direction.sign();
                        let (from, kind) = if problem.inplace || indirect {
                            (output, PlanKind::InPlace(sign))
                        } else {
                            (input, PlanKind::C2C(sign))
                        };
                        plan(&PlanRequest { axes: &axes, from, to: output, kind })
                    };
                    FftwPlans::C2C {
                        copy: indirect.then(|| copy_to(output)),
                        forward: both(Direction::Forward)?,
                        inverse: both(Direction::Inverse)?,
                    }
                }
                TransformKind::R2C => {
                    let packed = Layout::packed(&input.shape, &output.memory_order());
                    let from = if indirect { &packed } else { input };
                    let request =
                        PlanRequest { axes: &axes, from, to: output, kind: PlanKind::R2C };
                    FftwPlans::R2C {
                        copy: indirect.then(|| copy_to(&packed)),
                        plan: plan(&request)?,
                    }
                }
                TransformKind::C2R => {
                    let layout = Layout::packed(&input.shape, &output.memory_order());
                    let (others, last) = axes.split_at(axes.len() - 1);
                    let kind = PlanKind::InPlace(Direction::Inverse.sign());
                    let within = PlanRequest { axes: others, from: &layout, to: &layout, kind };
                    let kind = PlanKind::C2R;
                    let across = PlanRequest { axes: last, from: &layout, to: output, kind };
                    FftwPlans::C2R(Box::new(PackedC2r {
                        copy: copy_to(&layout),
                        halved: last[0],
                        even: output.shape[last[0]] % 2 == 0,
                        others: (!others.is_empty()).then(|| plan(&within)).transpose()?,
                        last: plan(&across)?,
                        layout,
                    }))
                }
            }
        };
        Ok(Self { library, problem: problem.clone(), threads, plans })
    }

    pub(super) fn library(&self) -> &CpuLibrary {
        &self.library
    }

    /// Transforms the operand at `input` into `output`, and multiplies the result by the factor if
    /// there is one.
    ///
    /// # Safety
    /// - The addresses are those of elements (0, …, 0) of memory in the problem's layouts, the
    ///   input readable and the output writable during the call, and used by no other thread.
    /// - The two do not overlap, or are equal if the problem is in place.
    pub(super) unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
    ) -> Result<()> {
        let FftProblem { output: layout, .. } = &self.problem;
        // SAFETY: the caller guarantees that both addresses are valid for the layouts.
        unsafe {
            self.transform(input, output, direction)?;
            match factor {
                Some(factor) if !layout.is_empty() => {
                    scale(output, self.problem.output_dtype(), layout, factor, self.threads)
                }
                _ => Ok(()),
            }
        }
    }

    /// Transforms without a factor.
    ///
    /// # Safety
    /// As for [`Self::execute`].
    unsafe fn transform(&self, input: usize, output: usize, direction: Direction) -> Result<()> {
        if self.threads.get() > 1 && self.library.lost_its_threads() {
            let alone = Self::new(&self.problem, NonZeroUsize::MIN, Arc::clone(&self.library))?;
            // SAFETY: the caller guarantees the same.
            return unsafe { alone.transform(input, output, direction) };
        }
        // SAFETY: the plans were made for these layouts, for which the caller guarantees that the
        // addresses are valid. Buffers have room for the copies.
        unsafe {
            match (&self.plans, direction) {
                (FftwPlans::Nothing, _) => Ok(()),
                (FftwPlans::C2C { copy, forward: plan, .. }, Direction::Forward)
                | (FftwPlans::C2C { copy, inverse: plan, .. }, Direction::Inverse) => {
                    let mut from = input;
                    if let Some(copy) = copy {
                        copy.run::<true>(input, output);
                        from = output;
                    }
                    plan.execute(from, output);
                    Ok(())
                }
                (FftwPlans::R2C { copy: None, plan }, _) => {
                    plan.execute(input, output);
                    Ok(())
                }
                (FftwPlans::R2C { copy: Some(copy), plan }, _) => {
                    let mut buffer = copy.buffer::<false>()?;
                    let address = buffer.address();
                    copy.run::<false>(input, address);
                    plan.execute(address, output);
                    Ok(())
                }
                (FftwPlans::C2R(inverse), _) => inverse.execute(input, output),
            }
        }
    }
}

impl PackedCopy {
    /// Takes a buffer with room for the copy.
    fn buffer<const COMPLEX: bool>(&self) -> Result<ScratchBuffer> {
        let size = self.precision.real().size();
        ScratchBuffer::take(self.len * if COMPLEX { 2 * size } else { size })
    }

    /// Copies the input at `from` to `to`.
    ///
    /// # Safety
    /// - The addresses are valid for the two layouts, with elements of the precision.
    /// - The two do not overlap.
    unsafe fn run<const COMPLEX: bool>(&self, from: usize, to: usize) {
        // SAFETY: the caller guarantees the same, and the types are those of the precision.
        unsafe {
            match (self.precision, COMPLEX) {
                (Precision::Single, false) => self.copy_as::<f32>(from, to),
                (Precision::Single, true) => self.copy_as::<Complex<f32>>(from, to),
                (_, false) => self.copy_as::<f64>(from, to),
                (_, true) => self.copy_as::<Complex<f64>>(from, to),
            }
        }
    }

    /// Like [`Self::run`], for elements of type `E`.
    ///
    /// # Safety
    /// As for [`Self::run`], with elements of type `E`.
    unsafe fn copy_as<E: Copy>(&self, from: usize, to: usize) {
        let from = std::ptr::with_exposed_provenance::<E>(from);
        let to = std::ptr::with_exposed_provenance_mut::<E>(to);
        let [from_stride, to_stride] = self.fastest.strides.map(|stride| stride as isize);
        for entry in 0..self.outer.count() {
            let [from_offset, to_offset] = self.outer.offsets(entry).map(|offset| offset as isize);
            for index in 0..self.fastest.extent as isize {
                // SAFETY: these are elements of the layouts, for which the caller guarantees that
                // the addresses are valid.
                unsafe {
                    *to.offset(to_offset + index * to_stride) =
                        *from.offset(from_offset + index * from_stride);
                }
            }
        }
    }
}

impl PackedC2r {
    /// Transforms the operand at `input` into `output`.
    ///
    /// # Safety
    /// As for [`FftwFft::execute`].
    unsafe fn execute(&self, input: usize, output: usize) -> Result<()> {
        let mut buffer = self.copy.buffer::<true>()?;
        let address = buffer.address();
        // SAFETY: the buffer has room for the copy, whose layout the plans were made for. The
        // caller guarantees that `input` and `output` are valid.
        unsafe {
            self.copy.run::<true>(input, address);
            if let Some(others) = &self.others {
                others.execute(address, address);
            }
            match self.copy.precision {
                Precision::Single => self.make_ends_real::<f32>(address),
                _ => self.make_ends_real::<f64>(address),
            }
            self.last.execute(address, output);
        }
        Ok(())
    }

    /// Sets the imaginary parts at the ends of each Hermitian half to zero, because these numbers
    /// are their own mirror images.
    ///
    /// # Safety
    /// `address` is that of complex numbers of `T` in the layout of the copy.
    unsafe fn make_ends_real<T: Default>(&self, address: usize) {
        let numbers = std::ptr::with_exposed_provenance_mut::<Complex<T>>(address);
        let ends = [0, self.layout.shape[self.halved] - 1];
        let lines = BatchDims::outside(&[self.halved], [&self.layout]);
        for &end in &ends[..if self.even { 2 } else { 1 }] {
            for line in 0..lines.count() {
                let [offset] = lines.offsets(line);
                let end = end * self.layout.strides[self.halved];
                // SAFETY: this is an element of the copy.
                unsafe { (*numbers.offset((offset + end) as isize)).im = T::default() };
            }
        }
    }
}

/// Returns whether a stride that matters is such a one.
fn has_stride(layout: &Layout, such: impl Fn(i64) -> bool) -> bool {
    layout.shape.iter().zip(&layout.strides).any(|(&extent, &stride)| extent > 1 && such(stride))
}

/// Returns the message for a transform that the library has no plan for.
fn no_plan_message(library: &CpuLibrary, problem: &FftProblem) -> String {
    format!(
        "{} ({}) has no plan for this {:?} transform over axes {:?} of a {:?} operand with strides \
         {:?} to strides {:?}; set {}=embedded",
        library.name(),
        library.path(),
        problem.kind,
        problem.axes,
        problem.input.shape,
        problem.input.strides,
        problem.output.strides,
        library::VARIABLE,
    )
}
