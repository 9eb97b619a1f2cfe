//! Values, against sums in double precision, with every set of instructions of the processor.

use super::*;

/// Numbers without a pattern between -1 and 1.
fn noise(count: usize, seed: usize) -> Vec<f64> {
    let mut state = seed as u64 * 2 + 1;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Transforms strided lines, or lines in the work memory, and compares them with sums.
fn check<T: Lane + Into<f64>>(arch: Arch, points: usize, is_inverse: bool, is_strided: bool) {
    let Some(fft) = LaneFft::<T>::with(arch, points) else { return };
    let lanes = fft.lanes();
    let pitch = if is_strided { lanes + 3 } else { lanes };
    let parts = noise(2 * points * pitch, points);
    let rounded: Vec<T> = parts.iter().map(|&part| T::rounded(part)).collect();
    let mut results = rounded.clone();
    let mut work = vec![T::rounded(f64::NAN); fft.work_len()];
    let [before, after] = fft.places(&mut work);
    let operand = results.as_mut_ptr().cast::<Complex<T>>();
    let how = (is_inverse, T::rounded(0.25));
    let step = pitch as isize;
    // SAFETY: all points of all lanes are in the operand, or in the work memory.
    unsafe {
        if is_strided {
            fft.run((operand, step), (operand, step), &mut work, how, Ahead::default());
        } else {
            before.copy_from(operand, points * lanes);
            fft.run((before, step), (after, step), &mut work, how, Ahead::default());
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

/// The sets of instructions of the processor.
fn sets() -> Vec<Arch> {
    let mut sets = vec![Arch::new()];
    #[cfg(target_arch = "x86_64")]
    sets.extend(pulp::x86::V3::try_new().map(Arch::V3));
    sets
}

#[test]
fn all_lengths_have_the_values_of_their_sums() {
    for arch in sets() {
        for points in [16, 18, 20, 21, 25, 27, 32, 35, 48, 49, 64, 100, 128, 210, 343, 512, 1000] {
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
fn check_rows<T: Lane + Into<f64>>(arch: Arch, points: usize, in_row: usize) {
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
    for arch in sets() {
        for (points, lines) in [(16, 1), (21, 1), (50, 1), (128, 1), (16, 3), (49, 2), (128, 5)] {
            check_rows::<f32>(arch, points, lines);
            check_rows::<f64>(arch, points, lines);
        }
    }
}

#[test]
fn other_lengths_are_refused() {
    for points in [0, 1, 15, 22, 26, 1009, 1 << 20, usize::MAX] {
        assert!(LaneFft::<f32>::new(points).is_none());
    }
}
