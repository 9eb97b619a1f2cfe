//! Dense N-D arrays of complex numbers, the definition of the transform, and operands with any
//! layout.

use std::f64::consts::TAU;

use gpumath_core::fft::cpu::CpuFft;
use gpumath_core::fft::{Direction, FftProblem, Precision, TransformKind};
use gpumath_core::tensor::{Dims, Layout};

pub(crate) use crate::random::Random;

pub(crate) type C = (f64, f64);

/// Transforms one line by definition, in double precision. Exponents are reduced modulo n before
/// they become angles.
pub(crate) fn dft(line: &[C], sign: f64) -> Vec<C> {
    let n = line.len();
    let roots: Vec<C> = (0..n)
        .map(|k| (sign * TAU * k as f64 / n as f64).sin_cos())
        .map(|(sin, cos)| (cos, sin))
        .collect();
    (0..n)
        .map(|k| {
            line.iter().enumerate().fold((0.0, 0.0), |sum, (j, x)| {
                let root = roots[(j as u128 * k as u128 % n as u128) as usize];
                (sum.0 + x.0 * root.0 - x.1 * root.1, sum.1 + x.0 * root.1 + x.1 * root.0)
            })
        })
        .collect()
}

/// A C-contiguous array of complex numbers.
#[derive(Clone)]
pub(crate) struct Dense {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<C>,
}

impl Dense {
    pub(crate) fn random(shape: &[usize], real: bool, random: &mut Random) -> Self {
        let count = shape.iter().product();
        let values = (0..count)
            .map(|_| (random.number(), if real { 0.0 } else { random.number() }))
            .collect();
        Self { shape: shape.to_vec(), values }
    }

    fn along(&self, axis: usize, points: usize, line: impl Fn(Vec<C>) -> Vec<C>) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = points;
        let inner: usize = shape[axis + 1..].iter().product();
        let outer: usize = shape[..axis].iter().product();
        let before = self.shape[axis];
        let mut values = vec![(0.0, 0.0); shape.iter().product()];
        for o in 0..outer {
            for i in 0..inner {
                let at = |k: usize, len: usize| (o * len + k) * inner + i;
                let new = line((0..before).map(|k| self.values[at(k, before)]).collect());
                for (k, value) in new.into_iter().enumerate() {
                    values[at(k, points)] = value;
                }
            }
        }
        Self { shape, values }
    }

    /// Transforms by definition over `axes`. `points` is the length of the result of C2R along the
    /// last axis.
    pub(crate) fn transform(
        &self,
        kind: TransformKind,
        axes: &[usize],
        sign: f64,
        points: usize,
    ) -> Self {
        let last = *axes.last().unwrap();
        let mut now = self.clone();
        for &axis in axes {
            if kind == TransformKind::C2R && axis == last {
                continue;
            }
            now = now.along(axis, now.shape[axis], |line| dft(&line, sign));
        }
        match kind {
            TransformKind::C2C => now,
            TransformKind::R2C => {
                let half = now.shape[last] / 2 + 1;
                now.along(last, half, |line| line[..half].to_vec())
            }
            TransformKind::C2R => now.along(last, points, |mut half| {
                half[0].1 = 0.0;
                if points.is_multiple_of(2) {
                    half[points / 2].1 = 0.0;
                }
                let full: Vec<C> = (0..points)
                    .map(|k| {
                        if k < half.len() {
                            half[k]
                        } else {
                            (half[points - k].0, -half[points - k].1)
                        }
                    })
                    .collect();
                dft(&full, sign).into_iter().map(|x| (x.0, 0.0)).collect()
            }),
        }
    }
}

/// Memory of reals (`parts` 1) or complex numbers (2) in either precision, addressed through a
/// layout.
pub(crate) struct Operand {
    memory: Memory,
    parts: usize,
    start: usize,
    layout: Layout,
}

enum Memory {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

/// The value between the elements of an operand, which no transform may change.
const GAP: f64 = 77.0;

impl Operand {
    pub(crate) fn new(layout: &Layout, precision: Precision, complex: bool) -> Self {
        let (low, high) = layout.offsets();
        let parts = if complex { 2 } else { 1 };
        let count = (high - low + 1).max(0) as usize * parts + 8;
        let memory = match precision {
            Precision::Single => Memory::Single(vec![GAP as f32; count]),
            _ => Memory::Double(vec![GAP; count]),
        };
        Self { memory, parts, start: (-low) as usize * parts + 4, layout: layout.clone() }
    }

    pub(crate) fn address(&mut self) -> usize {
        match &mut self.memory {
            Memory::Single(values) => values[self.start..].as_mut_ptr().expose_provenance(),
            Memory::Double(values) => values[self.start..].as_mut_ptr().expose_provenance(),
        }
    }

    fn places(&self) -> Vec<usize> {
        let shape: Vec<usize> = self.layout.shape.iter().map(|&x| x as usize).collect();
        let count = shape.iter().product();
        (0..count)
            .map(|mut flat: usize| {
                let mut at = self.start as i64;
                for dim in (0..shape.len()).rev() {
                    at += (flat % shape[dim]) as i64 * self.layout.strides[dim] * self.parts as i64;
                    flat /= shape[dim];
                }
                at as usize
            })
            .collect()
    }

    pub(crate) fn write(&mut self, values: &[C]) {
        for (place, value) in self.places().into_iter().zip(values) {
            for (part, number) in [value.0, value.1].into_iter().take(self.parts).enumerate() {
                match &mut self.memory {
                    Memory::Single(memory) => memory[place + part] = number as f32,
                    Memory::Double(memory) => memory[place + part] = number,
                }
            }
        }
    }

    fn number(&self, at: usize) -> f64 {
        match &self.memory {
            Memory::Single(memory) => f64::from(memory[at]),
            Memory::Double(memory) => memory[at],
        }
    }

    pub(crate) fn read(&self) -> Vec<C> {
        let imaginary = |at| if self.parts == 2 { self.number(at + 1) } else { 0.0 };
        self.places().into_iter().map(|at| (self.number(at), imaginary(at))).collect()
    }

    /// Asserts that only elements were written.
    pub(crate) fn assert_gaps(&self) {
        let used: std::collections::HashSet<usize> =
            self.places().into_iter().flat_map(|at| at..at + self.parts).collect();
        let count = match &self.memory {
            Memory::Single(memory) => memory.len(),
            Memory::Double(memory) => memory.len(),
        };
        for at in (0..count).filter(|at| !used.contains(at)) {
            assert!(self.number(at).to_bits() == GAP.to_bits(), "element {at} was overwritten");
        }
    }
}

/// Returns the root mean square of the difference, relative to the reference.
pub(crate) fn error(got: &[C], expected: &[C]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let (mut difference, mut size) = (0.0, 0.0);
    for (g, e) in got.iter().zip(expected) {
        difference += (g.0 - e.0).powi(2) + (g.1 - e.1).powi(2);
        size += e.0.powi(2) + e.1.powi(2);
    }
    if size == 0.0 { difference.sqrt() } else { (difference / size).sqrt() }
}

pub(crate) fn tolerance(precision: Precision) -> f64 {
    if precision == Precision::Single { 1e-6 } else { 2e-14 }
}

pub(crate) fn strided(shape: &[usize], strides: &[i64]) -> Layout {
    Layout { shape: shape.iter().map(|&x| x as i64).collect(), strides: strides.into() }
}

pub(crate) fn dims(axes: &[usize]) -> Dims {
    axes.iter().map(|&axis| axis as i64).collect()
}

/// Plans with `plan`, executes without and with a factor, and compares the results with the
/// definition. Asserts also that the input and the gaps of the output do not change.
pub(crate) fn check(
    problem: &FftProblem,
    random: &mut Random,
    plan: impl Fn(&FftProblem) -> CpuFft,
) {
    let axes: Vec<usize> = problem.axes.iter().map(|&axis| axis as usize).collect();
    let last = *axes.last().unwrap();
    let fft = plan(problem);
    let directions: &[Direction] = match problem.kind {
        TransformKind::C2C => &[Direction::Forward, Direction::Inverse],
        TransformKind::R2C => &[Direction::Forward],
        TransformKind::C2R => &[Direction::Inverse],
    };
    for &direction in directions {
        for factor in [None, Some(random.number())] {
            let mut input =
                Operand::new(&problem.input, problem.precision, problem.kind != TransformKind::R2C);
            let shape: Vec<usize> = problem.input.shape.iter().map(|&x| x as usize).collect();
            input.write(&Dense::random(&shape, problem.kind == TransformKind::R2C, random).values);
            // Rounded to the precision, and equal where a stride of zero makes elements one.
            let given = Dense { shape, values: input.read() };
            let points = problem.output.shape[last] as usize;
            let mut expected =
                given.transform(problem.kind, &axes, f64::from(direction.sign()), points);
            for value in &mut expected.values {
                let factor = factor.unwrap_or(1.0);
                *value = (value.0 * factor, value.1 * factor);
            }
            let result = if problem.inplace {
                let address = input.address();
                // SAFETY: the operand spans its layout.
                unsafe { fft.execute(address, address, direction, factor) }.unwrap();
                input
            } else {
                let mut output = Operand::new(
                    &problem.output,
                    problem.precision,
                    problem.kind != TransformKind::C2R,
                );
                // SAFETY: the operands span their layouts.
                unsafe { fft.execute(input.address(), output.address(), direction, factor) }
                    .unwrap();
                assert!(input.read() == given.values, "the input was changed: {problem:?}");
                input.assert_gaps();
                output
            };
            result.assert_gaps();
            let error = error(&result.read(), &expected.values);
            assert!(error < tolerance(problem.precision), "{error:e} {direction:?} {problem:?}");
        }
    }
}
