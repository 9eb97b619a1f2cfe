//! The results of a product: the product alone, or with a dictionary of what the epilog made.

use gpumath_core::matmul::{MatmulProblem, OutputRole};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The key of a result in the dictionary.
fn key(problem: &MatmulProblem, role: OutputRole) -> String {
    let aux = problem.epilog().aux_output().map_or("aux", |kind| kind.name());
    match role {
        OutputRole::Result => "result".to_owned(),
        OutputRole::Aux => aux.to_owned(),
        OutputRole::Sums => problem.epilog().name().to_lowercase(),
        OutputRole::ResultAmax => "result_amax".to_owned(),
        OutputRole::AuxAmax => format!("{aux}_amax"),
        OutputRole::ResultScales => "d_out_scale".to_owned(),
        OutputRole::MantissaBitCount => "mantissa_bit_count".to_owned(),
    }
}

/// The keys of all results but the product.
pub(super) fn keys(problem: &MatmulProblem) -> Vec<String> {
    problem.output_roles().skip(1).map(|role| key(problem, role)).collect()
}

/// Returns the product, or a tuple of it and the dictionary.
pub(super) fn to_python<'py>(
    py: Python<'py>,
    problem: &MatmulProblem,
    results: impl IntoIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut results = results.into_iter();
    let product = results.next().unwrap_or_else(|| py.None().into_bound(py));
    let roles = problem.output_roles().skip(1);
    let mut others: Option<Bound<'py, PyDict>> = None;
    for (role, result) in roles.zip(results) {
        let others = others.get_or_insert_with(|| PyDict::new(py));
        others.set_item(key(problem, role), result)?;
    }
    match others {
        None => Ok(product),
        Some(others) => (product, others).into_bound_py_any(py),
    }
}
