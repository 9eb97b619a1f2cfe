//! Plans for lines that are short enough to be transformed as a whole: of rustfft and realfft, or
//! of a library that takes their place.
//!
//! Both crates end the process where memory is short. So they get only lines whose tables are
//! small, and only after a look whether there is memory for them.

use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftPlanner};

use super::Scalar;
use crate::error::Result;
use crate::fft::cpu::fftw::FftwPlanner;
use crate::lane_fft::{
    largest_prime_factor, plan_half_in_lanes, plan_in_lanes, plan_odd_half, plan_odd_line,
    plan_real_in_lanes,
};
use crate::memory::check_available;

/// Points of the longest line that is transformed as a whole. Planning it takes less than a second.
pub(crate) const MAX_POINTS: usize = 1 << 22;

/// Plans a complex transform.
pub(crate) fn plan_line<T: Scalar>(
    points: usize,
    direction: FftDirection,
) -> Result<Arc<dyn Fft<T>>> {
    check::<T>(points)?;
    let in_lanes = plan_in_lanes(points, direction, |others| plan_line(others, direction))?;
    Ok(in_lanes.unwrap_or_else(|| FftPlanner::new().plan_fft(points, direction)))
}

/// Like [`plan_line`], by a library if there is one.
pub(super) fn plan_line_by<T: Scalar>(
    library: Option<&FftwPlanner>,
    points: usize,
    direction: FftDirection,
) -> Result<Arc<dyn Fft<T>>> {
    library
        .map_or_else(|| plan_line(points, direction), |library| library.complex(points, direction))
}

/// Plans a real-to-complex transform.
pub(crate) fn plan_real_line<T: Scalar>(points: usize) -> Result<Arc<dyn RealToComplex<T>>> {
    check::<T>(points)?;
    let forward = FftDirection::Forward;
    let plan_parts = |points| Ok((plan_real_line(points)?, plan_line(points, forward)?));
    let planned = match plan_real_in_lanes(points, |others| plan_line(others, forward))? {
        None => plan_odd_line(points, plan_parts)?,
        planned => planned,
    };
    Ok(planned.unwrap_or_else(|| RealFftPlanner::new().plan_fft_forward(points)))
}

/// Plans a complex-to-real transform.
pub(crate) fn plan_half_line<T: Scalar>(points: usize) -> Result<Arc<dyn ComplexToReal<T>>> {
    check::<T>(points)?;
    let inverse = FftDirection::Inverse;
    let plan_parts = |points| Ok((plan_half_line(points)?, plan_line(points, inverse)?));
    let planned = match plan_half_in_lanes(points, |others| plan_line(others, inverse))? {
        None => plan_odd_half(points, plan_parts)?,
        planned => planned,
    };
    Ok(planned.unwrap_or_else(|| RealFftPlanner::new().plan_fft_inverse(points)))
}

fn check<T: Scalar>(points: usize) -> Result<()> {
    check_available::<u8>(table_bytes::<T>(points), &format!("a transform of {points} points"))
}

/// Returns the most bytes that planning a line takes, which is a little more than its tables.
pub(crate) fn table_bytes<T: Scalar>(points: usize) -> usize {
    // Lengths with a large prime factor become a convolution of up to four times the length, which
    // has a table of its own and is planned by a transform of it.
    let times = if largest_prime_factor(points) > 11 { 20 } else { 3 };
    (times * points + 256) * size_of::<Complex<T>>()
}
