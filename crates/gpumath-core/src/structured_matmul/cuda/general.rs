//! Products of general matrices, by cuBLASLt: it chooses among its algorithms once for a plan, and
//! says how much workspace it takes.

use smallvec::SmallVec;

use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::matmul::{InputRole, Matmul, MatmulArguments, MatmulEngine, MatmulRequest};
use crate::operation::{Call, Engine, Execution, Operation, Request};
use crate::structured_matmul::problem::StructuredMatmulProblem;
use crate::structured_matmul::scalars::Scalars;
use crate::tensor::{Layout, TensorView};

/// Bytes between the addresses that stand for those of operands: more than any operand has.
const APART: usize = 1 << 48;

/// One product, or a batch of products in further dimensions.
#[derive(Debug)]
pub(in crate::structured_matmul) struct GeneralEngine(Box<dyn MatmulEngine>);

impl GeneralEngine {
    /// Plans the product; `None` if it is none for cuBLASLt: in a list, of a matrix with a
    /// structure, or with a vector as the third operand.
    pub(in crate::structured_matmul) fn new(
        problem: &StructuredMatmulProblem,
        execution: Execution,
    ) -> Result<Option<Self>> {
        let ([product], true) = (problem.products.as_slice(), problem.is_general()) else {
            return Ok(None);
        };
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
        let [a, b, c, out] = product.layouts.each_ref().map(&mut view);
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
            Ok(engine) => Ok(Some(Self(engine))),
            // What it does not take, cuBLAS does.
            Err(Error::InvalidValue(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Engine for GeneralEngine {
    type Arguments = Scalars;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn workspace_size(&self) -> usize {
        self.0.workspace_size()
    }

    fn host_memory(&self) -> usize {
        self.0.host_memory()
    }

    fn library_calls(&self) -> usize {
        self.0.library_calls()
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, Scalars>,
    ) -> Result<()> {
        let Scalars { alpha, beta } = call.arguments;
        let call = Call {
            inputs: call.inputs,
            outputs: call.outputs,
            location: call.location,
            arguments: MatmulArguments { alpha, beta },
            stream: call.stream,
            capture: call.capture,
            workspace: call.workspace,
        };
        // SAFETY: the caller guarantees what the engine requires, for operands in the same order.
        unsafe { self.0.execute(context, &call) }
    }
}
