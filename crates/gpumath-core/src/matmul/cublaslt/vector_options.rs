//! Options of cuBLASLt's algorithms for a vector, of which it often lists a slow one first.
//!
//! cuBLASLt calls them custom options, and does not say what they are. The numbers are those of
//! version 13.1 on an H100; another version may list others, which are left as they are.

use super::super::FoundAlgorithm;
use super::super::problem::MatmulProblem;
use super::choice::{CUSTOM_OPTION, number_and_parts, setting};
use crate::tensor::DType;

/// An algorithm's number and its option.
type Choice = [i32; 2];

/// For elements of a type: a choice of cuBLASLt's, and one that it lists after it. Of all 45,213
/// products that were measured (`benchmarks/host/matmul_grid.py`), the second one takes 0.46 to
/// 0.96 of the time of the first one, in the geometric mean of those that have both.
const FASTER: [(DType, Choice, Choice); 23] = [
    (DType::Float16, [13, 7], [13, 94]),
    (DType::Float16, [13, 56], [13, 94]),
    (DType::Float16, [13, 58], [13, 12]),
    (DType::BFloat16, [11, 0], [11, 1]),
    (DType::BFloat16, [13, 7], [13, 94]),
    (DType::BFloat16, [13, 56], [13, 94]),
    (DType::BFloat16, [13, 58], [13, 12]),
    (DType::Float32, [13, 11], [13, 101]),
    (DType::Float32, [13, 11], [13, 13]),
    (DType::Float32, [13, 48], [13, 94]),
    (DType::Float32, [13, 98], [13, 102]),
    (DType::Float32, [13, 102], [13, 10]),
    (DType::Float64, [11, 0], [36, 0]),
    (DType::Float64, [13, 6], [13, 104]),
    (DType::Float64, [13, 11], [13, 89]),
    (DType::Float64, [13, 49], [13, 85]),
    (DType::Float64, [13, 51], [13, 12]),
    (DType::Float64, [13, 81], [13, 75]),
    (DType::Complex64, [13, 0], [13, 96]),
    (DType::Complex64, [13, 43], [13, 12]),
    (DType::Complex64, [13, 51], [13, 78]),
    (DType::Complex64, [13, 51], [13, 87]),
    (DType::Complex64, [13, 56], [13, 95]),
];

/// Whether a faster algorithm than the first one may be further down in the list.
pub(super) fn is_slow(first: &FoundAlgorithm, problem: &MatmulProblem) -> bool {
    let slow = choice_of(first, problem);
    slow.is_some_and(|slow| faster_than(problem.types.a, slow).next().is_some())
}

/// Moves a faster algorithm than the first one before it, if one is listed.
pub(super) fn put_faster_first(found: &mut [FoundAlgorithm], problem: &MatmulProblem) {
    if found.first().is_some_and(|first| is_slow(first, problem)) {
        let choices: Vec<_> = found.iter().map(|one| choice_of(one, problem)).collect();
        if let Some(position) = faster(problem.types.a, &choices) {
            found[..=position].rotate_right(1);
        }
    }
}

/// Returns the position of the best choice that is faster than the first one.
fn faster(dtype: DType, choices: &[Option<Choice>]) -> Option<usize> {
    let slow = (*choices.first()?)?;
    let position = |fast| choices.iter().position(|choice| *choice == Some(fast));
    faster_than(dtype, slow).find_map(position)
}

fn faster_than(dtype: DType, slow: Choice) -> impl Iterator<Item = Choice> {
    let listed = FASTER.iter().filter(move |row| row.0 == dtype && row.1 == slow);
    listed.map(|row| row.2)
}

/// Returns the choice of an algorithm that splits no sums; `None` where no choice was measured.
fn choice_of(algorithm: &FoundAlgorithm, problem: &MatmulProblem) -> Option<Choice> {
    if !(problem.search.is_free() && problem.is_plain()) {
        return None;
    }
    let (number, parts) = number_and_parts(algorithm)?;
    (parts == 1).then_some([number, setting(algorithm, CUSTOM_OPTION)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_the_faster_choices_that_are_listed() {
        let first = |dtype, choices: &[Choice]| {
            faster(dtype, &choices.iter().copied().map(Some).collect::<Vec<_>>())
        };
        let listed = [[13, 11], [13, 48], [13, 13], [13, 101]];
        assert_eq!(first(DType::Float32, &listed), Some(3));
        assert_eq!(first(DType::Float32, &listed[..3]), Some(2));
        assert_eq!(first(DType::Float32, &listed[..2]), None);
        assert_eq!(first(DType::Float64, &listed), None);
        assert_eq!(first(DType::Float32, &[]), None);
        assert_eq!(faster(DType::Float32, &[None, Some([13, 101])]), None);
        assert_eq!(faster(DType::Float32, &[Some([13, 11]), None, Some([13, 13])]), Some(2));
    }

    #[test]
    fn no_choice_is_faster_than_itself_or_listed_twice() {
        for (index, row) in FASTER.iter().enumerate() {
            assert!(row.1 != row.2, "{row:?}");
            assert!(!FASTER[..index].contains(row), "{row:?}");
            let faster_ones = faster_than(row.0, row.2);
            assert!(faster_ones.into_iter().all(|choice| choice != row.1), "{row:?}");
        }
    }
}
