//! The steps on the CPU.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::num::NonZeroUsize;
use std::ops::{Add, Mul};

use super::{CosineArguments, CosineStep};
use crate::error::Result;
use crate::parallel::{SyncPtr, parallel_for};
use crate::tensor::{BatchDim, BatchDims, TensorView};

/// Numbers that a thread computes at a time, and below which one thread does it all.
const NUMBERS_OF_TASK: i64 = 1 << 13;

/// The two precisions.
pub(super) trait Real:
    Copy + Send + Sync + Add<Output = Self> + Mul<Output = Self> + 'static
{
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

/// An element of a target line: sums of two numbers of the source line, each with a factor.
struct Terms {
    /// Where the two numbers are in the source line, in real numbers.
    at: [i64; 2],
    real: [f64; 2],
    /// Only where the target is complex.
    imaginary: [f64; 2],
}

impl Terms {
    fn of_real(at: [i64; 2], real: [f64; 2]) -> Self {
        Self { at, real, imaginary: [0.0; 2] }
    }

    /// One number of the source.
    fn of_one(at: i64, factor: f64) -> Self {
        Self::of_real([at, at], [factor, 0.0])
    }
}

/// The numbers `exp(i pi j / denominator)`, each as a product of two from small tables.
struct Turns {
    coarse: Vec<(f64, f64)>,
    fine: Vec<(f64, f64)>,
    bits: u32,
}

impl Turns {
    /// Prepares the numbers for `j` below `count`.
    fn new(count: i64, denominator: f64) -> Self {
        let bits = (64 - (count.max(1) as u64).leading_zeros()) / 2;
        let of = |j: i64| {
            let (sine, cosine) = (PI * (j as f64 / denominator)).sin_cos();
            (cosine, sine)
        };
        Self {
            coarse: (0..=count >> bits).map(|j| of(j << bits)).collect(),
            fine: (0..1 << bits).map(of).collect(),
            bits,
        }
    }

    /// Returns the cosine and the sine.
    fn get(&self, j: i64) -> (f64, f64) {
        let coarse = self.coarse[(j >> self.bits) as usize];
        let fine = self.fine[(j & ((1 << self.bits) - 1)) as usize];
        (coarse.0 * fine.0 - coarse.1 * fine.1, coarse.0 * fine.1 + coarse.1 * fine.0)
    }
}

/// Where the numbers of a source line are, and the factors at the ends.
struct Line<'a> {
    arguments: &'a CosineArguments,
    /// Distance between neighbours, in real numbers.
    stride: i64,
}

impl Line<'_> {
    fn weight(&self, i: i64) -> f64 {
        let CosineArguments { points, first, last, .. } = *self.arguments;
        let first = if i == 0 { first } else { 1.0 };
        if i == points - 1 { first * last } else { first }
    }

    /// The factor of element `k` of the result.
    fn scale(&self, k: i64) -> f64 {
        self.arguments.scale * self.weight(k)
    }

    /// The same, with every other sign changed for a sine transform.
    fn alternating_scale(&self, k: i64) -> f64 {
        if self.arguments.is_sine && k % 2 != 0 { -self.scale(k) } else { self.scale(k) }
    }

    /// Place and factor of an element of the operand, of the reversed one for a sine transform.
    fn turned(&self, i: i64) -> (i64, f64) {
        let i = if self.arguments.is_sine { self.arguments.points - 1 - i } else { i };
        (i * self.stride, self.weight(i))
    }

    /// Place of an element of a Hermitian line, of which the first half is given, and the sign of
    /// its imaginary part.
    fn hermitian(&self, i: i64) -> (i64, f64) {
        let points = self.arguments.points;
        if 2 * i <= points { (i * self.stride, 1.0) } else { ((points - i) * self.stride, -1.0) }
    }

    fn extend(&self, j: i64) -> Terms {
        let n = self.arguments.points;
        let (i, sign) = match (self.arguments.is_sine, j) {
            (false, j) if j < n => (j, 1.0),
            (false, j) => (2 * (n - 1) - j, 1.0),
            (true, j) if j == 0 || j == n + 1 => (0, 0.0),
            (true, j) if j <= n => (j - 1, 1.0),
            (true, j) => (2 * n + 1 - j, -1.0),
        };
        Terms::of_one(i * self.stride, sign * self.weight(i))
    }

    fn take(&self, k: i64) -> Terms {
        if self.arguments.is_sine {
            Terms::of_one((k + 1) * self.stride + 1, -self.scale(k))
        } else {
            Terms::of_one(k * self.stride, self.scale(k))
        }
    }

    fn fold2(&self, j: i64) -> Terms {
        let n = self.arguments.points;
        let i = if 2 * j < n { 2 * j } else { 2 * n - 1 - 2 * j };
        let sign = if self.arguments.is_sine && i % 2 != 0 { -1.0 } else { 1.0 };
        Terms::of_one(i * self.stride, sign * self.weight(i))
    }

    fn turn2(&self, k: i64, turns: &Turns) -> Terms {
        let i = if self.arguments.is_sine { self.arguments.points - 1 - k } else { k };
        let ((cosine, sine), (at, sign)) = (turns.get(i), self.hermitian(i));
        let scale = 2.0 * self.scale(k);
        Terms::of_real([at, at + 1], [scale * cosine, scale * sine * sign])
    }

    fn turn3(&self, j: i64, turns: &Turns) -> Terms {
        let (cosine, sine) = turns.get(j);
        let (a, of_a) = self.turned(j);
        let (b, of_b) = if j == 0 { (a, 0.0) } else { self.turned(self.arguments.points - j) };
        Terms {
            at: [a, b],
            real: [cosine * of_a, sine * of_b],
            imaginary: [sine * of_a, -cosine * of_b],
        }
    }

    fn unfold3(&self, k: i64) -> Terms {
        let i = if k % 2 == 0 { k / 2 } else { self.arguments.points - (k + 1) / 2 };
        Terms::of_one(i * self.stride, self.alternating_scale(k))
    }

    fn pack4(&self, j: i64, turns: &Turns) -> Terms {
        let (cosine, sine) = turns.get(4 * j + 1);
        let (a, of_a) = self.turned(2 * j);
        let (b, of_b) = self.turned(self.arguments.points - 1 - 2 * j);
        Terms {
            at: [a, b],
            real: [cosine * of_a, sine * of_b],
            imaginary: [-sine * of_a, cosine * of_b],
        }
    }

    fn unpack4(&self, k: i64, turns: &Turns) -> Terms {
        let is_real = k % 2 == 0;
        let i = if is_real { k / 2 } else { (self.arguments.points - 1 - k) / 2 };
        let (cosine, sine) = turns.get(4 * i);
        let scale = 2.0 * self.alternating_scale(k);
        let factors = if is_real { [cosine, sine] } else { [sine, -cosine] };
        Terms::of_real([i * self.stride, i * self.stride + 1], factors.map(|one| one * scale))
    }

    fn fold4(&self, j: i64) -> Terms {
        let n = self.arguments.points;
        let i = (n + 8 * j) % (8 * n);
        let i = if i > 4 * n { 8 * n - i } else { i };
        let (i, sign) = if i > 2 * n { (4 * n - i, -1.0) } else { (i, 1.0) };
        let (at, weight) = self.turned((i - 1) / 2);
        Terms::of_one(at, sign * weight)
    }

    fn turn4(&self, k: i64) -> Terms {
        let (at, sign) = self.hermitian((2 * k + 1) % self.arguments.points);
        let scale = 2.0 * FRAC_1_SQRT_2 * self.alternating_scale(k);
        let cosine = if matches!(k % 4, 1 | 2) { -scale } else { scale };
        let sine = if k % 4 >= 2 { -scale } else { scale };
        Terms::of_real([at, at + 1], [cosine, sine * sign])
    }
}

/// Computes a step.
///
/// # Safety
/// As for [`super::cosine_step`], for arrays in host memory that fit the step, of `T` or of pairs
/// of `T`.
pub(super) unsafe fn compute<T: Real>(
    to: &TensorView,
    from: &TensorView,
    axis: usize,
    arguments: &CosineArguments,
    threads: NonZeroUsize,
) -> Result<()> {
    let step = arguments.step;
    let stride = from.layout.strides[axis] * if step.takes_complex() { 2 } else { 1 };
    let (line, n) = (Line { arguments, stride }, arguments.points);
    let pass = Pass::<T>::new(to, from, axis, step);
    // SAFETY: the terms of a step are in its source line.
    unsafe {
        match step {
            CosineStep::Extend => pass.run(threads, |j| line.extend(j)),
            CosineStep::Take => pass.run(threads, |k| line.take(k)),
            CosineStep::Fold2 => pass.run(threads, |j| line.fold2(j)),
            CosineStep::Unfold3 => pass.run(threads, |k| line.unfold3(k)),
            CosineStep::Fold4 => pass.run(threads, |j| line.fold4(j)),
            CosineStep::Turn4 => pass.run(threads, |k| line.turn4(k)),
            CosineStep::Turn2 => {
                let turns = Turns::new(n, 2.0 * n as f64);
                pass.run(threads, |k| line.turn2(k, &turns))
            }
            CosineStep::Turn3 => {
                let turns = Turns::new(n / 2 + 1, 2.0 * n as f64);
                pass.run(threads, |j| line.turn3(j, &turns))
            }
            CosineStep::Pack4 => {
                let turns = Turns::new(2 * n + 1, 4.0 * n as f64);
                pass.run(threads, |j| line.pack4(j, &turns))
            }
            CosineStep::Unpack4 => {
                let turns = Turns::new(2 * n + 1, 4.0 * n as f64);
                pass.run(threads, |k| line.unpack4(k, &turns))
            }
        }
    }
}

/// All lines of both arrays.
struct Pass<T> {
    to: SyncPtr<T>,
    from: SyncPtr<T>,
    /// Real numbers of an element of each array.
    sizes: [i64; 2],
    outer: BatchDims<2>,
    /// Neighbouring lines, whose elements are closer to each other than those of a line.
    inner: BatchDim<2>,
    /// Elements of a target line, and the distance between them.
    points: i64,
    stride: i64,
}

impl<T: Real> Pass<T> {
    fn new(to: &TensorView, from: &TensorView, axis: usize, step: CosineStep) -> Self {
        let mut outer = BatchDims::outside(&[axis], [&from.layout, &to.layout]);
        let stride = to.layout.strides[axis];
        let mut inner = BatchDim { extent: 1, strides: [0, 0] };
        if outer.last().is_some_and(|dim| dim.strides[1].abs() < stride.abs()) {
            inner = outer.pop_fastest();
        }
        let size = |is_complex| if is_complex { 2 } else { 1 };
        Self {
            to: SyncPtr::new(std::ptr::with_exposed_provenance_mut(to.ptr)),
            from: SyncPtr::new(std::ptr::with_exposed_provenance_mut(from.ptr)),
            sizes: [size(step.takes_complex()), size(step.gives_complex())],
            outer,
            inner,
            points: to.layout.shape[axis],
            stride,
        }
    }

    /// Computes all lines.
    ///
    /// # Safety
    /// - The arrays are valid, and nothing else uses them until the function returns.
    /// - For every element of a target line, `terms` returns two places in the source line.
    unsafe fn run(&self, threads: NonZeroUsize, terms: impl Fn(i64) -> Terms + Sync) -> Result<()> {
        let part = (NUMBERS_OF_TASK / self.inner.extent).clamp(1, self.points);
        let parts = (self.points.cast_unsigned() as usize).div_ceil(part as usize);
        let tasks = self.outer.count() * parts;
        parallel_for(threads, tasks, |indices| {
            for task in indices {
                let first = (task % parts) as i64 * part;
                let end = (first + part).min(self.points);
                let starts = self.outer.offsets(task / parts);
                // SAFETY: tasks write distinct elements; the caller guarantees the rest.
                unsafe { self.run_part(starts, first..end, &terms) };
            }
            Ok(())
        })
    }

    /// Computes some elements of the lines that start `starts` elements after the first ones.
    ///
    /// # Safety
    /// As for [`Self::run`], and nobody else writes these elements.
    unsafe fn run_part(
        &self,
        starts: [i64; 2],
        elements: std::ops::Range<i64>,
        terms: &impl Fn(i64) -> Terms,
    ) {
        let [from_step, to_step] =
            [0, 1].map(|array| (self.inner.strides[array] * self.sizes[array]) as isize);
        for j in elements {
            let Terms { at, real, imaginary } = terms(j);
            let target = (starts[1] + j * self.stride) * self.sizes[1];
            let [real, imaginary] = [real, imaginary].map(|pair| pair.map(T::of));
            // SAFETY: the places are those of numbers of the two arrays.
            unsafe {
                let a = self.from.get().offset((starts[0] * self.sizes[0] + at[0]) as isize);
                let b = self.from.get().offset((starts[0] * self.sizes[0] + at[1]) as isize);
                let target = self.to.get().offset(target as isize);
                for i in 0..self.inner.extent as isize {
                    let (a, b) = (*a.offset(i * from_step), *b.offset(i * from_step));
                    *target.offset(i * to_step) = real[0] * a + real[1] * b;
                    if self.sizes[1] == 2 {
                        *target.offset(i * to_step + 1) = imaginary[0] * a + imaginary[1] * b;
                    }
                }
            }
        }
    }
}
