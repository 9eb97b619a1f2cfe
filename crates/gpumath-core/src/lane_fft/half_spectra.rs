//! Lines of an even number of real points, as complex lines of half as many points: the even ones
//! as real parts, the odd ones as imaginary parts.
//!
//! The transform Z of such a line of h points and that of the real line, X, follow from each other.
//! With w = exp(-2πi·k/2h), X(k) = S + w·D and X(h-k) = conj(S - w·D), where
//! S = (Z(k) + conj(Z(h-k)))/2 and D = (Z(k) - conj(Z(h-k)))/2i.

use pulp::{Simd, WithSimd};
use rustfft::FftDirection;

use super::strided_lines::StridedLines;
use super::sums::unit;
use super::vectors::{Complexes, Lane, splats};
use super::{Instructions, LaneFft, Side};

/// A planned transform between real lines and half spectra, in both directions.
pub(super) struct EvenLines<T> {
    half: LaneFft<T>,
    /// The cosine and sine of 2πk/2h for k up to h/2.
    turns: Vec<[T; 2]>,
}

impl<T: Lane> EvenLines<T> {
    /// Plans lines of so many points, if they have such a transform.
    pub(super) fn with(arch: Instructions, points: usize) -> Option<Self> {
        let half = LaneFft::with(arch, points / 2)?;
        let turns = (0..=points / 4).map(|k| unit(k, points, FftDirection::Inverse));
        Some(Self { half, turns: turns.collect() })
    }

    /// Returns the bytes of the tables.
    pub(super) fn table_bytes(&self) -> usize {
        self.half.table_bytes() + size_of_val(&self.turns[..])
    }

    /// Returns the numbers of work memory that a call needs.
    pub(super) fn work_len(&self) -> usize {
        self.half.work_len()
    }

    /// Transforms real lines to the first half of their transforms.
    ///
    /// # Safety
    /// `from` is readable for all real points, `to` writable for all complex ones of all lanes. The
    /// work memory, of [`Self::work_len`] numbers, is apart from both.
    pub(super) unsafe fn forward(
        &self,
        from: StridedLines<T>,
        to: Side<T>,
        work: *mut T,
        factor: T,
    ) {
        let half = &self.half;
        let pairs = pairs(from);
        let inside = half.inside(half.places(work)[1].cast());
        // SAFETY: two real points are the parts of a complex one. The caller guarantees the rest.
        unsafe { half.run(pairs, inside, work, (false, T::rounded(1.0))) };
        half.arch.dispatch(Untangle { lines: self, from: inside, to, factor });
    }

    /// Transforms half spectra back to real lines.
    ///
    /// # Safety
    /// As for [`Self::forward`], with `from` and `to` the other way round.
    pub(super) unsafe fn inverse(
        &self,
        from: Side<T>,
        to: StridedLines<T>,
        work: *mut T,
        factor: T,
    ) {
        let half = &self.half;
        let inside = half.inside(half.places(work)[0].cast());
        half.arch.dispatch(Tangle { lines: self, from, to: inside, factor });
        let how = (true, T::rounded(1.0));
        // SAFETY: as in `forward`.
        unsafe { half.run(inside, pairs(to), work, how) };
    }
}

/// Returns real lines as complex ones of half as many points.
fn pairs<T: Lane>(lines: StridedLines<T>) -> Side<T> {
    let StridedLines { first, along, ahead, .. } = lines;
    Side { first, step: 2 * along, parts: Some(along), ahead }
}

/// Makes half spectra of the transforms of lines of half as many points.
struct Untangle<'a, T> {
    lines: &'a EvenLines<T>,
    from: Side<T>,
    to: Side<T>,
    factor: T,
}

impl<T: Lane> WithSimd for Untangle<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines: EvenLines { half, turns }, from, to, factor } = self;
        let factor = T::multiply(simd, T::splat(simd, factor), T::splat(simd, T::rounded(0.5)));
        let negated = T::subtract(simd, Complexes::<T, S>::zero(simd).re, factor);
        for (k, turn) in turns.iter().enumerate() {
            let mirrored = half.points - k;
            // SAFETY: the points are in the work memory, or in operands that the caller of
            // `EvenLines::forward` vouches for.
            unsafe {
                let a = Complexes::<T, S>::read::<false>(simd, from.at(k), None);
                let b = from.at(if k == 0 { 0 } else { mirrored });
                let b = Complexes::<T, S>::read::<false>(simd, b, None);
                let sum = [T::add(simd, a.re, b.re), T::subtract(simd, a.im, b.im)];
                let difference = [T::subtract(simd, a.re, b.re), T::add(simd, a.im, b.im)];
                let [cos, sin] = splats(simd, *turn);
                // The difference over i, times w: its real part, and its negated imaginary part.
                let sine = T::multiply(simd, difference[0], sin);
                let re = T::subtract(simd, T::multiply(simd, difference[1], cos), sine);
                let cosine = T::multiply(simd, difference[0], cos);
                let negated_im = T::multiply_add(simd, difference[1], sin, cosine);
                let first = Complexes {
                    re: T::multiply(simd, T::add(simd, sum[0], re), factor),
                    im: T::multiply(simd, T::subtract(simd, sum[1], negated_im), factor),
                };
                let second = Complexes {
                    re: T::multiply(simd, T::subtract(simd, sum[0], re), factor),
                    im: T::multiply(simd, T::add(simd, sum[1], negated_im), negated),
                };
                to.fetch::<S>(to.at(k));
                to.fetch::<S>(to.at(mirrored));
                first.write_in_order(simd, to.at(k));
                second.write_in_order(simd, to.at(mirrored));
            }
        }
    }
}

/// Makes transforms of lines of half as many points of half spectra.
struct Tangle<'a, T> {
    lines: &'a EvenLines<T>,
    from: Side<T>,
    to: Side<T>,
    factor: T,
}

impl<T: Lane> WithSimd for Tangle<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { lines: EvenLines { half, turns }, from, to, factor } = self;
        let zero = Complexes::<T, S>::zero(simd).re;
        let factor = T::splat(simd, factor);
        let negated = T::subtract(simd, zero, factor);
        for (k, turn) in turns.iter().enumerate() {
            let mirrored = half.points - k;
            // SAFETY: as in `Untangle`.
            unsafe {
                let [a, b] = [from.at(k), from.at(mirrored)];
                from.fetch::<S>(a);
                from.fetch::<S>(b);
                let mut a = Complexes::<T, S>::read_in_order(simd, a);
                let mut b = Complexes::<T, S>::read_in_order(simd, b);
                if k == 0 {
                    // These are their own mirror images: real.
                    (a.im, b.im) = (zero, zero);
                }
                let sum = [T::add(simd, a.re, b.re), T::subtract(simd, a.im, b.im)];
                let difference = [T::subtract(simd, a.re, b.re), T::add(simd, a.im, b.im)];
                let [cos, sin] = splats(simd, *turn);
                // The difference times i over w: its negated real part, and its imaginary part.
                let sine = T::multiply(simd, difference[0], sin);
                let negated_re = T::multiply_add(simd, difference[1], cos, sine);
                let sine = T::multiply(simd, difference[1], sin);
                let im = T::subtract(simd, T::multiply(simd, difference[0], cos), sine);
                let first = Complexes {
                    re: T::multiply(simd, T::subtract(simd, sum[0], negated_re), factor),
                    im: T::multiply(simd, T::add(simd, sum[1], im), factor),
                };
                let second = Complexes {
                    re: T::multiply(simd, T::add(simd, sum[0], negated_re), factor),
                    im: T::multiply(simd, T::subtract(simd, sum[1], im), negated),
                };
                first.write::<false>(simd, to.at(k), None);
                if k > 0 {
                    second.write::<false>(simd, to.at(mirrored), None);
                }
            }
        }
    }
}
