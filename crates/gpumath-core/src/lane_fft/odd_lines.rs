//! Lines of an odd number of real points, without the half of a transform that mirrors the other.
//!
//! A line of n = P times Q points, P a prime, is a matrix of P rows and Q columns. Of the transform
//! of a real column, the first element is real, and half of the others mirror the rest. So with a
//! real line of Q points and (P - 1)/2 complex ones, whose elements k are the elements P·k + p of
//! the whole transform, all are known: those of the complex lines as they are or mirrored. The real
//! line is transformed in the same way. The inverse transform goes the same way back.

use pulp::{Simd, WithSimd};
use rustfft::FftDirection;

use super::strided_lines::StridedLines;
use super::sums::{Room, unit, units};
use super::vectors::{Complexes, Lane, read, splats, write};
use super::{Instructions, LaneFft, Side, largest_prime_factor};

/// A planned transform between real lines and half spectra, in both directions.
pub(super) struct OddLines<T> {
    points: usize,
    lanes: usize,
    arch: Instructions,
    levels: Vec<Level<T>>,
}

/// What happens to a real line of P times Q points.
struct Level<T> {
    rows: usize,
    columns: usize,
    /// The distance between the elements of the whole transform that this line gives.
    apart: usize,
    /// Transforms of Q points; `None` for one.
    fft: Option<LaneFft<T>>,
    /// Cosines and sines of 2πjp/P, for p and j from 1 to (P - 1)/2.
    units: Vec<[T; 2]>,
    /// Cosines and sines of 2πqp/PQ, for q below Q and p from 1 to (P - 1)/2.
    turns: Vec<[T; 2]>,
}

impl<T: Lane> Level<T> {
    fn with(arch: Instructions, points: usize, apart: usize) -> Option<Self> {
        let rows = largest_prime_factor(points);
        let columns = points / rows;
        let fft = if columns > 1 { Some(LaneFft::with(arch, columns)?) } else { None };
        let turns = (0..columns).flat_map(|column| (1..=rows / 2).map(move |p| column * p));
        let turns = turns.map(|product| unit(product, points, FftDirection::Inverse)).collect();
        let units = units(rows, FftDirection::Inverse);
        Some(Self { rows, columns, apart, fft, units, turns })
    }
}

impl<T: Lane> OddLines<T> {
    /// Plans lines of so many points, if they have such a transform.
    pub(super) fn with(arch: Instructions, lanes: usize, points: usize) -> Option<Self> {
        let (mut rest, mut levels) = (points, Vec::new());
        while rest > 1 {
            let level = Level::with(arch, rest, points / rest)?;
            rest = level.columns;
            levels.push(level);
        }
        Some(Self { points, lanes, arch, levels })
    }

    /// Returns the bytes of the tables.
    pub(super) fn table_bytes(&self) -> usize {
        let bytes = |level: &Level<T>| {
            size_of_val(&level.units[..])
                + size_of_val(&level.turns[..])
                + level.fft.as_ref().map_or(0, LaneFft::table_bytes)
        };
        self.levels.iter().map(bytes).sum()
    }

    /// Returns the numbers of work memory that a call needs: for real lines, for complex ones that
    /// are half as many, and for the transforms of the latter.
    pub(super) fn work_len(&self) -> usize {
        let of_fft = self.levels.iter().filter_map(|level| level.fft.as_ref());
        2 * self.points * self.lanes + of_fft.map(LaneFft::work_len).max().unwrap_or(0)
    }

    /// Returns the places in the work memory: of real lines, of the first complex lines, and the
    /// work memory of their transforms.
    fn places(&self, work: *mut T) -> [*mut T; 3] {
        let len = self.points * self.lanes;
        [work, work.wrapping_add(len), work.wrapping_add(2 * len)]
    }

    /// Returns where elements of a complex line of a level are in a half spectrum.
    fn elements(&self, level: &Level<T>, p: usize, half: Side<T>) -> Elements<T> {
        let (first, step) = (level.apart * p, level.apart * level.rows);
        Elements { points: self.points, half, first, step, count: level.columns }
    }

    /// Transforms real lines to the first half of their transforms.
    ///
    /// # Safety
    /// `from` is readable for all real points, `to` writable for all complex ones of all lanes. The
    /// work memory, of [`Self::work_len`] numbers, is apart from both.
    pub(super) unsafe fn forward(
        &self,
        mut from: StridedLines<T>,
        to: Side<T>,
        work: *mut T,
        factor: T,
    ) {
        let (lanes, one) = (self.lanes, T::rounded(1.0));
        let [reals, complexes, work] = self.places(work);
        for level in &self.levels {
            let columns = Columns { level, lanes, from, reals, complexes };
            match level.rows {
                3 => self.arch.dispatch(ColumnsOf::<T, 1>(columns)),
                5 => self.arch.dispatch(ColumnsOf::<T, 2>(columns)),
                7 => self.arch.dispatch(ColumnsOf::<T, 3>(columns)),
                _ => self.arch.dispatch(ColumnsOf::<T, 0>(columns)),
            }
            from = StridedLines::inside(reals, lanes);
            for p in 1..=level.rows / 2 {
                let mut line = inside(level.line(complexes, lanes, p), lanes);
                if let Some(fft) = &level.fft {
                    let result = inside(fft.places(work)[1].cast(), lanes);
                    // SAFETY: both are places for lines of this length, and the line is apart from
                    // this part of the work memory.
                    unsafe { fft.run(line, result, work, (false, one)) };
                    line = result;
                }
                let elements = self.elements(level, p, to);
                self.arch.dispatch(PutElements { line, elements, factor });
            }
        }
        self.arch.dispatch(PutFirst { real: reals, to, factor });
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
        let (lanes, one) = (self.lanes, T::rounded(1.0));
        let [reals, complexes, work] = self.places(work);
        self.arch.dispatch(TakeFirst { from, real: reals, factor });
        for (index, level) in self.levels.iter().enumerate().rev() {
            for p in 1..=level.rows / 2 {
                let result = inside(level.line(complexes, lanes, p), lanes);
                let elements = self.elements(level, p, from);
                let mut line = result;
                if let Some(fft) = &level.fft {
                    line = inside(fft.places(work)[0].cast(), lanes);
                }
                self.arch.dispatch(TakeElements { elements, line, factor });
                if let Some(fft) = &level.fft {
                    // SAFETY: as in `forward`.
                    unsafe { fft.run(line, result, work, (true, one)) };
                }
            }
            let to = if index == 0 { to } else { StridedLines::inside(reals, lanes) };
            let columns = RealColumns { level, lanes, reals, complexes, to };
            match level.rows {
                3 => self.arch.dispatch(RealColumnsOf::<T, 1>(columns)),
                5 => self.arch.dispatch(RealColumnsOf::<T, 2>(columns)),
                7 => self.arch.dispatch(RealColumnsOf::<T, 3>(columns)),
                _ => self.arch.dispatch(RealColumnsOf::<T, 0>(columns)),
            }
        }
    }
}

/// Returns a place in the work memory, where real parts are before imaginary ones.
fn inside<T>(first: *mut T, lanes: usize) -> Side<T> {
    Side { first, step: 2 * lanes as isize, parts: Some(lanes as isize), ahead: 0 }
}

impl<T> Level<T> {
    /// Returns the place of the complex line with the elements that begin with p.
    fn line(&self, complexes: *mut T, lanes: usize, p: usize) -> *mut T {
        complexes.wrapping_add((p - 1) * self.columns * 2 * lanes)
    }
}

/// Columns with so many pairs of points that mirror each other, or with any number for 0.
struct ColumnsOf<'a, T, const HALF: usize>(Columns<'a, T>);

#[derive(Clone, Copy)]
struct Columns<'a, T> {
    level: &'a Level<T>,
    lanes: usize,
    from: StridedLines<T>,
    reals: *mut T,
    complexes: *mut T,
}

impl<T: Lane, const HALF: usize> WithSimd for ColumnsOf<'_, T, HALF> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let this = self.0;
        let Columns { level, lanes, reals, complexes, .. } = this;
        let &Level { rows, columns, ref units, ref turns, .. } = level;
        let rows = if HALF > 0 { 2 * HALF + 1 } else { rows };
        let (half, zero) = (rows / 2, T::splat(simd, T::rounded(0.0)));
        let mut room = Room::new();
        for column in 0..columns {
            let start = this.load::<S>(column);
            let mut total = start;
            let pairs = room.fill(
                half,
                #[inline(always)]
                |j| {
                    let a = this.load::<S>((j + 1) * columns + column);
                    let b = this.load::<S>((rows - 1 - j) * columns + column);
                    let sum = T::add(simd, a, b);
                    total = T::add(simd, total, sum);
                    [sum, T::subtract(simd, a, b)]
                },
            );
            // SAFETY: the lines have places for all columns. A real column is read before.
            unsafe { write(reals.wrapping_add(column * lanes), total) };
            let turns = &turns[column * half..][..half];
            // Two elements at a time, so that the processor need not wait for its sums.
            for p in (1..=half).step_by(2) {
                let next = (p + 1).min(half);
                let units = |p: usize| &units[(p - 1) * half..][..half];
                let (mut even, mut odd, mut next_even, mut next_odd) = (start, zero, start, zero);
                let terms = units(p).iter().zip(units(next)).zip(pairs);
                for ((unit, next_unit), [sum, difference]) in terms {
                    let [cos, sin] = splats(simd, *unit);
                    let [next_cos, next_sin] = splats(simd, *next_unit);
                    even = T::multiply_add(simd, *sum, cos, even);
                    odd = T::multiply_add(simd, *difference, sin, odd);
                    next_even = T::multiply_add(simd, *sum, next_cos, next_even);
                    next_odd = T::multiply_add(simd, *difference, next_sin, next_odd);
                }
                for (p, even, odd) in [(p, even, odd), (next, next_even, next_odd)] {
                    let [cos, sin] = splats(simd, turns[p - 1]);
                    // (even - i·odd)·(cos - i·sin)
                    let negated = T::multiply_add(simd, even, sin, T::multiply(simd, odd, cos));
                    let sine = T::multiply(simd, odd, sin);
                    let value = Complexes::<T, S> {
                        re: T::subtract(simd, T::multiply(simd, even, cos), sine),
                        im: T::subtract(simd, zero, negated),
                    };
                    let line = inside(level.line(complexes, lanes, p), lanes);
                    // SAFETY: as above.
                    unsafe { value.write::<false>(simd, line.at(column), None) };
                }
            }
        }
    }
}

impl<T: Lane> Columns<'_, T> {
    /// Reads a point of all lines.
    #[inline(always)]
    fn load<S: Simd>(&self, point: usize) -> T::Vector<S> {
        let from = self.from.at::<S>(point);
        // SAFETY: the caller of `OddLines::forward` vouches for all points.
        unsafe { read(from) }
    }
}

/// Transforms a real line and half of the complex ones back to real columns.
struct RealColumnsOf<'a, T, const HALF: usize>(RealColumns<'a, T>);

#[derive(Clone, Copy)]
struct RealColumns<'a, T> {
    level: &'a Level<T>,
    lanes: usize,
    reals: *const T,
    complexes: *mut T,
    to: StridedLines<T>,
}

impl<T: Lane, const HALF: usize> WithSimd for RealColumnsOf<'_, T, HALF> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let this = self.0;
        let RealColumns { level, lanes, reals, complexes, .. } = this;
        let &Level { rows, columns, ref units, ref turns, .. } = level;
        let rows = if HALF > 0 { 2 * HALF + 1 } else { rows };
        let (half, zero) = (rows / 2, T::splat(simd, T::rounded(0.0)));
        let mut room = Room::new();
        for column in 0..columns {
            // SAFETY: the lines have places for all columns.
            let start: T::Vector<S> = unsafe { read(reals.wrapping_add(column * lanes)) };
            let mut total = start;
            let turns = &turns[column * half..][..half];
            let values = room.fill(
                half,
                #[inline(always)]
                |at| {
                    let line = inside(level.line(complexes, lanes, at + 1), lanes);
                    // SAFETY: as above.
                    let value =
                        unsafe { Complexes::<T, S>::read::<false>(simd, line.at(column), None) };
                    let [cos, sin] = splats(simd, turns[at]);
                    let sine = T::multiply(simd, value.im, sin);
                    let re = T::subtract(simd, T::multiply(simd, value.re, cos), sine);
                    total = T::add(simd, total, re);
                    let cosine = T::multiply(simd, value.im, cos);
                    [re, T::multiply_add(simd, value.re, sin, cosine)]
                },
            );
            this.store::<S>(column, total);
            for row in (1..=half).step_by(2) {
                let next = (row + 1).min(half);
                let units = |row: usize| &units[(row - 1) * half..][..half];
                let (mut even, mut odd) = (start, zero);
                let (mut next_even, mut next_odd) = (start, zero);
                for ((unit, next_unit), [re, im]) in units(row).iter().zip(units(next)).zip(values)
                {
                    let [cos, sin] = splats(simd, *unit);
                    let [next_cos, next_sin] = splats(simd, *next_unit);
                    even = T::multiply_add(simd, *re, cos, even);
                    odd = T::multiply_add(simd, *im, sin, odd);
                    next_even = T::multiply_add(simd, *re, next_cos, next_even);
                    next_odd = T::multiply_add(simd, *im, next_sin, next_odd);
                }
                for (row, even, odd) in [(row, even, odd), (next, next_even, next_odd)] {
                    this.store::<S>(row * columns + column, T::subtract(simd, even, odd));
                    this.store::<S>((rows - row) * columns + column, T::add(simd, even, odd));
                }
            }
        }
    }
}

impl<T: Lane> RealColumns<'_, T> {
    /// Writes a point of all lines.
    #[inline(always)]
    fn store<S: Simd>(&self, point: usize, value: T::Vector<S>) {
        // SAFETY: the caller of `OddLines::inverse` vouches for all points.
        unsafe { write(self.to.at::<S>(point), value) };
    }
}

/// Some elements of a whole transform, of which the first half exists.
#[derive(Clone, Copy)]
struct Elements<T> {
    points: usize,
    half: Side<T>,
    first: usize,
    step: usize,
    count: usize,
}

impl<T: Lane> Elements<T> {
    /// Returns where each element or its mirror image is, and whether it is the latter.
    #[inline(always)]
    fn places(self) -> impl Iterator<Item = (*mut T, bool)> {
        (0..self.count).map(move |number| {
            let index = self.first + number * self.step;
            let is_mirrored = index > self.points / 2;
            let place = if is_mirrored { self.points - index } else { index };
            (self.half.at(place), is_mirrored)
        })
    }
}

/// Writes a line to elements of a half spectrum.
struct PutElements<T> {
    line: Side<T>,
    elements: Elements<T>,
    factor: T,
}

impl<T: Lane> WithSimd for PutElements<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { line, elements, factor } = self;
        let factor = T::splat(simd, factor);
        let negated = T::subtract(simd, T::splat(simd, T::rounded(0.0)), factor);
        for (number, (to, is_mirrored)) in elements.places().enumerate() {
            elements.half.fetch::<S>(to);
            // SAFETY: these are points of a place in the work memory and of a half spectrum.
            unsafe {
                let value = Complexes::<T, S>::read::<false>(simd, line.at(number), None);
                let value = Complexes::<T, S> {
                    re: T::multiply(simd, value.re, factor),
                    im: T::multiply(simd, value.im, if is_mirrored { negated } else { factor }),
                };
                value.write_in_order(simd, to);
            }
        }
    }
}

/// Reads a line from elements of a half spectrum, twice as large: they count for their mirror
/// images too.
struct TakeElements<T> {
    elements: Elements<T>,
    line: Side<T>,
    factor: T,
}

impl<T: Lane> WithSimd for TakeElements<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { elements, line, factor } = self;
        let factor = T::splat(simd, factor);
        let factor = T::add(simd, factor, factor);
        let negated = T::subtract(simd, T::splat(simd, T::rounded(0.0)), factor);
        for (number, (from, is_mirrored)) in elements.places().enumerate() {
            elements.half.fetch::<S>(from);
            // SAFETY: as in `PutElements`.
            unsafe {
                let value = Complexes::<T, S>::read_in_order(simd, from);
                let value = Complexes::<T, S> {
                    re: T::multiply(simd, value.re, factor),
                    im: T::multiply(simd, value.im, if is_mirrored { negated } else { factor }),
                };
                value.write::<false>(simd, line.at(number), None);
            }
        }
    }
}

/// Writes the first element of a half spectrum, which is real.
struct PutFirst<T> {
    real: *const T,
    to: Side<T>,
    factor: T,
}

impl<T: Lane> WithSimd for PutFirst<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = T::splat(simd, T::rounded(0.0));
        // SAFETY: as in `PutElements`.
        unsafe {
            let re = T::multiply(simd, read(self.real), T::splat(simd, self.factor));
            Complexes::<T, S> { re, im: zero }.write_in_order(simd, self.to.first);
        }
    }
}

/// Reads the real part of the first element of a half spectrum.
struct TakeFirst<T> {
    from: Side<T>,
    real: *mut T,
    factor: T,
}

impl<T: Lane> WithSimd for TakeFirst<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: as in `PutElements`.
        unsafe {
            let first = Complexes::<T, S>::read_in_order(simd, self.from.first);
            write(self.real, T::multiply(simd, first.re, T::splat(simd, self.factor)));
        }
    }
}
