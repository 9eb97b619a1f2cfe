//! Which vectors are copied, and which stay vectors.

use super::tests::{copied, route, view};
use super::*;
use crate::matmul::{ChosenTypes, ComputeType, MatmulRequest};

#[test]
fn a_vector_with_gaps_is_copied_beside_a_large_matrix() {
    let request = MatmulRequest::default();
    let of = |rows: i64, step: i64| {
        let views = [
            view(DType::Float32, &[rows, 4096], &[4096, 1]),
            view(DType::Float32, &[4096, 1], &[step, 1]),
        ];
        copied(&route(&request, &views))
    };
    assert_eq!(of(8192, 17), [Matrix::B]);
    assert!(of(8192, 1).is_empty() && of(1000, 17).is_empty());
    let views = [
        view(DType::Float16, &[1, 4096], &[9000, 2]),
        view(DType::Float16, &[4096, 4096], &[4096, 1]),
    ];
    assert_eq!(copied(&route(&request, &views)), [Matrix::A]);
}

#[test]
fn vectors_of_halves_with_gaps_are_copied_for_fewer_elements() {
    let request = MatmulRequest::default();
    // A matrix of `rows` rows in C order or along columns, and a vector.
    let of = |rows: i64, depth: i64, by_rows: bool| {
        let a = if by_rows { [depth, 1] } else { [1, rows] };
        let views =
            [view(DType::Float16, &[rows, depth], &a), view(DType::Float16, &[depth, 1], &[4, 1])];
        copied(&route(&request, &views))
    };
    assert_eq!(of(8192, 64, true), [Matrix::B]);
    assert!(of(8191, 64, true).is_empty() && of(8192, 64, false).is_empty());
    assert!(of(16384, 64, true).is_empty());
    assert_eq!(of(4096, 3840, true), [Matrix::B]);
    assert_eq!(of(4096, 3840, false), [Matrix::B]);
    assert!(of(3840, 4096, false).is_empty() && of(4096, 3839, true).is_empty());
}

#[test]
fn vectors_with_gaps_are_copied_for_a_batch_of_large_outer_products() {
    let request = MatmulRequest::default();
    let of = |dtype: DType, [entries, rows, columns]: [i64; 3]| {
        let views = [
            view(dtype, &[rows, 1], &[1, 1]),
            view(dtype, &[entries, 1, columns], &[1, columns, entries]),
        ];
        copied(&route(&request, &views))
    };
    assert_eq!(of(DType::BFloat16, [4, 1024, 1024]), [Matrix::B]);
    assert!(of(DType::BFloat16, [4, 1024, 1016]).is_empty());
    assert!(of(DType::BFloat16, [4, 1024, 1028]).is_empty());
    assert!(of(DType::BFloat16, [1, 4096, 4096]).is_empty());
    assert!(of(DType::Float32, [4, 1024, 1024]).is_empty());
}

#[test]
fn vectors_of_one_matrix_with_long_sums_of_halves_become_a_matrix() {
    let request = MatmulRequest::default();
    let entries = |dtype: DType, depth: i64, step: i64| {
        let views = [
            view(dtype, &[4, 1, depth], &[step * depth, depth, step]),
            view(dtype, &[depth, 8], &[8, 1]),
        ];
        route(&request, &views).batch.extent
    };
    assert_eq!(entries(DType::Float16, 2047, 1), 4);
    assert_eq!(entries(DType::Float16, 2048, 1), 1);
    assert_eq!(entries(DType::Float16, 2048, 2), 4);
    assert_eq!(entries(DType::Float32, 2048, 1), 4);
}

#[test]
fn copies_of_a_batch_that_stay_apart() {
    let types = ChosenTypes { compute: Some(ComputeType::F32FastTf32), ..ChosenTypes::default() };
    let tensor_cores = MatmulRequest { types, ..MatmulRequest::default() };
    let entries = |request: &MatmulRequest, dtype: DType, [rows, columns, depth]: [i64; 3]| {
        let views = [
            view(dtype, &[4, rows, depth], &[1, 4 * depth, 4]),
            view(dtype, &[depth, columns], &[columns, 1]),
        ];
        let route = route(request, &views);
        assert_eq!(copied(&route), [Matrix::A]);
        route.batch.extent
    };
    let tf32 = |extents| entries(&tensor_cores, DType::Float32, extents);
    assert_eq!([[4096, 64, 64], [4095, 64, 64], [4096, 65, 64]].map(tf32), [4, 1, 1]);
    assert_eq!([[4096, 64, 60], [4096, 64, 256], [4096, 64, 260]].map(tf32), [1, 4, 1]);
    let request = MatmulRequest::default();
    assert_eq!(entries(&request, DType::Float32, [4096, 64, 64]), 1);
    let complex = |extents| entries(&request, DType::Complex64, extents);
    assert_eq!([[4096, 4096, 64], [4096, 4095, 64], [4096, 4096, 63]].map(complex), [4, 1, 1]);
}
