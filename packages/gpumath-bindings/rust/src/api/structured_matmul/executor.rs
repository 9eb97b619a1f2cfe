//! The class `StructuredMatmulExecutor`.

use gpumath_core::structured_matmul::{Scalars, StructuredMatmul};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use super::arguments::scalars;
use super::plan::PyStructuredMatmulPlan;
use crate::api::operation::{Executor, Prepared, Setting};
use crate::once::intern;

/// Base of classes that compute one product many times. What their users repeat costs no Python
/// code.
///
/// A subclass has the method ``_execute(stream, out)``. It is called before `_prepare`, for other
/// arguments, if the logger logs executions, and for operands that do not fit the plan.
#[pyclass(subclass, frozen, name = "StructuredMatmulExecutor", module = "gpumath.bindings.core")]
pub(crate) struct PyStructuredMatmulExecutor(Executor<StructuredMatmul, Scalars>);

#[pymethods]
impl PyStructuredMatmulExecutor {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        Self(Executor::default())
    }

    /// The operands of executions: a, b and, if there is one, c; none before there are any.
    #[getter]
    fn _operands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.operands(py))
    }

    #[setter(_operands)]
    fn set_operands(&self, operands: Vec<Py<PyAny>>) {
        self.0.set_operands(operands.into());
    }

    /// Take other operands for which the plan fits too; False if it does not, or if that is to be
    /// logged.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 makes an owned list of arguments")]
    fn _reset(&self, py: Python<'_>, operands: Vec<Bound<'_, PyAny>>) -> PyResult<bool> {
        let operands: SmallVec<[&Bound<'_, PyAny>; 3]> = operands.iter().collect();
        self.0.reset(py, &operands)
    }

    /// Make `execute` call ``plan.run(a, b, c, alpha, beta, out, None, workspace, blocking)``.
    ///
    /// This holds for operands of the library and on the device of the `setting`.
    fn _prepare(
        &self,
        plan: &PyStructuredMatmulPlan,
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

    /// Compute the product.
    ///
    /// Parameters
    /// ----------
    /// stream : int or stream object, optional
    ///     CUDA stream to work on, as for `matmul`.
    /// out : array or sequence of array, optional
    ///     Arrays to write the results to, with the layouts that `plan` was made for. Then nothing
    ///     is allocated.
    ///
    /// Returns
    /// -------
    /// array or list of array
    ///     ``out`` if it is given, or ``c`` with the option ``inplace``. Otherwise new arrays, as
    ///     from `matmul`.
    ///
    /// Raises
    /// ------
    /// InvalidMatmulState
    ///     The object is freed or not planned, or its operands were released. It is a RuntimeError.
    ///     While a CUDA graph is captured: something cannot be captured.
    /// ValueError
    ///     ``out`` does not fit.
    #[pyo3(signature = (*, stream=None, out=None))]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if stream.is_none()
            && let Some(mut results) =
                slf.get().0.execute(py, &[out], |prepared| Some(prepared.defaults))?
        {
            return Ok(results.swap_remove(0));
        }
        slf.call_method1(intern!(py, "_execute"), (stream, out))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        self.0.clear();
    }
}
