//! Block scaling: neighbours along the common extent of the factors share a scale.
//!
//! | format | elements | neighbours | scales |
//! |---|---|---|---|
//! | MXFP8 | 8-bit floating-point types | 32 | powers of two, UE8M0 |
//! | NVFP4 | `float4_e2m1fn_x2`, two in a byte | 16 | E4M3 without a sign |
//!
//! cuBLASLt stores the scales of a matrix in tiles of 128 rows by 4 blocks, and the matrices of a
//! batch one after the other. The result has scales of its own if its type is as narrow; its
//! neighbours are those in memory.

use super::problem::{InputRole, MatmulOperand};
use super::request::{MatmulRequest, ProductShape};
use super::types::{MatmulTypes, is_narrow};
use crate::error::{Error, Result};
use crate::operation::{Execution, alignment};
use crate::tensor::{DType, Layout, TensorView};

/// Bytes that the addresses of scales are multiples of.
pub(super) const SCALE_ALIGNMENT: usize = 16;

/// Rows of a tile of scales, and blocks in a row of it.
const TILE: [i64; 2] = [128, 4];

/// A format whose elements share scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum BlockScaling {
    Mxfp8,
    Nvfp4,
}

impl BlockScaling {
    /// The compute capability that it needs.
    pub(super) const CAPABILITY: (i32, i32) = (10, 0);

    /// Returns the format of a product of such operands.
    pub(super) fn of(types: MatmulTypes) -> Result<Self> {
        match types.a {
            DType::Float4E2M1FnX2 => Ok(Self::Nvfp4),
            dtype if is_narrow(dtype) => Ok(Self::Mxfp8),
            dtype => Err(Error::InvalidValue(format!(
                "block_scaling=True is for operands of float8_e4m3fn, float8_e5m2 or \
                 float4_e2m1fn_x2, but a is of {dtype}; leave it out, or convert the operands"
            ))),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mxfp8 => "MXFP8",
            Self::Nvfp4 => "NVFP4",
        }
    }

    /// Its `cublasLtMatmulMatrixScale_t`.
    pub(super) const fn mode(self) -> i32 {
        match self {
            Self::Nvfp4 => 1,
            Self::Mxfp8 => 2,
        }
    }

    /// Elements that share a scale.
    const fn block(self) -> i64 {
        match self {
            Self::Mxfp8 => 32,
            Self::Nvfp4 => 16,
        }
    }

    /// The element types that scales can have. The first one is that of new scales.
    pub(super) const fn scale_types(self) -> [DType; 2] {
        match self {
            Self::Mxfp8 => [DType::UInt8, DType::Float8E8M0Fnu],
            Self::Nvfp4 => [DType::Float8E4M3Fn, DType::UInt8],
        }
    }

    /// The number of scales of so many elements.
    pub(super) const fn scales(self, elements: i64) -> i64 {
        elements / self.block()
    }

    /// Returns `InvalidValue` unless the tiles of scales fill the matrices, and these are where
    /// the library can take them from.
    pub(super) fn check_factors(
        self,
        shape: &ProductShape,
        a: &TensorView,
        b: &TensorView,
    ) -> Result<()> {
        let name = self.name();
        let depth = TILE[1] * self.block();
        for (what, extent, unit) in [
            ("a has rows", shape.rows, TILE[0]),
            ("b has columns", shape.columns, TILE[0]),
            ("a has columns", shape.depth, depth),
        ] {
            if extent < 1 || extent % unit != 0 {
                return Err(Error::InvalidValue(format!(
                    "{what}: {extent}, but an {name} product needs a positive multiple of {unit} \
                     of them, because its scales are stored in tiles; pad the operands with zeros"
                )));
            }
        }
        for (operand, view, along) in [("a", a, 1), ("b", b, 2)] {
            let ndim = view.layout.ndim();
            if ndim < 2 || view.layout.shape[..ndim - 2] != shape.batch[..] {
                return Err(Error::InvalidValue(format!(
                    "{operand} is of {}, but an {name} product takes matrices, or batches of the \
                     same shape for a and b, because each has scales of its own; expand and copy \
                     it",
                    view.describe()
                )));
            }
            if !is_batch_in_order(&view.layout) {
                return Err(Error::InvalidValue(format!(
                    "{operand} is of {}, but an {name} product takes batches in C order, in which \
                     their scales are; copy it",
                    view.describe()
                )));
            }
            if self == Self::Nvfp4 && view.layout.strides[ndim - along] != 1 {
                return Err(Error::InvalidValue(format!(
                    "{operand} is of {}, but two neighbours along axis -{along} have to share a \
                     byte, so its stride has to be 1 there; pack it along that axis",
                    view.describe()
                )));
            }
        }
        Ok(())
    }

    /// Returns `InvalidValue` unless there is a scale for each block of `a` and `b`, and none for
    /// what cannot have one.
    pub(super) fn check_scales(
        self,
        types: MatmulTypes,
        shape: &ProductShape,
        operands: &[MatmulOperand<InputRole>],
    ) -> Result<()> {
        let name = self.name();
        let batch: i64 = shape.batch.iter().product();
        for (role, rows) in [(InputRole::ScaleA, shape.rows), (InputRole::ScaleB, shape.columns)] {
            let wanted = self.scales(batch * rows * shape.depth);
            let [first, other] = self.scale_types();
            let given = operands.iter().find(|operand| operand.role == role);
            let fits = given.is_some_and(|given| {
                (given.dtype == first || given.dtype == other)
                    && given.layout.shape[..] == [wanted]
                    && (wanted == 1 || given.layout.strides[..] == [1])
            });
            if !fits {
                let found = given.map_or("missing".to_owned(), |given| {
                    let (shape, strides) = (&given.layout.shape, &given.layout.strides);
                    format!("of type {}, shape {shape:?} and strides {strides:?}", given.dtype)
                });
                return Err(Error::InvalidValue(format!(
                    "{} is {found}, but an {name} product needs a vector without gaps of {wanted} \
                     elements of type {first} or {other}, in the order that to_block_scale() makes",
                    role.name()
                )));
            }
        }
        for operand in operands {
            let is_result = operand.role == InputRole::ScaleD;
            let can_be_scaled = is_result && types.result == DType::Float4E2M1FnX2;
            let is_number = operand.dtype == DType::Float32 && operand.layout.len() == 1;
            match operand.role {
                InputRole::ScaleC | InputRole::ScaleD | InputRole::ScaleAux if !can_be_scaled => {
                    return Err(Error::InvalidValue(format!(
                        "{} is given, but with block_scaling=True only a result of type \
                         float4_e2m1fn_x2 can have one, a number; leave it out. The scales of the \
                         blocks of a narrow result are returned as d_out_scale",
                        operand.role.name()
                    )));
                }
                InputRole::ScaleD if !is_number => {
                    return Err(Error::InvalidValue(format!(
                        "{} is of type {} and shape {:?}, but one number of type float32 is needed",
                        operand.role.name(),
                        operand.dtype,
                        operand.layout.shape
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The error for hardware without it: `found` says what is there.
    pub(super) fn refusal(self, found: &str) -> Error {
        let (major, minor) = Self::CAPABILITY;
        Error::InvalidValue(format!(
            "{} products need a GPU of compute capability {major}.{minor} or newer, but {found}; \
             leave block_scaling out, and scale whole operands of an 8-bit floating-point type",
            self.name()
        ))
    }
}

impl MatmulRequest {
    /// Returns the format that the operands are scaled in, if blocks of them are scaled.
    pub(super) fn block_scaling_of(&self, types: MatmulTypes) -> Result<Option<BlockScaling>> {
        if !self.types.block_scaling {
            return match types.a {
                DType::Float4E2M1FnX2 => Err(Error::InvalidValue(format!(
                    "a is of {}, which has scales for blocks only; give block_scaling=True and \
                     the scales of a and b",
                    types.a
                ))),
                _ => Ok(None),
            };
        }
        let format = BlockScaling::of(types)?;
        if self.result_amax || self.aux_amax {
            return Err(Error::InvalidValue(format!(
                "result_amax and aux_amax are for results that are scaled as a whole, and this is \
                 an {} product; leave them out",
                format.name()
            )));
        }
        Ok(Some(format))
    }
}

/// Returns `InvalidValue` if memory for a result of two elements in a byte has these in another
/// order than the result.
pub(super) fn check_packed(out: &TensorView, is_by_columns: bool) -> Result<()> {
    let along = if is_by_columns { 2 } else { 1 };
    let ndim = out.layout.ndim();
    if out.dtype != DType::Float4E2M1FnX2 || out.layout.strides[ndim - along] == 1 {
        return Ok(());
    }
    Err(Error::InvalidValue(format!(
        "out is of {}, but two neighbours of the result along axis -{along} share a byte, so its \
         stride has to be 1 there; give such an array",
        out.describe()
    )))
}

/// Returns `InvalidValue` if the library cannot take scales from where they are.
pub(super) fn check_scale_addresses(
    operands: &[MatmulOperand<InputRole>],
    views: &[&TensorView],
    execution: Execution,
) -> Result<()> {
    for (operand, view) in operands.iter().zip(views) {
        let is_vector = operand.role.is_scale() && view.layout.len() > 1;
        if is_vector && alignment([*view], execution.location()) < SCALE_ALIGNMENT {
            return Err(Error::InvalidValue(format!(
                "{} begins at the address {:#x}, but cuBLASLt needs a multiple of \
                 {SCALE_ALIGNMENT}; copy it",
                operand.role.name(),
                view.ptr
            )));
        }
    }
    Ok(())
}

/// Whether the matrices of a batch are in C order, one distance apart.
fn is_batch_in_order(layout: &Layout) -> bool {
    let outer = layout.ndim() - 2;
    let mut dims = (0..outer).filter(|&axis| layout.shape[axis] != 1).rev();
    let Some(mut inner) = dims.next() else { return true };
    layout.strides[inner] > 0
        && dims.all(|axis| {
            let expected = layout.strides[inner] * layout.shape[inner];
            inner = axis;
            layout.strides[axis] == expected
        })
}

/// Returns the layout in elements of a matrix whose bytes have two elements each, along the axis
/// with the stride 1; other layouts as they are.
pub(super) fn in_elements(dtype: DType, layout: &Layout) -> Layout {
    let mut layout = layout.clone();
    let ndim = layout.ndim();
    if dtype != DType::Float4E2M1FnX2 || ndim < 2 {
        return layout;
    }
    let packed = if layout.strides[ndim - 1] == 1 { ndim - 1 } else { ndim - 2 };
    for axis in 0..ndim {
        if axis == packed {
            layout.shape[axis] *= 2;
        } else {
            layout.strides[axis] *= 2;
        }
    }
    layout
}

/// Returns the bytes that so many elements take.
pub(super) const fn bytes_of(dtype: DType, elements: i64) -> i64 {
    match dtype {
        DType::Float4E2M1FnX2 => elements / 2,
        dtype => elements.saturating_mul(dtype.size() as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[i64], strides: &[i64]) -> Layout {
        Layout { shape: shape.into(), strides: strides.into() }
    }

    #[test]
    fn pairs_are_along_the_axis_with_stride_one() {
        let of = |layout: &Layout| in_elements(DType::Float4E2M1FnX2, layout);
        assert_eq!(of(&layout(&[3, 4], &[6, 1])), layout(&[3, 8], &[12, 1]));
        assert_eq!(of(&layout(&[2, 4, 3], &[20, 1, 5])), layout(&[2, 8, 3], &[40, 1, 10]));
        let bytes = layout(&[3, 4], &[6, 1]);
        assert_eq!(in_elements(DType::Float8E4M3Fn, &bytes), bytes);
    }

    #[test]
    fn batches_are_in_order() {
        let of = |shape: &[i64], strides: &[i64]| is_batch_in_order(&layout(shape, strides));
        assert!(of(&[4, 4], &[4, 1]));
        assert!(of(&[2, 3, 4, 4], &[60, 20, 4, 1]));
        assert!(of(&[2, 1, 3, 4, 4], &[48, 7, 16, 4, 1]));
        assert!(!of(&[2, 3, 4, 4], &[16, 32, 4, 1]));
        assert!(!of(&[2, 4, 4], &[0, 4, 1]));
        assert!(!of(&[2, 4, 4], &[-16, 4, 1]));
    }
}
