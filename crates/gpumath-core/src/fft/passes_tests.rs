//! The passes are run by a stand-in for cuFFT that follows the definition of its advanced data
//! layout and of the discrete Fourier transform, and compared with the transform of the whole
//! problem by definition.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use rustfft::num_complex::Complex64;

use super::*;
use crate::fft::Precision;

/// All indices of a shape, last dimension fastest.
fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![vec![]], |all, &extent| {
        all.iter()
            .flat_map(|index| (0..extent).map(move |i| [index.as_slice(), &[i]].concat()))
            .collect()
    })
}

fn dot(index: &[i64], strides: &[i64]) -> i64 {
    index.iter().zip(strides).map(|(i, stride)| i * stride).sum()
}

/// The transform of a dense array of `shape` along `axis`, by definition.
fn dft(values: &[Complex64], shape: &[i64], axis: usize, sign: f64) -> Vec<Complex64> {
    let strides = Layout::contiguous(shape).strides;
    indices(shape)
        .iter()
        .map(|index| {
            let n = shape[axis];
            (0..n)
                .map(|j| {
                    let mut source = index.clone();
                    source[axis] = j;
                    let turn = (j * index[axis] % n) as f64 / n as f64;
                    values[dot(&source, &strides) as usize]
                        * Complex64::cis(sign * std::f64::consts::TAU * turn)
                })
                .sum()
        })
        .collect()
}

/// The full spectrum that half a Hermitian one stands for, along `axis`.
fn hermitian(half: &[Complex64], shape: &[i64], axes: &[usize], n: i64) -> Vec<Complex64> {
    let halved = axes[axes.len() - 1];
    let mut full = shape.to_vec();
    full[halved] = n;
    let strides = Layout::contiguous(shape).strides;
    indices(&full)
        .iter()
        .map(|index| {
            if index[halved] < shape[halved] {
                return half[dot(index, &strides) as usize];
            }
            let mut mirror = index.clone();
            for &axis in axes {
                mirror[axis] = (full[axis] - index[axis]) % full[axis];
            }
            half[dot(&mirror, &strides) as usize].conj()
        })
        .collect()
}

/// A buffer with room for a layout, and the position of its index (0, …, 0).
fn buffer(layout: &Layout) -> (Vec<Complex64>, i64) {
    let (low, high) = layout.offsets();
    (vec![Complex64::new(f64::NAN, 0.0); (high - low + 1) as usize], -low)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 53) as f64 - 0.5
    }

    fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }

    /// A permuted layout with gaps and, rarely, a negative stride.
    fn layout(&mut self, shape: &[i64]) -> Layout {
        let mut strides = Dims::from_elem(0, shape.len());
        let mut step = 1 + self.below(2) as i64;
        for axis in self.shuffled(shape.len()) {
            strides[axis] = if self.below(8) == 0 { -step } else { step };
            step *= shape[axis] + self.below(2) as i64;
        }
        Layout { shape: shape.into(), strides }
    }
}

/// Runs one pass the way that cuFFT is documented to.
fn run(
    pass: &Pass,
    from: &[Complex64],
    from_zero: i64,
    to: &mut [Complex64],
    to_zero: i64,
    sign: f64,
) {
    let n = &pass.extents;
    let last = n.len() - 1;
    let halved: Dims = n
        .iter()
        .enumerate()
        .map(|(axis, &extent)| if axis == last { extent / 2 + 1 } else { extent })
        .collect();
    let (in_shape, out_shape) = match pass.kind {
        TransformKind::C2C => (n, n),
        TransformKind::R2C => (n, &halved),
        TransformKind::C2R => (&halved, n),
    };
    let place = |side: &Side, index: &[i64], batch: i64| {
        let row = index.iter().zip(&side.embed).fold(0, |row, (i, embed)| row * embed + i);
        batch * side.distance + row * side.stride
    };
    for &(in_offset, out_offset) in &pass.offsets {
        let mut written = Vec::new();
        let read_up_to = std::cell::Cell::new(0);
        for batch in 0..pass.batch {
            let read = |index: &Vec<i64>| {
                let place = place(&pass.input, index, batch);
                read_up_to.set(place.max(read_up_to.get()));
                from[(from_zero + in_offset + place) as usize]
            };
            let mut values: Vec<Complex64> = indices(in_shape).iter().map(read).collect();
            let axes: Vec<usize> = (0..n.len()).collect();
            if pass.kind == TransformKind::C2R {
                values = hermitian(&values, in_shape, &axes, n[last]);
            }
            for &axis in &axes {
                values = dft(&values, n, axis, sign);
            }
            let dense = Layout::contiguous(n).strides;
            for index in indices(out_shape) {
                let mut value = values[dot(&index, &dense) as usize];
                if pass.kind == TransformKind::C2R {
                    value.im = 0.0;
                }
                written.push((place(&pass.output, &index, batch), value));
            }
        }
        let start = (to_zero + out_offset) as usize;
        let mut direct = true;
        match (pass.kind, pass.bounce) {
            (TransformKind::C2R, Some(span)) => {
                // The whole span of the slice is copied, gaps and all.
                let mut bounce = vec![Complex64::new(f64::NAN, 0.0); span as usize];
                if pass.keeps_gaps {
                    bounce.copy_from_slice(&to[start..start + span as usize]);
                }
                for &(place, value) in &written {
                    bounce[place as usize] = value;
                }
                to[start..start + bounce.len()].copy_from_slice(&bounce);
                direct = false;
            }
            (TransformKind::R2C, Some(span)) => assert!(read_up_to.get() < span),
            (TransformKind::R2C, None) => assert!(in_offset % 2 == 0),
            (TransformKind::C2R, None) => assert!(out_offset % 2 == 0),
            (TransformKind::C2C, bounce) => assert!(bounce.is_none()),
        }
        for (place, value) in written.into_iter().filter(|_| direct) {
            to[start + place as usize] = value;
        }
        // cuFFT's habit: rows as far apart as for a transform in place are filled up.
        let (points, room) = (n[last], 2 * (n[last] / 2 + 1));
        let pitch = match n.len() {
            1 => pass.output.distance * i64::from(pass.batch > 1),
            _ => pass.output.embed[last] * pass.output.stride,
        };
        if pass.kind == TransformKind::C2R
            && direct
            && points > 1
            && pitch == room * pass.output.stride
        {
            for batch in 0..pass.batch {
                for row in indices(&n[..last]) {
                    for beyond in points..room {
                        let index = [row.as_slice(), &[beyond]].concat();
                        let place = start + place(&pass.output, &index, batch) as usize;
                        if let Some(other) = to.get_mut(place) {
                            *other = Complex64::new(f64::NAN, 0.0);
                        }
                    }
                }
            }
        }
    }
}

/// Computes `problem` by its passes and by definition; the largest difference, or `None` if no plan
/// covers it.
fn difference(problem: &FftProblem, random: &mut Random) -> Option<f64> {
    let passes = match Passes::of(problem) {
        Ok(passes) => passes,
        Err(Error::UnsupportedLayout { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    let sign = if problem.kind == TransformKind::C2R { 1.0 } else { -1.0 };
    let (mut input, in_zero) = buffer(&problem.input);
    let (mut output, out_zero) = buffer(&problem.output);
    let mut dense = Vec::new();
    for index in indices(&problem.input.shape) {
        let im = if problem.kind == TransformKind::R2C { 0.0 } else { random.unit() };
        let mut value = Complex64::new(random.unit(), im);
        let halved = problem.axes[problem.axes.len() - 1] as usize;
        let nyquist = problem.extent(problem.axes.len() - 1) % 2 == 0
            && index[halved] == problem.input.shape[halved] - 1;
        if problem.kind == TransformKind::C2R && (index[halved] == 0 || nyquist) {
            // Only numbers that a real signal can have there make the result well defined.
            value = Complex64::new(1.0, 0.0);
        }
        input[(in_zero + dot(&index, &problem.input.strides)) as usize] = value;
        dense.push(value);
    }
    let axes: Vec<usize> = problem.axes.iter().map(|&axis| axis as usize).collect();
    let mut shape = problem.input.shape.clone();
    if problem.kind == TransformKind::C2R {
        let n = problem.extent(axes.len() - 1);
        dense = hermitian(&dense, &shape, &axes, n);
        shape[axes[axes.len() - 1]] = n;
    }
    for &axis in &axes {
        dense = dft(&dense, &shape, axis, sign);
    }
    let mut scratch = input.clone();
    for pass in &passes.passes {
        match (pass.input.buffer, pass.output.buffer) {
            (BufferRole::Input, BufferRole::Output) => {
                run(pass, &input, in_zero, &mut output, out_zero, sign);
            }
            (BufferRole::Scratch, BufferRole::Output) => {
                run(pass, &scratch, in_zero, &mut output, out_zero, sign);
            }
            (BufferRole::Output, BufferRole::Output) => {
                let before = output.clone();
                run(pass, &before, out_zero, &mut output, out_zero, sign);
            }
            (BufferRole::Scratch, BufferRole::Scratch) => {
                let before = scratch.clone();
                run(pass, &before, in_zero, &mut scratch, in_zero, sign);
            }
            other => panic!("no pass goes {other:?}"),
        }
    }
    let strides = Layout::contiguous(&shape).strides;
    let worst = indices(&problem.output.shape)
        .iter()
        .map(|index| {
            let got = output[(out_zero + dot(index, &problem.output.strides)) as usize];
            let mut wanted = dense[dot(index, &strides) as usize];
            if problem.kind == TransformKind::C2R {
                wanted.im = 0.0;
            }
            (got - wanted).norm()
        })
        .fold(
            0.0,
            |worst: f64, error| if error.is_nan() { f64::INFINITY } else { worst.max(error) },
        );
    Some(worst)
}

#[test]
fn passes_compute_the_whole_transform() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut covered = 0;
    for round in 0..600 {
        let ndim = 1 + random.below(4);
        let shape: Vec<i64> = (0..ndim).map(|_| 1 + random.below(5) as i64).collect();
        let rank = 1 + random.below(ndim);
        let axes: Dims = random.shuffled(ndim)[..rank].iter().map(|&axis| axis as i64).collect();
        let kind = [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R][round % 3];
        let halved = axes[rank - 1] as usize;
        let mut other = shape.clone();
        other[halved] = shape[halved] / 2 + 1;
        let (in_shape, out_shape) = match kind {
            TransformKind::C2C => (&shape, &shape),
            TransformKind::R2C => (&shape, &other),
            TransformKind::C2R => (&other, &shape),
        };
        let input = random.layout(in_shape);
        let output = if random.below(2) == 0 {
            Layout::contiguous(out_shape)
        } else {
            Layout::packed(out_shape, &input.memory_order())
        };
        let problem = FftProblem::new(kind, Precision::Double, axes, input, output, false).unwrap();
        if let Some(worst) = difference(&problem, &mut random) {
            assert!(worst < 1e-10, "{problem:?} differs by {worst}");
            covered += 1;
        }
    }
    assert!(covered > 450, "only {covered} of 600 layouts are covered");
}

fn complex(axes: &[i64], input: Layout) -> FftProblem {
    let output = Layout::packed(&input.shape, &input.memory_order());
    FftProblem::new(TransformKind::C2C, Precision::Single, axes.into(), input, output, false)
        .unwrap()
}

#[test]
fn common_layouts_need_one_call() {
    for (axes, input) in [
        (&[1][..], Layout::contiguous(&[16, 1024])),
        (&[0], Layout::contiguous(&[16, 1024])),
        (&[0, 1], Layout::contiguous(&[4, 5, 6])),
        (&[1, 2], Layout::contiguous(&[4, 5, 6])),
        (&[2, 3], Layout::contiguous(&[2, 3, 4, 5])),
        (&[0, 1, 2], Layout::contiguous(&[4, 5, 6])),
        (&[2, 0, 1], Layout::packed(&[4, 5, 6], &[2, 0, 1])),
        (&[0], Layout { shape: [8].as_slice().into(), strides: [3].as_slice().into() }),
        (&[1], Layout { shape: [4, 8].as_slice().into(), strides: [20, 2].as_slice().into() }),
    ] {
        let passes = Passes::of(&complex(axes, input.clone())).unwrap();
        assert_eq!(passes.calls(), 1, "axes {axes:?} of {input:?}");
        assert!(!passes.scratch);
    }
}

#[test]
fn a_middle_axis_needs_one_call_for_each_outer_slice() {
    let passes = Passes::of(&complex(&[1], Layout::contiguous(&[3, 5, 7]))).unwrap();
    assert_eq!(passes.calls(), 3);
    assert_eq!(passes.passes[0].batch, 7);
}

#[test]
fn four_axes_need_two_plans() {
    let passes = Passes::of(&complex(&[0, 1, 2, 3], Layout::contiguous(&[2, 3, 4, 5]))).unwrap();
    assert_eq!(passes.passes.len(), 2);
}

#[test]
fn what_no_plan_covers_says_how_to_copy() {
    let reversed = Layout { shape: [4, 8].as_slice().into(), strides: [8, -1].as_slice().into() };
    match Passes::of(&complex(&[0], Layout::contiguous(&[2000, 5, 3])).clone()) {
        Ok(passes) => assert_eq!(passes.calls(), 1),
        Err(error) => panic!("{error}"),
    }
    for (axes, input) in [(&[1][..], reversed), (&[1], Layout::contiguous(&[2000, 5, 1500]))] {
        match Passes::of(&complex(axes, input.clone())) {
            Err(Error::UnsupportedLayout { permutation, axes: moved, .. }) => {
                let copy: Vec<i64> = permutation.iter().map(|&axis| input.shape[axis]).collect();
                let moved: Vec<i64> = moved.iter().map(|&axis| axis as i64).collect();
                let again = Passes::of(&complex(&moved, Layout::contiguous(&copy))).unwrap();
                assert_eq!(again.calls(), 1);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn rows_of_out(points: i64, pitch: i64) -> FftProblem {
    let input = Layout::contiguous(&[5, points / 2 + 1]);
    let output =
        Layout { shape: [5, points].as_slice().into(), strides: [pitch, 1].as_slice().into() };
    let axes = [1].as_slice().into();
    FftProblem::new(TransformKind::C2R, Precision::Double, axes, input, output, false).unwrap()
}

#[test]
fn what_is_between_padded_rows_is_left_alone() {
    for (points, pitch, calls) in [(11, 12, 5), (6, 8, 5), (6, 10, 1), (11, 14, 1), (6, 6, 1)] {
        let passes = Passes::of(&rows_of_out(points, pitch)).unwrap();
        assert_eq!(passes.calls(), calls, "{points} points, {pitch} apart");
    }
    let mut random = Random(3);
    for (points, pitch) in [(11, 12), (6, 8), (6, 10)] {
        let worst = difference(&rows_of_out(points, pitch), &mut random);
        assert!(worst.unwrap() < 1e-10, "{points} points, {pitch} apart");
    }
}

#[test]
fn several_axes_into_padded_rows() {
    let real_result = |shape: &[i64], strides: &[i64], axes: &[i64]| {
        let mut halved = shape.to_vec();
        let last = shape.len() - 1;
        halved[last] = halved[last] / 2 + 1;
        let output = Layout { shape: shape.into(), strides: strides.into() };
        let input = Layout::contiguous(&halved);
        FftProblem::new(TransformKind::C2R, Precision::Double, axes.into(), input, output, false)
            .unwrap()
    };
    let mut random = Random(7);
    // PitchedMemory of an array that is made for a transform in place, and rows with other
    // transforms' between them.
    for (shape, strides, calls) in [
        (&[4, 6][..], &[8, 1][..], 1 + 4),
        (&[3, 5, 7], &[40, 8, 1], 2 + 15),
        (&[5, 2, 2], &[4, 2, 1], 3),
    ] {
        let axes: Vec<i64> =
            (0..shape.len() as i64).filter(|&axis| axis != 1 || shape != [5, 2, 2]).collect();
        let problem = real_result(shape, strides, &axes);
        let passes = Passes::of(&problem).unwrap();
        assert!(passes.passes.last().unwrap().extents.len() == 1, "{shape:?}");
        assert!(passes.calls() <= calls, "{shape:?}: {}", passes.calls());
        assert!(difference(&problem, &mut random).unwrap() < 1e-10, "{shape:?}");
    }
}

#[test]
fn unaligned_rows_with_gaps_go_one_by_one() {
    let mut problem = rows_of_out(10, 13);
    problem.output_unaligned = true;
    let passes = Passes::of(&problem).unwrap();
    assert_eq!(passes.calls(), 5);
    assert_eq!(passes.passes[0].bounce, Some(10));
}
