//! Transforms by the embedded engine, and what it refuses.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gpumath_core::device::CaptureStatus;
use gpumath_core::fft::cpu::CpuFft;
use gpumath_core::fft::{Direction, FftArguments, FftPlan, FftProblem, Precision, TransformKind};
use gpumath_core::operation::{Call, Execution};
use gpumath_core::tensor::{Layout, MemoryLocation};

use crate::reference::{C, Dense, Operand, Random, check, dft, dims, error, strided, tolerance};

pub(crate) const BOTH: [Precision; 2] = [Precision::Single, Precision::Double];
pub(crate) const KINDS: [TransformKind; 3] =
    [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R];

fn plan(threads: usize) -> impl Fn(&FftProblem) -> CpuFft {
    move |problem| CpuFft::new(problem, NonZeroUsize::new(threads).unwrap(), None).unwrap()
}

pub(crate) fn line(kind: TransformKind, precision: Precision, points: usize) -> FftProblem {
    let half = points / 2 + 1;
    let (input, output) = match kind {
        TransformKind::C2C => (points, points),
        TransformKind::R2C => (points, half),
        TransformKind::C2R => (half, points),
    };
    let layout = |extent: usize| Layout::contiguous(&[extent as i64]);
    FftProblem::new(kind, precision, dims(&[0]), layout(input), layout(output), false).unwrap()
}

#[test]
fn every_length_to_64_and_some_beyond() {
    let mut random = Random::new(1);
    let more = [97, 100, 127, 128, 243, 251, 256, 343, 360, 509, 512, 719, 1000, 1009, 1331, 2048];
    for points in (1..=64).chain(more) {
        for precision in BOTH {
            for kind in KINDS {
                check(&line(kind, precision, points), &mut random, plan(1));
            }
        }
    }
}

/// Returns a layout of `shape` with a random memory order, and some gaps and negative strides;
/// `zeros` allows strides of zero.
fn random_layout(shape: &[usize], zeros: bool, random: &mut Random) -> Layout {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if random.below(3) > 0 {
        random.shuffle(&mut order);
    }
    let gaps = random.below(2);
    let mut strides = vec![0; shape.len()];
    let mut step = 1;
    for &dim in order.iter().rev() {
        if gaps == 1 {
            step += random.below(3) as i64;
        }
        strides[dim] = if random.below(4) == 0 { -step } else { step };
        step *= shape[dim].max(1) as i64;
        if zeros && random.below(8) == 0 {
            strides[dim] = 0;
        }
    }
    strided(shape, &strides)
}

pub(crate) fn random_problem(random: &mut Random) -> FftProblem {
    let ndim = 1 + random.below(4);
    let mut shape: Vec<usize> =
        (0..ndim).map(|_| [1, 2, 3, 4, 5, 7, 8, 12, 17][random.below(9)]).collect();
    let mut axes: Vec<usize> = (0..ndim).collect();
    random.shuffle(&mut axes);
    axes.truncate(1 + random.below(ndim));
    let kind = KINDS[random.below(3)];
    let precision = BOTH[random.below(2)];
    let inplace = kind == TransformKind::C2C && random.below(3) == 0;
    let full = shape.clone();
    let last = *axes.last().unwrap();
    shape[last] = shape[last] / 2 + 1;
    let (from, to) = match kind {
        TransformKind::C2C => (&full, &full),
        TransformKind::R2C => (&full, &shape),
        TransformKind::C2R => (&shape, &full),
    };
    let output = random_layout(to, false, random);
    let input = if inplace { output.clone() } else { random_layout(from, true, random) };
    FftProblem::new(kind, precision, dims(&axes), input, output, inplace).unwrap()
}

#[test]
fn random_layouts_axes_and_kinds() {
    for seed in 1..=1500 {
        let random = &mut Random::new(seed);
        let (problem, threads) = (random_problem(random), 1 + random.below(2));
        check(&problem, random, plan(threads));
    }
}

#[test]
fn enough_work_for_two_threads() {
    let random = &mut Random::new(2);
    // The last two are cut into blocks, for two axes or for two of the three.
    let shapes: [(&[usize], &[usize]); 7] = [
        (&[96, 360], &[0]),
        (&[96, 360], &[0, 1]),
        (&[40, 30, 50], &[2, 0]),
        (&[3, 128, 128], &[1]),
        (&[700, 64], &[1]),
        (&[20, 64, 54], &[2, 1]),
        (&[72, 32, 36], &[1, 0, 2]),
    ];
    for (shape, axes) in shapes {
        for kind in KINDS {
            for precision in BOTH {
                let mut half = shape.to_vec();
                let last = *axes.last().unwrap();
                half[last] = half[last] / 2 + 1;
                let (from, to) = match kind {
                    TransformKind::C2C => (shape, shape),
                    TransformKind::R2C => (shape, &half[..]),
                    TransformKind::C2R => (&half[..], shape),
                };
                let input = random_layout(from, false, random);
                let output = random_layout(to, false, random);
                let problem =
                    FftProblem::new(kind, precision, dims(axes), input, output, false).unwrap();
                check(&problem, random, plan(2));
                check(&problem, random, plan(3));
            }
        }
    }
}

#[test]
fn long_lengths_against_known_spectra() {
    let mut random = Random::new(3);
    for points in [1 << 16, 1 << 17, 99_991, 100_000, 1 << 20, 1_000_003, 1_048_575, 786_432] {
        for precision in BOTH {
            check_spikes(points, precision, &mut random, plan(2));
        }
    }
}

/// The input is a few spikes, so the spectrum is a sum of as many waves, which is known without a
/// transform.
pub(crate) fn check_spikes(
    points: usize,
    precision: Precision,
    random: &mut Random,
    plan: impl Fn(&FftProblem) -> CpuFft,
) {
    let problem = line(TransformKind::C2C, precision, points);
    let fft = plan(&problem);
    for direction in [Direction::Forward, Direction::Inverse] {
        let spikes: Vec<(usize, C)> =
            (0..5).map(|_| (random.below(points), (random.number(), random.number()))).collect();
        let mut values = vec![(0.0, 0.0); points];
        for &(at, value) in &spikes {
            values[at] = value;
        }
        let mut input = Operand::new(&problem.input, precision, true);
        input.write(&values);
        let given = input.read();
        let mut output = Operand::new(&problem.output, precision, true);
        let factor = (direction == Direction::Inverse).then(|| random.number());
        // SAFETY: the operands span their layouts.
        unsafe { fft.execute(input.address(), output.address(), direction, factor) }.unwrap();
        let sign = f64::from(direction.sign());
        let factor = factor.unwrap_or(1.0);
        let expected: Vec<C> = (0..points)
            .map(|k| {
                spikes.iter().fold((0.0, 0.0), |sum, &(at, _)| {
                    let turn = (at as u128 * k as u128 % points as u128) as f64;
                    let (sin, cos) =
                        (sign * std::f64::consts::TAU * turn / points as f64).sin_cos();
                    let x = (given[at].0 * factor, given[at].1 * factor);
                    (sum.0 + x.0 * cos - x.1 * sin, sum.1 + x.0 * sin + x.1 * cos)
                })
            })
            .collect();
        let error = error(&output.read(), &expected);
        assert!(error < 2.0 * tolerance(precision), "{error:e} {points} {precision:?}");
    }
}

#[test]
fn long_real_lengths_there_and_back() {
    let mut random = Random::new(4);
    for points in [1 << 17, 100_003, 65_537, 90_000] {
        for precision in BOTH {
            let there = line(TransformKind::R2C, precision, points);
            let back = line(TransformKind::C2R, precision, points);
            let mut input = Operand::new(&there.input, precision, false);
            input.write(&Dense::random(&[points], true, &mut random).values);
            let mut half = Operand::new(&there.output, precision, true);
            let mut output = Operand::new(&back.output, precision, false);
            // SAFETY: the operands span their layouts.
            unsafe {
                plan(2)(&there)
                    .execute(input.address(), half.address(), Direction::Forward, None)
                    .unwrap();
                plan(2)(&back)
                    .execute(half.address(), output.address(), Direction::Inverse, None)
                    .unwrap();
            }
            let expected: Vec<C> =
                input.read().iter().map(|x| (x.0 * points as f64, 0.0)).collect();
            let error = error(&output.read(), &expected);
            assert!(error < 2.0 * tolerance(precision), "{error:e} {points} {precision:?}");
        }
    }
}

#[test]
fn the_reference_itself() {
    let spectrum = dft(&[(1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (8.0, 0.0)], -1.0);
    let expected = [(15.0, 0.0), (-3.0, 6.0), (-5.0, 0.0), (-3.0, -6.0)];
    assert!(error(&spectrum, &expected) < 1e-15);
}

#[test]
fn an_empty_batch_is_left_alone() {
    for kind in KINDS {
        let (from, to) = match kind {
            TransformKind::C2C => (8, 8),
            TransformKind::R2C => (8, 5),
            TransformKind::C2R => (5, 8),
        };
        let (from, to) = (Layout::contiguous(&[0, from]), Layout::contiguous(&[0, to]));
        let problem =
            FftProblem::new(kind, Precision::Double, dims(&[1]), from, to, false).unwrap();
        let direction =
            if kind == TransformKind::C2R { Direction::Inverse } else { Direction::Forward };
        // SAFETY: no element is there to be touched.
        unsafe { plan(2)(&problem).execute(64, 64, direction, Some(0.5)) }.unwrap();
    }
}

#[test]
fn refusals_say_what_to_do() {
    let message = |result: gpumath_core::Result<()>| result.unwrap_err().to_string();
    let half = line(TransformKind::C2C, Precision::Half, 8);
    let refused = CpuFft::new(&half, NonZeroUsize::MIN, None).map(drop);
    assert!(message(refused).contains("single and double precision"));
    // SAFETY: refused before any access.
    unsafe {
        let execution = Execution::Cpu { threads: NonZeroUsize::MIN };
        for (kind, wrong, right) in [
            (TransformKind::R2C, Direction::Inverse, "always Forward"),
            (TransformKind::C2R, Direction::Forward, "always Inverse"),
        ] {
            let plan = Arc::new(FftPlan::new(line(kind, Precision::Single, 8), execution).unwrap());
            let call = Call {
                inputs: &[64],
                outputs: &[128],
                location: MemoryLocation::Host,
                arguments: FftArguments { direction: wrong, factor: None },
                stream: None,
                capture: CaptureStatus::NotCaptured,
                workspace: 0,
            };
            assert!(message(plan.execute(&call)).contains(right));
        }
        let c2c = plan(1)(&line(TransformKind::C2C, Precision::Double, 8));
        assert!(message(c2c.execute(60, 128, Direction::Forward, None)).contains("aligned to 8"));
        let layout = Layout::contiguous(&[8]);
        let kind = TransformKind::C2C;
        let inplace =
            FftProblem::new(kind, Precision::Double, dims(&[0]), layout.clone(), layout, true)
                .unwrap();
        let inplace = plan(1)(&inplace);
        assert!(message(inplace.execute(64, 256, Direction::Forward, None)).contains("in place"));
    }
}
