//! Plans and runs in one call, for the functions of the host library if they need not log, and
//! manage no memory of their own.

use gpumath_core::fft::{Fft, FftArguments, FftRequest};
use gpumath_core::operation::Operation;
use pyo3::prelude::*;

use super::arguments::{
    parse_direction, parse_kind, parse_norm, parse_parity, parse_result_layout,
};
use crate::api::operation::Operands;
use crate::api::operation::arguments::{ExecutionArguments, axes as parse_axes};

/// The arguments of `FftPlan.transform`.
pub(super) struct TransformCall<'a, 'py> {
    pub(super) operand: &'a Bound<'py, PyAny>,
    pub(super) axes: Option<&'a Bound<'py, PyAny>>,
    pub(super) kind: Option<&'a str>,
    pub(super) out: Option<&'a Bound<'py, PyAny>>,
    pub(super) direction: i32,
    pub(super) norm: Option<&'a Bound<'py, PyAny>>,
    pub(super) chosen: ExecutionArguments<'a>,
    pub(super) inplace: bool,
    pub(super) may_overwrite: bool,
    pub(super) last_axis_parity: &'a str,
    pub(super) result_layout: &'a str,
}

impl<'py> TransformCall<'_, 'py> {
    /// Finds or makes the plan, and runs it. `None` declines arguments that do not fit, before
    /// anything happens.
    pub(super) fn run(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let operand = ("the operand", self.operand);
        let norm = self.norm.map(PyAnyMethods::extract).transpose();
        let (
            (Ok(kind), Ok(axes), Ok(direction), Ok(norm)),
            (Ok(odd_output_length), Ok(result_layout)),
            Ok(mut operands),
        ) = (
            (
                parse_kind(self.kind),
                parse_axes(self.axes),
                parse_direction(self.direction),
                norm.and_then(parse_norm),
            ),
            (parse_parity(self.last_axis_parity), parse_result_layout(self.result_layout)),
            Operands::read(&[operand], self.out, Some(0)),
        )
        else {
            return Ok(None);
        };
        let output = operands.out().cloned();
        let request = FftRequest {
            kind,
            axes,
            inplace: self.inplace,
            may_overwrite: self.may_overwrite,
            odd_output_length,
            result_layout,
            output,
            ..FftRequest::default()
        };
        let Some(plan) = operands.plan_unless_refused::<Fft>(py, &request, &self.chosen)? else {
            return Ok(None);
        };
        let arguments = FftArguments { direction, factor: plan.problem().factor(norm, direction) };
        let invocation = operands.invocation(&plan, arguments);
        if Fft::check_arguments(plan.problem(), arguments).is_err() || invocation.check().is_err() {
            return Ok(None);
        }
        invocation.run(py).map(|mut results| results.pop())
    }
}
