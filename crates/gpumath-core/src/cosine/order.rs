//! How two real lines become the parts of one complex line, and back: where their elements are
//! there, and how they are copied.

use rustfft::num_complex::Complex;

use super::passes;
use crate::fft::cpu::lines::Scalar;

/// The places of the elements of a line of N points.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Those of the line, or of the reversed one, from the place `first` on.
    Straight { first: usize, is_reversed: bool },
    /// Even elements, then odd ones backwards, which are multiplied by `odd_sign`.
    Folded { odd_sign: f64 },
    /// The same of the reversed line, with all signs kept, for an even N.
    FoldedReversed,
}

/// Elements of a line that are equally spaced, and whose places follow each other.
#[derive(Clone, Copy)]
struct Piece {
    /// The first element, and the distance to the next one.
    element: (isize, isize),
    /// The place of the first element.
    place: usize,
    count: usize,
    sign: f64,
}

/// Real lines in memory.
#[derive(Clone, Copy)]
pub(super) struct RealLines<T> {
    /// The first element of the first line.
    pub(super) first: *mut T,
    /// Distances between the elements of a line, and between lines.
    pub(super) along: isize,
    pub(super) across: isize,
    pub(super) points: usize,
    pub(super) count: usize,
}

/// Lines of complex numbers, each `pitch` numbers after the one before it.
#[derive(Clone, Copy)]
pub(super) struct ComplexLines<T> {
    pub(super) first: *mut Complex<T>,
    pub(super) pitch: usize,
}

impl Order {
    /// Returns the place of an element.
    pub(super) fn place(self, element: usize, points: usize) -> usize {
        let from_end = points - 1 - element;
        match self {
            Self::Straight { first, is_reversed: false } => first + element,
            Self::Straight { first, is_reversed: true } => first + from_end,
            Self::Folded { .. } if element.is_multiple_of(2) => element / 2,
            Self::Folded { .. } => points - 1 - element / 2,
            Self::FoldedReversed if from_end.is_multiple_of(2) => from_end / 2,
            Self::FoldedReversed => points - 1 - from_end / 2,
        }
    }

    fn pieces(self, points: usize) -> [Piece; 2] {
        let (n, half) = (points as isize, points / 2);
        let none = Piece { element: (0, 1), place: 0, count: 0, sign: 1.0 };
        match self {
            Self::Straight { first: place, is_reversed } => {
                let element = if is_reversed { (n - 1, -1) } else { (0, 1) };
                [Piece { element, place, count: points, sign: 1.0 }, none]
            }
            Self::Folded { odd_sign } => [
                Piece { element: (0, 2), count: points.div_ceil(2), ..none },
                Piece {
                    element: (2 * half as isize - 1, -2),
                    place: points.div_ceil(2),
                    count: half,
                    sign: odd_sign,
                },
            ],
            Self::FoldedReversed => [
                Piece { element: (n - 1, -2), count: half, ..none },
                Piece { element: (0, 2), place: half, count: half, ..none },
            ],
        }
    }

    /// Copies real lines, two into each complex one. A last one without a partner is paired with
    /// zeros.
    ///
    /// # Safety
    /// The real lines are readable and apart from the complex ones, which are writable.
    pub(super) unsafe fn read<T: Scalar>(self, from: RealLines<T>, to: ComplexLines<T>) {
        // SAFETY: the caller guarantees the same.
        unsafe { self.copy::<T, true>(from, to, T::one()) };
    }

    /// Copies the parts of complex lines to real lines, multiplied by a factor.
    ///
    /// # Safety
    /// The real lines are writable and apart from the complex ones, which are readable.
    pub(super) unsafe fn write<T: Scalar>(
        self,
        from: ComplexLines<T>,
        to: RealLines<T>,
        factor: T,
    ) {
        // SAFETY: the caller guarantees the same.
        unsafe { self.copy::<T, false>(to, from, factor) };
    }

    /// Copies real lines to complex ones if `READS`, else back, multiplied by a factor; it is 1 for
    /// `READS`.
    ///
    /// # Safety
    /// As for [`Self::read`] or [`Self::write`].
    unsafe fn copy<T: Scalar, const READS: bool>(
        self,
        real: RealLines<T>,
        complex: ComplexLines<T>,
        factor: T,
    ) {
        let RealLines { first, along, across, points, count } = real;
        let pairs = count / 2;
        // SAFETY: the pieces are those of the lines, which the caller guarantees to be valid.
        unsafe {
            if along == 1 {
                for pair in 0..pairs {
                    let a = first.offset(2 * pair as isize * across);
                    let (b, line) = (a.offset(across), complex.first.add(pair * complex.pitch));
                    if READS {
                        self.join([a.cast_const(), b.cast_const()], line, points);
                    } else {
                        self.split(line, [a, b], points, factor);
                    }
                }
            } else {
                for piece in self.pieces(points) {
                    if !READS {
                        piece.scale(complex, pairs, factor);
                    }
                    piece.copy::<T, READS>(real, complex);
                    if READS {
                        piece.scale(complex, pairs, factor);
                    }
                }
            }
            if count % 2 == 1 {
                for piece in self.pieces(points) {
                    piece.copy_last::<T, READS>(real, complex, factor);
                }
            }
        }
    }

    /// Copies two lines that are slices, from `a` and `b` on, into a complex one.
    ///
    /// # Safety
    /// As for [`Self::read`], for lines of `points` elements.
    unsafe fn join<T: Scalar>(self, [a, b]: [*const T; 2], line: *mut Complex<T>, points: usize) {
        // SAFETY: the caller guarantees that the lines are valid, and `line` apart.
        let (a, b, line) = unsafe {
            (
                std::slice::from_raw_parts(a, points),
                std::slice::from_raw_parts(b, points),
                std::slice::from_raw_parts_mut(line, self.end(points)),
            )
        };
        match self {
            Self::Straight { first, is_reversed: false } => passes::join(&mut line[first..], a, b),
            Self::Straight { first, is_reversed: true } => {
                passes::join_reversed(&mut line[first..], a, b);
            }
            Self::Folded { odd_sign } => {
                let (even, odd) = line.split_at_mut(points.div_ceil(2));
                passes::fold(even, odd, a, b, if odd_sign < 0.0 { -T::one() } else { T::one() });
            }
            Self::FoldedReversed => {
                let (odd, even) = line.split_at_mut(points / 2);
                passes::fold(even, odd, a, b, T::one());
            }
        }
    }

    /// Copies the parts of a complex line to two lines that are slices, from `a` and `b` on.
    ///
    /// # Safety
    /// As for [`Self::write`], for lines of `points` elements.
    unsafe fn split<T: Scalar>(
        self,
        line: *const Complex<T>,
        [a, b]: [*mut T; 2],
        points: usize,
        factor: T,
    ) {
        // SAFETY: the caller guarantees that the lines are valid and apart.
        let (a, b, line) = unsafe {
            (
                std::slice::from_raw_parts_mut(a, points),
                std::slice::from_raw_parts_mut(b, points),
                std::slice::from_raw_parts(line, self.end(points)),
            )
        };
        match self {
            Self::Straight { first, is_reversed: false } => {
                passes::split(&line[first..], a, b, factor);
            }
            Self::Straight { first, is_reversed: true } => {
                passes::split_reversed(&line[first..], a, b, factor);
            }
            Self::Folded { odd_sign } => {
                let (even, odd) = line.split_at(points.div_ceil(2));
                let odd_factor = if odd_sign < 0.0 { -factor } else { factor };
                passes::unfold(even, odd, a, b, factor, odd_factor);
            }
            Self::FoldedReversed => {
                let (odd, even) = line.split_at(points / 2);
                passes::unfold(even, odd, a, b, factor, factor);
            }
        }
    }

    /// Returns how many places from the first one on the elements need.
    fn end(self, points: usize) -> usize {
        match self {
            Self::Straight { first, .. } => first + points,
            Self::Folded { .. } | Self::FoldedReversed => points,
        }
    }
}

/// Elements and pairs of a block.
const SIDE: usize = 4;

impl Piece {
    /// Multiplies the elements of some complex lines by the factor and the sign.
    ///
    /// # Safety
    /// The lines are valid.
    unsafe fn scale<T: Scalar>(self, complex: ComplexLines<T>, lines: usize, factor: T) {
        let factor = if self.sign < 0.0 { -factor } else { factor };
        if factor == T::one() {
            return;
        }
        for line in 0..lines {
            // SAFETY: these are places of the piece.
            let places = unsafe {
                let first = complex.first.add(line * complex.pitch + self.place);
                std::slice::from_raw_parts_mut(first, self.count)
            };
            passes::scale(places, factor);
        }
    }

    /// Copies the piece of all pairs of lines; lines that are neighbours in blocks.
    ///
    /// # Safety
    /// As for [`Order::copy`].
    unsafe fn copy<T: Scalar, const READS: bool>(
        self,
        real: RealLines<T>,
        complex: ComplexLines<T>,
    ) {
        if self.count == 0 {
            return;
        }
        let (pairs, step) = (real.count / 2, self.element.1 * real.along);
        let whole = |count: usize| if real.across == 1 { count / SIDE * SIDE } else { 0 };
        let (whole_pairs, whole_count) = (whole(pairs), whole(self.count));
        // SAFETY: these are elements of the piece and their places.
        unsafe {
            let first = real.first.offset(self.element.0 * real.along);
            let element = |nth: usize, pair: usize| {
                first.offset(nth as isize * step + 2 * pair as isize * real.across)
            };
            let place = |nth: usize, pair: usize| {
                complex.first.add(self.place + nth + pair * complex.pitch)
            };
            for nth in (0..whole_count).step_by(SIDE) {
                for pair in (0..whole_pairs).step_by(SIDE) {
                    let elements = (element(nth, pair), step);
                    let places = (place(nth, pair).cast::<T>(), 2 * complex.pitch as isize);
                    let (from, to) = if READS { (elements, places) } else { (places, elements) };
                    transpose(from, to);
                }
            }
            let copy_pair = |nth: usize, pair: usize| {
                let (a, place) = (element(nth, pair), place(nth, pair));
                let b = a.offset(real.across);
                if READS {
                    *place = Complex::new(*a, *b);
                } else {
                    (*a, *b) = ((*place).re, (*place).im);
                }
            };
            if real.across == 1 {
                // Two neighbours are a complex number already.
                for pair in 0..pairs {
                    let done = if pair < whole_pairs { whole_count } else { 0 };
                    for nth in done..self.count {
                        let (both, place) =
                            (element(nth, pair).cast::<Complex<T>>(), place(nth, pair));
                        if READS {
                            *place = *both;
                        } else {
                            *both = *place;
                        }
                    }
                }
            } else if real.across.abs() < real.along.abs() {
                for nth in 0..self.count {
                    (0..pairs).for_each(|pair| copy_pair(nth, pair));
                }
            } else {
                for pair in 0..pairs {
                    (0..self.count).for_each(|nth| copy_pair(nth, pair));
                }
            }
        }
    }

    /// Copies the piece of the last line, which has no partner.
    ///
    /// # Safety
    /// As for [`Order::copy`].
    unsafe fn copy_last<T: Scalar, const READS: bool>(
        self,
        real: RealLines<T>,
        complex: ComplexLines<T>,
        factor: T,
    ) {
        let factor = if self.sign < 0.0 { -factor } else { factor };
        let last = real.count - 1;
        for nth in 0..self.count {
            let at = self.element.0 + nth as isize * self.element.1;
            // SAFETY: these are elements of the piece and their places.
            unsafe {
                let element = real.first.offset(last as isize * real.across + at * real.along);
                let place = complex.first.add(last / 2 * complex.pitch + self.place + nth);
                if READS {
                    *place = Complex::new(*element * factor, T::zero());
                } else {
                    *element = (*place).re * factor;
                }
            }
        }
    }
}

/// Transposes a block of complex numbers, of which the rows are that far apart.
///
/// # Safety
/// Both blocks are valid and apart.
unsafe fn transpose<T: Scalar>(from: (*mut T, isize), to: (*mut T, isize)) {
    // SAFETY: the caller guarantees that the rows are valid.
    let row = |row: isize| unsafe { *from.0.offset(row * from.1).cast::<[Complex<T>; SIDE]>() };
    let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
    for column in 0..SIDE {
        let values = [a[column], b[column], c[column], d[column]];
        // SAFETY: as above.
        unsafe { *to.0.offset(column as isize * to.1).cast::<[Complex<T>; SIDE]>() = values };
    }
}
