//! Whether the library multiplies what the product is of, by definition, in every way.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ways::FactorCopy::{AcrossSums, AlongSums, IfNeeded};
use super::tests::view;
use super::*;
use crate::matmul::MatmulRequest;
use crate::operation::{Execution, Request};

/// Which elements of the factors a number of the result is the sum of products of, by their
/// distances from the first element of each; 0 for a matrix that is copied.
type Sums = BTreeMap<i64, BTreeSet<[i64; 2]>>;

/// The sums of a product by its definition.
fn sums_of_problem(problem: &MatmulProblem, is_copied: [bool; 2]) -> Sums {
    let geometry = problem.geometry();
    let [a, b, result] = [Matrix::A, Matrix::B, Matrix::Result].map(|m| geometry.strides(m));
    let mut sums = Sums::new();
    for entry in 0..geometry.batch.count() {
        let starts = geometry.batch.offsets(entry);
        for (row, column) in (0..geometry.rows)
            .flat_map(|row| (0..geometry.columns).map(move |column| (row, column)))
        {
            let place = starts[Matrix::Result as usize] + row * result[0] + column * result[1];
            sums.entry(place).or_default().extend((0..geometry.depth).map(|step| {
                let left = starts[Matrix::A as usize] + row * a[0] + step * a[1];
                let right = starts[Matrix::B as usize] + step * b[0] + column * b[1];
                [if is_copied[0] { 0 } else { left }, if is_copied[1] { 0 } else { right }]
            }));
        }
    }
    sums
}

/// The sums that the library computes by a route.
fn sums_of_route(route: &Route) -> Sums {
    let (left, right) = route.factors();
    let columns = [left, right, Matrix::Result].map(|matrix| route.columns(matrix).unwrap());
    let [first, second, result] = columns;
    let is_turned =
        [left, right].map(|matrix| route.operation(matrix, [false; 2]) != transpose::NO);
    let depth = if is_turned[0] { first.length } else { first.count };
    assert_eq!(depth, if is_turned[1] { second.count } else { second.length });
    let is_copied = [left, right].map(|matrix| route.staged(matrix).is_some());
    let mut sums = Sums::new();
    for entry in 0..route.outer.count() as i64 * route.batch.extent {
        let outer = route.outer.offsets((entry / route.batch.extent) as usize);
        let start = |matrix: Matrix| {
            let index = matrix as usize;
            outer[index] + entry % route.batch.extent * route.batch.strides[index]
        };
        for (x, y) in (0..result.length).flat_map(|x| (0..result.count).map(move |y| (x, y))) {
            let place = start(Matrix::Result) + y * result.step + x;
            sums.entry(place).or_default().extend((0..depth).map(|z| {
                let (fast, slow) = if is_turned[0] { (z, x) } else { (x, z) };
                let one = start(left) + slow * first.step + fast;
                let (fast, slow) = if is_turned[1] { (y, z) } else { (z, y) };
                let other = start(right) + slow * second.step + fast;
                let found =
                    [if is_copied[0] { 0 } else { one }, if is_copied[1] { 0 } else { other }];
                if route.is_transposed { [found[1], found[0]] } else { found }
            }));
        }
    }
    sums
}

#[test]
fn the_library_multiplies_the_elements_that_the_product_is_of() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let (mut with_copies, mut of_vectors, mut joined) = (0, 0, 0);
    for _ in 0..4000 {
        let dtypes =
            [DType::Float16, DType::Float32, DType::Float64, DType::Complex64, DType::Complex128];
        let dtype = dtypes[random(dtypes.len())];
        let [rows, columns, depth] = [(); 3].map(|()| [1, 1, 2, 3, 8, 11, 16][random(7)]);
        let mut operand = |rows: i64, columns: i64| {
            let matrix: [i64; 2] =
                [[columns, 1], [1, rows], [columns + 3, 1], [4 * columns, 2], [0, 1]][random(5)];
            let (shape, strides): (Vec<i64>, Vec<i64>) = match random(5) {
                0 => (vec![], vec![]),
                1 => (vec![4], vec![rows * columns * 8]),
                2 => (vec![2, 3], vec![3 * rows * columns, rows * columns]),
                3 => (vec![2, 3], vec![rows * columns * 8, 0]),
                _ => return view(dtype, &[4, rows, columns], &[1, 4 * columns, 4]),
            };
            view(dtype, &[&shape[..], &[rows, columns]].concat(), &[&strides[..], &matrix].concat())
        };
        let views = [operand(rows, depth), operand(depth, columns)];
        let request = MatmulRequest::default();
        let Ok(problem) = request.problem(&views.each_ref(), Execution::Cuda { device: 0 }) else {
            continue;
        };
        let copies = [(); 2].map(|()| [IfNeeded, AlongSums, AcrossSums][random(3)]);
        let entries = [Entries::Joined, Entries::Apart][random(2)];
        let way = Way { entries, copies, extents: Extents::Given };
        let route = Route::of(&problem, Demands::Documented, way).unwrap();
        assert!(way.entries == Entries::Joined || !route.has_joined(&problem));
        for factor in [Matrix::A, Matrix::B] {
            let by_rows = route.staged(factor).map(|_| route.columns(factor).unwrap().are_rows);
            let wanted = way.copies_by_rows(factor);
            assert!(wanted.is_none() || by_rows == wanted, "{way:?} {route:?}");
        }
        joined += usize::from(route.has_joined(&problem));
        let is_copied = [Matrix::A, Matrix::B].map(|matrix| route.staged(matrix).is_some());
        let (found, expected) = (sums_of_route(&route), sums_of_problem(&problem, is_copied));
        assert_eq!(found, expected, "{views:?}\n{route:?}");
        with_copies += usize::from(is_copied != [false; 2]);
        of_vectors += usize::from(problem.geometry().stays_vectors(&problem));
    }
    assert!(with_copies > 500 && of_vectors > 50, "{with_copies} {of_vectors}");
    assert!(joined > 50, "{joined}");
}
