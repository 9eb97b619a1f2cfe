#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use super::*;

fn devices(count: i32) -> Devices {
    Devices::new(&(0..count).collect::<Vec<_>>()).unwrap()
}

/// A problem of C-contiguous arrays of these points, transformed along the last `rank` axes.
fn problem(kind: TransformKind, precision: Precision, points: &[i64], rank: usize) -> FftProblem {
    let mut halved = Dims::from_slice(points);
    if let Some(last) = halved.last_mut() {
        *last = *last / 2 + 1;
    }
    let (real, half) = (Layout::contiguous(points), Layout::contiguous(&halved));
    let (input, output) = match kind {
        TransformKind::C2C => (real.clone(), real),
        TransformKind::R2C => (real, half),
        TransformKind::C2R => (half, real),
    };
    let axes = (points.len() - rank..points.len()).map(|axis| axis as i64).collect();
    FftProblem::new(kind, precision, axes, input, output, false).unwrap()
}

fn refusal(
    kind: TransformKind,
    precision: Precision,
    points: &[i64],
    count: i32,
) -> Option<String> {
    match check(&problem(kind, precision, points, points.len()), devices(count)) {
        Ok(batch) => {
            assert_eq!(batch, 1);
            None
        }
        Err(Error::InvalidValue(text)) => Some(text),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn one_transform_along_one_axis() {
    let of = |points, count| refusal(TransformKind::C2C, Precision::Single, &[points], count);
    for (points, count) in [(64, 2), (1 << 20, 4), (128, 8), (1024, 16)] {
        assert_eq!(of(points, count), None);
    }
    assert!(of(32, 2).unwrap().contains("a power of two of at least 64 points"));
    assert!(of(96, 2).unwrap().contains("a power of two"));
    assert!(of(64, 8).unwrap().contains("at least 128"));
    assert!(of(512, 16).unwrap().contains("at least 1024"));
    assert!(of(64, 3).unwrap().contains("2, 4, 8 or 16 devices"));
    for kind in [TransformKind::R2C, TransformKind::C2R] {
        let text = refusal(kind, Precision::Double, &[1024], 2).unwrap();
        assert!(text.contains("complex numbers to complex numbers only"), "{text}");
        assert!(text.contains("leave device_ids out"), "{text}");
    }
}

#[test]
fn one_transform_along_more_axes() {
    for kind in [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R] {
        for points in [&[32, 33][..], &[37, 40, 64], &[32, 127 * 64]] {
            assert_eq!(refusal(kind, Precision::Double, points, 3), None, "{points:?}");
        }
        for points in [&[31, 64][..], &[64, 31], &[64, 64, 8]] {
            let text = refusal(kind, Precision::Single, points, 2).unwrap();
            assert!(text.contains("at least 32 points"), "{text}");
        }
    }
    assert_eq!(refusal(TransformKind::C2C, Precision::Single, &[32, 4093], 2), None);
    assert!(
        refusal(TransformKind::C2C, Precision::Double, &[32, 4093], 2).unwrap().contains("2048")
    );
    assert!(
        refusal(TransformKind::C2C, Precision::Single, &[32, 4099], 2).unwrap().contains("127")
    );
    assert!(
        refusal(TransformKind::C2C, Precision::Half, &[64, 64], 2)
            .unwrap()
            .contains("single or double")
    );
    assert!(
        refusal(TransformKind::C2C, Precision::Single, &[32; 4], 2)
            .unwrap()
            .contains("up to three axes")
    );
}

#[test]
fn a_batch_has_any_sizes() {
    for kind in [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R] {
        for (points, rank, batch) in [(&[3, 7][..], 1, 3), (&[2, 5, 3, 4], 2, 10), (&[0, 4], 1, 0)]
        {
            let problem = problem(kind, Precision::Half, points, rank);
            assert_eq!(check(&problem, devices(2)).unwrap(), batch);
        }
    }
}

#[test]
fn layouts_that_are_not_dense_or_not_last() {
    let strided = Layout::packed(&[64, 64], &[1, 0]);
    let dense = Layout::contiguous(&[64, 64]);
    let axes = |axes: &[i64]| Dims::from_slice(axes);
    let single = |axes, input: &Layout, output: &Layout| {
        FftProblem::new(
            TransformKind::C2C,
            Precision::Single,
            axes,
            input.clone(),
            output.clone(),
            false,
        )
        .unwrap()
    };
    for (problem, reason) in [
        (single(axes(&[0, 1]), &strided, &dense), "C-contiguous"),
        (single(axes(&[0, 1]), &dense, &strided), "out's strides"),
        (single(axes(&[0]), &dense, &dense), "last axes"),
    ] {
        match check(&problem, devices(2)) {
            Err(Error::UnsupportedLayout { message, .. }) => {
                assert!(message.contains(reason), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
    // The order of complex axes does not matter.
    assert_eq!(check(&single(axes(&[1, 0]), &dense, &dense), devices(2)).unwrap(), 1);
    let half = Layout::contiguous(&[33, 64]);
    let halved =
        FftProblem::new(TransformKind::R2C, Precision::Single, axes(&[1, 0]), dense, half, false);
    assert!(matches!(check(&halved.unwrap(), devices(2)), Err(Error::UnsupportedLayout { .. })));
}
