//! Executions without `unsafe`, for Rust programs.

use std::sync::Arc;

use smallvec::SmallVec;

use super::operand::Operand;
use super::workspace::{allocate_in_graph, captured};
use super::{Call, Execution, Operation, Plan, PlanLookup, Problem, Workspace};
use crate::device::{CaptureStatus, RelaxedCapture, StreamRef};
use crate::error::{Error, Result};
use crate::memory::{BaseCUDAMemoryManager, StreamOrderedPool};
use crate::tensor::{Element, Layout, MemoryLocation, TensorView};

/// A result in new memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed<Memory> {
    /// All its elements, without gaps.
    pub memory: Memory,
    /// Where each of them is.
    pub layout: Layout,
}

/// Computes on operands in host memory, where `execution` says, and returns the one result.
///
/// # Errors
/// `InvalidType` if the result is not of type `T`; `InvalidValue` for what the operation does not
/// take.
///
/// # Examples
/// ```
/// use gpumath_core::matmul::{Matmul, MatmulArguments, MatmulRequest};
/// use gpumath_core::operation::{Execution, Operand, compute};
///
/// let a = [1.0, 2.0, 3.0, 4.0];
/// let a = Operand::of_slice(&a, [2, 2])?;
/// let request = MatmulRequest::default();
/// let arguments = MatmulArguments::default();
/// let product = compute::<Matmul, f64>(&request, &[&a, &a], arguments, Execution::cpu())?;
/// assert_eq!(product.memory, [7.0, 10.0, 15.0, 22.0]);
/// # Ok::<(), gpumath_core::Error>(())
/// ```
pub fn compute<O: Operation, T: Element>(
    request: &O::Request,
    inputs: &[&Operand<'_>],
    arguments: O::Arguments,
    execution: Execution,
) -> Result<Computed<Vec<T>>> {
    let plan = Plan::<O>::of(request, inputs, execution)?;
    let layout = plan.new_result::<T>()?;
    // SAFETY: every pattern of bits is a value of `T`.
    let zero: T = unsafe { std::mem::zeroed() };
    let mut memory = vec![zero; layout.len() as usize];
    let out = Operand::of_slice_mut(&mut memory, layout.clone())?;
    plan.run(inputs, &[&out], arguments, &mut Workspace::new(), None)?;
    Ok(Computed { memory, layout })
}

impl<O: Operation> Plan<O> {
    /// Returns the plan for these operands from the calling thread's cache, which gets it first if
    /// it is not there.
    ///
    /// # Errors
    /// `InvalidState` while the operands' stream is being captured into a graph, unless the plan is
    /// in the cache.
    pub fn of(
        request: &O::Request,
        inputs: &[&Operand<'_>],
        execution: Execution,
    ) -> Result<Arc<Self>> {
        let views: SmallVec<[&TensorView; 4]> = inputs.iter().map(|input| &***input).collect();
        match Self::find(request, &views, execution)? {
            PlanLookup::Cached(plan) => Ok(plan),
            PlanLookup::Missing(problem) => {
                if let Some(stream) = inputs.iter().find_map(|input| input.stream())
                    && capture_of(stream)?.is_capturing()
                {
                    return Err(captured("a plan is made", "make it before the capture begins"));
                }
                Self::cached(*problem, execution)
            }
        }
    }

    /// Computes. For operands on one device the work is enqueued on their stream; in all other
    /// cases the results are there on return.
    ///
    /// `outputs` is the memory for the results, and empty for a plan that works in place.
    /// `workspace` keeps the memory that the plan works in for the next execution; `manager`
    /// allocates it, by default a pool of gpumath's own.
    ///
    /// # Errors
    /// `InvalidValue` if an operand does not fit the plan, before anything is computed.
    pub fn run(
        self: &Arc<Self>,
        inputs: &[&Operand<'_>],
        outputs: &[&Operand<'_>],
        arguments: O::Arguments,
        workspace: &mut Workspace,
        manager: Option<&dyn BaseCUDAMemoryManager>,
    ) -> Result<()> {
        let sources: SmallVec<[&TensorView; 4]> = inputs.iter().map(|input| &***input).collect();
        let given: SmallVec<[Option<&TensorView>; 1]> =
            outputs.iter().map(|output| Some(&***output)).collect();
        self.check(&sources, &given)?;
        let results = self.results(&sources, &given)?;
        let stream = common_stream(inputs, outputs)?;
        if self.problem().is_empty() {
            return Ok(());
        }
        let location = self.location_of(&sources)?;
        let execution = self.execution();
        // Operands in host memory have no stream.
        let stream = stream.or(match (location, execution) {
            (MemoryLocation::Host, Execution::Cuda { device }) => {
                Some(StreamRef::legacy_default(device))
            }
            _ => None,
        });
        let capture = match stream {
            Some(stream) => capture_of(stream)?,
            None => CaptureStatus::NotCaptured,
        };
        // What the driver has to load for the first execution does not become a part of the graph.
        let _relaxed = capture.is_capturing().then(RelaxedCapture::enter).transpose()?;
        let size = self.workspace_to_allocate();
        let (workspace, _in_graph) = match stream {
            Some(stream) if size > 0 && capture.is_capturing() => {
                let memory = allocate_in_graph(size, stream, manager)?;
                (memory.address(), Some(memory))
            }
            Some(stream) if size > 0 => {
                let address = if let Some(manager) = manager {
                    workspace.reserve(size, stream, manager)
                } else {
                    workspace.reserve(size, stream, &*StreamOrderedPool::of(stream.device())?)
                };
                (address?, None)
            }
            _ => (0, None),
        };
        match stream {
            // SAFETY: the operands were checked against the plan, and each of them vouches for its
            // memory and its stream; the workspace is the plan's own on that stream.
            Some(stream) if !execution.reaches(location) => unsafe {
                self.execute_elsewhere(&sources, &results, arguments, stream, workspace)
            },
            _ => {
                let call = Call {
                    inputs: &addresses(&sources),
                    outputs: &addresses(&results),
                    location,
                    arguments,
                    stream,
                    capture,
                    workspace,
                };
                // SAFETY: as above.
                unsafe { self.execute(&call) }
            }
        }
    }

    /// Returns the layout of the one result, which is to be allocated with elements of type `T`.
    pub(crate) fn new_result<T: Element>(&self) -> Result<Layout> {
        let problem = self.problem();
        let (Some(spec), None, None) =
            (problem.output(0), problem.output(1), problem.overwritten_input(0))
        else {
            return Err(Error::InvalidValue(
                "this plan does not have one new result; give its memory to Plan::run".into(),
            ));
        };
        if spec.dtype != T::DTYPE {
            return Err(Error::InvalidType(format!(
                "the result is of type {}, but {} is asked for",
                spec.dtype,
                T::DTYPE
            )));
        }
        let (low, high) = spec.layout.offsets();
        if low != 0 || high + 1 != spec.layout.len() {
            return Err(Error::InvalidValue(
                "the request names memory for the result; give it to Plan::run".into(),
            ));
        }
        Ok(spec.layout.clone())
    }

    /// Returns the views of the memory that results are written to.
    fn results<'v>(
        &self,
        inputs: &[&'v TensorView],
        given: &[Option<&'v TensorView>],
    ) -> Result<SmallVec<[&'v TensorView; 1]>> {
        let problem = self.problem();
        let most = problem.outputs().count();
        if given.len() > most {
            return Err(Error::InvalidValue(format!(
                "{} outputs are given, but the plan has {most}",
                given.len()
            )));
        }
        let mut results: SmallVec<[&TensorView; 1]> = SmallVec::new();
        for (index, spec) in problem.outputs().enumerate() {
            let own = problem.overwritten_input(index).and_then(|input| inputs.get(input));
            let Some(view) = given.get(index).copied().flatten().or(own.copied()) else {
                return Err(Error::InvalidValue(format!("there is no memory for {}", spec.name)));
            };
            let overlap = results.iter().find_map(|other| other.overlap(view).words());
            if let Some(overlap) = overlap {
                return Err(Error::InvalidValue(format!(
                    "{} and another result {overlap} in memory; give memory of its own",
                    spec.name
                )));
            }
            results.push(view);
        }
        Ok(results)
    }
}

/// Returns the stream that orders all these operands.
fn common_stream(inputs: &[&Operand<'_>], outputs: &[&Operand<'_>]) -> Result<Option<StreamRef>> {
    let mut operands = inputs.iter().chain(outputs);
    let first = operands.next().and_then(|operand| operand.stream());
    if operands.all(|operand| operand.stream() == first) {
        return Ok(first);
    }
    Err(Error::InvalidValue(
        "the operands are for work on different streams; borrow all of them for one stream".into(),
    ))
}

/// Returns whether work on `stream` is captured. The legacy default stream cannot be.
fn capture_of(stream: StreamRef) -> Result<CaptureStatus> {
    if stream.is_legacy_default() {
        return Ok(CaptureStatus::NotCaptured);
    }
    stream.capture_status()
}

fn addresses(views: &[&TensorView]) -> SmallVec<[usize; 4]> {
    views.iter().map(|view| view.ptr).collect()
}
