//! Values of transforms of real lines, against sums in double precision, with every set of
//! instructions of the processor.

use std::f64::consts::PI;

use super::*;
use crate::lane_fft::instructions::all_instructions;
use crate::lane_fft::tests::noise;

/// How the lines of one side lie in its memory.
#[derive(Clone, Copy, Debug)]
struct Lies {
    along: usize,
    across: usize,
}

impl Lies {
    /// Lines that are neighbours, beside some other elements, or rows of memory.
    fn new(points: usize, count: usize, are_neighbours: bool) -> Self {
        if are_neighbours {
            Self { along: count + 3, across: 1 }
        } else {
            Self { along: 1, across: points + 2 }
        }
    }

    fn at(self, line: usize, point: usize) -> usize {
        line * self.across + point * self.along
    }

    fn len(self, points: usize, count: usize) -> usize {
        (points - 1) * self.along + (count - 1) * self.across + 4
    }

    fn lines<E>(self, elements: &mut [E], count: usize) -> StridedLines<E> {
        let [along, across] = [self.along, self.across].map(|step| step as isize);
        StridedLines::new(elements.as_mut_ptr(), along, across, count)
    }
}

/// Returns the half spectrum of a real line.
fn spectrum(line: &[f64]) -> Vec<Complex<f64>> {
    let turn = |at: usize| -2.0 * PI * (at % line.len()) as f64 / line.len() as f64;
    let sum = |k: usize| (0..line.len()).map(|j| Complex::from_polar(line[j], turn(j * k))).sum();
    (0..=line.len() / 2).map(sum).collect()
}

/// Transforms lines forward and back, and compares the half spectra and the lines with sums.
fn check<T: Lane + Into<f64>>(
    arch: Instructions,
    points: usize,
    count: usize,
    are_neighbours: bool,
) {
    let Some(plan) = RealFft::<T>::with(arch, points) else { return };
    let half_points = points / 2 + 1;
    let reals = Lies::new(points, count, are_neighbours);
    let halves = Lies::new(half_points, count, are_neighbours);
    let mut from: Vec<T> =
        noise(reals.len(points, count), points + count).into_iter().map(T::rounded).collect();
    let kept = from.clone();
    let hole = T::rounded(7.0);
    let mut to = vec![Complex::new(hole, hole); halves.len(half_points, count)];
    let mut work = vec![T::rounded(f64::NAN); plan.work_len()];
    let forward = RealToHalf(plan);
    // SAFETY: the lines are in these vectors, and the work memory is as long as it has to be.
    unsafe {
        forward.run_lines(
            &[reals.lines(&mut from, count)],
            &[halves.lines(&mut to, count)],
            &mut work,
            (false, T::rounded(0.5)),
        );
    }
    let what = format!("{points} points, {count} lines, {reals:?}, {arch:?}");
    let wide = |value: T| -> f64 { value.into() };
    let is = |value: T, kept: f64| wide(value).to_bits() == kept.to_bits();
    let accuracy = if size_of::<T>() == 4 { 2e-6 } else { 1e-14 };
    assert!(from.iter().zip(&kept).all(|(a, b)| is(*a, wide(*b))), "{what}: input was written");
    let mut written = 0;
    for line in 0..count {
        let values: Vec<f64> = (0..points).map(|j| wide(from[reals.at(line, j)])).collect();
        let (mut error, mut norm) = (0.0, 0.0);
        for (k, expected) in spectrum(&values).into_iter().enumerate() {
            let value = to[halves.at(line, k)];
            let value = Complex::new(wide(value.re), wide(value.im));
            error += (value - expected * 0.5).norm_sqr();
            norm += expected.norm_sqr();
            written += 1;
        }
        assert!((error / norm).sqrt() < accuracy, "{what}: line {line} of half spectra");
    }
    let left = to.iter().filter(|value| is(value.re, 7.0) && is(value.im, 7.0)).count();
    assert_eq!(left, to.len() - written, "{what}: an element beyond the lines was written");

    // What ends that are real have as imaginary parts does not count.
    for line in 0..count {
        to[halves.at(line, 0)].im = hole;
        if points.is_multiple_of(2) {
            to[halves.at(line, half_points - 1)].im = hole;
        }
    }
    let mut back = vec![hole; from.len()];
    assert_eq!(forward.points(), points, "{what}: points that are read");
    let inverse = HalfToReal(forward.0);
    assert_eq!(inverse.points(), half_points, "{what}: elements that are read");
    // SAFETY: as above.
    unsafe {
        inverse.run_lines(
            &[halves.lines(&mut to, count)],
            &[reals.lines(&mut back, count)],
            &mut work,
            (true, T::rounded(2.0 / points as f64)),
        );
    }
    let mut left: Vec<bool> = back.iter().map(|&value| is(value, 7.0)).collect();
    for line in 0..count {
        let (mut error, mut norm) = (0.0, 0.0);
        for at in (0..points).map(|point| reals.at(line, point)) {
            error += (wide(back[at]) - wide(from[at])).powi(2);
            norm += wide(from[at]).powi(2);
            left[at] = true;
        }
        assert!((error / norm).sqrt() < accuracy, "{what}: line {line} of real numbers");
    }
    assert!(left.into_iter().all(|is_left| is_left), "{what}: an element beyond was written");
}

#[test]
fn all_lengths_have_the_values_of_their_sums() {
    for arch in all_instructions() {
        for points in (2..=50)
            .chain([63, 64, 71, 75, 81, 94, 100, 105, 121, 141, 146, 210, 219, 233, 243, 274, 313])
            .chain([393, 539, 622])
        {
            for (count, are_neighbours) in [(16, true), (8, true), (4, true), (3, true), (3, false)]
            {
                check::<f32>(arch, points, count.min(arch.lanes::<f32>()), are_neighbours);
                check::<f64>(arch, points, count.min(arch.lanes::<f64>()), are_neighbours);
            }
        }
    }
}

#[test]
fn other_lengths_are_refused() {
    for points in [0, 1, 218, 317, 1009, 1 << 20, (1 << 20) + 1, usize::MAX] {
        for arch in all_instructions() {
            assert!(RealFft::<f32>::with(arch, points).is_none(), "{points}, {arch:?}");
        }
    }
}
