//! Products on a GPU whose epilog is a step of its own: a product without one, by whatever computes
//! that in the least time, then kernels of gpumath's own.
//!
//! cuBLASLt has fewer kernels for a product with an epilog, and they can take many times as long as
//! the product alone.

use smallvec::SmallVec;

use super::epilog::AuxKind;
use super::epilog_choice::{Reasons, gains_by_rows};
use super::geometry::{Geometry, Matrix};
use super::problem::{InputRole, MatmulOperand, MatmulProblem, OutputRole};
use super::{Epilog, FoundAlgorithm, MatmulArguments, MatmulEngine, plan_cuda};
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::kernels::{EpilogCall, EpilogMatrices, LastStep, LineSumsCall, Lines};
use crate::memory::ALIGNMENT;
use crate::operation::{Call, Engine};
use crate::tensor::{BatchDim, BatchDims, DType, Dims, Layout};

/// In which order the product writes the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SumsOrder {
    /// In that of the result.
    OfResult,
    /// By rows, in memory of their own. The result of most epilogs is by columns, but the product
    /// alone can take less time by rows: entries that share the right factor are one matrix then.
    ByRows,
}

impl SumsOrder {
    const ALL: [Self; 2] = [Self::OfResult, Self::ByRows];

    /// What stands for a `cublasLtMatmulAlgo_t` of the steps. cuBLASLt has no such number.
    pub(super) const fn code(self) -> [u64; 8] {
        [u64::from_le_bytes(*b"epilog\0\xff"), self as u64, 0, 0, 0, 0, 0, 0]
    }

    /// The order of the steps that such a number stands for; `None` for other numbers.
    pub(super) fn of_code(code: &[u64; 8]) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.code() == *code)
    }
}

/// Returns the numbers of the steps for a problem, one for each order of the sums.
pub(super) fn codes(problem: &MatmulProblem) -> impl Iterator<Item = [u64; 8]> {
    let is_by_rows = is_by_rows(problem);
    let orders = SumsOrder::ALL.into_iter();
    orders
        .filter(move |&order| order == SumsOrder::OfResult || !is_by_rows)
        .filter(|&order| Steps::of(problem, order).is_some())
        .map(SumsOrder::code)
}

/// Whether the result is by rows.
fn is_by_rows(problem: &MatmulProblem) -> bool {
    let result = &problem.outputs[0].layout;
    without_gaps(result) == Layout::contiguous(&result.shape)
}

/// What is to be done after a product without an epilog.
#[derive(Debug)]
pub(super) struct Steps {
    /// The product without an epilog.
    product: MatmulProblem,
    /// Which inputs it takes.
    inputs: Vec<usize>,
    /// What is done with each sum.
    epilog: Option<EpilogCall>,
    /// The factor whose rows or columns are summed up.
    line_sums: Option<(LineSumsCall, Matrix)>,
    /// Bytes of the sums, if they have memory of their own.
    sums_size: usize,
}

impl Steps {
    /// `None` if the kernels are not for this problem.
    pub(super) fn of(problem: &MatmulProblem, order: SumsOrder) -> Option<Self> {
        let types = &problem.types;
        let is_of_one_type = [types.b, types.result, types.bias] == [types.a; 3];
        let is_known = |role: InputRole| {
            matches!(
                role,
                InputRole::A | InputRole::B | InputRole::C | InputRole::Bias | InputRole::Aux
            )
        };
        let are_known = problem.inputs.iter().all(|input| is_known(input.role))
            && problem.outputs.iter().all(|output| {
                matches!(output.role, OutputRole::Result | OutputRole::Aux | OutputRole::Sums)
            });
        let is_empty = problem.extents().contains(&0) || problem.shape.batch.contains(&0);
        if problem.epilog == Epilog::None
            || !(types.compute.is_floating()
                && is_of_one_type
                && are_known
                && problem.search.is_free())
            || is_empty
        {
            return None;
        }
        let wide = wide_type(problem);
        let is_by_rows = order == SumsOrder::ByRows;
        let are_apart = wide.is_some() || is_by_rows;
        // An addend has the result's type and order, which sums with memory of their own need not
        // have.
        if are_apart && problem.input_index(InputRole::C).is_some() {
            return None;
        }
        let result = &problem.outputs[0].layout;
        let sums = match order {
            SumsOrder::OfResult if wide.is_some() => without_gaps(result),
            SumsOrder::OfResult => result.clone(),
            SumsOrder::ByRows => Layout::contiguous(&result.shape),
        };
        let is_of_product =
            |role: InputRole| matches!(role, InputRole::A | InputRole::B | InputRole::C);
        let inputs: Vec<usize> = (0..problem.inputs.len())
            .filter(|&index| is_of_product(problem.inputs[index].role))
            .collect();
        let mut product = problem.with_search(None, 1);
        product.inputs.retain(|input| is_of_product(input.role));
        product.outputs.truncate(1);
        product.epilog = Epilog::None;
        let mut sums_size = 0;
        if are_apart {
            let dtype = wide.unwrap_or(problem.types.result);
            (product.types.result, product.types.c, product.types.bias) = (dtype, dtype, dtype);
            let result = product.outputs.first_mut()?;
            (result.dtype, result.layout) = (dtype, sums.clone());
            let size = usize::try_from(sums.len()).ok()?.checked_mul(dtype.size())?;
            sums_size = size.next_multiple_of(ALIGNMENT);
        }
        let copies = is_by_rows.then_some(LastStep::Identity);
        let epilog = match last_step(problem.epilog).or(copies) {
            Some(step) => Some(epilog_call(problem, sums, (step, wide))?),
            None => None,
        };
        let line_sums = match summed_factor(problem.epilog) {
            Some(matrix) => Some((line_sums(problem, matrix)?, matrix)),
            None => None,
        };
        Some(Self { product, inputs, epilog, line_sums, sums_size })
    }
}

/// The type of the sums, if they are kept in a wider one than the result's: what an epilog adds to
/// sums or computes of them would be rounded twice otherwise, and large sums be lost. DGELU only
/// multiplies the sums, so it needs wider ones for float16 alone, which has a smaller range.
fn wide_type(problem: &MatmulProblem) -> Option<DType> {
    let needs_more = match last_step(problem.epilog) {
        _ if problem.epilog.has_bias() => true,
        Some(LastStep::Gelu) => true,
        Some(LastStep::Dgelu) => problem.types.result == DType::Float16,
        _ => false,
    };
    let is_half = matches!(problem.types.result, DType::Float16 | DType::BFloat16);
    (is_half && needs_more).then_some(DType::Float32)
}

/// What is done with each sum; `None` if nothing is.
fn last_step(epilog: Epilog) -> Option<LastStep> {
    Some(match epilog {
        Epilog::None | Epilog::Bgrada | Epilog::Bgradb => return None,
        Epilog::Bias => LastStep::Identity,
        Epilog::Relu | Epilog::ReluAux | Epilog::ReluBias | Epilog::ReluAuxBias => LastStep::Relu,
        Epilog::Gelu | Epilog::GeluAux | Epilog::GeluBias | Epilog::GeluAuxBias => LastStep::Gelu,
        Epilog::Drelu | Epilog::DreluBgrad => LastStep::Drelu,
        Epilog::Dgelu | Epilog::DgeluBgrad => LastStep::Dgelu,
    })
}

/// The factor whose rows or columns are summed up.
fn summed_factor(epilog: Epilog) -> Option<Matrix> {
    match epilog {
        Epilog::Bgrada => Some(Matrix::A),
        Epilog::Bgradb => Some(Matrix::B),
        _ => None,
    }
}

/// The layout of the same shape and memory order without gaps.
fn without_gaps(layout: &Layout) -> Layout {
    let mut order: Dims = (0..layout.ndim() as i64).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(layout.strides[axis as usize].abs()));
    let order: Vec<usize> = order.iter().map(|&axis| axis as usize).collect();
    Layout::packed(&layout.shape, &order)
}

fn epilog_call(
    problem: &MatmulProblem,
    sums: Layout,
    (step, wide): (LastStep, Option<DType>),
) -> Option<EpilogCall> {
    // The sums take the place of the addend, whose strides and batch a geometry has.
    let mut all = problem.clone();
    all.inputs.retain(|input| input.role != InputRole::C);
    let dtype = wide.unwrap_or(problem.types.result);
    all.inputs.push(MatmulOperand {
        role: InputRole::C,
        dtype,
        layout: as_matrices(problem, sums),
    });
    let geometry = Geometry::of(&all);
    let order = [Matrix::C, Matrix::Result, Matrix::Vector, Matrix::Aux];
    let matrices = EpilogMatrices {
        rows: geometry.rows,
        columns: geometry.columns,
        strides: order.map(|matrix| geometry.strides(matrix)),
        batch: batch_of(&geometry, order),
    };
    let aux = problem.epilog.aux_input().or(problem.epilog.aux_output());
    let has_bits = aux == Some(AuxKind::ReluBits);
    let adds_up_rows = matches!(problem.epilog, Epilog::DreluBgrad | Epilog::DgeluBgrad);
    EpilogCall::of(&matrices, [dtype, problem.types.result], step, [has_bits, adds_up_rows])
}

/// Adds the dimensions that a product with a vector has not.
fn as_matrices(problem: &MatmulProblem, mut layout: Layout) -> Layout {
    let is_vector = |index: usize| problem.inputs[index].layout.ndim() == 1;
    let batch = problem.shape.batch.len();
    for (index, axis) in [(0, batch), (1, batch + 1)] {
        if is_vector(index) {
            layout.shape.insert(axis, 1);
            layout.strides.insert(axis, 0);
        }
    }
    layout
}

fn line_sums(problem: &MatmulProblem, matrix: Matrix) -> Option<LineSumsCall> {
    let geometry = problem.geometry();
    let [down, right] = geometry.strides(matrix);
    let [to, _] = geometry.strides(Matrix::Vector);
    let (length, count, step, line_step) = match matrix {
        Matrix::A => (geometry.depth, geometry.rows, right, down),
        _ => (geometry.depth, geometry.columns, down, right),
    };
    let lines = Lines {
        length,
        count,
        step,
        strides: [line_step, to],
        batch: batch_of(&geometry, [matrix, Matrix::Vector]),
    };
    LineSumsCall::of(&lines, problem.types.a)
}

/// The batch of some of the matrices.
fn batch_of<const N: usize>(geometry: &Geometry, order: [Matrix; N]) -> BatchDims<N> {
    BatchDims::merged(geometry.batch.iter().map(|dim| BatchDim {
        extent: dim.extent,
        strides: order.map(|matrix| dim.strides[matrix as usize]),
    }))
}

/// A product, and what is done after it.
#[derive(Debug)]
pub(super) struct EpilogApart {
    steps: Steps,
    product: Box<dyn MatmulEngine>,
    /// Where the bias, the matrix besides and the sums of lines are.
    bias: Option<usize>,
    aux_input: Option<usize>,
    aux_output: Option<usize>,
    sums_output: Option<usize>,
    algorithms: Vec<FoundAlgorithm>,
}

impl EpilogApart {
    /// Plans the steps; `InvalidValue` if there are none for this problem.
    pub(super) fn new(problem: &MatmulProblem, order: SumsOrder, device: i32) -> Result<Self> {
        let Some(steps) = Steps::of(problem, order) else {
            return Err(Error::InvalidValue(
                "the algorithm makes the epilog a step of its own, which is not for this product; \
                 plan it without naming an algorithm"
                    .into(),
            ));
        };
        let product = plan_cuda(&steps.product, device)?;
        let mut planned = Self {
            bias: problem.input_index(InputRole::Bias),
            aux_input: problem.input_index(InputRole::Aux),
            aux_output: problem.output_index(OutputRole::Aux),
            sums_output: problem.output_index(OutputRole::Sums),
            steps,
            product,
            algorithms: Vec::new(),
        };
        planned.algorithms.push(FoundAlgorithm::other(order.code(), planned.workspace_size()));
        Ok(planned)
    }

    /// Plans the steps if they are expected to take less time than the first algorithm that was
    /// found for the product with its epilog, or if there is none.
    pub(super) fn instead_of(
        problem: &MatmulProblem,
        first: Option<&FoundAlgorithm>,
        device: i32,
    ) -> Result<Option<Self>> {
        let Some(first) = first else {
            return Self::new(problem, SumsOrder::OfResult, device).map(Some);
        };
        let most = problem.search.max_workspace.unwrap_or(u64::MAX);
        let has_room = |planned: &Self| planned.workspace_size() as u64 <= most;
        if gains_by_rows(problem, first)
            && !is_by_rows(problem)
            && let Ok(planned) = Self::new(problem, SumsOrder::ByRows, device)
            && has_room(&planned)
        {
            return Ok(Some(planned));
        }
        let Some(reasons) = Reasons::of(problem, first) else { return Ok(None) };
        let planned = Self::new(problem, SumsOrder::OfResult, device)?;
        let is_faster = has_room(&planned) && reasons.hold(planned.product.algorithms().first());
        Ok(is_faster.then_some(planned))
    }

    /// Takes other algorithms behind this one, `limit` in all.
    pub(super) fn with_others(mut self, others: &[FoundAlgorithm], limit: usize) -> Self {
        self.algorithms.extend(others.iter().take(limit.saturating_sub(1)));
        self
    }
}

impl MatmulEngine for EpilogApart {
    fn algorithms(&self) -> &[FoundAlgorithm] {
        &self.algorithms
    }

    fn copies(&self) -> usize {
        self.product.copies()
    }
}

impl Engine for EpilogApart {
    type Arguments = MatmulArguments;

    fn name(&self) -> &'static str {
        self.product.name()
    }

    fn workspace_size(&self) -> usize {
        let epilog = self.steps.epilog.as_ref().map_or(0, EpilogCall::workspace_size);
        let line_sums = self.steps.line_sums.as_ref().map_or(0, |(sums, _)| sums.workspace_size());
        self.steps.sums_size + self.product.workspace_size().max(epilog).max(line_sums)
    }

    fn host_memory(&self) -> usize {
        size_of::<Self>()
            + self.product.host_memory()
            + self.algorithms.len() * size_of::<FoundAlgorithm>()
    }

    fn library_calls(&self) -> usize {
        self.product.library_calls()
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, MatmulArguments>,
    ) -> Result<()> {
        let (Some(guard), Some(stream), Some(&result)) =
            (context, call.stream, call.outputs.first())
        else {
            return Err(Error::InvalidState("matmul on a GPU needs operands and a stream".into()));
        };
        let Steps { inputs, epilog, line_sums, sums_size, .. } = &self.steps;
        let sums = if *sums_size == 0 { result } else { call.workspace };
        let inputs: SmallVec<[usize; 3]> = inputs.iter().map(|&index| call.inputs[index]).collect();
        // What the product works in is free again for the steps after it.
        let workspace = call.workspace + sums_size;
        let product = Call { inputs: &inputs, outputs: &[sums], workspace, ..*call };
        let of = |place: Option<usize>, all: &[usize]| place.map_or(0, |index| all[index]);
        let aux = match self.aux_input {
            None => of(self.aux_output, call.outputs),
            given => of(given, call.inputs),
        };
        // SAFETY: the caller guarantees the problem's layouts, of which the steps' are parts; the
        // workspace has room for the sums and for what the product works in, and the stream puts
        // the steps in order.
        unsafe {
            self.product.execute(context, &product)?;
            let sums_output = of(self.sums_output, call.outputs);
            if let Some(epilog) = epilog {
                // The sums of a factor's lines are written by a kernel of their own, below.
                let row_sums = if line_sums.is_none() { sums_output } else { 0 };
                let vector = self.bias.map_or(row_sums, |index| call.inputs[index]);
                let addresses = [result, sums, vector, aux];
                epilog.enqueue(guard, addresses, workspace, stream)?;
            }
            if let Some((line_sums, factor)) = line_sums {
                let from = call.inputs[usize::from(*factor == Matrix::B)];
                line_sums.enqueue(guard, [sums_output, from], workspace, stream)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;
    use crate::matmul::MatmulRequest;
    use crate::operation::{Execution, Request};
    use crate::tensor::{MemoryLocation, TensorView};

    /// The steps of a product of 40×30 and 30×20 numbers with an epilog.
    fn steps(epilog: Epilog, dtype: DType, has_addend: bool, order: SumsOrder) -> Option<Steps> {
        let mut layouts = vec![Layout::contiguous(&[40, 30]), Layout::contiguous(&[30, 20])];
        let mut further = SmallVec::new();
        if has_addend {
            layouts.push(Layout::contiguous(&[40, 20]));
            further.push(InputRole::C);
        }
        if epilog.has_bias() {
            layouts.push(Layout::contiguous(&[40]));
            further.push(InputRole::Bias);
        }
        if let Some(kind) = epilog.aux_input() {
            layouts.push(Layout::packed(&[kind.column(40), 20], &[1, 0]));
            further.push(InputRole::Aux);
        }
        let views: Vec<TensorView> = layouts
            .into_iter()
            .enumerate()
            .map(|(index, layout)| TensorView {
                ptr: 0x1_0000 * (index + 1),
                dtype: match epilog.aux_input() {
                    Some(AuxKind::ReluBits) if index == 2 + usize::from(has_addend) => DType::UInt8,
                    _ => dtype,
                },
                layout,
                device: MemoryLocation::Device(0),
                readonly: false,
            })
            .collect();
        let request = MatmulRequest { further, epilog, ..MatmulRequest::default() };
        let views: Vec<&TensorView> = views.iter().collect();
        Steps::of(&request.problem(&views, Execution::Cuda { device: 0 }).unwrap(), order)
    }

    #[test]
    fn there_are_steps_for_all_epilogs_of_real_numbers() {
        for dtype in [DType::Float16, DType::BFloat16, DType::Float32, DType::Float64] {
            for epilog in Epilog::ALL.into_iter().filter(|&epilog| epilog != Epilog::None) {
                let found = steps(epilog, dtype, false, SumsOrder::OfResult).unwrap();
                let changes_sums = !matches!(epilog, Epilog::Bgrada | Epilog::Bgradb);
                assert_eq!(found.epilog.is_some(), changes_sums, "{}", epilog.name());
                assert_eq!(found.line_sums.is_some(), !changes_sums, "{}", epilog.name());
                assert!(found.product.is_plain());
                assert_eq!(found.inputs, [0, 1]);
            }
        }
        assert!(steps(Epilog::None, DType::Float32, false, SumsOrder::OfResult).is_none());
    }

    #[test]
    fn sums_by_rows_have_memory_of_their_own() {
        for epilog in Epilog::ALL.into_iter().filter(|&epilog| epilog != Epilog::None) {
            let found = steps(epilog, DType::Float64, false, SumsOrder::ByRows).unwrap();
            assert_eq!(found.product.outputs[0].layout, Layout::contiguous(&[40, 20]));
            assert_eq!(found.sums_size, 40 * 20 * 8);
            // What writes the result in its own order, if only by copying.
            assert!(found.epilog.is_some(), "{}", epilog.name());
        }
        assert!(steps(Epilog::Relu, DType::Float64, true, SumsOrder::ByRows).is_none());
    }

    #[test]
    fn sums_of_halves_are_wide_where_they_would_be_rounded_twice() {
        for (epilog, dtype, is_wide) in [
            (Epilog::Relu, DType::Float16, false),
            (Epilog::ReluAux, DType::BFloat16, false),
            (Epilog::DreluBgrad, DType::Float16, false),
            (Epilog::Bgrada, DType::BFloat16, false),
            (Epilog::Bias, DType::Float16, true),
            (Epilog::Gelu, DType::BFloat16, true),
            (Epilog::Dgelu, DType::Float16, true),
            (Epilog::DgeluBgrad, DType::BFloat16, false),
            (Epilog::GeluBias, DType::Float32, false),
        ] {
            let found = steps(epilog, dtype, false, SumsOrder::OfResult).unwrap();
            let wide = if is_wide { DType::Float32 } else { dtype };
            assert_eq!(found.product.types.result, wide, "{dtype} {}", epilog.name());
            let size = if is_wide { (40 * 20 * 4_usize).next_multiple_of(ALIGNMENT) } else { 0 };
            assert_eq!(found.sums_size, size);
            // The addend would have to be of the wider type.
            let with_addend = steps(epilog, dtype, true, SumsOrder::OfResult);
            assert_eq!(with_addend.map(|steps| steps.inputs), (!is_wide).then(|| vec![0, 1, 2]));
        }
    }
}
