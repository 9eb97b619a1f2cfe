//! What comes before and after the Fourier transform by which a cosine or sine transform (DCT, DST)
//! of type I to IV is computed.
//!
//! | type | before | Fourier transform | after |
//! |---|---|---|---|
//! | I | mirrored | real, 2 (N - 1) points; sine: 2 (N + 1) | real parts; sine: imaginary |
//! | II | even elements, odd ones backwards | real, N points | turned by quarter circles |
//! | III | turned by quarter circles | to real, N points | even and odd elements put back |
//! | IV, even N | pairs turned | complex, N / 2 points | turned, pairs put back |
//! | IV, odd N | every eighth element | real, N points | turned by odd eighths of a circle |
//!
//! A sine transform of type II is a cosine transform of the line with every other sign changed,
//! reversed; one of type III or IV is that of the reversed line, with every other sign changed.
//! Types I are not computed by N points, because that loses half of the digits for large N.
//!
//! On a GPU an odd number of points of types II to IV is transformed as complex numbers, of which
//! all are computed (`is_whole`): cuFFT transforms two real lines of an odd length as one complex
//! line, so that a NaN in one of them would reach the other.

mod balance;
mod host;
mod lane_steps;
mod lanes;
mod lines;
mod long;
mod order;
mod pairs;
mod passes;
mod short;
mod single;
mod turns;

use std::num::NonZeroUsize;

use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::kernels::{self, CosineCall, CosineLine, ShortLines};
use crate::tensor::{DType, MemoryLocation, TensorView};

pub use self::lines::{CosineFactors, CosineLines, CosineProblem, CosineRequest};

/// One pass over memory before or after a Fourier transform. The kernels have the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CosineStep {
    /// Before types I: the line and its mirror image.
    Extend,
    /// After types I: real or imaginary parts.
    Take,
    /// Before types II: even elements, then odd ones backwards.
    Fold2,
    /// After types II: turned by quarter circles.
    Turn2,
    /// Before types III: turned by quarter circles.
    Turn3,
    /// After types III: even and odd elements put back.
    Unfold3,
    /// Before types IV of an even length: pairs, turned.
    Pack4,
    /// After types IV of an even length: turned, pairs put back.
    Unpack4,
    /// Before types IV of an odd length: every eighth element of the periodic line.
    Fold4,
    /// After types IV of an odd length: turned by odd eighths of a circle.
    Turn4,
}

impl CosineStep {
    /// Returns the step before or after the Fourier transform, for a type from 1 to 4.
    #[must_use]
    pub fn of(transform: u8, points: i64, is_before: bool) -> Option<Self> {
        Some(match (transform, is_before) {
            (1, true) => Self::Extend,
            (1, false) => Self::Take,
            (2, true) => Self::Fold2,
            (2, false) => Self::Turn2,
            (3, true) => Self::Turn3,
            (3, false) => Self::Unfold3,
            (4, true) if points % 2 == 0 => Self::Pack4,
            (4, false) if points % 2 == 0 => Self::Unpack4,
            (4, true) => Self::Fold4,
            (4, false) => Self::Turn4,
            _ => return None,
        })
    }

    fn is_before(self) -> bool {
        matches!(self, Self::Extend | Self::Fold2 | Self::Turn3 | Self::Pack4 | Self::Fold4)
    }

    /// Returns whether the source has complex elements, of a real Fourier transform.
    fn takes_complex(self) -> bool {
        matches!(self, Self::Take | Self::Turn2 | Self::Unpack4 | Self::Turn4)
    }

    /// Returns whether the target has complex elements, of a real Fourier transform.
    fn gives_complex(self) -> bool {
        matches!(self, Self::Turn3 | Self::Pack4)
    }

    /// Returns the lengths of a line of the source and of the target, for a transform of `points`.
    fn lengths(self, points: i64, is_sine: bool) -> (i64, i64) {
        let half = points / 2 + 1;
        match self {
            Self::Extend => (points, if is_sine { 2 * (points + 1) } else { 2 * (points - 1) }),
            Self::Take => (if is_sine { points + 2 } else { points }, points),
            Self::Fold2 | Self::Unfold3 | Self::Fold4 => (points, points),
            Self::Turn2 | Self::Turn4 => (half, points),
            Self::Turn3 => (points, half),
            Self::Pack4 => (points, points / 2),
            Self::Unpack4 => (points / 2, points),
        }
    }
}

/// What a step computes.
#[derive(Clone, Copy, Debug)]
pub struct CosineArguments {
    /// Which step it is.
    pub step: CosineStep,
    /// Points of the cosine or sine transform.
    pub points: i64,
    /// Whether it is a sine transform.
    pub is_sine: bool,
    /// Factor of the result, in the steps after a transform.
    pub scale: f64,
    /// Factor of the first element of the transform's operand or result.
    pub first: f64,
    /// Factor of the last element.
    pub last: f64,
}

/// One side of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CosineSide {
    /// Whether the elements are complex.
    pub is_complex: bool,
    /// Elements of a line.
    pub length: i64,
}

impl CosineArguments {
    /// Returns whether the Fourier transform is of all N points as complex numbers, where a real
    /// one would do, for arrays in such memory.
    fn is_whole(&self, location: MemoryLocation) -> bool {
        let is_of_points = !matches!(self.step, CosineStep::Extend | CosineStep::Take);
        location != MemoryLocation::Host && self.points % 2 == 1 && is_of_points
    }

    /// Returns the source and the target of the step, in such memory.
    #[must_use]
    pub fn sides(&self, location: MemoryLocation) -> [CosineSide; 2] {
        let &Self { step, points, .. } = self;
        let (from, to) = step.lengths(points, self.is_sine);
        let mut sides = [
            CosineSide { is_complex: step.takes_complex(), length: from },
            CosineSide { is_complex: step.gives_complex(), length: to },
        ];
        if self.is_whole(location) {
            let transformed = usize::from(step.is_before());
            sides[transformed] = CosineSide { is_complex: true, length: points };
        }
        sides
    }
}

/// Computes a step along an axis of `from`. In device memory the work is enqueued on `stream`, a
/// stream of the arrays' device; in host memory it is shared by up to `threads` threads.
///
/// # Safety
/// - Both arrays are valid until the work is done, and nothing else uses `to` until then.
/// - The elements of `to` are distinct, and the arrays do not overlap.
pub unsafe fn cosine_step(
    to: &TensorView,
    from: &TensorView,
    axis: usize,
    arguments: &CosineArguments,
    stream: StreamRef,
    threads: NonZeroUsize,
) -> Result<()> {
    let is_double = match (to.dtype, from.dtype) {
        (DType::Float32 | DType::Complex64, DType::Float32 | DType::Complex64) => false,
        (DType::Float64 | DType::Complex128, DType::Float64 | DType::Complex128) => true,
        (to, from) => {
            return Err(Error::InvalidValue(format!(
                "a step from {from} to {to} is not computed; single or double precision is needed"
            )));
        }
    };
    let [source, target] = arguments.sides(to.device);
    let fits = to.dtype.is_complex() == target.is_complex
        && from.dtype.is_complex() == source.is_complex
        && to.device == from.device
        && to.layout.ndim() == from.layout.ndim()
        && (0..to.layout.ndim()).all(|dim| {
            let extents = (from.layout.shape[dim], to.layout.shape[dim]);
            if dim == axis {
                extents == (source.length, target.length)
            } else {
                extents.0 == extents.1
            }
        })
        && axis < to.layout.ndim();
    if !fits {
        return Err(Error::InvalidValue(format!(
            "{:?} of {} points along axis {axis} does not lead from {} to {}",
            arguments.step,
            arguments.points,
            from.describe(),
            to.describe()
        )));
    }
    if to.layout.is_empty() {
        return Ok(());
    }
    let line = CosineLine {
        step: arguments.step as usize,
        points: arguments.points,
        is_sine: arguments.is_sine,
        is_whole: arguments.is_whole(to.device),
        scale: arguments.scale,
        first: arguments.first,
        last: arguments.last,
    };
    // SAFETY: the arrays have the types and lengths of the step, and the caller guarantees that
    // they are valid and do not overlap.
    unsafe {
        match to.device {
            MemoryLocation::Device(device) => {
                let call = CosineCall::of(&line, &to.layout, &from.layout, axis)?;
                let context = ContextGuard::enter(device)?;
                kernels::compute_cosine_step(&context, to.ptr, from.ptr, &call, is_double, stream)
            }
            MemoryLocation::Host if is_double => {
                host::compute::<f64>(to, from, axis, arguments, threads)
            }
            MemoryLocation::Host => host::compute::<f32>(to, from, axis, arguments, threads),
        }
    }
}

/// Points of the longest line that [`transform_short_lines`] takes.
pub const MOST_SHORT_POINTS: i64 = kernels::MOST_POINTS as i64;

/// Computes cosine or sine transforms of short lines in device memory, as products with a matrix:
/// in one pass over the memory. The parts of complex numbers are transformed each for itself. The
/// work is enqueued on `stream`, a stream of the arrays' device.
///
/// # Errors
/// As [`CosineRequest::check`], and [`Error::InvalidValue`] if the arrays are not of one type and
/// shape in memory of the stream's device, or a line has more than [`MOST_SHORT_POINTS`].
///
/// # Safety
/// - Both arrays are valid until the work is done, and nothing else uses `to` until then.
/// - The elements of `to` are distinct, and the arrays do not overlap.
pub unsafe fn transform_short_lines(
    to: &TensorView,
    from: &TensorView,
    request: &CosineRequest,
    factors: CosineFactors,
    stream: StreamRef,
) -> Result<()> {
    request.check(from)?;
    let &CosineRequest { kind, is_sine, axis } = request;
    let points = from.layout.shape[axis];
    let fits = (to.dtype, to.device, &to.layout.shape)
        == (from.dtype, from.device, &from.layout.shape)
        && to.device.device() == Some(stream.device())
        && points <= MOST_SHORT_POINTS;
    if !fits {
        return Err(Error::InvalidValue(format!(
            "lines of {points} points along axis {axis} do not lead from {} to {}: at most \
             {MOST_SHORT_POINTS} points, and arrays of one type and shape on device {} do",
            from.describe(),
            to.describe(),
            stream.device()
        )));
    }
    if to.layout.is_empty() {
        return Ok(());
    }
    let has_parts = to.dtype.is_complex();
    let [to_lines, from_lines] =
        [to, from].map(|view| if has_parts { view.layout.of_parts() } else { view.layout.clone() });
    let plan = short::ShortPlan::new(kind, points as usize, is_sine);
    let context = ContextGuard::enter(stream.device())?;
    // SAFETY: the arrays have these layouts and types; the caller guarantees that they are valid
    // and do not overlap.
    unsafe {
        if matches!(to.dtype, DType::Float64 | DType::Complex128) {
            let matrix = plan.scaled::<f64>(factors).columns();
            let call = ShortLines::of(&to_lines, &from_lines, axis, matrix)?;
            kernels::transform_short_lines(&context, to.ptr, from.ptr, &call, true, stream)
        } else {
            let matrix = plan.scaled::<f32>(factors).columns();
            let call = ShortLines::of(&to_lines, &from_lines, axis, matrix)?;
            kernels::transform_short_lines(&context, to.ptr, from.ptr, &call, false, stream)
        }
    }
}
