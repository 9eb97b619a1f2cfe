//! Transforms between real lines and half spectra, several at once, one line in each lane.
//!
//! Lines never share a transform, so that neither infinities nor roundings of one reach another.

use pulp::Arch;
use rustfft::num_complex::Complex;

use super::direct_sums::LEAST_PRIME;
use super::half_spectra::EvenLines;
use super::instructions::has_64_byte_vectors;
use super::line_moves::{MOST_LANES, MoveLines};
use super::odd_lines::OddLines;
use super::strided_lines::{LaneLines, StridedLines};
use super::sums::{MOST_REAL_SUMMED, MOST_SUMMED};
use super::{Instructions, Lane, WORK_BYTES, is_slow_alone, largest_prime_factor, most_summed};

/// Largest prime factor of an odd number of real points for which sums of products are worth while
/// in four lanes and more. A real line needs half as many products as a complex one. Processors
/// with 64-byte vectors add more in a given time: they compute up to [`MOST_REAL_SUMMED`] in eight
/// lanes and more.
const MOST_IN_FOUR: usize = 107;

/// A line of P points, P a prime, is fast by itself if P - 1 has no larger prime factor than this.
const SMALL_FACTOR: usize = 7;

/// A planned transform, in both directions.
struct RealFft<T> {
    points: usize,
    lanes: usize,
    arch: Instructions,
    parity: Parity<T>,
}

enum Parity<T> {
    Even(EvenLines<T>),
    Odd(OddLines<T>),
}

impl<T: Lane> RealFft<T> {
    fn with(arch: Instructions, points: usize) -> Option<Self> {
        let lanes = arch.lanes::<T>();
        // The factors of a long line may take long to find.
        if points < 2 || points.saturating_mul(4 * lanes) > WORK_BYTES / size_of::<T>() {
            return None;
        }
        let prime = largest_prime_factor(points);
        let is_even = points.is_multiple_of(2);
        let is_wide = lanes >= 8 && has_64_byte_vectors::<T>(Arch::new());
        let most = match lanes {
            _ if is_even || lanes < 4 => most_summed(lanes),
            _ if is_wide && largest_prime_factor(prime - 1) > SMALL_FACTOR => MOST_REAL_SUMMED,
            _ => MOST_IN_FOUR,
        };
        if prime > most && !(is_even && prime > MOST_SUMMED) {
            return None;
        }
        let parity = if is_even {
            Parity::Even(EvenLines::with(arch, points)?)
        } else {
            Parity::Odd(OddLines::with(arch, lanes, points)?)
        };
        let plan = Self { points, lanes, arch, parity };
        let has_lanes = (2..=MOST_LANES).contains(&lanes);
        (has_lanes && plan.work_len() <= WORK_BYTES / size_of::<T>()).then_some(plan)
    }

    fn table_bytes(&self) -> usize {
        match &self.parity {
            Parity::Even(lines) => lines.table_bytes(),
            Parity::Odd(lines) => lines.table_bytes(),
        }
    }

    /// Returns the complex numbers of a half spectrum.
    fn complex_points(&self) -> usize {
        self.points / 2 + 1
    }

    /// Returns the numbers of one side of all lanes.
    fn side_len(&self) -> usize {
        2 * self.complex_points() * self.lanes
    }

    /// Returns the numbers of work memory that a call needs: a copy of the real lines, one of the
    /// half spectra, and what the transform needs.
    fn work_len(&self) -> usize {
        let of_parity = match &self.parity {
            Parity::Even(lines) => lines.work_len(),
            Parity::Odd(lines) => lines.work_len(),
        };
        2 * self.side_len() + of_parity
    }

    /// Returns whether lines that are slices take less time in lanes than one by one: where one
    /// line has no fast transform, and in single precision, which fills twice as many lanes, also
    /// if it has, but not for multiples of 8.
    fn suits_rows(&self) -> bool {
        let prime = largest_prime_factor(self.points);
        let is_left = self.points.is_multiple_of(8) && self.points >= 2 * self.lanes;
        (!is_left || prime >= LEAST_PRIME) && (size_of::<T>() == 4 || prime > 3)
    }
}

/// Returns whether so many lines take less time in the lanes than one by one, though some lanes may
/// be empty.
fn suits<T: Lane>(arch: Instructions, points: usize, count: usize) -> bool {
    let (lanes, is_halved) = (arch.lanes::<T>(), arch.is_halved());
    let (is_odd, is_single) = (!points.is_multiple_of(2), size_of::<T>() == 4);
    let is_slow_alone = if is_odd {
        is_slow_alone(points, 8)
    } else {
        is_slow_alone(points / 2, 32 / size_of::<T>())
    };
    let prime = largest_prime_factor(points);
    // Whether lines gain by lanes of which some are empty.
    let gains = is_odd || is_slow_alone || (is_single && !is_halved && prime >= LEAST_PRIME);
    // Lines with two large prime factors are fast by themselves.
    let has_two = largest_prime_factor(points / prime) >= LEAST_PRIME;
    if !gains || has_two || (is_halved && prime > 61) {
        return count >= lanes && arch.are_widest::<T>();
    }
    // What part of its time by itself a line takes where all lanes have one, as measured with
    // 32-byte vectors. Those of 64 bytes take three quarters of that.
    let wide = if lanes * size_of::<T>() == 64 { 0.75 } else { 1.0 };
    let share = match prime {
        ..=61 if is_slow_alone && is_single => 0.55,
        ..=61 if is_slow_alone => 0.5,
        _ if is_halved => 0.8,
        62.. if is_slow_alone && (prime <= MOST_IN_FOUR || lanes >= 16) => 0.7,
        62.. if is_odd => 0.8,
        LEAST_PRIME.. if is_odd => 0.55,
        _ => 0.7,
    };
    (count.div_ceil(lanes) * lanes) as f64 * share * wide <= count as f64
}

/// Transforms of real lines to half spectra.
pub(crate) struct RealToHalf<T>(RealFft<T>);

/// Transforms of half spectra to real lines.
pub(crate) struct HalfToReal<T>(RealFft<T>);

impl<T: Lane> LaneLines for RealToHalf<T> {
    type Real = T;
    type From = T;
    type To = Complex<T>;

    const IS_APART: bool = true;

    fn with(arch: Instructions, points: usize) -> Option<Self> {
        RealFft::with(arch, points).map(Self)
    }

    fn points(&self) -> usize {
        self.0.points
    }

    fn lanes(&self) -> usize {
        self.0.lanes
    }

    fn suits(arch: Instructions, points: usize, count: usize) -> bool {
        suits::<T>(arch, points, count)
    }

    fn table_bytes(&self) -> usize {
        self.0.table_bytes()
    }

    fn work_len(&self) -> usize {
        self.0.work_len()
    }

    fn suits_rows(&self) -> bool {
        self.0.suits_rows()
    }

    unsafe fn run_lines(
        &self,
        from: &[StridedLines<T>],
        to: &[StridedLines<Complex<T>>],
        work: &mut [T],
        (_, factor): (bool, T),
    ) {
        let Self(RealFft { points, lanes, arch, parity }) = self;
        let (points, lanes) = (*points, *lanes);
        let (reals, rest) = work.split_at_mut(self.0.side_len());
        let (half, work) = rest.split_at_mut(self.0.side_len());
        let [reals, half, work] = [reals, half, work].map(<[T]>::as_mut_ptr);
        // SAFETY: the caller guarantees that the operands are valid, and the work memory has places
        // for all lanes.
        unsafe {
            let whole = StridedLines::whole(from, lanes);
            let source = whole.unwrap_or(StridedLines::inside(reals, lanes));
            if whole.is_none() {
                MoveLines::<_, true> { side: from, inside: reals, points, lanes }.run(*arch);
            }
            let whole = StridedLines::whole(to, lanes);
            let target = whole.unwrap_or(StridedLines::inside(half.cast(), lanes)).side();
            match parity {
                Parity::Even(plan) => plan.forward(source, target, work, factor),
                Parity::Odd(plan) => plan.forward(source, target, work, factor),
            }
            if whole.is_none() {
                let (inside, points) = (half.cast(), self.0.complex_points());
                MoveLines::<_, false> { side: to, inside, points, lanes }.run(*arch);
            }
        }
    }
}

impl<T: Lane> LaneLines for HalfToReal<T> {
    type Real = T;
    type From = Complex<T>;
    type To = T;

    const IS_APART: bool = true;

    fn with(arch: Instructions, points: usize) -> Option<Self> {
        RealFft::with(arch, points).map(Self)
    }

    fn points(&self) -> usize {
        self.0.complex_points()
    }

    fn lanes(&self) -> usize {
        self.0.lanes
    }

    fn suits(arch: Instructions, points: usize, count: usize) -> bool {
        suits::<T>(arch, points, count)
    }

    fn table_bytes(&self) -> usize {
        self.0.table_bytes()
    }

    fn work_len(&self) -> usize {
        self.0.work_len()
    }

    fn suits_rows(&self) -> bool {
        self.0.suits_rows()
    }

    unsafe fn run_lines(
        &self,
        from: &[StridedLines<Complex<T>>],
        to: &[StridedLines<T>],
        work: &mut [T],
        (_, factor): (bool, T),
    ) {
        let Self(RealFft { points, lanes, arch, parity }) = self;
        let (points, lanes) = (*points, *lanes);
        let (reals, rest) = work.split_at_mut(self.0.side_len());
        let (half, work) = rest.split_at_mut(self.0.side_len());
        let [reals, half, work] = [reals, half, work].map(<[T]>::as_mut_ptr);
        // SAFETY: as for real lines.
        unsafe {
            let whole = StridedLines::whole(from, lanes);
            let source = whole.unwrap_or(StridedLines::inside(half.cast(), lanes)).side();
            if whole.is_none() {
                let (inside, points) = (half.cast(), self.0.complex_points());
                MoveLines::<_, true> { side: from, inside, points, lanes }.run(*arch);
            }
            let whole = StridedLines::whole(to, lanes);
            let target = whole.unwrap_or(StridedLines::inside(reals, lanes));
            match parity {
                Parity::Even(plan) => plan.inverse(source, target, work, factor),
                Parity::Odd(plan) => plan.inverse(source, target, work, factor),
            }
            if whole.is_none() {
                MoveLines::<_, false> { side: to, inside: reals, points, lanes }.run(*arch);
            }
        }
    }
}

#[cfg(test)]
#[path = "real_tests.rs"]
mod tests;
