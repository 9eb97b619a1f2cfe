//! The class `FftExecutor`.

use gpumath_core::fft::{Direction, Fft, FftArguments};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::arguments::{parse_direction, read_direction};
use super::plan::PyFftPlan;
use crate::api::operation::{Executor, Prepared, Setting};
use crate::once::intern;

/// Base of classes that execute one plan many times. What their users repeat costs no Python code.
///
/// A subclass has the methods ``_execute(direction, stream, release_workspace, out)`` and
/// ``_reset_operand(operand, stream)``. They are called before `_prepare`, for other arguments, if
/// the logger logs executions, and for operands that do not fit the plan.
#[pyclass(subclass, frozen, name = "FftExecutor", module = "gpumath.bindings.core")]
pub(crate) struct PyFftExecutor(Executor<Fft, Directions>);

/// The direction of executions.
struct Directions {
    /// Direction of an execution that names none.
    default: Direction,
    /// Whether an execution may name another direction.
    is_free: bool,
}

#[pymethods]
impl PyFftExecutor {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        Self(Executor::default())
    }

    /// The operand of executions; None before there is one.
    #[getter]
    fn _operand<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.0.operands(py).pop()
    }

    #[setter(_operand)]
    fn set_operand(&self, operand: Option<Py<PyAny>>) {
        self.0.set_operands(operand.into_iter().collect());
    }

    /// Make `execute` call ``plan.run(operand, out, direction, None, workspace, blocking)``.
    ///
    /// This holds for operands of the library and on the device of the `setting`. `is_free` says
    /// whether an execution can have another direction.
    fn _prepare(
        &self,
        plan: &PyFftPlan,
        direction: i32,
        is_free: bool,
        setting: Setting<'_>,
    ) -> PyResult<()> {
        let defaults = Directions { default: parse_direction(direction)?, is_free };
        self.0.prepare(Some(Prepared::new(&plan.plan, defaults, setting)?));
        Ok(())
    }

    /// Undo `_prepare`.
    fn _unprepare(&self) {
        self.0.prepare(None);
    }

    /// Run the transform.
    ///
    /// Parameters
    /// ----------
    /// direction : FFTDirection, {'forward', 'inverse'} or int, optional
    ///     By default inverse for C2R and forward for the others, or the direction of `plan`.
    /// stream : int or stream object, optional
    ///     CUDA stream to work on, as for `fft`.
    /// release_workspace : bool, default: False
    ///     Free the workspace on the GPU after the run, instead of keeping it for the next.
    /// out : array, optional
    ///     Array to write the result to, on the operand's device and with the layout of
    ///     `get_output_layout`; or, for C2C, the operand itself. Then nothing is allocated.
    ///
    /// Returns
    /// -------
    /// array
    ///     ``out`` if it is given. Otherwise an array of the operand's device, and of its library
    ///     as for `fft`; its shape and strides are those of `get_output_layout`. It is not scaled.
    ///     With ``inplace`` it is the operand itself.
    ///
    /// Raises
    /// ------
    /// InvalidFFTState
    ///     The object is freed or not planned, or its operand was released. It is a RuntimeError.
    ///     While a CUDA graph is captured: something cannot be captured.
    /// ValueError
    ///     The direction is not a direction, not that of `plan`, or not that of an R2C or C2R
    ///     transform; ``out`` does not fit.
    #[pyo3(
        signature = (direction=None, stream=None, release_workspace=None, out=None),
        text_signature = "($self, direction=None, stream=None, release_workspace=False, out=None)"
    )]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        direction: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        release_workspace: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if stream.is_none()
            && release_workspace.is_none()
            && let Some(mut results) =
                slf.get().0.execute(py, &[out], |prepared| prepared.arguments(direction))?
        {
            return Ok(results.swap_remove(0));
        }
        let release_workspace = release_workspace.map_or(Ok(false), PyAnyMethods::is_truthy)?;
        slf.call_method1(intern!(py, "_execute"), (direction, stream, release_workspace, out))
    }

    /// Take another operand, for which the plan fits too.
    ///
    /// Parameters
    /// ----------
    /// operand : array
    ///     Of the first operand's library and memory, and with an equal key (`create_key`): of the
    ///     same element type, shape and strides. The batch may have another shape if the same calls
    ///     of cuFFT transform it, such as ``(256, 4, 6)`` instead of ``(256, 24)`` for the axis 0;
    ///     the result then has that shape.
    /// stream : int or stream object, optional
    ///     Without effect: the operand is read by `execute`.
    ///
    /// Raises
    /// ------
    /// InvalidFFTState
    ///     The object is freed.
    /// ValueError
    ///     The operand differs from the first one in more than its values and the shape of the
    ///     batch.
    #[pyo3(signature = (operand, *, stream=None))]
    fn reset_operand(
        slf: &Bound<'_, Self>,
        operand: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        if stream.is_some() || !slf.get().0.reset(py, &[operand])? {
            slf.call_method1(intern!(py, "_reset_operand"), (operand, stream))?;
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        self.0.clear();
    }
}

impl Prepared<Fft, Directions> {
    /// Returns the arguments for the direction that an execution names; `None` declines other
    /// values, which only the subclass reads.
    fn arguments(&self, given: Option<&Bound<'_, PyAny>>) -> Option<FftArguments> {
        let Directions { default, is_free } = self.defaults;
        let direction = given.map_or(Some(default), read_direction)?;
        (is_free || direction == default).then_some(FftArguments { direction, factor: None })
    }
}
