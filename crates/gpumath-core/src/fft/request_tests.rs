//! The layouts of new results.
#![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use super::*;
use crate::fft::Callback;
use crate::fft::route::tests::{Random, problem_of, request, shape_of};
use crate::tensor::MemoryLocation;

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
fn a_large_middle_axis_is_copied_and_transformed_where_it_is() {
    let shape = &[256, 4096, 64];
    let optimized = problem_of(&request(ResultLayout::Optimized, TransformKind::C2C, &[1]), shape);
    assert_eq!(shape_of(&optimized), (1, 1, 0));
    assert_eq!(Route::of(&optimized).unwrap().staged[0], 0);
    let natural = problem_of(&request(ResultLayout::Natural, TransformKind::C2C, &[1]), shape);
    assert_eq!(shape_of(&natural), (1, 1, 1));
    assert_eq!(Route::of(&natural).unwrap().staged[1], 256 * 4096 * 64 * 8);
}

#[test]
fn short_columns_are_transformed_as_they_are() {
    for layout in [ResultLayout::Natural, ResultLayout::Optimized] {
        let problem = problem_of(&request(layout, TransformKind::C2C, &[0]), &[1024, 4]);
        assert_eq!(shape_of(&problem), (0, 1, 0));
    }
}

/// A problem of a random layout, with the optimized result, the natural one, and the one in which
/// the transform axes are the fastest.
fn random_results(random: &mut Random, kind: TransformKind) -> [FftProblem; 3] {
    let ndim = 1 + random.below(5);
    let longest = 60 / (ndim + 1);
    let extent = |random: &mut Random| (2 + random.below(2) as i64) << random.below(longest);
    let shape: Vec<i64> = (0..ndim).map(|_| extent(random)).collect();
    let axes: Dims =
        random.shuffled(ndim)[random.below(ndim)..].iter().map(|&axis| axis as i64).collect();
    let layout = match random.below(3) {
        0 => Layout::contiguous(&shape),
        1 => Layout::packed(&shape, &random.shuffled(ndim)),
        _ => random.layout(&shape),
    };
    let precision = [Precision::Half, Precision::Single, Precision::Double][random.below(3)];
    let device = MemoryLocation::Device(0);
    let view =
        TensorView { ptr: 0, dtype: precision.sides(kind)[0], layout, device, readonly: false };
    let [optimized, natural] =
        [ResultLayout::Optimized, ResultLayout::Natural].map(|result_layout| {
            let request = request(result_layout, kind, &axes);
            request.problem(&[&view], Execution::Cuda { device: 0 }).unwrap()
        });
    let order = transform_order(&natural.dimensions(), kind, &natural.input);
    let output = Layout::packed(&natural.output.shape, &order);
    let turned = FftProblem { output, ..natural.clone() };
    [optimized, natural, turned]
}

#[test]
fn an_optimized_result_costs_no_more_than_a_natural_one() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut kept, mut turns) = (0, 0);
    for round in 0..3000 {
        let kind = [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R][round % 3];
        let [mut optimized, natural, mut turned] = random_results(&mut random, kind);
        if natural.input.len() <= FEWEST_COMPARED {
            assert_eq!(optimized.output, turned.output);
            continue;
        }
        let [cost, bound] = [&optimized, &natural].map(|problem| Route::of(problem).unwrap().cost);
        // With more axes than one plan takes, a last copy can make even a natural result cheaper.
        let is_bound = shape_of(&natural).2 == 0 || natural.axes.len() == 1;
        assert!(!is_bound || cost <= bound + LAUNCH_COST, "{optimized:?}: {cost}, {bound}");
        turns += usize::from(optimized.output != natural.output);
        if optimized.output != natural.output || turned.output == natural.output {
            continue;
        }
        kept += 1;
        for (prolog, epilog) in [(true, false), (false, true), (true, true)] {
            let callback = |is_there: bool| is_there.then(|| Callback::new(&[1], 0));
            let [is_possible, would_be_possible] = [&mut optimized, &mut turned].map(|problem| {
                problem.callbacks =
                    Callbacks { prolog: callback(prolog), epilog: callback(epilog) };
                Route::of(problem).is_ok()
            });
            assert!(is_possible || !would_be_possible, "{optimized:?}");
        }
    }
    assert!(turns > 300 && kept > 100, "{turns} were turned, {kept} not");
}

#[test]
fn a_short_transform_of_many_columns_is_written_where_it_is_read() {
    for result_layout in [ResultLayout::Optimized, ResultLayout::Natural] {
        let request = request(result_layout, TransformKind::C2C, &[0]);
        let problem = problem_of(&request, &[64, 1 << 19]);
        assert_eq!(problem.output.strides.as_slice(), [1 << 19, 1]);
        assert_eq!(shape_of(&problem), (0, 1, 0));
    }
}
