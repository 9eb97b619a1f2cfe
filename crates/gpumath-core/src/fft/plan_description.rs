//! Describes the cuFFT plans of a problem without making them, for users who want to know or to
//! keep plans of their own.

use super::passes::Side;
use super::problem::{FftProblem, TransformKind};
use super::route::{Route, Step};
use super::workspace::WorkspaceLayout;
use crate::error::Result;
use crate::tensor::{Dims, Layout};

/// One side of a cuFFT plan, in the terms of its advanced data layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvancedLayout {
    /// Extents of the memory that the transform is embedded in, slowest first.
    pub embed: Dims,
    /// Elements between neighbours along the fastest axis.
    pub stride: i64,
    /// Elements between transforms of the batch.
    pub distance: i64,
}

/// One of the cuFFT plans of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassInfo {
    /// Kind of the transform.
    pub kind: TransformKind,
    /// Transform extents, slowest first.
    pub extents: Dims,
    /// Layout of its input.
    pub input: AdvancedLayout,
    /// Layout of its output.
    pub output: AdvancedLayout,
    /// Number of transforms.
    pub batch: i64,
}

/// The cuFFT plans of a problem, and the workspace that they need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDescription {
    /// The plans in the order of execution; none for an empty batch.
    pub passes: Vec<PassInfo>,
    /// Number of copies to another layout, before and after the plans.
    pub copies: usize,
    layout: WorkspaceLayout,
}

impl PlanDescription {
    /// Describes the plans of `problem`. Fails if callbacks do not allow any.
    pub fn of(problem: &FftProblem) -> Result<Self> {
        if problem.input.is_empty() {
            return Ok(Self { passes: Vec::new(), copies: 0, layout: WorkspaceLayout::default() });
        }
        let route = Route::of(problem)?;
        let advanced = |side: &Side| AdvancedLayout {
            embed: side.embed.clone(),
            stride: side.stride,
            distance: side.distance,
        };
        let passes = route.passes().map(|pass| PassInfo {
            kind: pass.kind,
            extents: pass.extents.clone(),
            input: advanced(&pass.input),
            output: advanced(&pass.output),
            batch: pass.batch,
        });
        Ok(Self {
            passes: passes.collect(),
            copies: route.steps.iter().filter(|step| matches!(step, Step::Copy(_))).count(),
            layout: WorkspaceLayout::of(&route),
        })
    }

    /// Returns the bytes of the whole workspace if the largest work area of the plans has
    /// `work_area` bytes.
    #[must_use]
    pub fn workspace_size(&self, work_area: usize) -> usize {
        self.layout.size(work_area)
    }
}

impl FftProblem {
    /// Returns the problem with zeros for strides that do not matter, so that problems with equal
    /// plans become equal.
    #[must_use]
    pub fn normalized(&self) -> Self {
        let layout = |layout: &Layout| {
            let empty = layout.is_empty();
            let axes = layout.shape.iter().zip(&layout.strides);
            let strides = axes.map(|(&extent, &step)| if empty || extent == 1 { 0 } else { step });
            Layout { shape: layout.shape.clone(), strides: strides.collect() }
        };
        Self { input: layout(&self.input), output: layout(&self.output), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fft::{FftRequest, Precision};
    use crate::operation::{Execution, Request};
    use crate::tensor::{DType, MemoryLocation, TensorView};

    fn problem(
        dtype: DType,
        shape: &[i64],
        strides: &[i64],
        axes: &[i64],
        kind: TransformKind,
    ) -> FftProblem {
        let layout = Layout { shape: shape.into(), strides: strides.into() };
        let view = TensorView {
            ptr: 0,
            dtype,
            layout,
            device: MemoryLocation::Device(0),
            readonly: false,
        };
        let request = FftRequest {
            kind: Some(kind),
            axes: Some(axes.into()),
            inplace: false,
            output: None,
            callbacks: crate::fft::Callbacks::default(),
            result_layout: crate::fft::ResultLayout::default(),
            odd_output_length: false,
        };
        request.problem(&[&view], Execution::Cuda { device: 0 }).unwrap()
    }

    #[test]
    fn one_pass_needs_what_cufft_needs() {
        let problem = problem(DType::Complex64, &[4, 8], &[8, 1], &[1], TransformKind::C2C);
        let description = PlanDescription::of(&problem).unwrap();
        assert_eq!(description.passes.len(), 1);
        let pass = &description.passes[0];
        assert_eq!((pass.extents.as_slice(), pass.batch), (&[8][..], 4));
        assert_eq!(description.workspace_size(1000), 1000);
    }

    #[test]
    fn a_real_result_needs_room_for_a_copy_of_the_operand() {
        let problem = problem(DType::Complex128, &[4, 5], &[5, 1], &[1], TransformKind::C2R);
        let description = PlanDescription::of(&problem).unwrap();
        assert_eq!(description.workspace_size(0), 20 * 16);
        assert_eq!(description.workspace_size(1), 256 + 20 * 16);
    }

    #[test]
    fn four_axes_make_several_passes() {
        let strides = &[60, 15, 5, 1];
        let problem =
            problem(DType::Complex64, &[2, 4, 3, 5], strides, &[0, 1, 2, 3], TransformKind::C2C);
        let description = PlanDescription::of(&problem).unwrap();
        let ranks: Vec<usize> = description.passes.iter().map(|pass| pass.extents.len()).collect();
        assert_eq!(ranks, [3, 1]);
    }

    #[test]
    fn strides_that_do_not_matter_make_no_difference() {
        let first = problem(DType::Float32, &[1, 8], &[8, 1], &[1], TransformKind::R2C);
        let second = problem(DType::Float32, &[1, 8], &[77, 1], &[1], TransformKind::R2C);
        assert_ne!(first, second);
        assert_eq!(first.normalized(), second.normalized());
        assert_eq!(first.precision, Precision::Single);
        assert_eq!(
            PlanDescription::of(&first).unwrap(),
            PlanDescription::of(&first.normalized()).unwrap()
        );
    }
}
