//! The words and numbers that users of transforms choose with.

use gpumath_core::fft::{Direction, Norm, TransformKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::api::operation::arguments::choice;

const KINDS: [TransformKind; 3] = [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R];

/// The name of a kind of transform.
pub(super) const fn kind_name(kind: TransformKind) -> &'static str {
    match kind {
        TransformKind::C2C => "C2C",
        TransformKind::R2C => "R2C",
        TransformKind::C2R => "C2R",
    }
}

/// Reads a kind of transform.
pub(super) fn parse_kind(kind: Option<&str>) -> PyResult<Option<TransformKind>> {
    kind.map(|kind| Ok(KINDS[choice("kind", kind, KINDS.map(kind_name))?])).transpose()
}

/// Reads the sign of the exponent.
pub(super) fn parse_direction(direction: i32) -> PyResult<Direction> {
    match direction {
        -1 => Ok(Direction::Forward),
        1 => Ok(Direction::Inverse),
        other => Err(PyValueError::new_err(format!(
            "direction is {other}; -1 (forward) and 1 (inverse) are allowed"
        ))),
    }
}

/// Reads which results are scaled.
pub(super) fn parse_norm(norm: Option<&str>) -> PyResult<Option<Norm>> {
    let norms = [Norm::Backward, Norm::Ortho, Norm::Forward];
    norm.map(|norm| Ok(norms[choice("norm", norm, ["backward", "ortho", "forward"])?])).transpose()
}

/// Reads whether a C2R result has an odd number of points along its last axis.
pub(super) fn parse_parity(parity: &str) -> PyResult<bool> {
    Ok(choice("last_axis_parity", parity, ["even", "odd"])? == 1)
}
