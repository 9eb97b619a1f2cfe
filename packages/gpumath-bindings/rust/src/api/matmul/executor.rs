//! The class `MatmulExecutor`.

use std::sync::Arc;

use gpumath_core::matmul::{Matmul, MatmulArguments};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::arguments::scalars;
use super::plan::PyMatmulPlan;
use super::results::to_python;
use crate::api::operation::{Executor, Prepared, Setting};
use crate::once::intern;

/// Base of classes that execute one product many times. What their users repeat costs no Python
/// code.
///
/// A subclass has the method ``_execute(algorithm, release_workspace, stream, out)``. It is called
/// before `_prepare`, for other arguments, if the logger logs executions, and for operands that do
/// not fit the plan.
#[pyclass(subclass, frozen, name = "MatmulExecutor", module = "gpumath.bindings.core")]
pub(crate) struct PyMatmulExecutor(Executor<Matmul, MatmulArguments>);

#[pymethods]
impl PyMatmulExecutor {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        Self(Executor::default())
    }

    /// The operands of executions, in the plan's order; empty before there are any.
    #[getter]
    fn _operands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.operands(py))
    }

    #[setter(_operands)]
    fn set_operands(&self, operands: Vec<Py<PyAny>>) {
        self.0.set_operands(operands.into_iter().collect());
    }

    /// Make `execute` call ``plan.run(...)`` with the operands, in the plan's order.
    ///
    /// This holds for operands of the library and on the device of the `setting`.
    fn _prepare(
        &self,
        plan: &PyMatmulPlan,
        alpha: Option<&Bound<'_, PyAny>>,
        beta: Option<&Bound<'_, PyAny>>,
        setting: Setting<'_>,
    ) -> PyResult<()> {
        self.0.prepare(Some(Prepared::new(&plan.plan, scalars(alpha, beta)?, setting)?));
        Ok(())
    }

    /// Undo `_prepare`.
    fn _unprepare(&self) {
        self.0.prepare(None);
    }

    /// Take other operands for which the plan fits too, in its order; False declines.
    #[pyo3(signature = (*operands))]
    fn _try_reset(&self, py: Python<'_>, operands: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let operands: Vec<Bound<'_, PyAny>> = operands.iter().collect();
        self.0.reset(py, &operands.iter().collect::<Vec<_>>())
    }

    /// Multiply.
    ///
    /// Parameters
    /// ----------
    /// algorithm : Algorithm, optional
    ///     One of `algorithms`; by default the first one.
    /// release_workspace : bool, default: False
    ///     Free the workspace on the GPU after the run, instead of keeping it for the next.
    /// stream : int or stream object, optional
    ///     CUDA stream to work on, as for `matmul`.
    /// out : array, optional
    ///     Array to write the result to, on the operands' device. Then none is allocated for it.
    ///
    /// Returns
    /// -------
    /// array, or tuple of an array and a dict
    ///     The result: ``out``, or a new array, or ``c`` with the option ``inplace``. If the epilog
    ///     makes more, also a dictionary of that.
    ///
    /// Raises
    /// ------
    /// InvalidMatmulState
    ///     The object is freed or not planned, or its operands were released. It is a RuntimeError.
    ///     While a CUDA graph is captured: something cannot be captured.
    /// ValueError
    ///     ``out`` or ``algorithm`` is not for this product.
    #[pyo3(
        signature = (*, algorithm=None, release_workspace=None, stream=None, out=None),
        text_signature =
            "($self, *, algorithm=None, release_workspace=False, stream=None, out=None)"
    )]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        algorithm: Option<&Bound<'py, PyAny>>,
        release_workspace: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if algorithm.is_none() && stream.is_none() && release_workspace.is_none() {
            let mut plan = None;
            let results = slf.get().0.execute(py, &[out], |prepared| {
                plan = Some(Arc::clone(&prepared.plan));
                Some(prepared.defaults)
            })?;
            if let (Some(results), Some(plan)) = (results, plan) {
                return to_python(py, plan.problem(), results);
            }
        }
        let release_workspace = release_workspace.map_or(Ok(false), PyAnyMethods::is_truthy)?;
        let name = intern!(py, "_execute");
        slf.call_method1(name, (algorithm, release_workspace, stream, out))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        self.0.clear();
    }
}
