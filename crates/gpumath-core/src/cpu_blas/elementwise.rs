//! Products of one number each: of diagonal matrices, and of rows and columns of depth 1.

use pulp::{Arch, Simd, WithSimd};

use super::matrix::Matrix;
use super::number::Number;
use super::run::Run;
use super::tile::Product;
use super::vector::{load_part, store_part};

/// The inner loop runs along a longer axis if the last one has fewer elements than this.
const LONG: usize = 16;

/// Axes of the elements: products, rows and columns.
const AXES: usize = 3;

/// Numbers in memory: where the first one is, and how far apart they are along each axis.
#[derive(Clone, Copy)]
struct Numbers {
    first: usize,
    steps: [isize; AXES],
    /// Whether the complex conjugates count.
    is_conjugated: bool,
}

impl Numbers {
    fn at<T>(self, offset: isize) -> *mut T {
        (self.first as *mut T).wrapping_offset(offset)
    }
}

/// `out = alpha * a * b + beta * out`, for each element. Without `beta`, `out` is not read.
#[derive(Clone, Copy)]
pub(super) struct NumberProducts<T> {
    extents: [usize; AXES],
    alpha: T,
    a: Numbers,
    b: Numbers,
    beta: Option<T>,
    out: Numbers,
}

impl<T: Number> NumberProducts<T> {
    /// Describes the products of columns and rows: those of depth 1.
    pub(super) fn of_lines(product: Product<T>, run: Run) -> Self {
        Self::of(product, run, [0, product.b.steps[1]])
    }

    /// Describes the products of diagonal matrices, whose vectors are the first columns of `a`.
    pub(super) fn of_diagonals(product: Product<T>, run: Run) -> Self {
        Self::of(product, run, product.b.steps)
    }

    fn of(product: Product<T>, run: Run, [down, right]: [isize; 2]) -> Self {
        let Product { shape: [rows, columns, _], alpha, a, b, beta, out } = product;
        let numbers = |matrix: Matrix, steps| {
            let Matrix { first, is_conjugated, .. } = matrix;
            Numbers { first, steps, is_conjugated }
        };
        Self {
            extents: [run.count, rows, columns],
            alpha,
            a: numbers(a, [run.steps[0], a.steps[0], 0]),
            b: numbers(b, [run.steps[1], down, right]),
            beta,
            out: numbers(out, [run.steps[2], out.steps[0], out.steps[1]]),
        }
    }

    /// Computes the products.
    ///
    /// # Safety
    /// The numbers are in memory that is valid for reads and, for `out`, for writes; nothing else
    /// uses those of `out`. `b` may be `out`.
    pub(super) unsafe fn compute(mut self) {
        if self.extents.contains(&0) {
            return;
        }
        self.order_axes();
        Arch::new().dispatch(self);
    }

    fn steps(&self, axis: usize) -> [isize; 3] {
        [self.a, self.b, self.out].map(|numbers| numbers.steps[axis])
    }

    fn swap(&mut self, axis: usize, other: usize) {
        self.extents.swap(axis, other);
        for numbers in [&mut self.a, &mut self.b, &mut self.out] {
            numbers.steps.swap(axis, other);
        }
    }

    /// Orders the axes such that the inner loop, along the last one, is long and follows memory:
    /// the result's smallest step comes last, axes that follow each other in memory become one, and
    /// a short last axis changes places with a longer one. If `b` has one number for the whole
    /// inner loop, `a` and `b` change places.
    fn order_axes(&mut self) {
        let distance = |all: &Self, axis: usize| match all.extents[axis] {
            1 => usize::MAX,
            _ => all.out.steps[axis].unsigned_abs(),
        };
        for (axis, next) in [(0, 1), (1, 2), (0, 1)] {
            if distance(self, axis) < distance(self, next) {
                self.swap(axis, next);
            }
        }
        for (outer, inner) in [(1, 2), (0, 1), (1, 2)] {
            let extent = self.extents[inner];
            let follows = self.steps(inner).map(|step| step.wrapping_mul(extent as isize));
            if self.extents[outer] == 1 || self.steps(outer) == follows {
                self.extents[inner] *= self.extents[outer];
                self.extents[outer] = 1;
            } else if extent == 1 {
                self.swap(outer, inner);
            }
        }
        for axis in [1, 0] {
            if self.extents[2] < LONG && self.extents[axis] > self.extents[2] {
                self.swap(axis, 2);
            }
        }
        if self.b.steps[2] == 0 {
            std::mem::swap(&mut self.a, &mut self.b);
        }
    }

    /// Computes the elements along the last axis.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    #[inline(always)]
    unsafe fn compute_line<S: Simd>(&self, simd: S, offsets: [isize; 3]) {
        let Self { extents: [.., length], alpha, a, b, beta, out } = *self;
        let [first_a, first_b, first] =
            [a.at::<T>(offsets[0]), b.at(offsets[1]), out.at(offsets[2])];
        let are_vectors = !b.is_conjugated && b.steps[2] == 1 && out.steps[2] == 1;
        let line = VectorLine { a: first_a, b: first_b, out: first, length, beta };
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            if are_vectors && a.steps[2] == 0 {
                return line.compute::<S, false>(simd, alpha * number(first_a, a.is_conjugated));
            }
            if are_vectors && a.steps[2] == 1 && !a.is_conjugated {
                return line.compute::<S, true>(simd, alpha);
            }
            for place in 0..length as isize {
                let of_a = number(first_a.wrapping_offset(place * a.steps[2]), a.is_conjugated);
                let of_b = number(first_b.wrapping_offset(place * b.steps[2]), b.is_conjugated);
                let product = if alpha == T::ONE { of_a * of_b } else { alpha * of_a * of_b };
                let to = first.wrapping_offset(place * out.steps[2]);
                *to = match beta {
                    Some(beta) => product + beta * *to,
                    None => product,
                };
            }
        }
    }
}

/// Returns a number, or its conjugate if that counts.
///
/// # Safety
/// It is in memory that is valid for reads.
#[inline(always)]
unsafe fn number<T: Number>(from: *const T, is_conjugated: bool) -> T {
    // SAFETY: the caller guarantees it.
    let value = unsafe { *from };
    if is_conjugated { value.conjugate() } else { value }
}

/// A line of products whose operands follow each other in memory.
struct VectorLine<T> {
    a: *const T,
    b: *const T,
    out: *mut T,
    length: usize,
    beta: Option<T>,
}

impl<T: Number> VectorLine<T> {
    /// Computes the line, vector by vector: `b` times a factor, and times `a` if that is a line
    /// too.
    ///
    /// # Safety
    /// As for [`NumberProducts::compute`].
    #[inline(always)]
    unsafe fn compute<S: Simd, const HAS_LINE: bool>(&self, simd: S, factor: T) {
        let width = size_of::<T::Vector<S>>() / size_of::<T>();
        let whole = self.length / width * width;
        let is_one = HAS_LINE && factor == T::ONE;
        let factor = T::splat(simd, factor);
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            for place in (0..whole).step_by(width) {
                self.compute_vector::<S, HAS_LINE>(simd, factor, is_one, place, None);
            }
            if whole < self.length {
                let mask = T::mask(simd, self.length - whole);
                self.compute_vector::<S, HAS_LINE>(simd, factor, is_one, whole, Some(mask));
            }
        }
    }

    /// Computes the vector that begins at a place, or its first numbers. `is_one` says that the
    /// factor is 1.
    ///
    /// # Safety
    /// As for [`Self::compute`].
    #[inline(always)]
    unsafe fn compute_vector<S: Simd, const HAS_LINE: bool>(
        &self,
        simd: S,
        factor: T::Vector<S>,
        is_one: bool,
        place: usize,
        mask: Option<T::Mask<S>>,
    ) {
        let to = self.out.wrapping_add(place);
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            let mut factors = factor;
            if HAS_LINE {
                factors = load_part::<T, S>(simd, self.a.wrapping_add(place), mask);
                if !is_one {
                    factors = T::multiply(simd, factor, factors);
                }
            }
            let mut result = T::multiply(
                simd,
                factors,
                load_part::<T, S>(simd, self.b.wrapping_add(place), mask),
            );
            if let Some(beta) = self.beta {
                let before = load_part::<T, S>(simd, to, mask);
                result = T::multiply_add(simd, T::splat(simd, beta), before, result);
            }
            store_part(simd, to, mask, result);
        }
    }
}

impl<T: Number> WithSimd for NumberProducts<T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for outer in 0..self.extents[0] as isize {
            for middle in 0..self.extents[1] as isize {
                let offset =
                    |numbers: Numbers| outer * numbers.steps[0] + middle * numbers.steps[1];
                let offsets = [self.a, self.b, self.out].map(offset);
                // SAFETY: whoever calls `compute` guarantees that the memory is valid.
                unsafe { self.compute_line(simd, offsets) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustfft::num_complex::Complex;

    use super::super::tests::{instruction_sets, numbers};
    use super::*;

    fn check<T: Number + std::fmt::Debug>(arch: Arch, shape: [usize; 2], beta: Option<T>) {
        let [count, length] = shape;
        let (a, b) = (numbers::<T>(count * length, 1), numbers::<T>(count * length, 3));
        let before = numbers::<T>(count * length, 2);
        // A number for a line, or a line of numbers; alone or times another one.
        for (step, alpha) in [(0, T::ONE), (1, T::ONE), (1, T::from_parts([3.0, -1.0]))] {
            for is_conjugated in [false, true] {
                let mut found = before.clone();
                let numbers = |first: usize, inner: isize, is_conjugated: bool| {
                    let steps = [0, length as isize, inner];
                    Numbers { first, steps, is_conjugated }
                };
                let mut products = NumberProducts {
                    extents: [1, count, length],
                    alpha,
                    a: numbers(a.as_ptr() as usize, step, is_conjugated),
                    b: numbers(b.as_ptr() as usize, 1, false),
                    beta,
                    out: numbers(found.as_mut_ptr() as usize, 1, false),
                };
                products.order_axes();
                arch.dispatch(products);
                for (place, &found) in found.iter().enumerate() {
                    let first = a[if step == 0 { place / length * length } else { place }];
                    let first = if is_conjugated { first.conjugate() } else { first };
                    let product = alpha * first * b[place];
                    let expected = match beta {
                        Some(beta) => product + beta * before[place],
                        None => product,
                    };
                    assert_eq!(found, expected, "{shape:?} {arch:?} {step} {is_conjugated}");
                }
            }
        }
    }

    #[test]
    fn every_set_of_instructions_multiplies_numbers() {
        for arch in instruction_sets() {
            for length in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65] {
                for count in [1, 2, 40] {
                    check::<f32>(arch, [count, length], None);
                    check::<f64>(arch, [count, length], Some(2.0));
                    check::<Complex<f32>>(arch, [count, length], None);
                    check::<Complex<f64>>(arch, [count, length], Some(Complex::new(1.0, 2.0)));
                }
            }
        }
    }
}
