//! The layout of the workspace on one GPU, in this order: cuFFT's work area; a copy of the operand;
//! the result before it is copied to where it belongs.

use super::route::Route;
use crate::memory::ALIGNMENT;

/// The parts of a workspace behind cuFFT's work area, whose size is known only once the plans are
/// made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkspaceLayout {
    /// Bytes of the operand's copy; 0 without one.
    staged_input: usize,
    /// Bytes of the result's memory; 0 without it.
    staged_output: usize,
}

impl WorkspaceLayout {
    pub(super) fn of(route: &Route) -> Self {
        Self { staged_input: route.staged_input, staged_output: route.staged_output }
    }

    /// Returns the offset of the operand's copy.
    pub(super) fn staged_input(self, work_area: usize) -> usize {
        aligned(work_area, self.staged_input)
    }

    /// Returns the offset of the result's memory.
    pub(super) fn staged_output(self, work_area: usize) -> usize {
        aligned(self.staged_input(work_area) + self.staged_input, self.staged_output)
    }

    /// Returns the bytes of the whole workspace.
    pub(super) fn size(self, work_area: usize) -> usize {
        self.staged_output(work_area) + self.staged_output
    }
}

/// Returns where a part of `size` bytes begins that is behind `end`.
fn aligned(end: usize, size: usize) -> usize {
    if size > 0 { end.next_multiple_of(ALIGNMENT) } else { end }
}
