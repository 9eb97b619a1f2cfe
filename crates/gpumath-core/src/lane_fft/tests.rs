//! Values, against sums in double precision, with every set of instructions of the processor.

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::FftPlanner;

use super::contiguous_lines::ContiguousFft;
use super::instructions::{all_instructions, sets_of_instructions};
use super::*;

/// Numbers without a pattern between -1 and 1.
pub(super) fn noise(count: usize, seed: usize) -> Vec<f64> {
    let mut state = seed as u64 * 2 + 1;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Transforms strided lines, or lines in the work memory, and compares them with sums.
fn check<T: Lane + Into<f64>>(
    arch: Instructions,
    points: usize,
    is_inverse: bool,
    is_strided: bool,
) {
    let Some(fft) = LaneFft::<T>::with(arch, points) else { return };
    let lanes = fft.lanes();
    let pitch = if is_strided { lanes + 3 } else { lanes };
    let parts = noise(2 * points * pitch, points);
    let rounded: Vec<T> = parts.iter().map(|&part| T::rounded(part)).collect();
    let mut results = rounded.clone();
    let mut work = vec![T::rounded(f64::NAN); fft.work_len()];
    let work = work.as_mut_ptr();
    let [before, after] = fft.places(work);
    let operand = results.as_mut_ptr().cast::<Complex<T>>();
    let how = (is_inverse, T::rounded(0.25));
    let step = pitch as isize;
    // SAFETY: all points of all lanes are in the operand, or in the work memory.
    unsafe {
        if is_strided {
            fft.run(Side::of(operand, step), Side::of(operand, step), work, how);
        } else {
            before.copy_from(operand, points * lanes);
            fft.run(Side::of(before, step), Side::of(after, step), work, how);
            operand.copy_from(after, points * lanes);
        }
    }
    let sign = if is_inverse { 1.0 } else { -1.0 };
    let number = |at: usize| Complex::new(rounded[2 * at].into(), rounded[2 * at + 1].into());
    let (mut error, mut norm) = (0.0, 0.0);
    for lane in [0, 1, lanes - 1] {
        for k in 0..points {
            let mut sum = Complex::new(0.0, 0.0);
            for j in 0..points {
                let turn = sign * 2.0 * PI * (j * k % points) as f64 / points as f64;
                sum += number(j * pitch + lane) * Complex::from_polar(0.25, turn);
            }
            let at = 2 * (k * pitch + lane);
            error += (Complex::new(results[at].into(), results[at + 1].into()) - sum).norm_sqr();
            norm += sum.norm_sqr();
        }
    }
    let accuracy = if size_of::<T>() == 4 { 1e-6 } else { 1e-14 };
    let error: f64 = (error / norm).sqrt();
    assert!(error < accuracy, "{error:.1e} for {points} points, {arch:?}");
    for at in (0..points * pitch).filter(|at| at % pitch >= lanes) {
        let kept = [2 * at, 2 * at + 1]
            .map(|part| results[part].into().to_bits() == rounded[part].into().to_bits());
        assert_eq!(kept, [true; 2], "an element beyond the lines was written");
    }
}

#[test]
fn all_lengths_have_the_values_of_their_sums() {
    for arch in all_instructions() {
        let fast = [16, 18, 20, 21, 25, 27, 32, 35, 48, 49, 64, 100, 128, 210, 343, 512, 1000];
        let of_one_step = [1, 2, 3, 4, 5, 7, 8, 11, 13, 43, 71, 127];
        let of_few_steps = [6, 9, 10, 14, 15];
        let of_other_primes = [22, 26, 47, 58, 121, 141, 59 * 4, 17 * 19];
        let of_chirps = [137, 139 * 2, 191 * 3, 233 * 4, 311, 1021];
        let others = of_one_step.into_iter().chain(of_few_steps).chain(of_other_primes);
        let others = others.chain(of_chirps);
        for points in fast.into_iter().chain(others) {
            for (is_inverse, is_strided) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                check::<f32>(arch, points, is_inverse, is_strided);
                check::<f64>(arch, points, is_inverse, is_strided);
            }
        }
    }
}

/// Transforms lines in rows, and compares them with sums.
fn check_rows<T: Lane + Into<f64>>(arch: Instructions, points: usize, in_row: usize) {
    let Some(fft) = LaneFft::<T>::with(arch, points) else { return };
    let (lanes, across) = (fft.lanes(), points * in_row + 5);
    let Some(len) = fft.rows_work_len(in_row) else { panic!("{points} points are few") };
    for count in [1, lanes / 2 + 1, lanes] {
        let parts = noise(2 * count * across, points * in_row);
        let rounded: Vec<T> = parts.iter().map(|&part| T::rounded(part)).collect();
        let mut results = rounded.clone();
        let mut work = vec![T::rounded(f64::NAN); len];
        let first = results.as_mut_ptr().cast::<Complex<T>>();
        let rows = Rows { first, across: across as isize, count };
        let how = (false, T::rounded(0.5));
        // SAFETY: the rows are in the results, and the work memory is as long as it has to be.
        unsafe { fft.run_rows(rows, rows, in_row, &mut work, how) };
        let number = |from: &[T], at: usize| {
            Complex::<f64>::new(from[2 * at].into(), from[2 * at + 1].into())
        };
        for row in 0..count {
            let (mut error, mut norm) = (0.0, 0.0);
            for (line, k) in (0..in_row).flat_map(|line| [0, 1, points - 1].map(|k| (line, k))) {
                let at = |point: usize| row * across + point * in_row + line;
                let turn = |j: usize| -2.0 * PI * (j * k % points) as f64 / points as f64;
                let term = |j| number(&rounded, at(j)) * Complex::from_polar(0.5, turn(j));
                let sum: Complex<f64> = (0..points).map(term).sum();
                error += (number(&results, at(k)) - sum).norm_sqr();
                norm += sum.norm_sqr();
            }
            let accuracy = if size_of::<T>() == 4 { 2e-6 } else { 1e-14 };
            assert!((error / norm).sqrt() < accuracy, "{points} points, {in_row} lines, {arch:?}");
            let beyond = row * across + points * in_row..(row + 1) * across;
            let is_kept = |at: usize| number(&results, at) == number(&rounded, at);
            assert!(beyond.into_iter().all(is_kept), "an element beyond the row was written");
        }
    }
}

#[test]
fn lines_in_rows_have_the_values_of_their_sums() {
    for arch in all_instructions() {
        for (points, lines) in
            [(4, 1), (16, 1), (21, 1), (50, 1), (128, 1), (2, 2), (16, 3), (49, 2), (128, 5)]
        {
            check_rows::<f32>(arch, points, lines);
            check_rows::<f64>(arch, points, lines);
        }
    }
}

/// Transforms two contiguous lines, in place and not, and compares the second one with sums.
fn check_contiguous<T: Lane + FftNum + Into<f64>>(
    arch: Arch,
    points: usize,
    direction: FftDirection,
) -> bool {
    let Some(fft) = ContiguousFft::<T>::with(arch, points, direction) else { return false };
    let rounded: Vec<T> = noise(4 * points, points).into_iter().map(T::rounded).collect();
    let number = |at: usize| Complex::new(rounded[2 * at], rounded[2 * at + 1]);
    let from: Vec<Complex<T>> = (0..2 * points).map(number).collect();
    let nan = Complex::new(T::rounded(f64::NAN), T::rounded(f64::NAN));
    let (mut in_place, mut moved) = (from.clone(), vec![nan; 2 * points]);
    let mut work = vec![nan; fft.get_inplace_scratch_len()];
    fft.process_with_scratch(&mut in_place, &mut work);
    fft.process_immutable_with_scratch(&from, &mut moved, &mut work);
    let sign = if direction == FftDirection::Inverse { 1.0 } else { -1.0 };
    let wide = |value: Complex<T>| Complex::<f64>::new(value.re.into(), value.im.into());
    let (mut error, mut norm) = (0.0, 0.0);
    for k in (0..points).step_by(1 + points * points / (1 << 17)) {
        let turn = |j: usize| sign * 2.0 * PI * (j * k % points) as f64 / points as f64;
        let term = |j: usize| wide(from[points + j]) * Complex::from_polar(1.0, turn(j));
        let sum: Complex<f64> = (0..points).map(term).sum();
        for result in [in_place[points + k], moved[points + k]] {
            error += (wide(result) - sum).norm_sqr();
        }
        norm += 2.0 * sum.norm_sqr();
    }
    let accuracy = if size_of::<T>() == 4 { 1e-6 } else { 2e-14 };
    let error: f64 = (error / norm).sqrt();
    assert!(error < accuracy, "{error:.1e} for {points} points, {arch:?}");
    assert!(moved == in_place, "in place differs for {points} points, {arch:?}");
    true
}

#[test]
fn contiguous_lines_have_the_values_of_their_sums() {
    // All radices first, between and last; vectors that have some points in common; far points.
    let lengths = [
        16,
        32,
        48,
        64,
        72,
        80,
        88,
        96,
        120,
        128,
        144,
        168,
        256,
        336,
        480,
        512,
        560,
        1000,
        1024,
        1344,
        1680,
        2048,
        2400,
        4096,
        7000,
        8192,
        1 << 16,
    ];
    for arch in sets_of_instructions() {
        let mut count = 0;
        for direction in [FftDirection::Forward, FftDirection::Inverse] {
            for points in lengths {
                count += usize::from(check_contiguous::<f32>(arch, points, direction));
                count += usize::from(check_contiguous::<f64>(arch, points, direction));
            }
        }
        let has_vectors = Instructions::Widest(arch).lanes::<f64>() > 1;
        assert!(count >= 80 || !has_vectors, "{count} lengths, {arch:?}");
    }
}

/// Transforms a real line and back, and compares its half with sums.
fn check_real<T: Lane + FftNum + Into<f64>>(
    fft: Option<Arc<dyn RealToComplex<T>>>,
    back: Option<Arc<dyn ComplexToReal<T>>>,
) -> bool {
    let (Some(fft), Some(back)) = (fft, back) else { return false };
    let points = fft.len();
    let from: Vec<T> = noise(points, points).into_iter().map(T::rounded).collect();
    let nan = Complex::new(T::rounded(f64::NAN), T::rounded(f64::NAN));
    let (mut line, mut half) = (from.clone(), vec![nan; points / 2 + 1]);
    let mut scratch = vec![nan; fft.get_scratch_len().max(back.get_scratch_len())];
    assert!(fft.process_with_scratch(&mut line, &mut half, &mut scratch).is_ok());
    let accuracy = if size_of::<T>() == 4 { 1e-6 } else { 1e-14 };
    let (mut error, mut norm) = (0.0, 0.0);
    for k in (0..=points / 2).step_by(1 + points / 100).chain([points / 2]) {
        let turn = |j: usize| -2.0 * PI * (j * k % points) as f64 / points as f64;
        let term = |j: usize| Complex::from_polar(1.0, turn(j)) * from[j].into();
        let sum: Complex<f64> = (0..points).map(term).sum();
        error += (Complex::new(half[k].re.into(), half[k].im.into()) - sum).norm_sqr();
        norm += sum.norm_sqr();
    }
    let forward: f64 = (error / norm).sqrt();
    assert!(forward < accuracy, "{forward:.1e} for {points} points");
    // The imaginary parts at the ends count for nothing.
    half[0].im = T::rounded(5.0);
    if points.is_multiple_of(2) {
        half[points / 2].im = T::rounded(-3.0);
    }
    line.fill(T::rounded(f64::NAN));
    assert!(back.process_with_scratch(&mut half, &mut line, &mut scratch).is_ok());
    let scaled = |value: T| value.into() / points as f64;
    let errors = line.iter().zip(&from).map(|(a, b)| (scaled(*a) - (*b).into()).powi(2));
    let norm: f64 = from.iter().map(|value| (*value).into().powi(2)).sum();
    let error: f64 = (errors.sum::<f64>() / norm).sqrt();
    assert!(error < accuracy, "{error:.1e} for {points} points back");
    assert!(fft.process_with_scratch(&mut line[1..], &mut half, &mut scratch).is_err());
    assert!(back.process_with_scratch(&mut half, &mut line, &mut []).is_err());
    true
}

/// Checks a line of as many points, with rows by rustfft.
fn check_in_lanes<T: Lane + FftNum + Into<f64>>(points: usize) -> bool {
    let mut planner = FftPlanner::new();
    let fft = plan_real_in_lanes::<T>(points, |rows| Ok(planner.plan_fft_forward(rows)));
    let back = plan_half_in_lanes::<T>(points, |rows| Ok(planner.plan_fft_inverse(rows)));
    check_real(fft.unwrap(), back.unwrap())
}

#[test]
fn real_lines_have_the_values_of_their_sums() {
    let has_wide_vectors = Instructions::Widest(Arch::new()).lanes::<f64>() == 8;
    let mut count = 0;
    for points in [64, 128, 144, 160, 192, 240, 336, 400, 1000, 1024, 2000, 4096] {
        count +=
            usize::from(check_in_lanes::<f32>(points)) + usize::from(check_in_lanes::<f64>(points));
    }
    assert!(count >= 20 || !has_wide_vectors, "{count} lengths");
    // With prime factors from 13 to 71: even lengths, and odd ones of two slow factors.
    for points in [1504, 1880, 3008, 3776, 2 * 47 * 59, 2 * 64 * 71, 31 * 59, 47 * 47, 13 * 53] {
        let are_planned = check_in_lanes::<f32>(points) && check_in_lanes::<f64>(points);
        assert!(are_planned || !has_wide_vectors, "{points}");
    }
}

/// Checks a line of an odd number of points, with parts by realfft and rustfft.
fn check_odd<T: Lane + FftNum + Into<f64>>(points: usize) -> bool {
    let (mut real, mut complex) = (RealFftPlanner::new(), FftPlanner::new());
    let fft = plan_odd_line::<T>(points, |parts| {
        Ok((real.plan_fft_forward(parts), complex.plan_fft_forward(parts)))
    });
    let back = plan_odd_half::<T>(points, |parts| {
        Ok((real.plan_fft_inverse(parts), complex.plan_fft_inverse(parts)))
    });
    check_real(fft.unwrap(), back.unwrap())
}

#[test]
fn odd_real_lines_have_the_values_of_their_sums() {
    for points in [39, 91, 169, 187, 325, 375, 405, 729, 943, 1001, 1369, 3757, 4715, 71 * 73] {
        assert!(check_odd::<f32>(points) && check_odd::<f64>(points), "{points}");
    }
    for points in [0, 1, 2, 3, 9, 71, 73, 315, 1009, 12, 1000, 73 * 79] {
        assert!(!check_odd::<f32>(points) && !check_odd::<f64>(points), "{points}");
    }
}

#[test]
fn contiguous_lines_begin_with_a_power_of_two() {
    for arch in sets_of_instructions() {
        for points in [0, 1, 2, 25, 35, 49, 50, 70, 98, 125, 175, 243, 250, 343, 1225, 2450] {
            assert!(!check_contiguous::<f32>(arch, points, FftDirection::Forward), "{points}");
            assert!(!check_contiguous::<f64>(arch, points, FftDirection::Forward), "{points}");
        }
    }
}

#[test]
fn other_lengths_are_refused() {
    for points in [0, 109, 218, 1009, 1 << 20, usize::MAX] {
        assert!(LaneFft::<f32>::new(points).is_none());
        assert!(plan_contiguous::<f32>(points, FftDirection::Forward).is_none());
        assert!(!check_in_lanes::<f32>(points));
    }
}
