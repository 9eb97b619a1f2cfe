//! The ways to plan one product: what is copied for cuBLASLt, and what becomes of a batch.
//!
//! The usual way was measured to be the fastest on the whole. The others are faster for some
//! products, so autotuning measures them too.

use super::super::geometry::Matrix;
use super::super::problem::MatmulProblem;
use super::gemm;
use super::route::{Route, unit_of};
use crate::error::Result;

/// What factors of 8 bits are copied for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demands {
    /// As little as possible: the columns that cuBLASLt sees in the result, which its kernels do
    /// not load together, are not padded; and small products of int8 may have any order.
    Fewest,
    /// All that cuBLASLt documents.
    Documented,
}

impl Demands {
    /// The demands that a product can be planned by, the ones to try first before the others.
    pub(super) fn of(problem: &MatmulProblem) -> &'static [Self] {
        match unit_of(problem) {
            1 => &[Self::Documented],
            _ if problem.block_scaling.is_some() => &[Self::Documented],
            _ => &[Self::Fewest, Self::Documented],
        }
    }

    /// The demands to try first.
    pub(super) fn first(problem: &MatmulProblem) -> Self {
        Self::of(problem).first().copied().unwrap_or(Self::Documented)
    }
}

/// What becomes of the entries of a batch that continue each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entries {
    /// They are one matrix, where that was measured to be faster on the whole.
    Joined,
    /// They stay a batch.
    Apart,
}

/// How a factor is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactorCopy {
    /// Where cuBLASLt does not take it, or is expected to take more time for it than a copy does.
    IfNeeded,
    /// In any case, so that the elements of a sum are neighbours.
    AlongSums,
    /// In any case, so that the elements of one step of all sums are neighbours.
    AcrossSums,
}

/// The extents of a product for tensor cores that cuBLASLt is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extents {
    /// Whole pieces, where that is expected to save more time than the copies take.
    Usual,
    /// Longer ones, so that the lines of the result, and the sums, are whole pieces that tensor
    /// cores load. Factors are copied with zeros behind their lines, and the result is computed in
    /// the workspace.
    Whole,
    /// Those of the problem.
    Given,
}

/// A way to plan a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) entries: Entries,
    /// Of the left and of the right factor.
    pub(super) copies: [FactorCopy; 2],
    pub(super) extents: Extents,
}

impl Way {
    pub(super) const USUAL: Self = Self {
        entries: Entries::Joined,
        copies: [FactorCopy::IfNeeded; 2],
        extents: Extents::Usual,
    };
    pub(super) const APART: Self = Self { entries: Entries::Apart, ..Self::USUAL };
    pub(super) const WHOLE: Self = Self { extents: Extents::Whole, ..Self::USUAL };
    pub(super) const GIVEN: Self = Self { extents: Extents::Given, ..Self::USUAL };

    /// The ways with one more copy. Two more gain little beside these: of 10,103 products on an
    /// H100, 127 took more than 1.03 of PyTorch's time in the usual way, 71 in the best of these
    /// ways, and 68 if both factors may be copied.
    const COPIED: [Self; 4] = [
        Self::copied(Matrix::A, FactorCopy::AcrossSums),
        Self::copied(Matrix::A, FactorCopy::AlongSums),
        Self::copied(Matrix::B, FactorCopy::AcrossSums),
        Self::copied(Matrix::B, FactorCopy::AlongSums),
    ];

    const fn copied(factor: Matrix, copy: FactorCopy) -> Self {
        let copies = match factor {
            Matrix::A => [copy, FactorCopy::IfNeeded],
            _ => [FactorCopy::IfNeeded, copy],
        };
        Self { copies, ..Self::USUAL }
    }

    /// What stands for a `cublasLtMatmulAlgo_t`: for cuBLASLt's first algorithm in this way.
    /// cuBLASLt has no such number.
    pub(super) fn code(self) -> [u64; 8] {
        const FIRST: u64 = u64::from_le_bytes(*b"way\0\0\0\0\xff");
        let [a, b] = self.copies.map(|copy| copy as u64);
        [FIRST, self.entries as u64, a, b, self.extents as u64, 0, 0, 0]
    }

    /// The way whose first algorithm such a number stands for; `None` for other numbers.
    pub(super) fn of_code(code: &[u64; 8]) -> Option<Self> {
        let others = [Self::APART, Self::WHOLE, Self::GIVEN];
        Self::COPIED.into_iter().chain(others).find(|way| way.code() == *code)
    }

    /// Whether the copy of a factor is by rows; `None` if this way does not ask for a copy.
    pub(super) fn copies_by_rows(self, factor: Matrix) -> Option<bool> {
        let copy = match factor {
            Matrix::A => self.copies[0],
            Matrix::B => self.copies[1],
            _ => FactorCopy::IfNeeded,
        };
        match copy {
            FactorCopy::IfNeeded => None,
            FactorCopy::AlongSums => Some(factor == Matrix::A),
            FactorCopy::AcrossSums => Some(factor == Matrix::B),
        }
    }
}

/// Returns the numbers that stand for the first algorithm of a product in each way but the usual
/// one. A way is left out if it copies what the usual way copies.
pub(in super::super) fn codes_of_other_ways(problem: &MatmulProblem) -> Result<Vec<[u64; 8]>> {
    let demands = Demands::first(problem);
    let usual = Route::of(problem, demands, Way::USUAL)?;
    let mut codes = Vec::new();
    if usual.has_joined(problem) {
        codes.extend([Way::APART.code(), gemm::code(Entries::Apart)]);
    }
    if problem.search.max_workspace.is_some() {
        // Where the user limits the workspace, nothing is copied that need not be.
        return Ok(codes);
    }
    for way in Way::COPIED {
        let route = Route::of(problem, demands, way)?;
        let differs = |factor: Matrix| {
            route.columns(factor) != usual.columns(factor)
                || route.staged(factor).is_some() != usual.staged(factor).is_some()
        };
        if differs(Matrix::A) || differs(Matrix::B) {
            codes.push(way.code());
        }
    }
    let other = if usual.has_whole_pieces { Way::GIVEN } else { Way::WHOLE };
    if Route::of(problem, demands, other)?.has_whole_pieces != usual.has_whole_pieces {
        codes.push(other.code());
    }
    Ok(codes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;
    use crate::matmul::{AlgorithmSearch, MatmulRequest};
    use crate::operation::{Execution, Request};
    use crate::tensor::{DType, Layout, MemoryLocation, TensorView};

    fn other_ways(request: &MatmulRequest, dtype: DType, layouts: [Layout; 2]) -> Vec<[u64; 8]> {
        let device = MemoryLocation::Device(0);
        let views = layouts.map(|layout| TensorView {
            ptr: 0x1_0000,
            dtype,
            layout,
            device,
            readonly: false,
        });
        let execution = Execution::Cuda { device: 0 };
        codes_of_other_ways(&request.problem(&views.each_ref(), execution).unwrap()).unwrap()
    }

    #[test]
    fn there_are_ways_with_one_more_copy() {
        let plain = MatmulRequest::default();
        let layouts = || [[60, 40], [40, 90]].map(|shape| Layout::contiguous(&shape));
        let copied = Way::COPIED.map(Way::code);
        assert_eq!(other_ways(&plain, DType::Float32, layouts()), copied);
        for code in copied {
            assert_eq!(Way::of_code(&code).map(Way::code), Some(code));
        }
        assert_eq!(Way::of_code(&Way::USUAL.code()), None);
        // The order of these factors is not free.
        assert_eq!(other_ways(&plain, DType::Int8, layouts()).len(), 0);
        let conjugated = MatmulRequest { conjugate: [true, false], ..MatmulRequest::default() };
        assert_eq!(other_ways(&conjugated, DType::Complex64, layouts()), copied[2..]);
        // A copy of a vector is like the vector.
        let vector = [[60, 40], [40, 1]].map(|shape| Layout::contiguous(&shape));
        assert_eq!(other_ways(&plain, DType::Float32, vector).len(), 4);
        // This is what is copied anyway.
        let mut steps = layouts();
        steps[0].strides = [80, 2].as_slice().into();
        let is_usual = |request: &MatmulRequest, code: &[u64; 8]| {
            !other_ways(request, DType::Float64, steps.clone()).contains(code)
        };
        assert_eq!(copied.iter().filter(|code| is_usual(&plain, code)).count(), 1);
        let search = AlgorithmSearch { max_workspace: Some(1 << 30), ..AlgorithmSearch::default() };
        let limited = MatmulRequest { search, ..MatmulRequest::default() };
        assert_eq!(other_ways(&limited, DType::Float32, layouts()).len(), 0);
        // Entries that continue each other can stay apart, whatever the workspace.
        let batch = || [Layout::contiguous(&[5, 60, 40]), Layout::contiguous(&[40, 90])];
        let apart = [Way::APART.code(), gemm::code(Entries::Apart)];
        assert_eq!(other_ways(&limited, DType::Float32, batch()), apart);
        assert_eq!(other_ways(&plain, DType::Float32, batch())[..2], apart);
    }

    #[test]
    fn there_is_a_way_with_other_lines() {
        let plain = MatmulRequest::default();
        let product = |rows: i64, columns: i64, depth: i64| {
            [[rows, depth], [depth, columns]].map(|shape| Layout::contiguous(&shape))
        };
        let last = |dtype: DType, layouts| other_ways(&plain, dtype, layouts).pop();
        // Small results keep their lines, and large ones have padded ones.
        let padded = last(DType::Float16, product(60, 90, 40));
        let kept = last(DType::Float16, product(2048, 2047, 2048));
        assert_eq!([padded, kept], [Some(Way::WHOLE.code()), Some(Way::GIVEN.code())]);
        for code in [Way::WHOLE, Way::GIVEN].map(Way::code) {
            assert_eq!(Way::of_code(&code).map(Way::code), Some(code));
            for (dtype, columns) in [(DType::Float16, 88), (DType::Float64, 90)] {
                assert!(!other_ways(&plain, dtype, product(60, columns, 40)).contains(&code));
            }
        }
    }
}
