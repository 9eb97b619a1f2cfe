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
    work: FftwPlans,
}

enum FftwPlans {
    Nothing,
    C2C { first: Option<PackedCopy>, forward: FftwPlan, inverse: FftwPlan },
    R2C { first: Option<PackedCopy>, plan: FftwPlan },
    C2R(Box<PackedC2r>),
}

/// A packed copy of the input. Inputs with strides of zero or below go through one, because both
/// can drive the planner of FFTW 3.3.10 into endless recursion; so FFTW declines outputs with
/// negative strides.
struct PackedCopy {
    precision: Precision,
    /// The batch dimensions of the input and the copy, which has all axes among them.
    outer: BatchDims<2>,
    fastest: BatchDim<2>,
    len: usize,
}

/// C2R by way of a copy: FFTW's interface destroys the input of C2R over several axes, and leaves
/// open what the imaginary parts at the ends of a Hermitian half do.
struct PackedC2r {
    packed_copy: PackedCopy,
    layout: Layout,
    /// The axis of the half, and whether its last number stands for the middle of the spectrum.
    halved: usize,
    even: bool,
    /// Over every axis but the last, within the copy.
    others: Option<FftwPlan>,
    last: FftwPlan,
}

impl FftwFft {
    pub(super) fn new(
        problem: &FftProblem,
        threads: NonZeroUsize,
        library: Arc<CpuLibrary>,
    ) -> Result<Self> {
        let threads = if library.lost_its_threads() { NonZeroUsize::MIN } else { threads };
        let (input, output) = (&problem.input, &problem.output);
        let api = library.api(problem.precision)?;
        let axes: Vec<usize> = problem.axes.iter().map(|&axis| axis as usize).collect();
        let plan = |shape: &PlanRequest<'_>| {
            FftwPlan::new(&api, shape, threads)
                .ok_or_else(|| Error::InvalidValue(no_plan_message(&library, problem)))
        };
        if library.name() == "fftw" && has_stride(output, |stride| stride < 0) {
            return Err(Error::InvalidValue(no_plan_message(&library, problem)));
        }
        let indirect = !problem.inplace && has_stride(input, |stride| stride <= 0);
        let packed_copy = |layout: &Layout| {
            let mut outer = BatchDims::outside(&[], [input, layout]);
            let fastest = outer.pop_fastest();
            let len = layout.len() as usize;
            PackedCopy { precision: problem.precision, outer, fastest, len }
        };
        let work = if input.is_empty() || output.is_empty() {
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
                        first: indirect.then(|| packed_copy(output)),
                        forward: both(Direction::Forward)?,
                        inverse: both(Direction::Inverse)?,
                    }
                }
                TransformKind::R2C => {
                    let packed = Layout::packed(&input.shape, &output.memory_order());
                    let from = if indirect { &packed } else { input };
                    let shape = PlanRequest { axes: &axes, from, to: output, kind: PlanKind::R2C };
                    FftwPlans::R2C {
                        first: indirect.then(|| packed_copy(&packed)),
                        plan: plan(&shape)?,
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
                        packed_copy: packed_copy(&layout),
                        halved: last[0],
                        even: output.shape[last[0]] % 2 == 0,
                        others: (!others.is_empty()).then(|| plan(&within)).transpose()?,
                        last: plan(&across)?,
                        layout,
                    }))
                }
            }
        };
        Ok(Self { library, problem: problem.clone(), threads, work })
    }

    pub(super) fn library(&self) -> &CpuLibrary {
        &self.library
    }

    /// # Safety
    /// The addresses must be valid for the problem's layouts, and not overlap unless the problem is
    /// in place.
    pub(super) unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
    ) -> Result<()> {
        let FftProblem { output: layout, .. } = &self.problem;
        // SAFETY: passed on.
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

    /// # Safety
    /// As for [`Self::execute`].
    unsafe fn transform(&self, input: usize, output: usize, direction: Direction) -> Result<()> {
        if self.threads.get() > 1 && self.library.lost_its_threads() {
            let alone = Self::new(&self.problem, NonZeroUsize::MIN, Arc::clone(&self.library))?;
            // SAFETY: passed on.
            return unsafe { alone.transform(input, output, direction) };
        }
        // SAFETY: the plans were made for these layouts.
        unsafe {
            match (&self.work, direction) {
                (FftwPlans::Nothing, _) => Ok(()),
                (FftwPlans::C2C { first, forward: plan, .. }, Direction::Forward)
                | (FftwPlans::C2C { first, inverse: plan, .. }, Direction::Inverse) => {
                    let mut from = input;
                    if let Some(packed_copy) = first {
                        packed_copy.copy::<true>(input, output);
                        from = output;
                    }
                    plan.execute(from, output);
                    Ok(())
                }
                (FftwPlans::R2C { first: None, plan }, _) => {
                    plan.execute(input, output);
                    Ok(())
                }
                (FftwPlans::R2C { first: Some(packed_copy), plan }, _) => {
                    let mut buffer = packed_copy.buffer::<false>()?;
                    let address = buffer.address();
                    packed_copy.copy::<false>(input, address);
                    plan.execute(address, output);
                    Ok(())
                }
                (FftwPlans::C2R(inverse), _) => inverse.execute(input, output),
            }
        }
    }
}

impl PackedCopy {
    fn buffer<const COMPLEX: bool>(&self) -> Result<ScratchBuffer> {
        let size = self.precision.real().size();
        ScratchBuffer::take(self.len * if COMPLEX { 2 * size } else { size })
    }

    /// # Safety
    /// The addresses must be valid for the two layouts, which must not overlap.
    unsafe fn copy<const COMPLEX: bool>(&self, from: usize, to: usize) {
        // SAFETY: passed on; the element types are those of the precision.
        unsafe {
            match (self.precision, COMPLEX) {
                (Precision::Single, false) => self.copy_as::<f32>(from, to),
                (Precision::Single, true) => self.copy_as::<Complex<f32>>(from, to),
                (_, false) => self.copy_as::<f64>(from, to),
                (_, true) => self.copy_as::<Complex<f64>>(from, to),
            }
        }
    }

    /// # Safety
    /// As for [`Self::copy`], with elements of type `E`.
    unsafe fn copy_as<E: Copy>(&self, from: usize, to: usize) {
        let from = std::ptr::with_exposed_provenance::<E>(from);
        let to = std::ptr::with_exposed_provenance_mut::<E>(to);
        let [from_stride, to_stride] = self.fastest.strides.map(|stride| stride as isize);
        for entry in 0..self.outer.count() {
            let [from_offset, to_offset] = self.outer.offsets(entry).map(|offset| offset as isize);
            for index in 0..self.fastest.extent as isize {
                // SAFETY: the offsets are those of elements of the layouts.
                unsafe {
                    *to.offset(to_offset + index * to_stride) =
                        *from.offset(from_offset + index * from_stride);
                }
            }
        }
    }
}

impl PackedC2r {
    /// # Safety
    /// As for [`FftwFft::execute`].
    unsafe fn execute(&self, input: usize, output: usize) -> Result<()> {
        let mut buffer = self.packed_copy.buffer::<true>()?;
        let address = buffer.address();
        // SAFETY: the copy's layout is that of the plans, and its buffer has room for it.
        unsafe {
            self.packed_copy.copy::<true>(input, address);
            if let Some(others) = &self.others {
                others.execute(address, address);
            }
            match self.packed_copy.precision {
                Precision::Single => self.make_ends_real::<f32>(address),
                _ => self.make_ends_real::<f64>(address),
            }
            self.last.execute(address, output);
        }
        Ok(())
    }

    /// # Safety
    /// There must be complex numbers of type `T` in the layout of the copy.
    unsafe fn make_ends_real<T: Default>(&self, address: usize) {
        let packed_copy = std::ptr::with_exposed_provenance_mut::<Complex<T>>(address);
        let ends = [0, self.layout.shape[self.halved] - 1];
        let lines = BatchDims::outside(&[self.halved], [&self.layout]);
        for &end in &ends[..if self.even { 2 } else { 1 }] {
            for line in 0..lines.count() {
                let [offset] = lines.offsets(line);
                let end = end * self.layout.strides[self.halved];
                // SAFETY: an index within the copy.
                unsafe { (*packed_copy.offset((offset + end) as isize)).im = T::default() };
            }
        }
    }
}

fn has_stride(layout: &Layout, such: impl Fn(i64) -> bool) -> bool {
    layout.shape.iter().zip(&layout.strides).any(|(&extent, &stride)| extent > 1 && such(stride))
}

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
