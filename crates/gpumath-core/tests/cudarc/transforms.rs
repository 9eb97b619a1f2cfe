//! Fourier transforms of cudarc's arrays, by cuFFT.

use std::f64::consts::TAU;

use gpumath_core::cudarc::{StreamAllocator, compute, execution, read, write};
use gpumath_core::fft::{Direction, Fft, FftArguments, FftPlan, FftRequest};
use gpumath_core::operation::{Execution, Operand, Workspace, compute as compute_slices};
use gpumath_core::tensor::{Dims, Layout};

use crate::{assert_close, new_stream, numbers, random};

const FORWARD: FftArguments = FftArguments { direction: Direction::Forward, factor: None };

fn along(axis: i64) -> FftRequest {
    FftRequest { axes: Some(Dims::from_elem(axis, 1)), ..FftRequest::default() }
}

/// The first `count` elements of the transform of one line of complex numbers, by definition.
fn dft(line: &[[f64; 2]], count: usize) -> Vec<[f64; 2]> {
    let n = line.len();
    let element = |k: usize| {
        line.iter().enumerate().fold([0.0, 0.0], |sum, (j, x)| {
            let (sin, cos) = (-TAU * (j * k % n) as f64 / n as f64).sin_cos();
            [sum[0] + x[0] * cos - x[1] * sin, sum[1] + x[0] * sin + x[1] * cos]
        })
    };
    (0..count).map(element).collect()
}

fn flat<T: Copy + Into<f64>>(values: &[[T; 2]]) -> Vec<f64> {
    values.iter().flatten().map(|&x| x.into()).collect()
}

fn pairs(values: &[f64]) -> Vec<[f64; 2]> {
    values.chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn lines_of_real_numbers() {
    let mut random = random();
    let signal = numbers(3 * 60, &mut random);
    let stream = new_stream();
    let single: Vec<f32> = signal.iter().map(|&x| x as f32).collect();
    let slice = stream.clone_htod(&single).unwrap();
    let operand = read(&slice, [3, 60], &stream).unwrap();
    let found = compute::<Fft, [f32; 2]>(&along(1), &[&operand], FORWARD, &stream).unwrap();
    assert_eq!(found.layout, Layout::contiguous(&[3, 31]));
    let expected: Vec<_> = single
        .chunks(60)
        .flat_map(|line| {
            let line: Vec<_> = line.iter().map(|&x| [f64::from(x), 0.0]).collect();
            dft(&line, 31)
        })
        .collect();
    assert_close(&flat(&stream.clone_dtoh(&found.memory).unwrap()), &flat(&expected), 1e-6);
}

#[test]
#[ignore = "needs a CUDA device"]
fn columns_there_and_back() {
    let mut random = random();
    let values = pairs(&numbers(2 * 45 * 4, &mut random));
    let stream = new_stream();
    let slice = stream.clone_htod(&values).unwrap();
    let spectrum = {
        let operand = read(&slice, [45, 4], &stream).unwrap();
        compute::<Fft, [f64; 2]>(&along(0), &[&operand], FORWARD, &stream).unwrap()
    };
    let found = stream.clone_dtoh(&spectrum.memory).unwrap();
    for column in 0..4 {
        let line =
            |of: &[[f64; 2]]| -> Vec<_> { of.iter().skip(column).step_by(4).copied().collect() };
        assert_close(&flat(&line(&found)), &flat(&dft(&line(&values), 45)), 1e-13);
    }
    let operand = read(&spectrum.memory, spectrum.layout.clone(), &stream).unwrap();
    let inverse = FftArguments { direction: Direction::Inverse, factor: Some(1.0 / 45.0) };
    let back = compute::<Fft, [f64; 2]>(&along(0), &[&operand], inverse, &stream).unwrap();
    assert_close(&flat(&stream.clone_dtoh(&back.memory).unwrap()), &flat(&values), 1e-13);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_view_in_place() {
    let mut random = random();
    let values = pairs(&numbers(2 * 100, &mut random));
    let stream = new_stream();
    let mut slice = stream.clone_htod(&values).unwrap();
    {
        let mut view = slice.slice_mut(1..65);
        let operand = write(&mut view, [64], &stream).unwrap();
        let request = FftRequest { inplace: true, ..FftRequest::default() };
        let place = execution(stream.context()).unwrap();
        let plan = FftPlan::of(&request, &[&operand], place).unwrap();
        let allocator = StreamAllocator::new(&stream).unwrap();
        let mut workspace = Workspace::new();
        plan.run(&[&operand], &[], FORWARD, &mut workspace, Some(&allocator)).unwrap();
        assert!(compute::<Fft, [f64; 2]>(&request, &[&operand], FORWARD, &stream).is_err());
    }
    let found = stream.clone_dtoh(&slice).unwrap();
    let expected = [&values[..1], &dft(&values[1..65], 64), &values[65..]].concat();
    assert_close(&flat(&found), &flat(&expected), 1e-13);
}

#[test]
#[ignore = "needs a CUDA device"]
fn slices_of_the_host_on_a_device() {
    let mut random = random();
    let values = pairs(&numbers(2 * 50, &mut random));
    let operand = Operand::of_slice(&values, [50]).unwrap();
    let place = Execution::Cuda { device: 0 };
    let request = FftRequest::default();
    let found = compute_slices::<Fft, [f64; 2]>(&request, &[&operand], FORWARD, place).unwrap();
    assert_close(&flat(&found.memory), &flat(&dft(&values, 50)), 1e-13);
}
