//! Transforms of lengths with a prime factor that is too large for sums of products.
//!
//! They are convolutions, as Bluestein found: with 2jk = j² + k² - (k - j)², the transform of x is
//! t(k) Σ x(j) t(j) c(k - j), where the chirp c(j) is exp(iπj²/n) and t(j) its conjugate. Longer
//! transforms, without such a factor, compute the sum.

use std::f64::consts::PI;

use pulp::{Simd, WithSimd};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::vectors::{Complexes, Lane};
use super::{Instructions, LaneFft, Side, largest_prime_factor};

/// The convolution with a chirp.
pub(super) struct Chirp<T> {
    /// A transform of at least twice as many points.
    pub(super) inner: Box<LaneFft<T>>,
    /// t(j) for the points of a line, each as a factor of [`Complexes::turned`].
    turns: Vec<[T; 3]>,
    /// The transform of the chirp, divided by the number of its points.
    spectrum: Vec<[T; 3]>,
}

impl<T: Lane> Chirp<T> {
    /// Plans lines of so many points with this prime factor; `None` if they are too long for the
    /// work memory, or take less time one by one.
    pub(super) fn with(arch: Instructions, points: usize, prime: usize) -> Option<Self> {
        // A transform of a prime number of points becomes one of a point less in rustfft, unless
        // that number has a prime factor above 31. For factors from 17 on this is slow, as measured
        // with vectors of 32 bytes.
        if !(17..=31).contains(&largest_prime_factor(prime - 1)) {
            return None;
        }
        let is_fast = |n: &usize| n.is_multiple_of(4) && largest_prime_factor(*n) <= 7;
        let inner = LaneFft::with(arch, (2 * points - 1..4 * points).find(is_fast)?)?;
        let chirp = |j: usize| {
            let (sin, cos) = (PI * (j * j % (2 * points)) as f64 / points as f64).sin_cos();
            Complex::new(cos, sin)
        };
        let length = inner.points;
        let mut spectrum = vec![Complex::default(); length];
        for j in 0..points {
            spectrum[j] = chirp(j) / length as f64;
            spectrum[(length - j) % length] = spectrum[j];
        }
        FftPlanner::new().plan_fft_forward(length).process(&mut spectrum);
        let factor = |it: Complex<f64>| [it.re, it.im, -it.im].map(T::rounded);
        Some(Self {
            inner: Box::new(inner),
            turns: (0..points).map(|j| factor(chirp(j).conj())).collect(),
            spectrum: spectrum.into_iter().map(factor).collect(),
        })
    }

    /// Returns the bytes of the tables.
    pub(super) fn table_bytes(&self) -> usize {
        let own = size_of_val(&self.turns[..]) + size_of_val(&self.spectrum[..]);
        own + self.inner.table_bytes()
    }

    /// Returns where in the work memory lines may be before a call, and where they may be left.
    pub(super) fn places(&self, work: *mut T) -> [*mut T; 2] {
        // Lines are copied from the half that the inner transform does not begin in.
        [self.inner.halves(work)[0], self.inner.places(work)[1].cast()]
    }

    /// Does what [`LaneFft::run`] does, under the same conditions.
    ///
    /// # Safety
    /// As for that function.
    pub(super) unsafe fn run(
        &self,
        from: Side<T>,
        to: Side<T>,
        work: *mut T,
        (is_inverse, factor): (bool, T),
    ) {
        let Self { inner, turns, spectrum } = self;
        let (arch, one) = (inner.arch, T::rounded(1.0));
        let [before, after] = inner.places(work).map(|place| inner.inside(place.cast()));
        let (from, from_end) = if is_inverse { from.backward(turns.len()) } else { from.forward() };
        arch.dispatch(Turn { from, from_end, to: before, turns, factor: one });
        // SAFETY: these are the points after those that were just written, all of the work memory.
        unsafe {
            let rest = (inner.points - turns.len()) * 2 * inner.lanes;
            before.at(turns.len()).write_bytes(0, rest);
            inner.run(before, after, work, (false, one));
        }
        let (from, from_end) = after.forward();
        arch.dispatch(Turn { from, from_end, to: before, turns: spectrum, factor: one });
        // SAFETY: all points are in places for them.
        unsafe { inner.run(before, after, work, (true, one)) };
        arch.dispatch(Turn { from, from_end, to, turns, factor });
    }
}

/// Multiplies points by a number for each and by a factor.
struct Turn<'a, T> {
    from: Side<T>,
    /// The point with the index 0 as others count from it: the end of a line that is read backward.
    from_end: *const T,
    to: Side<T>,
    turns: &'a [[T; 3]],
    factor: T,
}

impl<T: Lane> WithSimd for Turn<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { from, from_end, to, turns, factor } = self;
        let factor = T::splat(simd, factor);
        for (point, turn) in turns.iter().enumerate() {
            let source = from_end.wrapping_offset(point as isize * from.step);
            let source = if point == 0 { from.first } else { source };
            let target = to.at(point);
            from.fetch::<S>(source);
            to.fetch::<S>(target);
            // SAFETY: the caller of `Chirp::run` vouches for the operands, and all other points are
            // in the work memory.
            unsafe {
                let value = Complexes::<T, S>::read::<true>(simd, source, from.parts);
                let value = value.turned(simd, *turn).scaled(simd, factor);
                value.write::<true>(simd, target, to.parts);
            }
        }
    }
}
