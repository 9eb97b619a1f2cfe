//! What lies in the workspace of a transform on one GPU: cuFFT's work area, then a copy of the operand where the passes
//! work on one, then a slice for real numbers that are not aligned as cuFFT needs them.

use super::passes::Passes;
use super::problem::Problem;
use crate::memory::ALIGNMENT;

/// The parts behind cuFFT's work area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkspaceLayout {
    copy: Option<OperandCopy>,
    /// Bytes of a slice; 0 if none is needed.
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

    pub(super) fn of(problem: &Problem, passes: &Passes) -> Self {
        let size = problem.input_dtype().size();
        let copy = passes.scratch.then(|| {
            let (low, high) = problem.input.offsets();
            OperandCopy { size: (high - low + 1) as usize * size, front: -low as usize * size }
        });
        let slice = passes.passes.iter().filter_map(|pass| pass.bounce).max().unwrap_or(0);
        Self { copy, bounce: slice as usize * problem.precision.real().size() }
    }

    /// The copy and where it starts, such that its index (0, …, 0) is aligned.
    pub(super) fn copy(self, work_area: usize) -> Option<(OperandCopy, usize)> {
        self.copy
            .map(|copy| (copy, (work_area + copy.front).next_multiple_of(ALIGNMENT) - copy.front))
    }

    /// Where the slice starts.
    pub(super) fn bounce_start(self, work_area: usize) -> usize {
        let end = self.copy(work_area).map_or(work_area, |(copy, start)| start + copy.size);
        if self.bounce > 0 { end.next_multiple_of(ALIGNMENT) } else { end }
    }

    /// Bytes of the whole workspace.
    pub(super) fn size(self, work_area: usize) -> usize {
        self.bounce_start(work_area) + self.bounce
    }
}
