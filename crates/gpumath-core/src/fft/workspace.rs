//! The layout of the workspace on one GPU, in this order: cuFFT's work area; a copy of the operand,
//! if the passes need one; a bounce buffer for real data that is not aligned as cuFFT requires.

use super::passes::Passes;
use super::problem::FftProblem;
use crate::memory::ALIGNMENT;

/// The parts of a workspace behind cuFFT's work area, whose size is known only once the plans are
/// made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkspaceLayout {
    /// The copy of the operand; `None` if the passes need none.
    copy: Option<OperandCopy>,
    /// Bytes of the bounce buffer; 0 if none is needed.
    bounce: usize,
}

/// A copy of the operand's memory range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OperandCopy {
    /// Bytes of the range.
    pub(super) size: usize,
    /// Bytes of the range in front of index (0, …, 0).
    pub(super) front: usize,
}

impl WorkspaceLayout {
    pub(super) const NONE: Self = Self { copy: None, bounce: 0 };

    /// Returns the layout for a problem that is cut into these passes.
    pub(super) fn of(problem: &FftProblem, passes: &Passes) -> Self {
        let size = problem.input_dtype().size();
        let copy = passes.scratch.then(|| {
            let (low, high) = problem.input.offsets();
            OperandCopy { size: (high - low + 1) as usize * size, front: -low as usize * size }
        });
        let slice = passes.passes.iter().filter_map(|pass| pass.bounce).max().unwrap_or(0);
        Self { copy, bounce: slice as usize * problem.precision.real().size() }
    }

    /// Returns the copy and the offset of its start. Its element at index (0, …, 0) is aligned to
    /// [`ALIGNMENT`].
    pub(super) fn copy(self, work_area: usize) -> Option<(OperandCopy, usize)> {
        self.copy
            .map(|copy| (copy, (work_area + copy.front).next_multiple_of(ALIGNMENT) - copy.front))
    }

    /// Returns the offset of the bounce buffer.
    pub(super) fn bounce_start(self, work_area: usize) -> usize {
        let end = self.copy(work_area).map_or(work_area, |(copy, start)| start + copy.size);
        if self.bounce > 0 { end.next_multiple_of(ALIGNMENT) } else { end }
    }

    /// Returns the bytes of the whole workspace.
    pub(super) fn size(self, work_area: usize) -> usize {
        self.bounce_start(work_area) + self.bounce
    }
}
