//! From what a user asks for to a problem.

use smallvec::{SmallVec, smallvec};

use super::block_scaling::{check_packed, check_scale_addresses, in_elements};
use super::check::check_c;
use super::epilog::Epilog;
use super::geometry::{broadcast, matrix_shape};
use super::problem::{InputRole, MatmulOperand, MatmulProblem, OutputRole};
use super::types::{ChosenTypes, MatmulTypes, is_narrow};
use crate::error::{Error, Result};
use crate::operation::{Execution, Request, alignment, check_output};
use crate::tensor::{DType, Dims, Layout, TensorView};

/// The choices that a user makes about a product; everything else follows from the operands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatmulRequest {
    /// What the operands behind `a` and `b` are, in their order. Each role occurs once.
    pub further: SmallVec<[InputRole; 2]>,
    /// Whether to conjugate the elements of `a`, and those of `b`.
    pub conjugate: [bool; 2],
    /// Element types of the result and of what is computed in.
    pub types: ChosenTypes,
    /// What is done with the sum before it is stored.
    pub epilog: Epilog,
    /// Element type of the matrix that an epilog with GELU writes besides; `None` for that of the
    /// result.
    pub aux_type: Option<DType>,
    /// Whether to find the largest magnitude in a result of an 8-bit floating-point type.
    pub result_amax: bool,
    /// Whether to find the largest magnitude in what an epilog with GELU writes besides.
    pub aux_amax: bool,
    /// Whether the result overwrites `c`.
    pub inplace: bool,
    /// What cuBLASLt chooses its algorithm by.
    pub search: AlgorithmSearch,
    /// What to write the result to; `None` for new memory.
    pub output: Option<TensorView>,
}

/// What cuBLASLt chooses its algorithm by. Other engines ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AlgorithmSearch {
    /// `CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET`: multiprocessors to use, 0 for all.
    pub sm_count_target: i32,
    /// `CUBLASLT_MATMUL_DESC_FAST_ACCUM`, for operands of 8-bit floating-point types.
    pub fast_accumulation: bool,
    /// Number of algorithms to ask for, the best one first.
    pub limit: i32,
    /// `CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK`
    pub reduction_schemes: Option<u32>,
    /// `CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT`, as the bits of a float32; 0 for any number.
    pub max_waves: u32,
    /// `CUBLASLT_MATMUL_PREF_IMPL_MASK`
    pub implementations: Option<u64>,
    /// Most bytes of workspace; `None` for as many as the hardware has use for.
    pub max_workspace: Option<u64>,
    /// The one algorithm to use, a `cublasLtMatmulAlgo_t`; `None` to ask for the best ones.
    pub algorithm: Option<[u64; 8]>,
    /// A `cublasLtHandle_t` of the user's, to ask instead of the thread's own; 0 for none.
    pub handle: usize,
}

impl AlgorithmSearch {
    /// Whether the user chooses by nothing that only cuBLASLt's algorithms have.
    pub(super) fn is_free(&self) -> bool {
        self.sm_count_target == 0
            && self.max_waves == 0
            && self.handle == 0
            && self.reduction_schemes.is_none()
            && self.implementations.is_none()
    }
}

impl Default for AlgorithmSearch {
    fn default() -> Self {
        Self {
            sm_count_target: 0,
            fast_accumulation: false,
            limit: 1,
            reduction_schemes: None,
            max_waves: 0,
            implementations: None,
            max_workspace: None,
            algorithm: None,
            handle: 0,
        }
    }
}

impl Request for MatmulRequest {
    type Problem = MatmulProblem;

    fn problem(&self, inputs: &[&TensorView], execution: Execution) -> Result<MatmulProblem> {
        let [a, b, further @ ..] = inputs else {
            return Err(Error::InvalidValue("matmul has two operands".into()));
        };
        if further.len() != self.further.len() {
            return Err(Error::InvalidValue(format!(
                "{} operands are given, but {} are announced",
                inputs.len(),
                self.further.len() + 2
            )));
        }
        let roles = [InputRole::A, InputRole::B].into_iter().chain(self.further.iter().copied());
        let mut operands: SmallVec<[MatmulOperand<InputRole>; 3]> = SmallVec::new();
        for (role, view) in roles.zip(inputs) {
            self.check_memory(role, view, a)?;
            operands.push(MatmulOperand { role, dtype: view.dtype, layout: view.layout.clone() });
        }
        let find = |role: InputRole| operands.iter().find(|operand| operand.role == role);
        let c = find(InputRole::C);
        let types = MatmulTypes::of(a.dtype, b.dtype, c.map(|c| c.dtype), self.types)?
            .with_aux(self.aux_type, c.is_some());
        self.check_conjugation(a.dtype)?;
        let shape = product_shape(a, b)?;
        let block_scaling = self.block_scaling_of(types)?;
        if let Some(format) = block_scaling {
            format.check_factors(&shape, a, b)?;
        }
        check_c(c, &shape)?;
        self.check_epilog(types, &shape, &operands)?;
        match block_scaling {
            Some(format) => format.check_scales(types, &shape, &operands)?,
            None => self.check_scales(types, &operands)?,
        }
        let result = self.result_layout(a, b, c, &shape, types)?;
        let mut outputs = smallvec![MatmulOperand {
            role: OutputRole::Result,
            dtype: types.result,
            layout: result
        }];
        if let Some(out) = &self.output {
            let wanted = TensorView {
                ptr: 0,
                dtype: types.result,
                layout: Layout::contiguous(&self.result_shape(a, b, c, &shape, types)),
                device: a.device,
                readonly: false,
            };
            check_output(out, &wanted)?;
            check_packed(out, self.is_by_columns(c))?;
            for (operand, view) in operands.iter().zip(inputs) {
                if let Some(overlap) = out.overlap(view).words() {
                    return Err(Error::InvalidValue(format!(
                        "out and {} {overlap} in memory; give memory of its own",
                        operand.role.name()
                    )));
                }
            }
        }
        self.check_emulation(types)?;
        self.add_outputs(&mut outputs, &shape, types);
        if let Some(format) = block_scaling.filter(|_| is_narrow(types.result)) {
            let batch: i64 = shape.batch.iter().product();
            outputs.push(MatmulOperand {
                role: OutputRole::ResultScales,
                dtype: format.scale_types()[0],
                layout: Layout::contiguous(&[format.scales(batch * shape.rows * shape.columns)]),
            });
        }
        if block_scaling.is_some() {
            check_scale_addresses(&operands, inputs, execution)?;
        }
        let matrices = operands.iter().zip(inputs).filter(|(operand, _)| !operand.role.is_scale());
        let views = matrices.map(|(_, view)| *view).chain(&self.output);
        let alignment = alignment(views, execution.location());
        Ok(MatmulProblem {
            inputs: operands,
            outputs,
            shape,
            types,
            conjugate: self.conjugate,
            epilog: self.epilog,
            inplace: self.inplace,
            block_scaling,
            emulation_strategy: self.types.emulation_strategy,
            search: self.search,
            alignment,
        })
    }

    fn is_about_inputs_alone(&self) -> bool {
        self.output.is_none()
    }
}

/// The extents of a product: of the batch, and m, n and k.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProductShape {
    pub(super) batch: Dims,
    pub(super) rows: i64,
    pub(super) columns: i64,
    pub(super) depth: i64,
}

impl ProductShape {
    /// The shape of matrices of such extents in such a batch.
    pub(super) fn with_batch(&self, rows: i64, columns: i64) -> Dims {
        self.batch.iter().copied().chain([rows, columns]).collect()
    }
}

/// Returns the extents of the product of `a` and `b`, by the rules of `numpy.matmul`.
fn product_shape(a: &TensorView, b: &TensorView) -> Result<ProductShape> {
    for (name, view) in [("a", a), ("b", b)] {
        if view.layout.ndim() == 0 {
            return Err(Error::InvalidValue(format!(
                "{name} has no dimensions, but matmul takes vectors and matrices; multiply by it \
                 instead, or reshape it"
            )));
        }
    }
    let (left, right) = (in_elements(a.dtype, &a.layout), in_elements(b.dtype, &b.layout));
    let ([rows, depth], [other, columns]) =
        (matrix_shape(&left, true), matrix_shape(&right, false));
    let batch = |view: &TensorView| -> Dims {
        view.layout.shape[..view.layout.ndim().saturating_sub(2)].into()
    };
    if depth != other {
        return Err(Error::InvalidValue(format!(
            "a is of {} and b of {}, but a must have as many columns as b has rows, and has \
             {depth} for {other}; transpose or cut one",
            a.describe(),
            b.describe()
        )));
    }
    let Some(batch) = broadcast(&batch(a), &batch(b)) else {
        return Err(Error::InvalidValue(format!(
            "a is of {} and b of {}, but all their dimensions before the last two must be equal, \
             or 1 in one of them; reshape one",
            a.describe(),
            b.describe()
        )));
    };
    Ok(ProductShape { batch, rows, columns, depth })
}

impl MatmulRequest {
    /// The shape of the result: without the dimension that a vector does not have, and in bytes
    /// where two elements share one.
    fn result_shape(
        &self,
        a: &TensorView,
        b: &TensorView,
        c: Option<&MatmulOperand<InputRole>>,
        shape: &ProductShape,
        types: MatmulTypes,
    ) -> Dims {
        let mut extents = shape.batch.clone();
        extents.extend((a.layout.ndim() > 1).then_some(shape.rows));
        extents.extend((b.layout.ndim() > 1).then_some(shape.columns));
        if types.result == DType::Float4E2M1FnX2 {
            let along = extents.len() - if self.is_by_columns(c) { 2 } else { 1 };
            extents[along] /= 2;
        }
        extents
    }

    /// Whether new memory for the result is in column-major order.
    fn is_by_columns(&self, c: Option<&MatmulOperand<InputRole>>) -> bool {
        let is_so = |c: &MatmulOperand<InputRole>| {
            let last = c.layout.ndim() - 1;
            let [rows, columns] = [c.layout.shape[last - 1], c.layout.shape[last]];
            let [down, across] = [c.layout.strides[last - 1], c.layout.strides[last]];
            rows > 1 && columns > 1 && down == 1 && across != 1
        };
        self.epilog.is_by_columns() || c.is_some_and(is_so)
    }

    /// The layout of the result: that of `out`, or of `c` where it is overwritten. New memory is
    /// gapless, in the order of `c` or in C order; but in column-major order where the epilog tells
    /// rows from columns. Batch dimensions are in the order of those of `a` or `b`.
    fn result_layout(
        &self,
        a: &TensorView,
        b: &TensorView,
        c: Option<&MatmulOperand<InputRole>>,
        shape: &ProductShape,
        types: MatmulTypes,
    ) -> Result<Layout> {
        if self.inplace {
            let full = shape.with_batch(shape.rows, shape.columns);
            return match c {
                Some(c) if c.layout.shape == full && c.dtype == types.result => {
                    Ok(c.layout.clone())
                }
                _ => Err(Error::InvalidValue(format!(
                    "inplace=True writes the result to c, but there is no c of type {} and shape \
                     {full:?}; give one, or leave inplace out",
                    types.result
                ))),
            };
        }
        if let Some(out) = &self.output {
            return Ok(out.layout.clone());
        }
        let extents = self.result_shape(a, b, c, shape, types);
        let batch = shape.batch.len();
        let like = [a, b].into_iter().find(|view| {
            let outer = view.layout.ndim().saturating_sub(2);
            outer == batch
                && (0..outer).all(|axis| {
                    let extent = view.layout.shape[axis];
                    extent == shape.batch[axis] && (extent == 1 || view.layout.strides[axis] != 0)
                })
        });
        let mut order: SmallVec<[usize; 8]> = (0..batch).collect();
        if let Some(like) = like {
            order.sort_by_key(|&axis| std::cmp::Reverse(like.layout.strides[axis].abs()));
        }
        let mut matrix: SmallVec<[usize; 2]> = (batch..extents.len()).collect();
        if self.is_by_columns(c) {
            matrix.reverse();
        }
        order.extend(matrix);
        Ok(Layout::packed(&extents, &order))
    }

    /// Adds what is written besides the result.
    fn add_outputs(
        &self,
        outputs: &mut SmallVec<[MatmulOperand<OutputRole>; 1]>,
        shape: &ProductShape,
        types: MatmulTypes,
    ) {
        let batch = shape.batch.len();
        if let Some(kind) = self.epilog.aux_output() {
            let extents = shape.with_batch(kind.column(shape.rows), shape.columns);
            let order: SmallVec<[usize; 8]> = (0..batch).chain([batch + 1, batch]).collect();
            let layout = Layout::packed(&extents, &order);
            let dtype = kind.dtype(types, self.aux_type);
            outputs.push(MatmulOperand { role: OutputRole::Aux, dtype, layout });
        }
        if self.epilog.sums() {
            let length = if self.epilog == Epilog::Bgradb { shape.columns } else { shape.rows };
            let mut extents = shape.batch.clone();
            extents.push(length);
            extents.extend((batch > 0).then_some(1));
            let layout = Layout::contiguous(&extents);
            outputs.push(MatmulOperand { role: OutputRole::Sums, dtype: types.bias, layout });
        }
        for (role, dtype, is_wanted) in [
            (OutputRole::ResultAmax, DType::Float32, self.result_amax),
            (OutputRole::AuxAmax, DType::Float32, self.aux_amax),
            (OutputRole::MantissaBitCount, DType::Int32, self.types.mantissa_bit_count),
        ] {
            if is_wanted {
                let layout = Layout::contiguous(&[1]);
                outputs.push(MatmulOperand { role, dtype, layout });
            }
        }
    }
}
