//! Products of general matrices, and of symmetric, Hermitian and triangular ones that are completed
//! before, as [`crate::matmul`] computes them: it chooses among the libraries' algorithms and
//! kernels of ours once for a plan.

use smallvec::SmallVec;

use super::completion::Completion;
use super::kernel_call::KernelCall;
use super::operand::{Operand, Place};
use super::way::{HalfStored, Way, most_completed};
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::kernels::StructuredKernel;
use crate::matmul::{InputRole, Matmul, MatmulArguments, MatmulEngine, MatmulRequest};
use crate::operation::{Call, Engine, Execution, Operation, Request};
use crate::structured_matmul::problem::StructuredMatmulProblem;
use crate::structured_matmul::scalars::Scalars;
use crate::tensor::{Layout, TensorView};

/// Bytes between the addresses that stand for those of operands: more than any operand has.
const APART: usize = 1 << 48;

/// One product, or a batch of products in further dimensions.
#[derive(Debug)]
pub(in crate::structured_matmul) struct GeneralEngine {
    engine: Box<dyn MatmulEngine>,
    /// The inputs that are completed before.
    completions: SmallVec<[(usize, Completion); 1]>,
    /// Bytes of workspace for completed matrices.
    room: usize,
    /// What follows if a completed matrix is a triangle.
    repair: Option<KernelCall>,
}

impl GeneralEngine {
    /// Plans the product; `None` if it is none for cuBLASLt: in a list, of a matrix with a
    /// structure that is not completed, or with a vector as the third operand.
    pub(in crate::structured_matmul) fn new(
        problem: &StructuredMatmulProblem,
        execution: Execution,
    ) -> Result<Option<Self>> {
        let ([product], true, Some(device)) =
            (problem.products.as_slice(), problem.can_be_of_full_matrices(), execution.device())
        else {
            return Ok(None);
        };
        let most = most_completed(device)?;
        let mut layouts = product.layouts.clone();
        let (mut completions, mut room, mut repair) = (SmallVec::new(), 0, None);
        let factors = [0, 1].map(|index| Operand::factor(product, index, problem.dtype));
        let [c, out] = [(Place::Input(2), 2), (Place::Result, 3)]
            .map(|(place, index)| Operand::general(place, product.matrices[index].clone()));
        let c = problem.has_addend.then_some(&c);
        for index in 0..2 {
            let pair = [&factors[index], &factors[1 - index]];
            let (dtype, is_right) = (problem.dtype, index == 1);
            let half_stored = HalfStored::new(dtype, pair[0], is_right, &out);
            let Some(half_stored) = half_stored else { continue };
            if half_stored.way(most, problem.is_in_place) != Way::Completed {
                return Ok(None);
            }
            if half_stored.is_triangular() {
                let kernel = StructuredKernel::Repair;
                repair = KernelCall::new(kernel, dtype, pair, is_right, c, &out);
            }
            let (layout, structure) = (&product.layouts[index], factors[index].structure);
            if let Some((completion, completed, size)) =
                Completion::of(layout, structure, dtype, room)?
            {
                completions.push((index, completion));
                layouts[index] = completed;
                room += size;
            }
        }
        let mut place = 0;
        let mut view = |layout: &Layout| {
            place += 1;
            TensorView {
                // Aligned as the operands are, and no better.
                ptr: place * APART + problem.alignment,
                dtype: problem.dtype,
                layout: layout.clone(),
                device: execution.location(),
                readonly: false,
            }
        };
        let [a, b, c, out] = layouts.each_ref().map(&mut view);
        let mut inputs: SmallVec<[&TensorView; 3]> = SmallVec::from_slice(&[&a, &b]);
        inputs.extend(problem.has_addend.then_some(&c));
        let request = MatmulRequest {
            further: problem.has_addend.then_some(InputRole::C).into_iter().collect(),
            conjugate: product.qualifiers.map(|qualifier| qualifier.is_conjugated),
            inplace: problem.is_in_place,
            output: (!problem.is_in_place).then_some(out),
            ..MatmulRequest::default()
        };
        let problem = request.problem(&inputs, execution);
        match problem.and_then(|problem| Matmul::plan(&problem, execution)) {
            Ok(engine) => Ok(Some(Self { engine, completions, room, repair })),
            // What it does not take, cuBLAS does.
            Err(Error::InvalidValue(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Engine for GeneralEngine {
    type Arguments = Scalars;

    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn workspace_size(&self) -> usize {
        self.room + self.engine.workspace_size()
    }

    fn host_memory(&self) -> usize {
        self.engine.host_memory()
    }

    fn library_calls(&self) -> usize {
        self.engine.library_calls()
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, Scalars>,
    ) -> Result<()> {
        let Scalars { alpha, beta } = call.arguments;
        let mut inputs: SmallVec<[usize; 3]> = SmallVec::from_slice(call.inputs);
        let general = |inputs: &[usize]| {
            let call = Call {
                inputs,
                outputs: call.outputs,
                location: call.location,
                arguments: MatmulArguments { alpha, beta },
                stream: call.stream,
                capture: call.capture,
                workspace: call.workspace + self.room,
            };
            // SAFETY: the caller guarantees what the engine requires, for operands in this order.
            unsafe { self.engine.execute(context, &call) }
        };
        if self.completions.is_empty() {
            return general(&inputs);
        }
        let (Some(context), Some(stream)) = (context, call.stream) else {
            return Err(Error::InvalidState("matmul on a GPU needs a stream".into()));
        };
        for (index, completion) in &self.completions {
            let Some(input) = inputs.get_mut(*index) else { continue };
            // SAFETY: the caller guarantees that the memory is valid.
            *input = unsafe { completion.enqueue(context, *input, call.workspace, stream) }?;
        }
        general(&inputs)?;
        let Some(repair) = &self.repair else { return Ok(()) };
        let address = |place: Place| match place {
            Place::Input(index) => call.inputs.get(index),
            _ => call.outputs.first(),
        };
        let address = |place: Place| address(place).copied().unwrap_or(0);
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe { repair.enqueue(context, address, call.arguments, stream) }
    }
}
