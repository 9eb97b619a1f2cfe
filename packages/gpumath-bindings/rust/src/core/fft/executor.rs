//! `FftExecutor`

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpumath_core::fft::Direction;
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyTuple};
use pyo3::{intern, prelude::*};

use super::FftPlan;
use super::parse::parse_direction;
use crate::interop::{Library, Operand, Reader};

/// The level of `logging` at which executions are told.
const INFO: i32 = 20;

/// Base of classes that execute one plan many times. What their users repeat costs no Python code.
///
/// A subclass has the methods ``_execute(direction, stream, release_workspace, out)`` and ``_reset_operand(operand,
/// stream)``, which are called where there are other arguments, before `_prepare`, where the logger writes down what
/// happens, and for operands that do not fit the plan.
#[pyclass(subclass, frozen, module = "gpumath.bindings.core")]
pub(crate) struct FftExecutor(Mutex<State>);

#[derive(Default)]
struct State {
    operand: Option<Py<PyAny>>,
    /// What the operand was when it was looked into.
    known: Option<Arc<TensorView>>,
    prepared: Option<Arc<Prepared>>,
}

type Parts<'py> = (Option<Bound<'py, PyAny>>, Option<Arc<TensorView>>, Option<Arc<Prepared>>);

/// What an execution takes.
struct Prepared {
    plan: FftPlan,
    /// That of executions which name none.
    direction: Direction,
    /// Whether others can name another one.
    is_free: bool,
    /// Name of the operand's library.
    library: String,
    /// Where the operand is.
    place: MemoryLocation,
    workspace: Py<PyAny>,
    blocking: bool,
    log: Log,
}

struct Log {
    logger: Py<PyAny>,
    /// Where the logger keeps its answers, and forgets them when a level changes.
    answers: Option<Py<PyDict>>,
}

#[pymethods]
impl FftExecutor {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        Self(Mutex::default())
    }

    /// What is executed on; None before there is one.
    #[getter]
    fn _operand(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.state().operand.as_ref().map(|operand| operand.clone_ref(py))
    }

    #[setter(_operand)]
    fn set_operand(&self, operand: Option<Py<PyAny>>) {
        self.take(operand, None);
    }

    /// Say what `execute` does: ``plan.run(operand, out, direction, None, workspace, blocking)``, for operands of this
    /// library, which is named as in messages, on this device or in host memory (None). `is_free` says whether an
    /// execution can have another direction.
    #[expect(clippy::too_many_arguments, reason = "all that is prepared")]
    fn _prepare(
        &self,
        library: String,
        device_id: Option<i32>,
        plan: &FftPlan,
        direction: i32,
        is_free: bool,
        workspace: Py<PyAny>,
        blocking: bool,
        logger: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let direction = parse_direction(direction)?;
        let plan = FftPlan { plan: Arc::clone(&plan.plan) };
        let place = device_id.map_or(MemoryLocation::Host, MemoryLocation::Device);
        self.replace(Some(Prepared {
            plan,
            direction,
            is_free,
            library,
            place,
            workspace,
            blocking,
            log: Log::of(logger)?,
        }));
        Ok(())
    }

    /// Take that back.
    fn _unprepare(&self) {
        self.replace(None);
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
    ///     Give the workspace on the GPU back after the run, instead of keeping it for the next.
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
            && let Some(result) = slf.get().execute_prepared(py, direction, out)?
        {
            return Ok(result);
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
    ///     same element type, shape and strides.
    /// stream : int or stream object, optional
    ///     Without effect: the operand is read by `execute`.
    ///
    /// Raises
    /// ------
    /// InvalidFFTState
    ///     The object is freed.
    /// ValueError
    ///     The operand differs from the first one in more than its values.
    #[pyo3(signature = (operand, *, stream=None))]
    fn reset_operand(
        slf: &Bound<'_, Self>,
        operand: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = slf.py();
        if stream.is_none()
            && let Some(prepared) = slf.get().prepared()
            && prepared.log.is_silent(py)?
            && let Some(known) = prepared.takes(operand)?
        {
            slf.get().take(Some(operand.clone().unbind()), Some(Arc::new(known)));
            return Ok(());
        }
        slf.call_method1(intern!(py, "_reset_operand"), (operand, stream))?;
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nothing but moves of pointers happens under the lock, so that it is free.
        let Ok(state) = self.0.try_lock() else { return Ok(()) };
        visit.call(&state.operand)?;
        if let Some(prepared) = &state.prepared {
            visit.call(&prepared.workspace)?;
            visit.call(&prepared.log.logger)?;
            visit.call(&prepared.log.answers)?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        let _old = std::mem::take(&mut *self.state());
    }
}

impl FftExecutor {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, prepared: Option<Prepared>) {
        let _old = std::mem::replace(&mut self.state().prepared, prepared.map(Arc::new));
    }

    /// `None` if that takes more than what is prepared.
    fn execute_prepared<'py>(
        &self,
        py: Python<'py>,
        direction: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (operand, known, prepared) = self.parts(py);
        let (Some(operand), Some(prepared)) = (operand, prepared) else { return Ok(None) };
        let Some(direction) = prepared.direction(direction) else { return Ok(None) };
        if out.is_some_and(|out| out.is(&operand)) || !prepared.log.is_silent(py)? {
            return Ok(None);
        }
        let reader = Reader::of(&operand)?;
        let source = match &known {
            Some(known) => reader.view_again(&operand, known, Some(0))?,
            None => reader.view(&operand, Some(0))?,
        };
        if !prepared.fits(&source) {
            return Ok(None);
        }
        if known.is_none() {
            self.know(&operand, &source);
        }
        prepared.run(&operand, source, reader.library(), out, direction)
    }

    fn prepared(&self) -> Option<Arc<Prepared>> {
        self.state().prepared.clone()
    }

    fn parts<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let state = self.state();
        let operand = state.operand.as_ref().map(|operand| operand.bind(py).clone());
        (operand, state.known.clone(), state.prepared.clone())
    }

    fn take(&self, operand: Option<Py<PyAny>>, known: Option<Arc<TensorView>>) {
        let old = {
            let mut state = self.state();
            state.known = known;
            std::mem::replace(&mut state.operand, operand)
        };
        // What it leaves behind is Python's affair, and so not done under the lock.
        drop(old);
    }

    /// Keeps what `operand` is, unless another one has come meanwhile.
    fn know(&self, operand: &Bound<'_, PyAny>, view: &TensorView) {
        let mut state = self.state();
        if state.operand.as_ref().is_some_and(|held| held.is(operand)) {
            state.known = Some(Arc::new(view.clone()));
        }
    }
}

impl Prepared {
    /// What `operand` is, if the plan, as it was prepared, can be executed on it.
    fn takes(&self, operand: &Bound<'_, PyAny>) -> PyResult<Option<TensorView>> {
        // Whether it is an array at all is for the subclass to say.
        let Ok(reader) = Reader::of(operand) else { return Ok(None) };
        if reader.library().name() != self.library {
            return Ok(None);
        }
        let view = reader.view(operand, None)?.view;
        reader.check_gradient(operand)?;
        Ok((self.fits(&view) && self.plan.plan.accepts(&view)).then_some(view))
    }

    /// Whether the plan runs on such an operand.
    fn fits(&self, view: &TensorView) -> bool {
        let problem = self.plan.plan.problem();
        view.device == self.place
            && view.dtype == problem.input_dtype()
            && view.layout.is_equivalent(&problem.input)
            && !(problem.inplace && view.readonly)
    }

    /// What an argument means; `None` if that takes a longer look.
    fn direction(&self, given: Option<&Bound<'_, PyAny>>) -> Option<Direction> {
        let Some(given) = given else { return Some(self.direction) };
        let direction = if let Ok(number) = given.cast::<PyInt>() {
            parse_direction(number.extract().ok()?).ok()?
        } else {
            match given.cast::<PyString>().ok()?.to_str().ok()? {
                "forward" => Direction::Forward,
                "inverse" => Direction::Inverse,
                _ => return None,
            }
        };
        (self.is_free || direction == self.direction).then_some(direction)
    }

    /// `None` if `out` does not fit the plan.
    fn run<'py>(
        &self,
        operand: &Bound<'py, PyAny>,
        source: Operand,
        library: Library,
        out: Option<&Bound<'py, PyAny>>,
        direction: Direction,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = operand.py();
        let workspace = self.workspace.bind(py);
        let result = self.plan.run_on(
            py,
            operand,
            source,
            library,
            out,
            direction,
            None,
            Some(workspace),
            self.blocking,
            None,
        );
        match result {
            // It may fit another plan.
            Err(error) if out.is_some() && error.is_instance_of::<PyValueError>(py) => Ok(None),
            other => other.map(Some),
        }
    }
}

impl Log {
    fn of(logger: Bound<'_, PyAny>) -> PyResult<Self> {
        let answers = logger.getattr_opt(intern!(logger.py(), "_cache"))?;
        let answers = answers.and_then(|answers| answers.cast_into_exact::<PyDict>().ok());
        Ok(Self { answers: answers.map(Bound::unbind), logger: logger.unbind() })
    }

    /// Whether no executions are written down: what the logger's `isEnabledFor` says, which is Python code.
    fn is_silent(&self, py: Python<'_>) -> PyResult<bool> {
        if let Some(answers) = &self.answers
            && let Some(answer) = answers.bind(py).get_item(INFO)?
            && answer.is(PyBool::new(py, false))
        {
            return Ok(true);
        }
        let answer = self.logger.bind(py).call_method1(intern!(py, "isEnabledFor"), (INFO,))?;
        Ok(!answer.is_truthy()?)
    }
}
