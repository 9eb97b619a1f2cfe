//! What users say about a product, in the core's terms.

use gpumath_core::matmul::{ComputeType, Epilog, InputRole, MatmulArguments};
use gpumath_core::tensor::DType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyComplex, PyDict, PyFloat, PyInt, PyString};
use smallvec::SmallVec;

use crate::api::operation::arguments::without_overflow;

/// The keys of inputs other than `a`, `b` and `c`.
const INPUT_KEYS: [(&str, InputRole); 8] = [
    ("bias", InputRole::Bias),
    ("relu_aux", InputRole::Aux),
    ("gelu_aux", InputRole::Aux),
    ("a_scale", InputRole::ScaleA),
    ("b_scale", InputRole::ScaleB),
    ("c_scale", InputRole::ScaleC),
    ("d_scale", InputRole::ScaleD),
    ("aux_quantization_scale", InputRole::ScaleAux),
];

/// The operands behind `a` and `b`, by what they are.
pub(super) type FurtherInputs<'py> = SmallVec<[(InputRole, Bound<'py, PyAny>); 2]>;

/// Reads `c` and the mapping of further inputs. Entries that are None count as absent.
pub(super) fn further_inputs<'py>(
    c: Option<&Bound<'py, PyAny>>,
    inputs: Option<&Bound<'py, PyDict>>,
) -> PyResult<FurtherInputs<'py>> {
    let mut further = FurtherInputs::new();
    if let Some(c) = c {
        further.push((InputRole::C, c.clone()));
    }
    for (key, value) in inputs.into_iter().flatten() {
        if value.is_none() {
            continue;
        }
        let key = key.cast_into::<PyString>()?;
        let key = key.to_str()?;
        let Some(&(_, role)) = INPUT_KEYS.iter().find(|(known, _)| *known == key) else {
            let known: Vec<&str> = INPUT_KEYS.iter().map(|(known, _)| *known).collect();
            return Err(PyValueError::new_err(format!(
                "there is no input {key:?}; there are {}",
                known.join(", ")
            )));
        };
        if further.iter().any(|(other, _)| *other == role) {
            return Err(PyValueError::new_err(format!("{} is given twice", role.name())));
        }
        further.push((role, value));
    }
    Ok(further)
}

/// The operands with the names that messages have for them.
pub(super) fn named<'a, 'py>(
    a: &'a Bound<'py, PyAny>,
    b: &'a Bound<'py, PyAny>,
    further: &'a FurtherInputs<'py>,
) -> SmallVec<[(&'static str, &'a Bound<'py, PyAny>); 4]> {
    let further = further.iter().map(|(role, object)| (role.name(), object));
    [("a", a), ("b", b)].into_iter().chain(further).collect()
}

/// Reads `alpha` and `beta`: what the product and `c` are multiplied by. Without them they are 1,
/// and 0 for `beta`.
pub(super) fn scalars(
    alpha: Option<&Bound<'_, PyAny>>,
    beta: Option<&Bound<'_, PyAny>>,
) -> PyResult<MatmulArguments> {
    let default = MatmulArguments::default();
    Ok(MatmulArguments {
        alpha: alpha.map_or(Ok(default.alpha), |number| scalar("alpha", number))?,
        beta: beta.map_or(Ok(default.beta), |number| scalar("beta", number))?,
    })
}

/// Reads a number, also of other libraries, as its real and imaginary parts.
fn scalar(name: &str, number: &Bound<'_, PyAny>) -> PyResult<[f64; 2]> {
    if number.is_exact_instance_of::<PyFloat>() || number.is_exact_instance_of::<PyInt>() {
        return Ok([number.extract().map_err(|error| without_overflow(name, number, error))?, 0.0]);
    }
    let refused = || -> PyResult<PyErr> {
        Ok(PyTypeError::new_err(format!("{name} is {}; a number is needed", number.repr()?)))
    };
    if number.is_instance_of::<PyString>() {
        return Err(refused()?);
    }
    let py = number.py();
    match PyComplex::type_object(py).call1((number,)) {
        Ok(complex) => {
            Ok([complex.getattr("real")?.extract()?, complex.getattr("imag")?.extract()?])
        }
        Err(error) if error.is_instance_of::<PyTypeError>(py) => Err(refused()?),
        Err(error) => Err(without_overflow(name, number, error)),
    }
}

/// Reads a `cublasLtEpilogue_t`.
pub(super) fn epilog(code: Option<i32>) -> PyResult<Epilog> {
    let Some(code) = code else { return Ok(Epilog::None) };
    Epilog::from_code(code).ok_or_else(|| {
        let known: Vec<&str> = Epilog::ALL.iter().map(|epilog| epilog.name()).collect();
        PyValueError::new_err(format!(
            "epilog is {code}, which is no epilog that is known; there are {}",
            known.join(", ")
        ))
    })
}

/// Reads a `cublasComputeType_t`.
pub(super) fn compute_type(code: Option<i32>) -> PyResult<Option<ComputeType>> {
    let Some(code) = code else { return Ok(None) };
    match ComputeType::from_code(code) {
        Some(compute) => Ok(Some(compute)),
        None => Err(PyValueError::new_err(format!(
            "compute_type is {code}, which is no cublasComputeType_t that is known"
        ))),
    }
}

/// Reads the name of an element type.
pub(super) fn dtype(argument: &str, name: Option<&str>) -> PyResult<Option<DType>> {
    let Some(name) = name else { return Ok(None) };
    match DType::from_name(name) {
        Some(dtype) => Ok(Some(dtype)),
        None => Err(PyValueError::new_err(format!(
            "{argument} is {name:?}, which is no element type that is known"
        ))),
    }
}
