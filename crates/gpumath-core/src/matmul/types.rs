//! Which element types go together in a product, and in which type it is computed.

use crate::error::{Error, Result};
use crate::tensor::DType;

/// The type that a product is computed in, as `cublasComputeType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComputeType {
    /// Half precision.
    F16,
    /// Half precision, by the plainest way.
    F16Pedantic,
    /// Single precision.
    F32,
    /// Single precision, by the plainest way.
    F32Pedantic,
    /// Sums in single precision of products in half precision.
    F32Fast16F,
    /// Sums in single precision of products in bfloat16.
    F32Fast16Bf,
    /// Sums in single precision of products in TF32.
    F32FastTf32,
    /// Single precision out of nine products in bfloat16.
    F32Emulated16Bfx9,
    /// Double precision.
    F64,
    /// Double precision, by the plainest way.
    F64Pedantic,
    /// Double precision out of products of integers, the Ozaki scheme.
    F64EmulatedFixedPoint,
    /// 32-bit integers.
    I32,
    /// 32-bit integers, by the plainest way.
    I32Pedantic,
}

impl ComputeType {
    /// All of them, with NVIDIA's numbers and names.
    const ALL: [(Self, i32, &'static str); 13] = [
        (Self::F16, 64, "COMPUTE_16F"),
        (Self::F16Pedantic, 65, "COMPUTE_16F_PEDANTIC"),
        (Self::F32, 68, "COMPUTE_32F"),
        (Self::F32Pedantic, 69, "COMPUTE_32F_PEDANTIC"),
        (Self::F32Fast16F, 74, "COMPUTE_32F_FAST_16F"),
        (Self::F32Fast16Bf, 75, "COMPUTE_32F_FAST_16BF"),
        (Self::F32FastTf32, 77, "COMPUTE_32F_FAST_TF32"),
        (Self::F32Emulated16Bfx9, 78, "COMPUTE_32F_EMULATED_16BFX9"),
        (Self::F64, 70, "COMPUTE_64F"),
        (Self::F64Pedantic, 71, "COMPUTE_64F_PEDANTIC"),
        (Self::F64EmulatedFixedPoint, 79, "COMPUTE_64F_EMULATED_FIXEDPOINT"),
        (Self::I32, 72, "COMPUTE_32I"),
        (Self::I32Pedantic, 73, "COMPUTE_32I_PEDANTIC"),
    ];

    /// Whether sums are in single or double precision, and are not emulated.
    pub(super) const fn is_floating(self) -> bool {
        matches!(
            self,
            Self::F32
                | Self::F32Pedantic
                | Self::F32Fast16F
                | Self::F32Fast16Bf
                | Self::F32FastTf32
                | Self::F64
                | Self::F64Pedantic
        )
    }

    /// Whether cuBLASLt may put it together from products of narrower types.
    #[must_use]
    pub const fn may_be_emulated(self) -> bool {
        matches!(self, Self::F32Emulated16Bfx9 | Self::F64EmulatedFixedPoint)
    }

    /// Returns its `cublasComputeType_t`.
    #[must_use]
    pub fn code(self) -> i32 {
        Self::ALL.iter().find(|row| row.0 == self).map_or(0, |row| row.1)
    }

    /// Returns NVIDIA's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }

    /// Returns the type with this `cublasComputeType_t`, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().find(|row| row.1 == code).map(|row| row.0)
    }
}

/// The types of a product that a user may choose; the others follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChosenTypes {
    /// Element type of the result.
    pub result: Option<DType>,
    /// What is computed in.
    pub compute: Option<ComputeType>,
    /// Type of `alpha` and `beta`.
    pub scale: Option<DType>,
    /// Whether blocks of the operands have scales, and not operands as a whole.
    pub block_scaling: bool,
    /// When cuBLASLt emulates, as `cublasEmulationStrategy_t`; `None` leaves it to the library.
    pub emulation_strategy: Option<i32>,
    /// Whether to return how many bits of the mantissa an emulation retained.
    pub mantissa_bit_count: bool,
}

/// The types of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulTypes {
    /// Element type of `a`.
    pub a: DType,
    /// Element type of `b`.
    pub b: DType,
    /// Element type of `c`, also where there is none.
    pub c: DType,
    /// Element type of the result.
    pub result: DType,
    /// Element type of a bias.
    pub bias: DType,
    /// What is computed in.
    pub compute: ComputeType,
    /// Type of `alpha` and `beta`.
    pub scale: DType,
}

impl MatmulTypes {
    /// Completes the types of a product of these operands.
    ///
    /// # Errors
    /// `InvalidValue` if there is no such product; it says which there are.
    pub fn of(a: DType, b: DType, c: Option<DType>, chosen: ChosenTypes) -> Result<Self> {
        if !are_multiplied(a, b) {
            return Err(Error::InvalidValue(format!(
                "a is of type {a} and b of {b}, but both have to be of float16, bfloat16, float32, \
                 float64, complex64, complex128, int8 or float4_e2m1fn_x2, or each of \
                 float8_e4m3fn or float8_e5m2 and not both of the latter; convert one"
            )));
        }
        let results = results_of(a, b);
        // With 8-bit floating-point results, c is of a wider type.
        let like_c = c.filter(|c| results.contains(c) && !is_narrow(a));
        let result = chosen.result.or(like_c).unwrap_or(results[0]);
        if !results.contains(&result) {
            return Err(Error::InvalidValue(format!(
                "the result would be of type {result}, but that of {a} and {b} can be of {} only",
                names(results)
            )));
        }
        let addends: &[DType] =
            if is_narrow(result) { &[DType::BFloat16, DType::Float16] } else { &[result] };
        let c = c.unwrap_or(addends[0]);
        if !addends.contains(&c) {
            return Err(Error::InvalidValue(format!(
                "c is of type {c}, but for a result of type {result} it has to be of {}; \
                 convert it",
                names(addends)
            )));
        }
        let bias = match result {
            _ if is_narrow(result) => c,
            DType::Float32 if is_narrow(a) => DType::BFloat16,
            _ => result,
        };
        let computes = computes_of(a, result);
        let compute = match (chosen.compute, chosen.scale) {
            (Some(compute), _) => compute,
            // The type of the scalars may say it.
            (None, Some(scale)) => computes
                .iter()
                .find(|&&compute| scale_of(a, result, compute) == scale)
                .map_or(computes[0], |&compute| compute),
            (None, None) => computes[0],
        };
        if !computes.contains(&compute) {
            let known: Vec<&str> = computes.iter().map(|compute| compute.name()).collect();
            return Err(Error::InvalidValue(format!(
                "compute_type is {}, but a product of {a} and {b} with a result of {result} can \
                 have {} only",
                compute.name(),
                known.join(", ")
            )));
        }
        let scale = scale_of(a, result, compute);
        if let Some(asked) = chosen.scale.filter(|&asked| asked != scale) {
            return Err(Error::InvalidValue(format!(
                "scale_type is {asked}, but alpha and beta are of {scale} for a product of {a} and \
                 {b} by {}; leave it out",
                compute.name()
            )));
        }
        Ok(Self { a, b, c, result, bias, compute, scale })
    }

    /// Completes the types beside the type of GELU's argument that an epilog gives out. With a
    /// narrow result, cuBLASLt gives out one of 8 bits or of float16 only where `c` is of float16.
    pub(super) fn with_aux(mut self, aux: Option<DType>, has_c: bool) -> Self {
        let needs_half = aux.is_some_and(|aux| is_narrow(aux) || aux == DType::Float16);
        if is_narrow(self.result) && needs_half && !has_c {
            (self.c, self.bias) = (DType::Float16, DType::Float16);
        }
        self
    }
}

/// Whether it is a floating-point type of 8 or 4 bits.
pub(super) const fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::Float8E4M3Fn | DType::Float8E5M2 | DType::Float4E2M1FnX2)
}

fn are_multiplied(a: DType, b: DType) -> bool {
    if a == DType::Float4E2M1FnX2 || b == DType::Float4E2M1FnX2 {
        return a == b;
    }
    if is_narrow(a) && is_narrow(b) {
        return a == DType::Float8E4M3Fn || b == DType::Float8E4M3Fn;
    }
    a == b
        && matches!(
            a,
            DType::Int8
                | DType::Float16
                | DType::BFloat16
                | DType::Float32
                | DType::Float64
                | DType::Complex64
                | DType::Complex128
        )
}

/// The types that a result can have, the default one first.
fn results_of(a: DType, b: DType) -> &'static [DType] {
    use DType::{
        BFloat16, Complex64, Complex128, Float4E2M1FnX2, Float8E4M3Fn, Float8E5M2, Float16,
        Float32, Float64, Int8, Int32,
    };
    match (a, b) {
        (Int8, _) => &[Int32, Int8, Float32],
        (Float16, _) => &[Float16, Float32],
        (BFloat16, _) => &[BFloat16, Float32],
        (Float64, _) => &[Float64],
        (Complex64, _) => &[Complex64],
        (Complex128, _) => &[Complex128],
        (Float4E2M1FnX2, _) => &[Float4E2M1FnX2, BFloat16, Float16, Float32],
        (Float8E4M3Fn, Float8E4M3Fn) => &[Float8E4M3Fn, BFloat16, Float16, Float32],
        (Float8E4M3Fn, _) => &[Float8E4M3Fn, Float8E5M2, BFloat16, Float16, Float32],
        (Float8E5M2, _) => &[Float8E5M2, Float8E4M3Fn, BFloat16, Float16, Float32],
        _ => &[Float32],
    }
}

/// The types that a product can be computed in, the default one first.
fn computes_of(a: DType, result: DType) -> &'static [ComputeType] {
    use ComputeType as C;
    match (a, result) {
        (DType::Int8, DType::Float32) => &[C::F32, C::F32Pedantic],
        (DType::Int8, _) => &[C::I32, C::I32Pedantic],
        (DType::Float16, DType::Float16) => &[C::F32, C::F32Pedantic, C::F16, C::F16Pedantic],
        (DType::Float16 | DType::BFloat16, _) => &[C::F32, C::F32Pedantic],
        (DType::Float32 | DType::Complex64, _) => &[
            C::F32,
            C::F32Pedantic,
            C::F32Fast16F,
            C::F32Fast16Bf,
            C::F32FastTf32,
            C::F32Emulated16Bfx9,
        ],
        (DType::Float64 | DType::Complex128, _) => {
            &[C::F64, C::F64Pedantic, C::F64EmulatedFixedPoint]
        }
        _ => &[C::F32],
    }
}

/// The type of `alpha` and `beta`.
fn scale_of(a: DType, result: DType, compute: ComputeType) -> DType {
    match (a, compute) {
        (_, ComputeType::F16 | ComputeType::F16Pedantic) => DType::Float16,
        (DType::Int8, _) if result == DType::Int32 => DType::Int32,
        (DType::Complex64 | DType::Complex128 | DType::Float64, _) => a,
        _ => DType::Float32,
    }
}

fn names(dtypes: &[DType]) -> String {
    let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(a: DType, b: DType, c: Option<DType>, chosen: ChosenTypes) -> Option<MatmulTypes> {
        MatmulTypes::of(a, b, c, chosen).ok()
    }

    #[test]
    fn the_types_follow_from_the_operands() {
        use DType::{BFloat16, Float8E4M3Fn, Float8E5M2, Float16, Float32, Int8, Int32};
        let default = ChosenTypes::default();
        let types = of(Int8, Int8, None, default).unwrap();
        assert_eq!((types.result, types.compute, types.scale), (Int32, ComputeType::I32, Int32));
        let types = of(Float16, Float16, Some(Float32), default).unwrap();
        assert_eq!((types.c, types.result, types.scale), (Float32, Float32, Float32));
        let types = of(Float8E4M3Fn, Float8E5M2, None, default).unwrap();
        assert_eq!((types.c, types.result, types.bias), (BFloat16, Float8E4M3Fn, BFloat16));
        for (aux, has_c, c) in [
            (Some(Float8E4M3Fn), false, Float16),
            (Some(Float16), false, Float16),
            (Some(BFloat16), false, BFloat16),
            (Some(Float8E4M3Fn), true, BFloat16),
            (None, false, BFloat16),
        ] {
            assert_eq!(types.with_aux(aux, has_c).c, c);
        }
        let wide = ChosenTypes { result: Some(Float32), ..default };
        let types = of(Float8E5M2, Float8E4M3Fn, None, wide).unwrap();
        assert_eq!((types.c, types.result, types.bias), (Float32, Float32, BFloat16));
        let half = ChosenTypes { scale: Some(Float16), ..default };
        assert_eq!(of(Float16, Float16, None, half).unwrap().compute, ComputeType::F16);
        assert_eq!(of(Float8E5M2, Float8E5M2, None, default), None);
        assert_eq!(of(Float16, Float32, None, default), None);
        assert_eq!(of(Float32, Float32, Some(Float16), default), None);
        assert_eq!(of(Float32, Float32, None, half), None);
    }

    #[test]
    fn compute_types_have_numbers() {
        for (compute, code, name) in ComputeType::ALL {
            assert_eq!(ComputeType::from_code(code), Some(compute));
            assert_eq!((compute.code(), compute.name()), (code, name));
        }
        assert_eq!(ComputeType::from_code(66), None);
    }
}
