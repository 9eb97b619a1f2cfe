//! What a product refuses, before any call of a library.

use super::epilog::{AuxKind, Epilog};
use super::geometry::broadcast;
use super::problem::{InputRole, MatmulOperand};
use super::request::{MatmulRequest, ProductShape};
use super::types::{ComputeType, MatmulTypes, is_narrow};
use crate::error::{Error, Result};
use crate::tensor::{DType, TensorView};

/// Returns `InvalidValue` unless `c` can be added to a product of this shape.
pub(super) fn check_c(c: Option<&MatmulOperand<InputRole>>, shape: &ProductShape) -> Result<()> {
    let Some(c) = c else { return Ok(()) };
    let wanted = shape.with_batch(shape.rows, shape.columns);
    let given = &c.layout.shape;
    if given.len() >= 2 && broadcast(given, &wanted).as_ref() == Some(&wanted) {
        return Ok(());
    }
    Err(Error::InvalidValue(format!(
        "c has the shape {given:?}, but the product has {wanted:?}; c must have two dimensions at \
         least, each equal to that of the product or 1; reshape it, for a vector to a column"
    )))
}

impl MatmulRequest {
    pub(super) fn check_memory(
        &self,
        role: InputRole,
        view: &TensorView,
        a: &TensorView,
    ) -> Result<()> {
        if view.device != a.device {
            return Err(Error::InvalidValue(format!(
                "{} is {}, but a is {}; copy one of them",
                role.name(),
                view.device.describe(),
                a.device.describe()
            )));
        }
        let is_written = self.inplace && role == InputRole::C;
        if is_written && (view.readonly || !view.layout.is_injective()) {
            return Err(Error::InvalidValue(format!(
                "inplace=True writes to c, which is of {} and {}; give other memory",
                view.describe(),
                if view.readonly { "read-only" } else { "has elements that share memory" }
            )));
        }
        Ok(())
    }

    pub(super) fn check_conjugation(&self, a: DType) -> Result<()> {
        if self.conjugate.contains(&true) && !a.is_complex() {
            return Err(Error::InvalidValue(format!(
                "an operand of type {a} is to be conjugated, but only complex ones can be; leave \
                 is_conjugate out"
            )));
        }
        Ok(())
    }

    pub(super) fn check_epilog(
        &self,
        types: MatmulTypes,
        shape: &ProductShape,
        operands: &[MatmulOperand<InputRole>],
    ) -> Result<()> {
        let (epilog, name) = (self.epilog, self.epilog.name());
        let is_real_float = !types.result.is_complex() && types.a != DType::Int8;
        if epilog != Epilog::None && !is_real_float {
            return Err(Error::InvalidValue(format!(
                "the epilog {name} is for real floating-point products, and this one is of {} and \
                 {}; leave it out",
                types.a, types.b
            )));
        }
        let find = |role: InputRole| operands.iter().find(|operand| operand.role == role);
        let checks = [
            (InputRole::Bias, epilog.has_bias().then_some((types.bias, shape.rows, 1)), "bias"),
            (
                InputRole::Aux,
                epilog.aux_input().map(|kind| {
                    let dtype = kind.dtype(types, self.aux_type);
                    (dtype, kind.column(shape.rows), shape.columns)
                }),
                epilog.aux_input().map_or("aux", |kind| kind.name()),
            ),
        ];
        for (role, wanted, key) in checks {
            match (find(role), wanted) {
                (None, None) => {}
                (None, Some(_)) => {
                    return Err(Error::InvalidValue(format!(
                        "the epilog {name} needs the input {key:?}; give it in epilog_inputs"
                    )));
                }
                (Some(_), None) => {
                    return Err(Error::InvalidValue(format!(
                        "the epilog {name} has no input {key:?}; leave it out"
                    )));
                }
                (Some(given), Some((dtype, rows, columns))) => {
                    let given_shape = &given.layout.shape;
                    let wanted = shape.with_batch(rows, columns);
                    let is_vector = role == InputRole::Bias && given_shape[..] == [rows];
                    let is_matrix = given_shape.len() >= 2
                        && given_shape[given_shape.len() - 2..] == [rows, columns]
                        && broadcast(given_shape, &wanted).as_ref() == Some(&wanted);
                    if given.dtype != dtype || !(is_vector || is_matrix) {
                        return Err(Error::InvalidValue(format!(
                            "the epilog input {key:?} is of type {} and shape {given_shape:?}, but \
                             the epilog {name} needs {dtype} of shape {wanted:?}, whose batch \
                             dimensions may be left out",
                            given.dtype
                        )));
                    }
                }
            }
        }
        let writes_argument = epilog.aux_output() == Some(AuxKind::GeluArgument);
        let has_argument = writes_argument || epilog.aux_input() == Some(AuxKind::GeluArgument);
        if self.aux_type.is_some() && !has_argument || self.aux_amax && !writes_argument {
            return Err(Error::InvalidValue(format!(
                "aux_type is for epilogs with GELU_AUX or DGELU, and aux_amax for those with \
                 GELU_AUX, and this one is {name}; leave them out"
            )));
        }
        let is_possible = |dtype: DType| {
            dtype == types.result
                || matches!(dtype, DType::Float16 | DType::BFloat16)
                || is_narrow(dtype)
        };
        match self.aux_type {
            Some(dtype) if !is_possible(dtype) => Err(Error::InvalidValue(format!(
                "aux_type is {dtype}; for a result of {} it may be that, float16, bfloat16 or an \
                 8-bit floating-point type",
                types.result
            ))),
            _ => Ok(()),
        }
    }

    /// Checks the choices for compute types that are emulated.
    pub(super) fn check_emulation(&self, types: MatmulTypes) -> Result<()> {
        const FIXED_POINT: ComputeType = ComputeType::F64EmulatedFixedPoint;
        let compute = types.compute;
        let chosen = &self.types;
        for (name, is_given, is_possible, needed) in [
            (
                "emulation_strategy",
                chosen.emulation_strategy.is_some(),
                compute.may_be_emulated(),
                &[ComputeType::F32Emulated16Bfx9, FIXED_POINT][..],
            ),
            (
                "mantissa_bit_count",
                chosen.mantissa_bit_count,
                compute == FIXED_POINT,
                &[FIXED_POINT],
            ),
        ] {
            if is_given && !is_possible {
                let needed: Vec<&str> = needed.iter().map(|compute| compute.name()).collect();
                return Err(Error::InvalidValue(format!(
                    "{name} is given, but it is for compute_type {}, and this one is {}; leave it \
                     out, or give another compute_type",
                    needed.join(" or "),
                    compute.name()
                )));
            }
        }
        Ok(())
    }

    /// Checks the scales, which are for operands of 8-bit floating-point types.
    pub(super) fn check_scales(
        &self,
        types: MatmulTypes,
        operands: &[MatmulOperand<InputRole>],
    ) -> Result<()> {
        let aux = self.aux_type.unwrap_or(DType::Float32);
        for (role, dtype) in [
            (InputRole::ScaleA, types.a),
            (InputRole::ScaleB, types.b),
            (InputRole::ScaleC, types.c),
            (InputRole::ScaleD, types.result),
            (InputRole::ScaleAux, aux),
        ] {
            let given = operands.iter().find(|operand| operand.role == role);
            let Some(given) = given else { continue };
            if !is_narrow(dtype) {
                return Err(Error::InvalidValue(format!(
                    "{} is given, but what it scales is of type {dtype}, and not of an 8-bit \
                     floating-point type; leave it out",
                    role.name()
                )));
            }
            if given.dtype != DType::Float32 || given.layout.len() != 1 {
                return Err(Error::InvalidValue(format!(
                    "{} is of type {} and shape {:?}, but one number of type float32 is needed",
                    role.name(),
                    given.dtype,
                    given.layout.shape
                )));
            }
        }
        if self.result_amax && !is_narrow(types.result) {
            return Err(Error::InvalidValue(format!(
                "result_amax is for results of 8-bit floating-point types, and this one is of {}; \
                 leave it out",
                types.result
            )));
        }
        Ok(())
    }
}
