use super::*;
use crate::matmul::cublaslt::codes::transpose;
use crate::matmul::{AlgorithmSearch, ChosenTypes, ComputeType, InputRole, MatmulRequest};
use crate::operation::{Execution, Request};
use crate::tensor::{MemoryLocation, TensorView};

const DEVICE: MemoryLocation = MemoryLocation::Device(0);

pub(super) fn view(dtype: DType, shape: &[i64], strides: &[i64]) -> TensorView {
    let layout = Layout { shape: shape.into(), strides: strides.into() };
    TensorView { ptr: 0x1_0000, dtype, layout, device: DEVICE, readonly: false }
}

pub(super) fn route(request: &MatmulRequest, views: &[TensorView]) -> Route {
    route_by(Demands::Documented, request, views)
}

fn route_by(demands: Demands, request: &MatmulRequest, views: &[TensorView]) -> Route {
    let views: Vec<&TensorView> = views.iter().collect();
    let problem = request.problem(&views, Execution::Cuda { device: 0 }).unwrap();
    Route::of(&problem, demands, Way::USUAL).unwrap()
}

pub(super) fn copied(route: &Route) -> Vec<Matrix> {
    route.staged.iter().map(|staged| staged.matrix).collect()
}

#[test]
fn no_order_of_factors_costs_a_copy() {
    let request = MatmulRequest::default();
    for a in [[9, 1], [1, 7], [20, 1]] {
        for b in [[11, 1], [1, 9], [1, 15]] {
            let views = [view(DType::Float32, &[7, 9], &a), view(DType::Float32, &[9, 11], &b)];
            let route = route(&request, &views);
            assert!(route.is_transposed && copied(&route).is_empty());
            let (left, right) = (route.columns(Matrix::A), route.columns(Matrix::B));
            assert_eq!(left.unwrap().are_rows, a[1] == 1);
            assert_eq!(right.unwrap().are_rows, b[1] == 1);
        }
    }
}

#[test]
fn a_vector_is_one_column() {
    let request = MatmulRequest::default();
    for steps in [[1, 1], [1, 40]] {
        let views =
            [view(DType::Float16, &[40, 1], &steps), view(DType::Float16, &[1, 30], &[30, 1])];
        let route = route(&request, &views);
        assert!(route.is_transposed && copied(&route).is_empty());
        for (factor, length) in [(Matrix::A, 40), (Matrix::B, 30)] {
            let columns = route.columns(factor).unwrap();
            assert_eq!((columns.length, columns.count, columns.step), (length, 1, length));
        }
        assert_eq!(route.operation(Matrix::A, [false; 2]), transpose::YES);
        assert_eq!(route.operation(Matrix::B, [false; 2]), transpose::NO);
    }
}

#[test]
fn flat_products_of_float32_have_copies_whose_neighbours_are_of_one_step() {
    let request = MatmulRequest::default();
    let are_rows = |dtype: DType, depth: i64| {
        let steps = [2 * depth, 2];
        let views = [view(dtype, &[90, depth], &steps), view(dtype, &[depth, 80], &[320, 2])];
        let route = route(&request, &views);
        assert_eq!(copied(&route), [Matrix::A, Matrix::B]);
        [Matrix::A, Matrix::B].map(|factor| route.columns(factor).unwrap().are_rows)
    };
    assert_eq!(are_rows(DType::Float32, 10), [false, true]);
    assert_eq!(are_rows(DType::Float32, 20), [true, true]);
    assert_eq!(are_rows(DType::Float64, 10), [true, true]);
}

#[test]
fn a_conjugate_is_in_the_other_order_than_the_result() {
    let request = MatmulRequest { conjugate: [true, false], ..MatmulRequest::default() };
    let of = |a: [i64; 2]| {
        let views = [view(DType::Complex64, &[7, 9], &a), view(DType::Complex64, &[9, 3], &[3, 1])];
        route(&request, &views)
    };
    let route = of([1, 7]);
    assert!(route.is_transposed && copied(&route).is_empty());
    // The result, which is in C order, is smaller than the factor.
    let route = of([9, 1]);
    assert!(!route.is_transposed);
    assert_eq!(copied(&route), [Matrix::Result]);
}

#[test]
fn factors_of_eight_bits_are_turned_and_padded() {
    let request = MatmulRequest::default();
    let of = |shape: [i64; 3], a: [i64; 2], b: [i64; 2]| {
        let [rows, columns, depth] = shape;
        let views =
            [view(DType::Int8, &[rows, depth], &a), view(DType::Int8, &[depth, columns], &b)];
        route(&request, &views)
    };
    assert!(copied(&of([8, 12, 16], [16, 1], [1, 16])).is_empty());
    assert_eq!(copied(&of([8, 12, 16], [16, 1], [12, 1])), [Matrix::B]);
    let route = of([8, 12, 15], [16, 1], [1, 16]);
    assert_eq!(copied(&route), [Matrix::A, Matrix::B]);
    assert_eq!(
        route.columns(Matrix::A).map(|columns| (columns.length, columns.step)),
        Some((16, 16))
    );
}

#[test]
fn cublaslt_is_asked_for_fewer_copies_first() {
    let request = MatmulRequest::default();
    let of = |dtype: DType, shape: [i64; 3], is_c_order: bool| {
        let [rows, columns, depth] = shape;
        let b = if is_c_order { [columns, 1] } else { [1, depth] };
        let views = [view(dtype, &[rows, depth], &[depth, 1]), view(dtype, &[depth, columns], &b)];
        copied(&route_by(Demands::Fewest, &request, &views))
    };
    assert!(of(DType::Float8E4M3Fn, [3, 32, 64], false).is_empty());
    assert_eq!(of(DType::Float8E4M3Fn, [3, 32, 64], true), [Matrix::B]);
    assert_eq!(of(DType::Float8E4M3Fn, [3, 33, 64], false), [Matrix::A, Matrix::Result]);
    let types = ChosenTypes { result: Some(DType::BFloat16), ..ChosenTypes::default() };
    let wide = MatmulRequest { types, ..MatmulRequest::default() };
    let narrow = DType::Float8E4M3Fn;
    let views = [view(narrow, &[1, 4096], &[4112, 1]), view(narrow, &[4096, 64], &[1, 4096])];
    assert!(copied(&route_by(Demands::Fewest, &wide, &views)).is_empty());
    assert!(of(DType::Int8, [64, 1000, 64], true).is_empty());
    assert!(of(DType::Int8, [3, 8, 16], false).is_empty());
    assert_eq!(of(DType::Int8, [4096, 4096, 4096], true), [Matrix::B]);
    assert_eq!(of(DType::Int8, [64, 64, 4096], true), [Matrix::B]);
}

#[test]
fn nothing_to_add_up_becomes_zeros() {
    let views = [view(DType::Float64, &[3, 0], &[0, 0]), view(DType::Float64, &[0, 4], &[0, 0])];
    let route = route(&MatmulRequest::default(), &views);
    assert_eq!(copied(&route), [Matrix::A, Matrix::B]);
    assert_eq!(
        route.columns(Matrix::B).map(|columns| (columns.length, columns.count)),
        Some((4, 1))
    );
}

#[test]
fn copies_of_a_batch_become_one_matrix() {
    let request = MatmulRequest::default();
    let of = |a: &[i64], b: &[i64], b_shape: &[i64]| {
        let views = [view(DType::Float16, &[4, 6, 8], a), view(DType::Float16, b_shape, b)];
        route(&request, &views)
    };
    let shape = |route: &Route, matrix| {
        let columns = route.columns(matrix).unwrap();
        (columns.length, columns.count, columns.step)
    };
    let one = of(&[1, 32, 4], &[10, 1], &[8, 10]);
    assert_eq!(copied(&one), [Matrix::A]);
    assert_eq!((one.batch.extent, one.outer.count()), (1, 1));
    assert_eq!(shape(&one, Matrix::A), (8, 24, 8));
    assert_eq!(shape(&one, Matrix::Result), (10, 24, 10));
    let many = of(&[1, 32, 4], &[80, 10, 1], &[4, 8, 10]);
    assert_eq!((copied(&many), many.batch.extent), (vec![Matrix::A], 4));
}

#[test]
fn a_few_small_vectors_that_are_scaled_stay_a_batch() {
    let request = MatmulRequest::default();
    let of = |dtype, entries: i64, depth: i64| {
        let a = view(dtype, &[1, depth], &[depth, 1]);
        let b = view(dtype, &[entries, depth, 5], &[5 * depth, 5, 1]);
        let route = route(&request, &[a, b]);
        (route.batch.extent, copied(&route).len())
    };
    assert_eq!(of(DType::Float16, 4, 1), (4, 0));
    assert_eq!(of(DType::Float32, 8, 1), (8, 0));
    // Other types, and more vectors, become one product.
    assert_eq!(of(DType::Float64, 4, 1), (1, 0));
    assert_eq!(of(DType::Float16, 9, 1), (1, 0));
}

#[test]
fn batches_are_merged_or_repeated() {
    let request = MatmulRequest::default();
    let of = |a: [i64; 4], b: [i64; 4]| {
        let views =
            [view(DType::Float32, &[2, 5, 3, 4], &a), view(DType::Float32, &[2, 5, 4, 6], &b)];
        route(&request, &views)
    };
    let whole = of([60, 12, 4, 1], [120, 24, 6, 1]);
    assert_eq!((whole.batch.extent, whole.outer.count()), (10, 1));
    let same = of([60, 24, 4, 1], [0, 0, 6, 1]);
    assert_eq!((same.batch.extent, same.batch.strides[Matrix::B as usize]), (5, 0));
    assert_eq!(same.outer.count(), 2);
    let crossed = of([12, 0, 4, 1], [0, 24, 6, 1]);
    assert_eq!((crossed.batch.extent, crossed.outer.count()), (5, 2));
    assert!(copied(&crossed).is_empty());
    // The second call begins 90 elements further in the result, and 12 in `a`.
    let alignment = |matrix| crossed.alignment(matrix, DType::Float32, 16);
    assert_eq!([Matrix::A, Matrix::B, Matrix::Result].map(alignment), [16, 16, 8]);
    let backwards = of([60, -12, 4, 1], [120, 24, 6, 1]);
    assert_eq!(copied(&backwards), [Matrix::A]);
    assert_eq!(backwards.batch.extent, 10);
}

#[test]
fn a_batch_with_one_factor_for_all_is_one_product() {
    let request = MatmulRequest::default();
    let of = |a: (&[i64], &[i64]), b: (&[i64], &[i64])| {
        let views = [view(DType::Float32, a.0, a.1), view(DType::Float32, b.0, b.1)];
        let route = route(&request, &views);
        let result = route.columns(Matrix::Result).unwrap();
        let copies = route.staged.len();
        (route.batch.extent, route.outer.count(), result.length, result.count, copies)
    };
    let by_rows = of((&[2, 5, 3, 4], &[60, 12, 4, 1]), (&[4, 6], &[6, 1]));
    assert_eq!(by_rows, (1, 1, 6, 30, 0));
    // Vectors of one matrix are columns of one product, but not if they are little work.
    let vectors = |count: i64| of((&[count, 1, 4], &[8, 7, 1]), (&[4, 6], &[1, 4]));
    assert_eq!(vectors(3000), (1, 1, 6, 3000, 0));
    assert_eq!(vectors(2000), (2000, 1, 6, 1, 0));
    // Neither are those with gaps between their elements, or that take turns in memory.
    for strides in [[8, 8, 2], [1, 1, 10]] {
        let with_gaps = of((&[10, 1, 4], &strides), (&[4, 6], &[1, 4]));
        assert_eq!(with_gaps, (10, 1, 6, 1, 0));
    }
    let gaps = of((&[5, 3, 4], &[13, 4, 1]), (&[4, 6], &[6, 1]));
    assert_eq!(gaps, (5, 1, 6, 3, 0));
}

#[test]
fn an_addend_of_one_column_is_spread() {
    let further = [InputRole::C].as_slice().into();
    let request = MatmulRequest { further, ..MatmulRequest::default() };
    let views = [
        view(DType::Float32, &[7, 9], &[9, 1]),
        view(DType::Float32, &[9, 5], &[5, 1]),
        view(DType::Float32, &[7, 1], &[1, 1]),
    ];
    assert_eq!(copied(&route(&request, &views)), [Matrix::C]);
}

#[test]
fn epilogs_that_tell_rows_from_columns_see_columns() {
    let further = [InputRole::Bias].as_slice().into();
    let epilog = Epilog::ReluBias;
    let mut request = MatmulRequest { further, epilog, ..MatmulRequest::default() };
    let views = [
        view(DType::Float16, &[8, 16], &[16, 1]),
        view(DType::Float16, &[16, 24], &[24, 1]),
        view(DType::Float16, &[8], &[1]),
    ];
    let plain = route(&request, &views);
    assert!(!plain.is_transposed && copied(&plain).is_empty());
    request.output = Some(TensorView { ptr: 0x9_0000, ..view(DType::Float16, &[8, 24], &[24, 1]) });
    assert_eq!(copied(&route(&request, &views)), [Matrix::Result]);
}

#[test]
fn a_few_vectors_of_halves_are_copied_if_they_are_not_aligned() {
    let request = MatmulRequest::default();
    let of = |dtype: DType, few: i64, depth: i64| {
        let left = [view(dtype, &[few, depth], &[1, few]), view(dtype, &[depth, 8], &[8, 1])];
        let right = [view(dtype, &[8, depth], &[depth, 1]), view(dtype, &[depth, few], &[few, 1])];
        [left, right].map(|views| copied(&route(&request, &views)))
    };
    assert_eq!(of(DType::BFloat16, 4, 4096), [[Matrix::A], [Matrix::B]]);
    for (dtype, few, depth) in [
        (DType::BFloat16, 4, 1000),
        (DType::BFloat16, 8, 4096),
        (DType::BFloat16, 4, 4099),
        (DType::Float32, 4, 4096),
    ] {
        assert!(of(dtype, few, depth).iter().all(Vec::is_empty), "{dtype:?}, {few}, {depth}");
    }
}

#[test]
fn factors_are_copied_where_only_the_other_order_is_aligned() {
    let request = MatmulRequest::default();
    let of = |dtype, [rows, columns, depth]: [i64; 3], gap: i64| {
        let views = [
            view(dtype, &[rows, depth], &[depth + gap, 1]),
            view(dtype, &[depth, columns], &[1, depth + gap]),
        ];
        let route = route(&request, &views);
        let are_rows = [Matrix::A, Matrix::B].map(|matrix| route.columns(matrix).unwrap().are_rows);
        (copied(&route), are_rows)
    };
    // Rows of 735 halves begin anywhere, and columns of 4096 at multiples of 16 bytes.
    let (half, extents) = (DType::BFloat16, [4096, 4096, 735]);
    let both = (vec![Matrix::A, Matrix::B], [false, true]);
    let none = (vec![], [true, false]);
    assert_eq!(of(half, extents, 0), both);
    // With a gap of one, rows of 735 begin at multiples of 16 bytes, but they end within 16 bytes.
    assert_eq!(of(half, extents, 1), both);
    assert_eq!(of(half, [4095, 4096, 735], 0), both);
    // Rows of 736 begin and end at such multiples, but with a gap of one they begin anywhere.
    assert_eq!(of(half, [4096, 4096, 736], 0), none);
    assert_eq!(of(half, [4096, 4096, 736], 1), (vec![Matrix::A, Matrix::B], [true, true]));
    assert_eq!(of(DType::Float32, extents, 0), none);
    assert_eq!(of(half, [640, 640, 639], 0), none);
    // Rows of the result begin anywhere.
    assert_eq!(of(half, [640, 639, 735], 0), none);
    // Sums of 1002 are loaded in pairs. A copy is worth its time only if its columns, of 600, end
    // at a multiple of 16 bytes.
    assert_eq!(of(half, [601, 600, 1000 + 2], 0), none);
    assert_eq!(of(half, [600, 600, 1000 + 2], 0), both);
    // Columns of 8191 end within 16 bytes, so elements must be used more than 256 times.
    assert_eq!(of(half, [8191, 256, 735], 0), none);
    assert_eq!(of(half, [8192, 256, 735], 0), both);
    // An element of the large factor is used too rarely, and the other copy alone saves nothing.
    assert_eq!(of(half, [8192, 64, 4095], 0), none);
    let tf32 = MatmulRequest {
        types: ChosenTypes { compute: Some(ComputeType::F32FastTf32), ..ChosenTypes::default() },
        ..MatmulRequest::default()
    };
    let views = [
        view(DType::Float32, &[4096, 735], &[735, 1]),
        view(DType::Float32, &[735, 4096], &[4096, 1]),
    ];
    assert_eq!(copied(&route(&tf32, &views)), [Matrix::A]);
    // The user has a use of their own for the memory.
    let search = AlgorithmSearch { max_workspace: Some(1 << 30), ..AlgorithmSearch::default() };
    let limited = MatmulRequest { search, ..tf32 };
    assert!(copied(&route(&limited, &views)).is_empty());
    // What is copied anyway has the same order, in small products too.
    let steps = |rows: i64, depth: i64| {
        let left = view(half, &[rows, depth], &[4 * depth, 2]);
        let route = route(&request, &[left, view(half, &[depth, 64], &[64, 1])]);
        let columns = route.columns(Matrix::A).unwrap();
        (copied(&route), columns.are_rows, columns.step)
    };
    assert_eq!(steps(64, 572), (vec![Matrix::A], false, 64));
    assert_eq!(steps(64, 576), (vec![Matrix::A], true, 576));
    // Lines of the copy begin at multiples of 16 bytes.
    assert_eq!(steps(61, 572), (vec![Matrix::A], false, 64));
}

#[test]
fn copies_of_entries_become_one_matrix_where_that_is_faster() {
    for (dtype, [rows, columns, depth], is_joined) in [
        (DType::Float32, [200, 300, 16], false),
        (DType::Float32, [200, 300, 17], true),
        (DType::Float32, [20, 800, 16], true),
        (DType::BFloat16, [200, 300, 16], false),
        (DType::Float16, [200, 300, 16], true),
        (DType::Complex64, [200, 300, 16], true),
        (DType::Float64, [200, 300, 17], true),
        (DType::Float64, [600, 500, 400], false),
        (DType::Float32, [600, 500, 400], true),
        // Long and narrow results.
        (DType::BFloat16, [1024, 2, 63], false),
        (DType::BFloat16, [1023, 2, 63], true),
        (DType::BFloat16, [2000, 2, 64], true),
        (DType::Float16, [2000, 2, 31], true),
        (DType::Float32, [2000, 4, 31], false),
        (DType::Float32, [2000, 5, 31], true),
        (DType::Complex128, [2000, 16, 127], false),
        (DType::Complex128, [16, 2000, 127], true),
    ] {
        let a = view(dtype, &[4, rows, depth], &[1, 4 * depth, 4]);
        let views = [a, view(dtype, &[depth, columns], &[columns, 1])];
        let request = MatmulRequest::default();
        let execution = Execution::Cuda { device: 0 };
        let problem = request.problem(&views.each_ref(), execution).unwrap();
        let route = route(&request, &views);
        assert_eq!(copied(&route), [Matrix::A]);
        assert_eq!(route.has_joined(&problem), is_joined, "{dtype} {rows} {columns} {depth}");
        assert_eq!(route.batch.extent, if is_joined { 1 } else { 4 });
    }
}

/// What cuBLASLt multiplies: the rows, the columns and the depth of the product that it computes,
/// and the copies.
fn told(route: &Route) -> ([i64; 3], Vec<Matrix>) {
    let result = route.columns(Matrix::Result).unwrap();
    for (matrix, is_staged) in
        [Matrix::A, Matrix::B, Matrix::Result].map(|m| (m, route.staged(m).is_some()))
    {
        let columns = route.columns(matrix).unwrap();
        assert!(!is_staged || !route.has_whole_pieces || columns.step % 8 == 0, "{columns:?}");
    }
    ([result.length, result.count, route.depth()], copied(route))
}

#[test]
fn lines_of_large_results_become_whole_pieces() {
    use Matrix::{A, B, Result};
    let plain = MatmulRequest::default();
    let product = |dtype: DType, [rows, columns, depth]: [i64; 3]| {
        [view(dtype, &[rows, depth], &[depth, 1]), view(dtype, &[depth, columns], &[columns, 1])]
    };
    for (shape, expected, copies) in [
        // A result in the other order has whole lines. The right factor begins them anywhere.
        ([2048, 2047, 2048], [2048, 2047, 2048], vec![B, Result]),
        // No order has: the lines are made longer.
        ([2047, 2047, 2048], [2048, 2047, 2048], vec![B, Result]),
        ([2047, 2047, 2047], [2048, 2047, 2048], vec![A, B, Result]),
        ([2048, 2047, 2047], [2048, 2047, 2048], vec![A, B, Result]),
        // Lines are whole, and what is too small or too thin stays as it is.
        ([2047, 2048, 2048], [2048, 2047, 2048], vec![]),
        ([300, 301, 304], [301, 300, 304], vec![]),
        ([100, 8191, 8192], [8191, 100, 8192], vec![]),
    ] {
        let found = route(&plain, &product(DType::Float16, shape));
        assert_eq!(told(&found), (expected, copies.clone()), "{shape:?}");
        assert_eq!(found.has_whole_pieces, !copies.is_empty());
    }
    let odd = || product(DType::Float32, [2047, 2047, 2048]);
    assert!(!route(&plain, &odd()).has_whole_pieces);
    let types = ChosenTypes { compute: Some(ComputeType::F32FastTf32), ..ChosenTypes::default() };
    let fast = MatmulRequest { types, ..MatmulRequest::default() };
    assert!(route(&fast, &odd()).has_whole_pieces);
    // A limit on the workspace leaves no room, and sums of rows would be written beyond their end.
    let search = AlgorithmSearch { max_workspace: Some(1 << 40), ..AlgorithmSearch::default() };
    let limited = MatmulRequest { search, ..MatmulRequest::default() };
    let half = || product(DType::BFloat16, [2047, 2047, 2048]);
    assert!(!route(&limited, &half()).has_whole_pieces);
    let summed = MatmulRequest { epilog: Epilog::Bgrada, ..MatmulRequest::default() };
    assert!(!route(&summed, &half()).has_whole_pieces);
}

#[test]
fn a_bias_is_as_long_as_the_rows_that_cublaslt_is_told() {
    let request = MatmulRequest {
        epilog: Epilog::ReluBias,
        further: [InputRole::Bias].as_slice().into(),
        ..MatmulRequest::default()
    };
    let views = [
        view(DType::Float16, &[2047, 2048], &[2048, 1]),
        view(DType::Float16, &[2048, 2047], &[2047, 1]),
        view(DType::Float16, &[2047], &[1]),
    ];
    let found = route(&request, &views);
    assert!(found.has_whole_pieces && !found.is_transposed);
    assert_eq!(found.columns(Matrix::Vector).unwrap().length, 2048);
    assert!(found.staged(Matrix::Vector).is_some());
}
