//! Routes are run by a stand-in for cuFFT that follows the definition of its advanced data layout
//! and of the discrete Fourier transform, and compared with the transform of the whole problem by
//! definition.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use rustfft::num_complex::Complex64;

use super::*;
use crate::error::Error;
use crate::fft::measured_costs::TABLES;
use crate::fft::passes::Side;
use crate::fft::{Callback, FftRequest, ResultLayout};
use crate::operation::{Execution, Request};
use crate::tensor::{DType, Dims, MemoryLocation, TensorView};

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

/// Runs one pass the way that cuFFT is documented to, from and to the start of buffers.
fn run(pass: &Pass, from: &[Complex64], to: &mut [Complex64], sign: f64) {
    let n = &pass.extents;
    let last = n.len() - 1;
    let mut halved = n.clone();
    halved[last] = n[last] / 2 + 1;
    let (in_shape, out_shape) = match pass.kind {
        TransformKind::C2C => (n, n),
        TransformKind::R2C => (n, &halved),
        TransformKind::C2R => (&halved, n),
    };
    let place = |side: &Side, index: &[i64], batch: i64| {
        let row = index.iter().zip(&side.embed).fold(0, |row, (i, embed)| row * embed + i);
        (batch * side.distance + row * side.stride) as usize
    };
    let axes: Vec<usize> = (0..n.len()).collect();
    let dense = Layout::contiguous(n).strides;
    for batch in 0..pass.batch {
        let mut values: Vec<Complex64> =
            indices(in_shape).iter().map(|index| from[place(&pass.input, index, batch)]).collect();
        if pass.kind == TransformKind::C2R {
            values = hermitian(&values, in_shape, &axes, n[last]);
        }
        for &axis in &axes {
            values = dft(&values, n, axis, sign);
        }
        for index in indices(out_shape) {
            let mut value = values[dot(&index, &dense) as usize];
            if pass.kind == TransformKind::C2R {
                value.im = 0.0;
            }
            to[place(&pass.output, &index, batch)] = value;
        }
    }
    // cuFFT's habit: rows as far apart as for a transform in place are filled up.
    let (points, room) = (n[last], 2 * (n[last] / 2 + 1));
    let pitch = match n.len() {
        1 => pass.output.distance * i64::from(pass.batch > 1),
        _ => pass.output.embed[last] * pass.output.stride,
    };
    if pass.kind == TransformKind::C2R && points > 1 && pitch == room * pass.output.stride {
        for batch in 0..pass.batch {
            for row in indices(&n[..last]) {
                for beyond in points..room {
                    let index = [row.as_slice(), &[beyond]].concat();
                    if let Some(other) = to.get_mut(place(&pass.output, &index, batch)) {
                        *other = Complex64::new(f64::NAN, 0.0);
                    }
                }
            }
        }
    }
}

/// Computes `problem` by its route and by definition; the largest difference.
fn difference(problem: &FftProblem, random: &mut Random) -> f64 {
    let route = Route::of(problem, None).unwrap();
    let sign = if problem.kind == TransformKind::C2R { 1.0 } else { -1.0 };
    let (mut input, in_zero) = buffer(&problem.input);
    let (output, out_zero) = buffer(&problem.output);
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
    }
    // Where indices share an element, the last value counts.
    for index in indices(&problem.input.shape) {
        dense.push(input[(in_zero + dot(&index, &problem.input.strides)) as usize]);
    }
    let axes = problem.dimensions();
    let mut shape = problem.input.shape.clone();
    if problem.kind == TransformKind::C2R {
        let n = problem.extent(axes.len() - 1);
        dense = hermitian(&dense, &shape, &axes, n);
        shape[axes[axes.len() - 1]] = n;
    }
    for &axis in &axes {
        dense = dft(&dense, &shape, axis, sign);
    }
    let given = input.clone();
    // Sizes are in bytes of at least one for each element.
    let nothing = |bytes: usize| vec![Complex64::new(f64::NAN, 0.0); bytes];
    let mut buffers = [
        (BufferRole::Input, input, in_zero),
        (BufferRole::Output, output, out_zero),
        (BufferRole::StagedInput, nothing(route.staged[0]), 0),
        (BufferRole::StagedOutput, nothing(route.staged[1]), 0),
    ];
    for step in &route.steps {
        let (from, to) = match step {
            Step::Transform(pass) => (pass.input.buffer, pass.output.buffer),
            Step::Copy(copy) => (copy.from.0, copy.to.0),
        };
        let (_, source, from_zero) =
            buffers.iter().find(|buffer| buffer.0 == from).unwrap().clone();
        let (_, target, to_zero) = buffers.iter_mut().find(|buffer| buffer.0 == to).unwrap();
        match step {
            Step::Transform(pass) => {
                run(pass, &source[from_zero as usize..], &mut target[*to_zero as usize..], sign);
                if pass.kind == TransformKind::C2R {
                    // cuFFT may overwrite this input.
                    assert_eq!(from, BufferRole::StagedInput);
                }
            }
            Step::Copy(copy) => {
                for index in indices(&copy.to.1.shape) {
                    target[(*to_zero + dot(&index, &copy.to.1.strides)) as usize] =
                        source[(from_zero + dot(&index, &copy.from.1.strides)) as usize];
                }
            }
        }
    }
    // Numbers, not NaN, of which no two are equal.
    let is_same = |(a, b): (&Complex64, &Complex64)| a == b || a.re.is_nan() && b.re.is_nan();
    assert!(buffers[0].1.iter().zip(&given).all(is_same), "the operand was changed");
    let output = &buffers[1].1;
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
    let is_element = |place: &i64| {
        let at = |index: &Vec<i64>| out_zero + dot(index, &problem.output.strides) == *place;
        indices(&problem.output.shape).iter().any(at)
    };
    let mut beside = (0..output.len() as i64).filter(|place| !is_element(place));
    assert!(beside.all(|place| output[place as usize].re.is_nan()), "written beside the result");
    worst
}

#[test]
fn routes_compute_the_whole_transform() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..900 {
        let ndim = 1 + random.below(5);
        let longest = if ndim == 5 { 3 } else { 5 };
        let shape: Vec<i64> = (0..ndim).map(|_| 1 + random.below(longest) as i64).collect();
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
        let mut input = random.layout(in_shape);
        let output = match random.below(3) {
            0 => Layout::contiguous(out_shape),
            1 => Layout::packed(out_shape, &input.memory_order()),
            _ => random.layout(out_shape),
        };
        if kind != TransformKind::C2R && random.below(6) == 0 {
            input.strides[random.below(ndim)] = 0;
        }
        let mut problem =
            FftProblem::new(kind, Precision::Double, axes, input, output, false).unwrap();
        problem.input_unaligned = kind == TransformKind::R2C && random.below(4) == 0;
        problem.output_unaligned = kind == TransformKind::C2R && random.below(4) == 0;
        let worst = difference(&problem, &mut random);
        assert!(worst < 1e-10, "{problem:?} differs by {worst}");
    }
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
        let route = Route::of(&complex(axes, input.clone()), None).unwrap();
        assert_eq!(route.steps.len(), 1, "axes {axes:?} of {input:?}");
        assert_eq!(route.staged, [0, 0]);
    }
}

/// What the route does: how many copies before the first transform, transforms, copies after.
fn shape_of(problem: &FftProblem) -> (usize, usize, usize) {
    let steps = Route::of(problem, None).unwrap().steps;
    let is_copy = |step: &&Step| matches!(step, Step::Copy(_));
    let before = steps.iter().take_while(is_copy).count();
    let after = steps.iter().rev().take_while(is_copy).count();
    (before, steps.len() - before - after, after)
}

fn request(result_layout: ResultLayout, kind: TransformKind, axes: &[i64]) -> FftRequest {
    FftRequest {
        kind: Some(kind),
        axes: Some(axes.into()),
        inplace: false,
        may_overwrite: false,
        output: None,
        callbacks: Callbacks::default(),
        result_layout,
        odd_output_length: false,
    }
}

fn problem_of(request: &FftRequest, shape: &[i64]) -> FftProblem {
    let dtype =
        if request.kind == Some(TransformKind::R2C) { DType::Float32 } else { DType::Complex64 };
    let layout = Layout::contiguous(shape);
    let device = MemoryLocation::Device(0);
    let view = TensorView { ptr: 0, dtype, layout, device, readonly: false };
    request.problem(&[&view], Execution::Cuda { device: 0 }).unwrap()
}

#[test]
fn an_operand_that_may_be_overwritten_is_not_copied() {
    let request = FftRequest {
        kind: Some(TransformKind::C2R),
        axes: Some([1].as_slice().into()),
        may_overwrite: true,
        ..FftRequest::default()
    };
    let layout = Layout::contiguous(&[6, 17]);
    let device = MemoryLocation::Device(0);
    let view = TensorView { ptr: 0, dtype: DType::Complex64, layout, device, readonly: false };
    let copies = |request: &FftRequest, view: &TensorView| {
        let problem = request.problem(&[view], Execution::Cuda { device: 0 }).unwrap();
        shape_of(&problem).0
    };
    assert_eq!(copies(&request, &view), 0);
    let kept = FftRequest { may_overwrite: false, ..request.clone() };
    assert_eq!(copies(&kept, &view), 1);
    assert_eq!(copies(&request, &TensorView { readonly: true, ..view.clone() }), 1);
    let strides = [20, 1].as_slice().into();
    let gaps = Layout { strides, ..view.layout.clone() };
    assert_eq!(copies(&request, &TensorView { layout: gaps, ..view }), 1);
}

#[test]
fn the_transform_axes_of_an_optimized_result_are_the_fastest() {
    let (c2c, r2c) = (TransformKind::C2C, TransformKind::R2C);
    for (kind, shape, axes, optimized, natural) in [
        (c2c, &[3, 5, 7][..], &[1][..], [35, 1, 5], [35, 7, 1]),
        (c2c, &[3, 5, 7], &[0], [1, 21, 3], [35, 7, 1]),
        (c2c, &[3, 5, 7], &[0, 2], [7, 21, 1], [35, 7, 1]),
        (c2c, &[3, 5, 7], &[2], [35, 7, 1], [35, 7, 1]),
        (c2c, &[3, 5, 7], &[2, 1], [35, 7, 1], [35, 7, 1]),
        (r2c, &[3, 4, 6], &[2, 1], [18, 1, 3], [18, 6, 1]),
        (r2c, &[3, 4, 6], &[1], [18, 1, 3], [18, 6, 1]),
    ] {
        for (layout, strides) in
            [(ResultLayout::Optimized, optimized), (ResultLayout::Natural, natural)]
        {
            let problem = problem_of(&request(layout, kind, axes), shape);
            assert_eq!(problem.output.strides.as_slice(), strides, "{kind:?} {shape:?} {axes:?}");
        }
    }
}

#[test]
fn long_columns_are_copied_only_where_the_memory_is_fast() {
    let columns = request(ResultLayout::Optimized, TransformKind::C2C, &[0]);
    let problem = problem_of(&columns, &[8192, 8192]);
    let steps = |costs| Planner { problem: &problem, costs }.whole().unwrap().steps.len();
    assert_eq!(TABLES.map(steps), [2, 1]);
}

#[test]
fn costs_are_those_of_the_gpu_that_is_most_like_the_device() {
    let of = |bytes| TABLES[CostTable::nearest(bytes)].bytes_per_cycle;
    let [fast, slow] = TABLES.map(|table| table.bytes_per_cycle);
    for (given, expected) in [(2.4, slow), (slow, slow), (15.0, slow), (16.0, fast), (30.0, fast)] {
        assert_eq!(of(given).to_bits(), expected.to_bits(), "{given} bytes in a cycle");
    }
    assert_eq!(CostTable::of_device(None).bytes_per_cycle.to_bits(), fast.to_bits());
}

#[test]
fn a_large_middle_axis_is_copied_and_transformed_where_it_is() {
    let shape = &[256, 4096, 64];
    let optimized = problem_of(&request(ResultLayout::Optimized, TransformKind::C2C, &[1]), shape);
    assert_eq!(shape_of(&optimized), (1, 1, 0));
    assert_eq!(Route::of(&optimized, None).unwrap().staged[0], 0);
    let natural = problem_of(&request(ResultLayout::Natural, TransformKind::C2C, &[1]), shape);
    assert_eq!(shape_of(&natural), (1, 1, 1));
    assert_eq!(Route::of(&natural, None).unwrap().staged[1], 256 * 4096 * 64 * 8);
}

#[test]
fn short_columns_are_transformed_as_they_are() {
    for layout in [ResultLayout::Natural, ResultLayout::Optimized] {
        let problem = problem_of(&request(layout, TransformKind::C2C, &[0]), &[1024, 4]);
        assert_eq!(shape_of(&problem), (0, 1, 0));
    }
}

#[test]
fn a_single_large_odd_plane_needs_two_plans() {
    let request = request(ResultLayout::Natural, TransformKind::R2C, &[1, 2]);
    for (shape, count) in [([1, 1024, 1025], 2), ([1, 1024, 1024], 1), ([2, 1024, 1025], 1)] {
        let problem = problem_of(&request, &shape);
        assert_eq!(shape_of(&problem), (0, count, 0), "{shape:?}");
    }
}

#[test]
fn four_axes_need_two_plans() {
    let problem = complex(&[0, 1, 2, 3], Layout::contiguous(&[2, 3, 4, 5]));
    assert_eq!(Route::of(&problem, None).unwrap().passes().count(), 2);
}

#[test]
fn a_callback_allows_no_copy_to_another_layout() {
    let shape = &[256, 4096, 64];
    let mut problem = problem_of(&request(ResultLayout::Natural, TransformKind::C2C, &[1]), shape);
    for (prolog, epilog) in [(true, false), (false, true)] {
        let callback = |is_there: bool| is_there.then(|| Callback::new(&[1], 0));
        problem.callbacks = Callbacks { prolog: callback(prolog), epilog: callback(epilog) };
        match Route::of(&problem, None) {
            Err(Error::UnsupportedLayout { permutation, axes, .. }) => {
                let copy: Vec<i64> = permutation.iter().map(|&axis| shape[axis]).collect();
                let moved: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
                let again = complex(&moved, Layout::contiguous(&copy));
                assert_eq!(shape_of(&again), (0, 1, 0));
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
    for (points, pitch, copies) in [(11, 12, 1), (6, 8, 1), (6, 10, 0), (11, 14, 0), (6, 6, 0)] {
        let shape = shape_of(&rows_of_out(points, pitch));
        assert_eq!(shape, (1, 1, copies), "{points} points, {pitch} apart");
        let mut problem = rows_of_out(points, pitch);
        problem.callbacks.epilog = Some(Callback::new(&[1], 0));
        // An epilog counts offsets in the user's layout, so a copy to another one is no help.
        assert_eq!(
            Route::of(&problem, None).is_err(),
            copies == 1,
            "{points} points, {pitch} apart"
        );
        problem.output_unaligned = true;
        if let Ok(route) = Route::of(&problem, None) {
            assert_eq!(route.passes().last().unwrap().output.distance, pitch);
        }
    }
}
