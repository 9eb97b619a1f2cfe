//! The words and numbers of a product, in the core's terms.

use gpumath_core::structured_matmul::{Qualifier, Scalars, Structure, Triangle};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};

use crate::api::operation::arguments::without_overflow;
use crate::once::intern;

/// What the host library says of a matrix: abbreviation, whether it is conjugated, and the numbers
/// of cuBLAS's enums for the triangle and the diagonal, and the direction of a diagonal's vector.
pub(super) type QualifierTuple = (PyBackedStr, bool, i32, i32, i32);

/// `CUBLAS_FILL_MODE_LOWER` and `…_UPPER`, `CUBLAS_DIAG_UNIT`.
const LOWER: i32 = 0;
const UPPER: i32 = 1;
const UNIT: i32 = 1;

/// Reads what is known of a matrix.
pub(super) fn qualifier(name: &str, given: &QualifierTuple) -> PyResult<Qualifier> {
    let (abbreviation, is_conjugated, fill, diagonal, step) = given;
    let triangle = || match *fill {
        LOWER => Ok(Triangle::Lower),
        UPPER => Ok(Triangle::Upper),
        _ => Err(PyValueError::new_err(format!(
            "the qualifier of {name} has the fill mode {fill}; FillMode.LOWER or FillMode.UPPER is \
             needed"
        ))),
    };
    let structure = match &**abbreviation {
        "ge" => Structure::General,
        "sy" => Structure::Symmetric(triangle()?),
        "he" => Structure::Hermitian(triangle()?),
        "tr" => {
            Structure::Triangular { triangle: triangle()?, has_unit_diagonal: *diagonal == UNIT }
        }
        "dg" if step.abs() == 1 => Structure::Diagonal { is_reversed: *step < 0 },
        "dg" => {
            return Err(PyValueError::new_err(format!(
                "the qualifier of {name} has the incx {step}; 1, or -1 for a diagonal that begins \
                 with its last element, is needed"
            )));
        }
        _ => {
            return Err(PyValueError::new_err(format!(
                "the qualifier of {name} is {abbreviation:?}; ge, sy, he, tr and dg are known"
            )));
        }
    };
    Ok(Qualifier { structure, is_conjugated: *is_conjugated })
}

/// Reads the scalars of an execution; without `alpha` it is 1, and without `beta` 0.
pub(super) fn scalars(
    alpha: Option<&Bound<'_, PyAny>>,
    beta: Option<&Bound<'_, PyAny>>,
) -> PyResult<Scalars> {
    let mut scalars = Scalars::default();
    if let Some(alpha) = alpha {
        scalars.alpha = number("alpha", alpha)?;
    }
    if let Some(beta) = beta {
        scalars.beta = number("beta", beta)?;
    }
    Ok(scalars)
}

/// Reads a number as its real and imaginary part.
fn number(name: &str, given: &Bound<'_, PyAny>) -> PyResult<[f64; 2]> {
    let py = given.py();
    if given.is_instance_of::<PyFloat>() || given.is_exact_instance_of::<PyInt>() {
        return Ok([given.extract().map_err(|error| without_overflow(name, given, error))?, 0.0]);
    }
    if let Ok(complex) = given.cast::<PyComplex>() {
        use pyo3::types::PyComplexMethods;
        return Ok([complex.real(), complex.imag()]);
    }
    let parts = || -> PyResult<[f64; 2]> {
        let part = |name| given.getattr(name)?.extract::<f64>();
        Ok([part(intern!(py, "real"))?, part(intern!(py, "imag"))?])
    };
    match parts() {
        Ok(parts) if !given.is_instance_of::<PyBool>() => Ok(parts),
        _ => Err(PyTypeError::new_err(format!(
            "{name} is {}; a real or complex number is needed",
            given.repr()?
        ))),
    }
}
