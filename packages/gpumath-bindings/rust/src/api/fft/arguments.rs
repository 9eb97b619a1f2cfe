//! The words and numbers that users of transforms choose with.

use gpumath_core::fft::{Direction, Norm, ResultLayout, TransformKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

use crate::api::operation::arguments::choice;

const KINDS: [TransformKind; 3] = [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R];

/// Returns the name of a kind of transform.
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

/// Reads a direction in any of the forms that users have; `None` if it is no direction.
pub(super) fn read_direction(direction: &Bound<'_, PyAny>) -> Option<Direction> {
    if let Ok(number) = direction.cast::<PyInt>() {
        return parse_direction(number.extract().ok()?).ok();
    }
    let name = direction.cast::<PyString>().ok()?;
    let name = name.to_str().ok()?;
    let is = |word: &str| name.eq_ignore_ascii_case(word);
    if is("forward") {
        Some(Direction::Forward)
    } else {
        is("inverse").then_some(Direction::Inverse)
    }
}

/// Read a direction of a transform.
///
/// Parameters
/// ----------
/// direction : {'forward', 'inverse', -1, 1}
///     A word in upper or lower case, or the sign of the exponent.
/// kind : {'C2C', 'R2C', 'C2R'}
///     Kind of the transform.
///
/// Returns
/// -------
/// int
///     Sign of the exponent.
///
/// Raises
/// ------
/// ValueError
///     It is no direction, or not one of transforms of this kind.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> core.fft_direction("inverse", "C2C")
/// 1
#[pyfunction]
pub(crate) fn fft_direction(direction: &Bound<'_, PyAny>, kind: &str) -> PyResult<i32> {
    let Some(read) = read_direction(direction) else {
        return Err(PyValueError::new_err(format!(
            "direction is {}; FFTDirection.FORWARD, FFTDirection.INVERSE, 'forward', 'inverse', \
             -1 (forward) and 1 (inverse) are allowed",
            direction.repr()?
        )));
    };
    let kind = KINDS[choice("kind", kind, KINDS.map(kind_name))?];
    match kind.only_direction() {
        Some(only) if read != only => Err(PyValueError::new_err(format!(
            "direction is {read:?}, but a {} transform is always {only:?}",
            kind_name(kind)
        ))),
        _ => Ok(read.sign()),
    }
}

/// Reads which results are scaled.
pub(super) fn parse_norm(norm: Option<&str>) -> PyResult<Option<Norm>> {
    let norms = [Norm::Backward, Norm::Ortho, Norm::Forward];
    norm.map(|norm| Ok(norms[choice("norm", norm, ["backward", "ortho", "forward"])?])).transpose()
}

/// Reads the memory order of a new result.
pub(super) fn parse_result_layout(layout: &str) -> PyResult<ResultLayout> {
    let layouts = [ResultLayout::Optimized, ResultLayout::Natural];
    Ok(layouts[choice("result_layout", layout, ["optimized", "natural"])?])
}

/// Reads whether a C2R result has an odd number of points along its last axis.
pub(super) fn parse_parity(parity: &str) -> PyResult<bool> {
    Ok(choice("last_axis_parity", parity, ["even", "odd"])? == 1)
}
