//! Plans of any operation.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::plan_cache;
use super::{Call, Engine, Execution, OperandSpec, Operation, Problem, Request};
use crate::device::{ContextGuard, drop_released, keep_with_graph};
use crate::error::{Error, Result};
use crate::memory;
use crate::tensor::TensorView;

/// A problem made ready to run. A plan holds no workspace, so that any number of them can be kept.
#[derive(Debug)]
pub struct Plan<O: Operation> {
    problem: O::Problem,
    execution: Execution,
    /// `None` for an empty problem: there is nothing to compute.
    engine: Option<O::Engine>,
    /// When the plan cache last gave it out, on the cache's clock.
    pub(super) last_use: AtomicU64,
}

/// An answer of [`Plan::find`].
#[derive(Debug)]
pub enum PlanLookup<O: Operation> {
    /// The plan is in the cache.
    Cached(Arc<Plan<O>>),
    /// The problem has no plan yet.
    Missing(Box<O::Problem>),
}

impl<O: Operation> Plan<O> {
    /// Plans `problem`. If memory is short, frees what gpumath itself keeps, which is the
    /// cached plans of all operations and the idle memory of its pools, and tries once more.
    pub fn new(problem: O::Problem, execution: Execution) -> Result<Self> {
        drop_released();
        O::check_plan(&problem, execution)?;
        let plan = || {
            if problem.is_empty() {
                execution.check_devices().map(|()| None)
            } else {
                O::plan(&problem, execution).map(Some)
            }
        };
        let engine = match plan() {
            Err(Error::OutOfMemory(_)) => {
                plan_cache::drop_plans();
                execution.ordinals().iter().try_for_each(|&device| memory::trim(device))?;
                plan()
            }
            planned => planned,
        }?;
        Ok(Self { problem, execution, engine, last_use: AtomicU64::new(0) })
    }

    /// Looks up what `request` asks of `inputs` in the cache.
    pub fn find(
        request: &O::Request,
        inputs: &[&TensorView],
        execution: Execution,
    ) -> Result<PlanLookup<O>> {
        let is_simple = request.is_about_inputs_alone();
        if is_simple && let Some(plan) = plan_cache::find_recent(request, inputs, execution) {
            return Ok(PlanLookup::Cached(plan));
        }
        let key = (request.problem(inputs, execution)?, execution);
        let Some(plan) = plan_cache::find::<O>(&key) else {
            return Ok(PlanLookup::Missing(Box::new(key.0)));
        };
        if is_simple {
            plan_cache::remember(request, inputs, execution, &plan);
        }
        Ok(PlanLookup::Cached(plan))
    }

    /// Returns the plan from the cache, which gets it first if it is not there.
    pub fn cached(problem: O::Problem, execution: Execution) -> Result<Arc<Self>> {
        plan_cache::get_or_insert::<O>((problem, execution))
    }

    /// Whether the plan was made for inputs like these: as many, of the same layouts, element types
    /// and, where the plan reads them itself, alignment.
    #[must_use]
    pub fn accepts(&self, inputs: &[&TensorView]) -> bool {
        let location = self.execution.location();
        let fits = |(index, (spec, view)): (usize, (OperandSpec<'_>, &&TensorView))| {
            spec.matches(view) && self.problem.fits_input(index, view, location)
        };
        inputs.len() == self.problem.inputs().count()
            && self.problem.inputs().zip(inputs).enumerate().all(fits)
    }

    /// What is computed, and where: all that a plan depends on.
    #[must_use]
    pub fn key(&self) -> (&O::Problem, Execution) {
        (&self.problem, self.execution)
    }

    /// What is computed.
    #[must_use]
    pub fn problem(&self) -> &O::Problem {
        &self.problem
    }

    /// Where it is computed.
    #[must_use]
    pub fn execution(&self) -> Execution {
        self.execution
    }

    /// What computes; `None` for an empty problem.
    #[must_use]
    pub fn engine(&self) -> Option<&O::Engine> {
        self.engine.as_ref()
    }

    /// Name of the engine; `"none"` for an empty problem.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        self.engine.as_ref().map_or("none", Engine::name)
    }

    /// Bytes of device memory that [`Self::execute`] needs: see [`Engine::workspace_size`].
    #[must_use]
    pub fn workspace_size(&self) -> usize {
        self.engine.as_ref().map_or(0, Engine::workspace_size)
    }

    /// Bytes of workspace that a caller of [`Self::execute`] allocates: none for several devices,
    /// whose engines allocate for themselves.
    #[must_use]
    pub fn workspace_to_allocate(&self) -> usize {
        if self.execution.devices().is_some() { 0 } else { self.workspace_size() }
    }

    /// Bytes of device memory that making the plan took. Memory that others allocated on the
    /// devices at the same time counts too.
    #[must_use]
    pub fn device_memory(&self) -> usize {
        self.engine.as_ref().map_or(0, Engine::device_memory)
    }

    /// About how many bytes of host memory the plan takes.
    #[must_use]
    pub fn host_memory(&self) -> usize {
        self.engine.as_ref().map_or(0, Engine::host_memory)
    }

    /// How many calls of the engine's library one execution makes.
    #[must_use]
    pub fn library_calls(&self) -> usize {
        self.engine.as_ref().map_or(0, Engine::library_calls)
    }

    /// Computes where the operands are. Never allocates device memory and, on one CUDA device,
    /// never waits for it; several devices block until the results are there. If the stream is
    /// captured into a graph, the graph keeps the plan.
    ///
    /// # Safety
    /// As for [`Engine::execute`]. The location of `call` is one that the plan's execution
    /// [reaches](Execution::reaches).
    pub unsafe fn execute(self: &Arc<Self>, call: &Call<'_, O::Arguments>) -> Result<()> {
        O::check_arguments(&self.problem, call.arguments)?;
        let Some(engine) = &self.engine else { return Ok(()) };
        let needed = self.workspace_to_allocate();
        if call.workspace == 0 && needed > 0 {
            return Err(Error::InvalidValue(format!(
                "this plan needs a workspace of {needed} bytes, but none was given"
            )));
        }
        let context = match (self.execution, call.stream) {
            (Execution::Cuda { .. }, Some(stream)) => {
                let context = ContextGuard::enter(stream.device())?;
                keep_with_graph(&context, stream, Some(call.capture), || {
                    Box::new(Arc::clone(self))
                })?;
                Some(context)
            }
            _ => None,
        };
        // SAFETY: the caller's guarantees are those that the engine asks for.
        unsafe { engine.execute(context.as_ref(), call) }
    }
}
