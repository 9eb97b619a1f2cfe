//! The class `StructuredMatmulExecutor`.

use std::cell::Cell;

use gpumath_core::structured_matmul::{Scalars, StructuredMatmul};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

use super::arguments::scalars;
use super::arrays::list_length;
use super::plan::PyStructuredMatmulPlan;
use crate::api::operation::{Executor, Prepared, Setting};
use crate::once::intern;

/// Base of classes that compute one product many times. What their users repeat costs no Python
/// code.
///
/// A subclass has the method ``_execute(stream, out)``. It is called before `_prepare`, for other
/// arguments, if the logger logs executions, and for operands that do not fit the plan.
#[pyclass(subclass, frozen, name = "StructuredMatmulExecutor", module = "gpumath.bindings.core")]
pub(crate) struct PyStructuredMatmulExecutor(Executor<StructuredMatmul, Defaults>);

/// What an execution without arguments does.
#[derive(Clone, Copy)]
struct Defaults {
    scalars: Scalars,
    /// Whether the operands were given as lists, so that the results are a list too.
    is_list: bool,
}

#[pymethods]
impl PyStructuredMatmulExecutor {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        Self(Executor::default())
    }

    /// The operands of executions: a, b and, if there is one, c; for lists, all of the first, then
    /// all of the next; none before there are any.
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
    /// This holds for operands of the library and on the device of the `setting`. `is_list` says
    /// whether they were given as lists.
    fn _prepare(
        &self,
        plan: &PyStructuredMatmulPlan,
        alpha: Option<&Bound<'_, PyAny>>,
        beta: Option<&Bound<'_, PyAny>>,
        setting: Setting<'_>,
        is_list: bool,
    ) -> PyResult<()> {
        let defaults = Defaults { scalars: scalars(alpha, beta)?, is_list };
        self.0.prepare(Some(Prepared::new(&plan.plan, defaults, setting)?));
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
            && let Some(result) = slf.get().execute_prepared(py, out)?
        {
            return Ok(result);
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

impl PyStructuredMatmulExecutor {
    /// Executes as prepared, to `out` if it is given; `None` declines.
    fn execute_prepared<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let length = out.and_then(list_length);
        let items: SmallVec<[Bound<'py, PyAny>; 1]> = match (out, length) {
            (Some(out), Some(_)) => out.try_iter()?.collect::<PyResult<_>>()?,
            (out, _) => out.into_iter().cloned().collect(),
        };
        let outs: SmallVec<[Option<&Bound<'py, PyAny>>; 1]> = items.iter().map(Some).collect();
        let is_list = Cell::new(false);
        let results = self.0.execute(py, &outs, |prepared| {
            is_list.set(prepared.defaults.is_list);
            let wanted = prepared.defaults.is_list.then(|| prepared.plan.problem().count());
            (out.is_none() || length == wanted).then_some(prepared.defaults.scalars)
        })?;
        Ok(match results {
            Some(results) if is_list.get() => Some(PyList::new(py, results)?.into_any()),
            Some(mut results) => Some(results.swap_remove(0)),
            None => None,
        })
    }
}
