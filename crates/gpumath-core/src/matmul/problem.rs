//! What is to be multiplied, independent of the engine that does it.

use std::ops::Range;

use smallvec::SmallVec;

use super::block_scaling::{BlockScaling, SCALE_ALIGNMENT};
use super::epilog::{AuxKind, Epilog};
use super::geometry::{Geometry, MATRICES};
use super::request::{AlgorithmSearch, ProductShape};
use super::types::{MatmulTypes, is_narrow};

use crate::operation::{OperandSpec, Problem, alignment};
use crate::tensor::{DType, Layout, MemoryLocation, TensorView};

/// What an operand of a product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputRole {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// What is added to the product.
    C,
    /// What an epilog adds to each column.
    Bias,
    /// What the derivative of an activation function needs from that function's epilog.
    Aux,
    /// What the elements of `a` are multiplied by: a float32, or a vector with a scale for each
    /// block.
    ScaleA,
    /// Likewise for `b`.
    ScaleB,
    /// Likewise for `c`.
    ScaleC,
    /// What the elements of the result are multiplied by before they are rounded, a float32.
    ScaleD,
    /// Likewise for what an epilog writes besides.
    ScaleAux,
}

impl InputRole {
    /// Whether it is one number, or one for each block, in device memory for a product there.
    pub(super) const fn is_scale(self) -> bool {
        matches!(self, Self::ScaleA | Self::ScaleB | Self::ScaleC | Self::ScaleD | Self::ScaleAux)
    }

    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::Bias => "the bias",
            Self::Aux => "the auxiliary input",
            Self::ScaleA => "the scale of a",
            Self::ScaleB => "the scale of b",
            Self::ScaleC => "the scale of c",
            Self::ScaleD => "the scale of the result",
            Self::ScaleAux => "the scale of the auxiliary output",
        }
    }
}

/// What a result of a product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputRole {
    /// The product.
    Result,
    /// What the epilog of the derivative needs.
    Aux,
    /// Sums of rows or columns.
    Sums,
    /// The largest magnitude in the result.
    ResultAmax,
    /// The largest magnitude in what an epilog writes besides.
    AuxAmax,
    /// The scales of the blocks of the result.
    ResultScales,
    /// How many bits of the mantissa an emulation retained.
    MantissaBitCount,
}

/// An operand or a result, as the user gives or gets it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatmulOperand<Role> {
    /// What it is.
    pub role: Role,
    /// Its element type.
    pub dtype: DType,
    /// Its shape and strides.
    pub layout: Layout,
}

/// A product `alpha * a @ b + beta * c` with an epilog. It is the key of the plan cache.
///
/// [`MatmulRequest`](super::MatmulRequest) has checked that types and shapes fit, and that no two
/// elements of the result share memory. `geometry` has what engines compute with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatmulProblem {
    /// `a`, `b` and what the request names, in that order.
    pub(super) inputs: SmallVec<[MatmulOperand<InputRole>; 3]>,
    /// The result, and what is written besides.
    pub(super) outputs: SmallVec<[MatmulOperand<OutputRole>; 1]>,
    pub(super) shape: ProductShape,
    pub(super) types: MatmulTypes,
    /// Whether elements of `a` and of `b` are conjugated.
    pub(super) conjugate: [bool; 2],
    pub(super) epilog: Epilog,
    /// Whether the result overwrites `c`.
    pub(super) inplace: bool,
    /// The format whose scales the operands have, if they are scaled in blocks.
    pub(super) block_scaling: Option<BlockScaling>,
    /// When cuBLASLt emulates, as `cublasEmulationStrategy_t`, if the user has chosen.
    pub(super) emulation_strategy: Option<i32>,
    pub(super) search: AlgorithmSearch,
    /// Bytes that each address is a multiple of: see [`alignment`]. cuBLASLt chooses by it.
    pub(super) alignment: usize,
}

impl MatmulProblem {
    /// The same product, for another search of algorithms.
    pub(super) fn with_search(&self, algorithm: Option<[u64; 8]>, limit: i32) -> Self {
        let search = AlgorithmSearch { limit, algorithm, ..self.search };
        Self { search, ..self.clone() }
    }

    /// The element types.
    #[must_use]
    pub fn types(&self) -> MatmulTypes {
        self.types
    }

    /// What is done with the sum.
    #[must_use]
    pub fn epilog(&self) -> Epilog {
        self.epilog
    }

    /// m, n and k: the extents of the result, and the common one of the factors.
    #[must_use]
    pub fn extents(&self) -> [i64; 3] {
        [self.shape.rows, self.shape.columns, self.shape.depth]
    }

    /// Whether the operands behind `a` and `b` are these, in this order.
    #[must_use]
    pub fn has_inputs(&self, further: impl Iterator<Item = InputRole>) -> bool {
        self.inputs.iter().skip(2).map(|input| input.role).eq(further)
    }

    /// What each result is, in their order.
    pub fn output_roles(&self) -> impl Iterator<Item = OutputRole> {
        self.outputs.iter().map(|output| output.role)
    }

    /// Where an operand is among the inputs, if there is one of this role.
    #[must_use]
    pub fn input_index(&self, role: InputRole) -> Option<usize> {
        self.inputs.iter().position(|input| input.role == role)
    }

    /// Where a result is among the outputs, if there is one of this role.
    #[must_use]
    pub fn output_index(&self, role: OutputRole) -> Option<usize> {
        self.outputs.iter().position(|output| output.role == role)
    }

    /// Element types of the matrices of a [`Geometry`], in their order; `None` for those that are
    /// not there.
    pub(super) fn matrix_dtypes(&self) -> [Option<DType>; MATRICES] {
        let input = |role| self.input_index(role).map(|index| self.inputs[index].dtype);
        let output = |role| self.output_index(role).map(|index| self.outputs[index].dtype);
        [
            input(InputRole::Bias).or(output(OutputRole::Sums)),
            input(InputRole::Aux).or(output(OutputRole::Aux)),
            Some(self.types.a),
            Some(self.types.b),
            input(InputRole::C),
            Some(self.types.result),
        ]
    }

    /// The number of elements of the vector that the epilog adds or writes.
    pub(super) fn vector_length(&self) -> i64 {
        match self.epilog {
            Epilog::Bgradb => self.shape.columns,
            _ => self.shape.rows,
        }
    }

    /// Whether it is a product and nothing else: of two operands, without an epilog.
    pub(super) fn is_plain(&self) -> bool {
        self.inputs.len() == 2
            && self.outputs.len() == 1
            && self.epilog == Epilog::None
            && self.block_scaling.is_none()
    }

    /// The matrices that engines compute with.
    pub(super) fn geometry(&self) -> Geometry {
        Geometry::of(self)
    }
}

impl AuxKind {
    /// The element type of the matrix: that of the result unless `chosen`, and a wider one for
    /// results of 8 bits.
    pub(super) fn dtype(self, types: MatmulTypes, chosen: Option<DType>) -> DType {
        match self {
            Self::ReluBits => DType::UInt8,
            Self::GeluArgument if is_narrow(types.result) => chosen.unwrap_or(types.c),
            Self::GeluArgument => chosen.unwrap_or(types.result),
        }
    }
}

impl Problem for MatmulProblem {
    fn input(&self, index: usize) -> Option<OperandSpec<'_>> {
        let MatmulOperand { role, dtype, layout } = self.inputs.get(index)?;
        Some(OperandSpec { name: role.name(), dtype: *dtype, layout })
    }

    fn output(&self, index: usize) -> Option<OperandSpec<'_>> {
        let MatmulOperand { role, dtype, layout } = self.outputs.get(index)?;
        let name = match role {
            OutputRole::Result => "out",
            OutputRole::Aux => "the auxiliary output",
            OutputRole::Sums => "the sums",
            OutputRole::ResultAmax => "the largest magnitude of the result",
            OutputRole::AuxAmax => "the largest magnitude of the auxiliary output",
            OutputRole::ResultScales => "the scales of the result",
            OutputRole::MantissaBitCount => "the number of mantissa bits",
        };
        Some(OperandSpec { name, dtype: *dtype, layout })
    }

    fn overwritten_inputs(&self) -> Range<usize> {
        let addend = self.inplace.then(|| self.input_index(InputRole::C)).flatten();
        addend.map_or(0..0, |index| index..index + 1)
    }

    fn is_empty(&self) -> bool {
        // Sums of rows are there without columns, and sums of columns without rows.
        self.outputs.iter().all(|output| output.layout.is_empty())
    }

    fn fits_input(&self, index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        let is_scale = self.inputs.get(index).is_some_and(|input| input.role.is_scale());
        let needed = match (is_scale, self.block_scaling) {
            (false, _) => self.alignment,
            (true, Some(_)) if view.layout.len() > 1 => SCALE_ALIGNMENT,
            (true, _) => 1,
        };
        alignment([view], location) >= needed
    }

    fn fits_output(&self, _index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        alignment([view], location) >= self.alignment
    }
}
