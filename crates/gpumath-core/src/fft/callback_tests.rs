#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use super::*;
use crate::fft::FftPlan;
use crate::fft::route::Route;
use crate::operation::Execution;
use crate::tensor::{Dims, Layout};

fn callback(data: usize) -> Callback {
    Callback::new(b"code", data)
}

fn problem(kind: TransformKind, axes: &[i64], input: Layout, output: Layout) -> FftProblem {
    FftProblem::new(kind, Precision::Single, axes.into(), input, output, false).unwrap()
}

/// Whether a prolog and whether an epilog is possible.
fn possible(mut problem: FftProblem) -> [bool; 2] {
    let (prolog, epilog) = (Some(callback(0)), Some(callback(0)));
    [Callbacks { prolog, ..Callbacks::default() }, Callbacks { epilog, ..Callbacks::default() }]
        .map(|callbacks| {
            problem.callbacks = callbacks;
            match Route::of(&problem, None) {
                Ok(_) => true,
                Err(Error::UnsupportedLayout { .. }) => false,
                Err(other) => panic!("{other}"),
            }
        })
}

#[test]
fn equal_code_and_data_are_one_callback() {
    assert_eq!(callback(7), callback(7));
    assert_ne!(callback(7), callback(8));
    assert_ne!(callback(7), Callback::new(b"other", 7));
}

#[test]
fn callback_types_are_the_header_s() {
    let numbers = |stores| {
        [(true, Precision::Single), (true, Precision::Double), (false, Precision::Single)]
            .map(|(is_complex, precision)| kind_of(stores, is_complex, precision))
    };
    assert_eq!(numbers(false), [0, 1, 2]);
    assert_eq!(numbers(true), [4, 5, 6]);
    assert_eq!(kind_of(false, false, Precision::Double), 3);
    assert_eq!(kind_of(true, false, Precision::Double), 7);
}

#[test]
fn offsets_from_the_operand_s_start_or_none() {
    let dense = Layout::contiguous;
    // One plan, and two plans one after the other.
    assert_eq!(
        possible(problem(TransformKind::C2C, &[1], dense(&[4, 6]), dense(&[4, 6]))),
        [true, true]
    );
    let all = dense(&[2, 3, 4, 5]);
    assert_eq!(
        possible(problem(TransformKind::C2C, &[0, 1, 2, 3], all.clone(), all)),
        [true, true]
    );
    // cuFFT does not take two dimensions of a batch that do not follow each other.
    let (middle, same) = (dense(&[4, 6, 5]), dense(&[4, 6, 5]));
    assert_eq!(possible(problem(TransformKind::C2C, &[1], middle, same)), [false, false]);
    // The first plan covers the operand at once, the second one works on a copy of the result.
    let (shape, half) = (dense(&[2, 3, 4, 2, 6]), dense(&[2, 3, 4, 2, 4]));
    let real = problem(TransformKind::R2C, &[1, 2, 3, 4], shape, half);
    assert_eq!(possible(real), [true, false]);
    // A repeated operand is copied, to where it is transformed.
    let repeated = Layout { shape: Dims::from_slice(&[4, 6]), strides: Dims::from_slice(&[0, 1]) };
    assert_eq!(
        possible(problem(TransformKind::C2C, &[1], repeated, dense(&[4, 6]))),
        [false, true]
    );
}

#[test]
fn the_cpu_and_half_precision_have_none() {
    let dense = Layout::contiguous(&[8]);
    let mut on_cpu = problem(TransformKind::C2C, &[0], dense.clone(), dense);
    on_cpu.callbacks.epilog = Some(callback(0));
    let execution = Execution::Cpu { threads: std::num::NonZeroUsize::MIN };
    let error = FftPlan::new(on_cpu.clone(), execution).unwrap_err().to_string();
    assert!(error.contains("execution=\"cuda\""), "{error}");
    on_cpu.precision = Precision::Half;
    let error = Callbacks::check(&on_cpu).unwrap_err().to_string();
    assert!(error.contains("half precision"), "{error}");
}

#[test]
fn lengths_that_cufft_12_3_computes_wrongly() {
    let refused = |kind, points: i64, precision, version| {
        let (real, complex) =
            (Layout::contiguous(&[points]), Layout::contiguous(&[points / 2 + 1]));
        let (input, output) =
            if kind == TransformKind::R2C { (real, complex) } else { (complex, real) };
        let mut problem =
            FftProblem::new(kind, precision, Dims::from_slice(&[0]), input, output, false).unwrap();
        let has_any = problem.callbacks.is_empty() && check_length(&problem, version).is_err();
        problem.callbacks = match kind {
            TransformKind::R2C => Callbacks { prolog: Some(callback(0)), epilog: None },
            _ => Callbacks { prolog: None, epilog: Some(callback(0)) },
        };
        has_any || check_length(&problem, version).is_err()
    };
    let (old, wrong, right) =
        (Some(Version::new(12, 2)), Some(Version::new(12, 3)), Some(Version::new(12, 4)));
    for kind in [TransformKind::R2C, TransformKind::C2R] {
        assert!(refused(kind, 131 * 64, Precision::Single, wrong));
        assert!(refused(kind, 131 * 32, Precision::Double, wrong));
        assert!(!refused(kind, 131 * 32, Precision::Single, wrong), "short");
        assert!(!refused(kind, 131 * 131, Precision::Single, wrong), "odd");
        assert!(!refused(kind, 127 * 128, Precision::Single, wrong), "small factors");
        assert!(!refused(kind, 131 * 64, Precision::Single, old));
        assert!(!refused(kind, 131 * 64, Precision::Single, right));
    }
}

#[test]
fn the_library_s_version_decides() {
    let library = |version| LibraryInfo {
        name: "cufft",
        path: "libcufft.so.11".into(),
        version,
        cuda_major: Some(12),
        origin: "explicit",
    };
    for version in [None, Some(FIRST_VERSION), Some(Version::new(12, 0))] {
        assert!(check_version(&library(version)).is_ok());
    }
    let error = check_version(&library(Some(Version::new(11, 2)))).unwrap_err();
    assert!(matches!(error, Error::FunctionNotFound(_)));
    let text = error.to_string();
    assert!(text.contains("version 11.2") && text.contains("cuFFT 11.3 (CUDA 12.6"), "{text}");
}
