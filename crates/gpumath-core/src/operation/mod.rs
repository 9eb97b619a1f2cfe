//! The skeleton of every operation: from a request to a problem, a plan and its executions.
//!
//! An operation states four things: what a user can choose ([`Request`]), what a plan is made for
//! ([`Problem`]), what computes ([`Engine`]), and what an execution takes besides operands. The
//! skeleton does the rest, and knows no operation:
//!
//! - [`Plan`] makes plans, again without cached ones if memory is short, and executes them.
//! - [`plan_cache`] keeps plans, for all operations and threads under one limit.
//! - `placement` copies operands to where the plan computes, and results back.
//! - [`Operand`] is memory that is borrowed for an execution. Rust programs call [`Plan::run`] and
//!   [`compute`], without `unsafe`.
//! - [`Workspace`] keeps the memory that executions work in.

mod check;
mod execution;
mod operand;
mod output;
mod placement;
mod plan;
pub mod plan_cache;
mod run;
#[cfg(test)]
mod toy;
mod workspace;

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use crate::device::{CaptureStatus, ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::tensor::{DType, Layout, MemoryLocation, TensorView};

pub use execution::{Execution, usable_cores};
pub use operand::Operand;
#[cfg(feature = "cudarc")]
pub(crate) use operand::check_range;
pub use output::{MAX_ALIGNMENT, alignment, check_output};
pub use plan::{Plan, PlanLookup};
pub use plan_cache::{PlanCache, RecentPlans};
pub use run::{Computed, compute};
pub use workspace::{Workspace, allocate_in_graph, captured};

/// One operation, such as the Fourier transform. The type has no values; it ties the others
/// together.
pub trait Operation: Sized + 'static {
    /// What a user chooses.
    type Request: Request<Problem = Self::Problem>;
    /// What a plan is made for.
    type Problem: Problem;
    /// What computes.
    type Engine: Engine<Arguments = Self::Arguments>;
    /// What an execution takes besides operands.
    type Arguments: Copy + Send + Sync;

    /// Plans `problem`, which is not empty. Nothing is left behind after an error.
    fn plan(problem: &Self::Problem, execution: Execution) -> Result<Self::Engine>;

    /// Checks what does not need an engine: also for empty problems, before [`Self::plan`].
    fn check_plan(_problem: &Self::Problem, _execution: Execution) -> Result<()> {
        Ok(())
    }

    /// Checks the arguments of an execution.
    fn check_arguments(_problem: &Self::Problem, _arguments: Self::Arguments) -> Result<()> {
        Ok(())
    }

    /// Returns the cache of the operation's plans, a `static` of its own.
    fn plan_cache() -> &'static PlanCache<Self>;
}

/// The choices that a user makes; everything else follows from the operands.
pub trait Request: Clone + Debug + PartialEq + 'static {
    /// What it becomes.
    type Problem;

    /// Poses the problem for these inputs, in the order of the operation's arguments.
    fn problem(&self, inputs: &[&TensorView], execution: Execution) -> Result<Self::Problem>;

    /// Whether the problem follows from the types and layouts of the inputs alone. It does not if,
    /// say, memory for the result is given, because the two may be the same memory.
    fn is_about_inputs_alone(&self) -> bool;
}

/// What a plan is made for. It is the key of the plan cache.
pub trait Problem: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// Describes the inputs, in the order of the operation's arguments.
    fn input(&self, index: usize) -> Option<OperandSpec<'_>>;

    /// Describes the results.
    fn output(&self, index: usize) -> Option<OperandSpec<'_>>;

    /// The inputs that results overwrite, if the operation works in place: the first result the
    /// first of them, and so on. Further results have memory of their own.
    fn overwritten_inputs(&self) -> Range<usize> {
        0..0
    }

    /// The input that a result overwrites.
    fn overwritten_input(&self, output: usize) -> Option<usize> {
        self.overwritten_inputs().nth(output)
    }

    /// Whether there is nothing to compute and nothing to write.
    fn is_empty(&self) -> bool;

    /// Whether a plan for this problem fits the address of an input that its engine, which is at
    /// `location`, reads itself.
    fn fits_input(&self, _index: usize, _view: &TensorView, _location: MemoryLocation) -> bool {
        true
    }

    /// Like [`Self::fits_input`], for a given array that the engine writes itself.
    fn fits_output(&self, _index: usize, _view: &TensorView, _location: MemoryLocation) -> bool {
        true
    }

    /// The descriptions of all inputs.
    fn inputs(&self) -> impl Iterator<Item = OperandSpec<'_>> {
        (0..).map_while(|index| self.input(index))
    }

    /// The descriptions of all results.
    fn outputs(&self) -> impl Iterator<Item = OperandSpec<'_>> {
        (0..).map_while(|index| self.output(index))
    }
}

/// What a problem says of one operand.
#[derive(Clone, Copy, Debug)]
pub struct OperandSpec<'a> {
    /// The operand's name in messages: that of the argument.
    pub name: &'static str,
    /// Its element type.
    pub dtype: DType,
    /// Its shape and strides.
    pub layout: &'a Layout,
}

impl OperandSpec<'_> {
    /// Whether `view` has this element type, and every element where the layout has it.
    #[must_use]
    pub fn matches(&self, view: &TensorView) -> bool {
        view.dtype == self.dtype && view.layout.is_equivalent(self.layout)
    }

    /// A view of such an operand at an address.
    #[must_use]
    pub fn view_at(&self, ptr: usize, location: MemoryLocation) -> TensorView {
        let layout = self.layout.clone();
        TensorView { ptr, dtype: self.dtype, layout, device: location, readonly: false }
    }
}

/// A planned computation on one kind of hardware. It holds no workspace.
pub trait Engine: Debug + Send + Sync {
    /// What an execution takes besides operands.
    type Arguments;

    /// The engine's name, which is that of the library that computes.
    fn name(&self) -> &'static str;

    /// Bytes of device memory that [`Self::execute`] is given to work in. An engine on several
    /// devices allocates for itself: the bytes that it takes on the device where it takes most.
    fn workspace_size(&self) -> usize {
        0
    }

    /// Bytes of device memory that the engine itself takes, on all its devices together.
    fn device_memory(&self) -> usize {
        0
    }

    /// About how many bytes of host memory the engine itself takes.
    fn host_memory(&self) -> usize {
        0
    }

    /// How many calls of the library one execution makes.
    fn library_calls(&self) -> usize {
        1
    }

    /// Computes. On one CUDA device, whose context is current then, the work is enqueued on the
    /// stream of the call. An engine on several devices blocks until the results are there.
    ///
    /// # Safety
    /// - The addresses of `call` are those of the elements at index (0, …, 0) of memory with the
    ///   problem's layouts and types, at the call's location, valid until the work is done.
    /// - Results overlap neither each other nor inputs, but for the input that is overwritten.
    /// - The workspace has [`Self::workspace_size`] bytes, aligned to [`crate::memory::ALIGNMENT`],
    ///   which nothing else uses until the work is done.
    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, Self::Arguments>,
    ) -> Result<()>;
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    type Arguments = E::Arguments;

    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn workspace_size(&self) -> usize {
        (**self).workspace_size()
    }

    fn device_memory(&self) -> usize {
        (**self).device_memory()
    }

    fn host_memory(&self) -> usize {
        (**self).host_memory()
    }

    fn library_calls(&self) -> usize {
        (**self).library_calls()
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, E::Arguments>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees what the engine requires.
        unsafe { (**self).execute(context, call) }
    }
}

/// One execution of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a, Arguments> {
    /// Addresses of the inputs.
    pub inputs: &'a [usize],
    /// Addresses of the results.
    pub outputs: &'a [usize],
    /// Where these addresses are.
    pub location: MemoryLocation,
    /// What the operation takes besides.
    pub arguments: Arguments,
    /// Stream of the operands' device; `None` if no GPU takes part.
    pub stream: Option<StreamRef>,
    /// Whether that stream is being captured into a graph.
    pub capture: CaptureStatus,
    /// Address of the workspace; 0 if none is needed.
    pub workspace: usize,
}

impl<Arguments> Call<'_, Arguments> {
    /// The addresses of the input and of the result, for operations with one of each.
    pub(crate) fn only_addresses(&self) -> Result<(usize, usize)> {
        match (self.inputs, self.outputs) {
            (&[input], &[output]) => Ok((input, output)),
            _ => Err(Error::InvalidValue("there is one operand and one result".into())),
        }
    }
}
