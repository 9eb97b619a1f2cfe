//! Objects that execute one plan many times. What their users repeat costs no Python code.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpumath_core::operation::{Operation, Plan, Problem};
use gpumath_core::tensor::{MemoryLocation, TensorView};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use smallvec::SmallVec;

use super::invocation::Results;
use super::operands::views;
use super::{Input, Invocation, PyWorkspace};
use crate::interop::{ArrayLibrary, Named, OperandProtocol};
use crate::once::intern;

/// The level of `logging` at which executions are logged.
const INFO: i32 = 20;

/// The state of an object that executes plans of one operation. `Defaults` says what an execution
/// without arguments does.
///
/// Every method that answers `None` or `false` has declined: nothing has happened, and the caller's
/// Python code takes the longer way, which may plan again, log, or explain what is wrong.
pub(crate) struct Executor<O: Operation, Defaults>(Mutex<State<O, Defaults>>);

struct State<O: Operation, Defaults> {
    operands: SmallVec<[Py<PyAny>; 2]>,
    /// What the operands were when they were last checked against the plan, and fitted it.
    known: Option<Arc<KnownViews>>,
    prepared: Option<Arc<Prepared<O, Defaults>>>,
}

type KnownViews = SmallVec<[TensorView; 2]>;

/// What an execution takes besides operands.
pub(crate) struct Prepared<O: Operation, Defaults> {
    pub(crate) plan: Arc<Plan<O>>,
    pub(crate) defaults: Defaults,
    /// Name of the operands' library.
    library: String,
    /// Where the operands are.
    location: MemoryLocation,
    workspace: Py<PyWorkspace>,
    blocking: bool,
    log: ExecutionLog,
}

/// What an object says once of all its executions: the operands' library, named as in messages, and
/// their device, None for host memory; the workspace; whether to wait; the logger.
pub(crate) type Setting<'py> = (String, Option<i32>, Py<PyWorkspace>, bool, Bound<'py, PyAny>);

impl<O: Operation, Defaults> Prepared<O, Defaults> {
    pub(crate) fn new(
        plan: &Arc<Plan<O>>,
        defaults: Defaults,
        setting: Setting<'_>,
    ) -> PyResult<Self> {
        let (library, device_id, workspace, blocking, logger) = setting;
        let location = device_id.map_or(MemoryLocation::Host, MemoryLocation::Device);
        let (plan, log) = (Arc::clone(plan), ExecutionLog::of(logger)?);
        Ok(Self { plan, defaults, library, location, workspace, blocking, log })
    }
}

impl<O: Operation, Defaults> Default for Executor<O, Defaults> {
    fn default() -> Self {
        Self(Mutex::new(State { operands: SmallVec::new(), known: None, prepared: None }))
    }
}

impl<O: Operation, Defaults> Executor<O, Defaults> {
    /// The operands; none before there are any.
    pub(crate) fn operands<'py>(&self, py: Python<'py>) -> SmallVec<[Bound<'py, PyAny>; 2]> {
        self.state().operands.iter().map(|operand| operand.bind(py).clone()).collect()
    }

    /// Takes other operands, without looking into them.
    pub(crate) fn set_operands(&self, operands: SmallVec<[Py<PyAny>; 2]>) {
        self.replace_operands(operands, None);
    }

    /// Says what an execution does; `None` declines all that follow.
    pub(crate) fn prepare(&self, prepared: Option<Prepared<O, Defaults>>) {
        let old = {
            let mut state = self.state();
            state.known = None;
            std::mem::replace(&mut state.prepared, prepared.map(Arc::new))
        };
        drop(old);
    }

    /// Executes as prepared. `arguments` chooses those of the operation; `None` declines.
    pub(crate) fn execute<'py>(
        &self,
        py: Python<'py>,
        outs: &[Option<&Bound<'py, PyAny>>],
        arguments: impl FnOnce(&Prepared<O, Defaults>) -> Option<O::Arguments>,
    ) -> PyResult<Option<Results<'py>>> {
        let (operands, known, Some(prepared)) = self.parts(py) else { return Ok(None) };
        let Some(arguments) = arguments(&prepared) else { return Ok(None) };
        if operands.is_empty() || !prepared.log.is_silent(py)? {
            return Ok(None);
        }
        let mut inputs: SmallVec<[Input<'_>; 2]> = SmallVec::new();
        let mut library = ArrayLibrary::Other;
        for (index, object) in operands.into_iter().enumerate() {
            let name = || prepared.plan.problem().input(index).map_or("", |spec| spec.name);
            let read = OperandProtocol::of(&object).and_then(|protocol| {
                if index == 0 {
                    library = protocol.library();
                }
                match known.as_ref().and_then(|known| known.get(index)) {
                    Some(known) => protocol.view_again(&object, known, Some(0)),
                    None => protocol.view(&object, Some(0)),
                }
            });
            match read {
                Ok(operand) if operand.device == prepared.location => {
                    inputs.push(Input { object, operand });
                }
                Ok(_) => return Ok(None),
                Err(refusal) => return Err(refusal).named(py, name()),
            }
        }
        let mut given: SmallVec<[Option<Input<'_>>; 1]> = SmallVec::new();
        if outs.iter().any(Option::is_some) {
            for out in outs {
                given.push(match out.map(|out| look_into_out(library.name(), &inputs, out)) {
                    None => None,
                    Some(None) => return Ok(None),
                    Some(given) => given,
                });
            }
        }
        let is_known = known
            .is_some_and(|known| known.iter().eq(inputs.iter().map(|input| &input.operand.view)));
        let invocation = Invocation {
            plan: &prepared.plan,
            library,
            inputs: &mut inputs,
            outs: &mut given,
            arguments,
            stream: None,
            workspace: Some(prepared.workspace.get()),
            blocking: prepared.blocking,
        };
        let checked = if is_known { invocation.check_outs() } else { invocation.check() };
        if checked.is_err() {
            return Ok(None);
        }
        if !is_known {
            self.note_views(&prepared, invocation.inputs);
        }
        invocation.run(py).map(Some)
    }

    /// Takes other operands for which the plan fits too; `false` declines.
    pub(crate) fn reset(&self, py: Python<'_>, operands: &[&Bound<'_, PyAny>]) -> PyResult<bool> {
        let Some(prepared) = self.state().prepared.clone() else { return Ok(false) };
        if !prepared.log.is_silent(py)? {
            return Ok(false);
        }
        let mut known = KnownViews::new();
        for operand in operands {
            // Whether it is an array at all is for the longer way to say.
            let Ok(protocol) = OperandProtocol::of(operand) else { return Ok(false) };
            if protocol.library().name() != prepared.library {
                return Ok(false);
            }
            let Ok(found) = protocol.view(operand, None) else { return Ok(false) };
            if protocol.check_gradient(operand).is_err() || found.device != prepared.location {
                return Ok(false);
            }
            known.push(found.view);
        }
        let views: SmallVec<[&TensorView; 4]> = known.iter().collect();
        let mut overwritten = prepared.plan.problem().overwritten_inputs();
        let is_accepted =
            prepared.plan.accepts(&views) && overwritten.all(|index| !views[index].readonly);
        drop(views);
        if !is_accepted {
            return Ok(false);
        }
        let operands = operands.iter().map(|&operand| operand.clone().unbind()).collect();
        self.replace_operands(operands, Some(Arc::new(known)));
        Ok(true)
    }

    /// Visits what the object refers to, for the garbage collector.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Only moves of pointers happen under the lock, so it is free.
        let Ok(state) = self.0.try_lock() else { return Ok(()) };
        for operand in &state.operands {
            visit.call(operand)?;
        }
        if let Some(prepared) = &state.prepared {
            visit.call(&prepared.workspace)?;
            prepared.log.traverse(visit)?;
        }
        Ok(())
    }

    /// Drops all references, for the garbage collector.
    pub(crate) fn clear(&self) {
        self.prepare(None);
        self.set_operands(SmallVec::new());
    }

    fn state(&self) -> MutexGuard<'_, State<O, Defaults>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::type_complexity, reason = "the three fields of the state")]
    fn parts<'py>(
        &self,
        py: Python<'py>,
    ) -> (
        SmallVec<[Bound<'py, PyAny>; 2]>,
        Option<Arc<KnownViews>>,
        Option<Arc<Prepared<O, Defaults>>>,
    ) {
        let state = self.state();
        let operands = state.operands.iter().map(|operand| operand.bind(py).clone()).collect();
        (operands, state.known.clone(), state.prepared.clone())
    }

    fn replace_operands(&self, operands: SmallVec<[Py<PyAny>; 2]>, known: Option<Arc<KnownViews>>) {
        let old = {
            let mut state = self.state();
            state.known = known;
            std::mem::replace(&mut state.operands, operands)
        };
        // Dropping a Python object may run any code, so the lock is not held.
        drop(old);
    }

    /// Keeps what the operands are, which fit what is prepared, unless others have come meanwhile.
    fn note_views(&self, prepared: &Arc<Prepared<O, Defaults>>, inputs: &[Input<'_>]) {
        let mut state = self.state();
        let is_same = state.prepared.as_ref().is_some_and(|own| Arc::ptr_eq(own, prepared));
        let are_same = is_same
            && state.operands.len() == inputs.len()
            && state.operands.iter().zip(inputs).all(|(held, input)| held.is(&input.object));
        if are_same {
            let known = views(inputs).into_iter().cloned().collect();
            state.known = Some(Arc::new(known));
        }
    }
}

/// The logger that executions may be written to.
struct ExecutionLog {
    logger: Py<PyAny>,
    /// The logger's own memory of its answers, which it clears when a level changes: the dictionary
    /// `Logger._cache`.
    answers: Option<Py<PyDict>>,
}

impl ExecutionLog {
    fn of(logger: Bound<'_, PyAny>) -> PyResult<Self> {
        let answers = logger.getattr_opt(intern!(logger.py(), "_cache"))?;
        let answers = answers.and_then(|answers| answers.cast_into_exact::<PyDict>().ok());
        Ok(Self { answers: answers.map(Bound::unbind), logger: logger.unbind() })
    }

    /// Whether no executions are logged. Asking `isEnabledFor`, which is Python code, in every
    /// execution would take about 0.2 µs longer, a twentieth of an execution in place.
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

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.logger)?;
        visit.call(&self.answers)
    }
}

/// Looks into an array for a result; `None` declines, also for the very object of an operand, since
/// that takes a plan that works in place.
fn look_into_out<'py>(
    library: &str,
    inputs: &[Input<'py>],
    out: &Bound<'py, PyAny>,
) -> Option<Input<'py>> {
    if inputs.iter().any(|input| input.object.is(out)) {
        return None;
    }
    let protocol = OperandProtocol::of(out).ok()?;
    if protocol.library().name() != library || protocol.check_gradient(out).is_err() {
        return None;
    }
    let found = protocol.view(out, Some(0));
    found.ok().map(|operand| Input { object: out.clone(), operand })
}
