//! Lines by a library with FFTW's interface: MKL, NVPL or FFTW itself.
//!
//! The library transforms lines without gaps, on the thread that calls it. Strides, threads and
//! factors are the business of the passes, which need not know whose lines they are: they see the
//! trait of rustfft, or [`LineKernel`].

mod api;
mod library;

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Direction, Fft, FftDirection, Length};

pub use self::library::CpuLibrary;

use self::api::{
    DESTROY_INPUT, ESTIMATE, FftwApi, IoDim64, PRESERVE_INPUT, RawPlan, UNALIGNED,
    with_planner_lock,
};
use super::passes::{ForwardLine, InverseLine, LineKernel, Scalar, make_ends_real};
use crate::error::{Error, Result};
use crate::fft::Precision;

/// Lines that one call of the library transforms where they are short, because a call has its own
/// cost. Tiles have a multiple of so many.
const BLOCK: usize = 16;

/// Bytes of such a block of lines at most.
const BLOCK_BYTES: usize = 1 << 14;

/// Plans lines by the functions of a library in one precision.
#[derive(Clone, Debug)]
pub(super) struct FftwPlanner {
    library: Arc<CpuLibrary>,
    api: FftwApi,
}

/// What a plan computes; complex kinds with the sign of the exponent.
#[derive(Clone, Copy, Debug)]
enum PlanKind {
    C2C(c_int),
    InPlace(c_int),
    R2C,
    C2R,
}

/// A plan for some lines, one after the other. Dropping it destroys it.
struct FftwPlan {
    raw: RawPlan,
    points: usize,
    kind: PlanKind,
    /// Keeps the library open.
    planner: FftwPlanner,
}

// SAFETY: FFTW's interface lets any thread execute or destroy a plan, the latter under the lock of
// the planner, which `drop` takes.
unsafe impl Send for FftwPlan {}
// SAFETY: FFTW's interface lets several threads execute one plan at once.
unsafe impl Sync for FftwPlan {}

impl FftwPlanner {
    /// Fails if the library lacks this precision.
    pub(super) fn new(library: Arc<CpuLibrary>, precision: Precision) -> Result<Self> {
        let api = library.api(precision)?;
        Ok(Self { library, api })
    }

    pub(super) fn name(&self) -> &'static str {
        self.library.name()
    }

    /// Plans complex lines.
    pub(super) fn complex<T: Scalar>(
        &self,
        points: usize,
        direction: FftDirection,
    ) -> Result<Arc<dyn Fft<T>>> {
        let sign = if direction == FftDirection::Forward { -1 } else { 1 };
        let block = (BLOCK_BYTES / (points * size_of::<Complex<T>>())).clamp(1, BLOCK);
        let plans = |kind| Ok([self.plan(kind, points, block)?, self.plan(kind, points, 1)?]);
        let (inplace, elsewhere) = (plans(PlanKind::InPlace(sign))?, plans(PlanKind::C2C(sign))?);
        Ok(Arc::new(ComplexLines { points, direction, block, inplace, elsewhere }))
    }

    /// Plans a line from real to complex numbers.
    pub(super) fn real<T: Scalar>(&self, points: usize) -> Result<ForwardLine<T>> {
        Ok(Box::new(RealLine(self.plan(PlanKind::R2C, points, 1)?, PhantomData)))
    }

    /// Plans a line from complex to real numbers.
    pub(super) fn half<T: Scalar>(&self, points: usize) -> Result<InverseLine<T>> {
        Ok(Box::new(HalfLine(self.plan(PlanKind::C2R, points, 1)?, PhantomData)))
    }

    fn plan(&self, kind: PlanKind, points: usize, lines: usize) -> Result<FftwPlan> {
        let half = points / 2 + 1;
        let (from, to) = match kind {
            PlanKind::C2C(_) | PlanKind::InPlace(_) => (points, points),
            PlanKind::R2C => (points, half),
            PlanKind::C2R => (half, points),
        };
        let along = IoDim64 { n: points as isize, from: 1, to: 1 };
        let batch = IoDim64 { n: lines as isize, from: from as isize, to: to as isize };
        let (along, batch) = (&raw const along, &raw const batch);
        // With ESTIMATE the planner does not touch memory. It only compares the addresses.
        let source = std::ptr::without_provenance_mut(4096);
        let target = std::ptr::without_provenance_mut(8192);
        let (flags, api) = (ESTIMATE | UNALIGNED, &self.api);
        let kept = flags | PRESERVE_INPUT;
        let raw = with_planner_lock(|| {
            // SAFETY: the dimensions outlive the calls, the types are those of the interface, and
            // the lock is held.
            unsafe {
                if let Some(plan_with_threads) = api.plan_with_threads {
                    plan_with_threads(1);
                }
                match kind {
                    PlanKind::C2C(sign) => {
                        (api.plan_c2c)(1, along, 1, batch, source, target, sign, kept)
                    }
                    PlanKind::InPlace(sign) => {
                        (api.plan_c2c)(1, along, 1, batch, source, source, sign, flags)
                    }
                    PlanKind::R2C => (api.plan_r2c)(1, along, 1, batch, source, target, kept),
                    PlanKind::C2R => {
                        let flags = flags | DESTROY_INPUT;
                        (api.plan_c2r)(1, along, 1, batch, source, target, flags)
                    }
                }
            }
        });
        if raw.is_null() {
            return Err(Error::InvalidValue(format!(
                "{} ({}) has no plan for {kind:?} lines of {points} points; set {}=embedded",
                self.name(),
                self.library.path(),
                library::VARIABLE,
            )));
        }
        Ok(FftwPlan { raw, points, kind, planner: self.clone() })
    }
}

impl FftwPlan {
    /// Transforms the lines of the plan.
    ///
    /// # Safety
    /// Both addresses are those of numbers of the plan's types for its lines; they are equal if the
    /// plan is in place, and the lines are apart otherwise. The input of C2R can be written.
    unsafe fn execute<From, To>(&self, from: *const From, to: *mut To) {
        let api = &self.planner.api;
        let execute = match self.kind {
            PlanKind::C2C(_) | PlanKind::InPlace(_) => api.execute_c2c,
            PlanKind::R2C => api.execute_r2c,
            PlanKind::C2R => api.execute_c2r,
        };
        // SAFETY: the plan takes any alignment, and the caller guarantees that the lines are valid.
        unsafe { execute(self.raw, from.cast_mut().cast::<c_void>(), to.cast::<c_void>()) };
    }
}

impl Drop for FftwPlan {
    fn drop(&mut self) {
        // SAFETY: the plan is alive, nobody executes it any more, and the lock is held.
        with_planner_lock(|| unsafe { (self.planner.api.destroy_plan)(self.raw) });
    }
}

/// Plans for complex lines: each for a block of lines and for one line.
struct ComplexLines {
    points: usize,
    direction: FftDirection,
    /// Lines of a block.
    block: usize,
    inplace: [FftwPlan; 2],
    elsewhere: [FftwPlan; 2],
}

impl ComplexLines {
    /// Transforms lines with so many elements together.
    ///
    /// # Safety
    /// As for [`FftwPlan::execute`] of these plans.
    unsafe fn run<T>(
        &self,
        [many, one]: &[FftwPlan; 2],
        (from, to): (*const Complex<T>, *mut Complex<T>),
        elements: usize,
    ) {
        let (lines, mut line) = (elements / self.points, 0);
        while line < lines {
            let is_block = lines - line >= self.block;
            let at = line * self.points;
            // SAFETY: these are lines for which the caller gives the guarantees.
            unsafe { if is_block { many } else { one }.execute(from.add(at), to.add(at)) };
            line += if is_block { self.block } else { 1 };
        }
    }
}

impl Length for ComplexLines {
    fn len(&self) -> usize {
        self.points
    }
}

impl Direction for ComplexLines {
    fn fft_direction(&self) -> FftDirection {
        self.direction
    }
}

impl<T: Scalar> Fft<T> for ComplexLines {
    fn process_with_scratch(&self, buffer: &mut [Complex<T>], _scratch: &mut [Complex<T>]) {
        let to = buffer.as_mut_ptr();
        // SAFETY: the buffer has these lines, in which the plans work.
        unsafe { self.run(&self.inplace, (to.cast_const(), to), buffer.len()) };
    }

    fn process_immutable_with_scratch(
        &self,
        input: &[Complex<T>],
        output: &mut [Complex<T>],
        _scratch: &mut [Complex<T>],
    ) {
        let elements = input.len().min(output.len());
        // SAFETY: both slices have these lines, and are apart.
        unsafe { self.run(&self.elsewhere, (input.as_ptr(), output.as_mut_ptr()), elements) };
    }

    fn process_outofplace_with_scratch(
        &self,
        input: &mut [Complex<T>],
        output: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        self.process_immutable_with_scratch(input, output, scratch);
    }

    fn get_inplace_scratch_len(&self) -> usize {
        0
    }

    fn get_outofplace_scratch_len(&self) -> usize {
        0
    }

    fn get_immutable_scratch_len(&self) -> usize {
        0
    }
}

/// A plan for one line from real to complex numbers.
struct RealLine<T>(FftwPlan, PhantomData<T>);

impl<T: Scalar> LineKernel for RealLine<T> {
    type Real = T;
    type From = T;
    type To = Complex<T>;
    type Scratch = Complex<T>;

    fn lengths(&self) -> (usize, usize, usize) {
        (self.0.points, self.0.points / 2 + 1, 0)
    }

    fn run(&self, from: &mut [T], to: &mut [Complex<T>], _scratch: &mut [Complex<T>]) {
        // SAFETY: the slices have the lengths above.
        unsafe { self.0.execute(from.as_ptr(), to.as_mut_ptr()) };
    }
}

/// A plan for one line from complex to real numbers.
struct HalfLine<T>(FftwPlan, PhantomData<T>);

impl<T: Scalar> LineKernel for HalfLine<T> {
    type Real = T;
    type From = Complex<T>;
    type To = T;
    type Scratch = Complex<T>;

    fn lengths(&self) -> (usize, usize, usize) {
        (self.0.points / 2 + 1, self.0.points, 0)
    }

    fn run(&self, from: &mut [Complex<T>], to: &mut [T], _scratch: &mut [Complex<T>]) {
        make_ends_real(from, to.len());
        // SAFETY: the slices have the lengths above, and the input may be overwritten.
        unsafe { self.0.execute(from.as_mut_ptr().cast_const(), to.as_mut_ptr()) };
    }
}
