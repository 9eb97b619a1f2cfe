//! Numbers of cuBLASLt, and numbers of ours as it takes them.

use crate::error::{Error, Result};
use crate::tensor::DType;

/// `cublasLtMatmulDescAttributes_t`
pub(super) mod operation {
    pub(in super::super) const TRANSPOSE_LEFT: i32 = 3;
    pub(in super::super) const TRANSPOSE_RIGHT: i32 = 4;
    pub(in super::super) const EPILOGUE: i32 = 7;
    pub(in super::super) const BIAS_POINTER: i32 = 8;
    pub(in super::super) const BIAS_BATCH_STRIDE: i32 = 10;
    pub(in super::super) const AUX_POINTER: i32 = 11;
    pub(in super::super) const AUX_LEADING_DIMENSION: i32 = 12;
    pub(in super::super) const AUX_BATCH_STRIDE: i32 = 13;
    pub(in super::super) const SM_COUNT_TARGET: i32 = 15;
    pub(in super::super) const LEFT_SCALE: i32 = 17;
    pub(in super::super) const RIGHT_SCALE: i32 = 18;
    pub(in super::super) const ADDEND_SCALE: i32 = 19;
    pub(in super::super) const RESULT_SCALE: i32 = 20;
    pub(in super::super) const RESULT_AMAX: i32 = 21;
    pub(in super::super) const AUX_DATA_TYPE: i32 = 22;
    pub(in super::super) const AUX_SCALE: i32 = 23;
    pub(in super::super) const AUX_AMAX: i32 = 24;
    pub(in super::super) const FAST_ACCUMULATION: i32 = 25;
    pub(in super::super) const BIAS_DATA_TYPE: i32 = 26;
    pub(in super::super) const LEFT_SCALE_MODE: i32 = 31;
    pub(in super::super) const RIGHT_SCALE_MODE: i32 = 32;
    pub(in super::super) const RESULT_OUT_SCALE: i32 = 36;
    pub(in super::super) const RESULT_OUT_SCALE_MODE: i32 = 37;
    pub(in super::super) const EMULATION: i32 = 38;
}

/// `cublasLtEmulationDescAttributes_t`
pub(super) mod emulation {
    pub(in super::super) const STRATEGY: i32 = 0;
    pub(in super::super) const MANTISSA_BIT_COUNT_POINTER: i32 = 5;
}

/// `cublasLtMatmulPreferenceAttributes_t`
pub(super) mod preference {
    pub(in super::super) const MAX_WORKSPACE: i32 = 1;
    pub(in super::super) const REDUCTION_SCHEMES: i32 = 3;
    /// Of the left factor, the right one, the addend and the result.
    pub(in super::super) const MIN_ALIGNMENTS: std::ops::RangeInclusive<i32> = 5..=8;
    pub(in super::super) const MIN_ALIGNMENT_RIGHT: i32 = 6;
    pub(in super::super) const MAX_WAVES: i32 = 9;
    pub(in super::super) const IMPLEMENTATIONS: i32 = 12;
}

/// `cublasLtMatrixLayoutAttribute_t`
pub(super) mod layout {
    pub(in super::super) const BATCH_COUNT: i32 = 5;
    pub(in super::super) const BATCH_STRIDE: i32 = 6;
}

/// `cublasOperation_t`
pub(super) mod transpose {
    pub(in super::super) const NO: i32 = 0;
    pub(in super::super) const YES: i32 = 1;
    pub(in super::super) const CONJUGATE: i32 = 2;
}

/// Returns the `cudaDataType_t` of a type.
pub(super) fn data_type(dtype: DType) -> Result<i32> {
    Ok(match dtype {
        DType::Float32 => 0,
        DType::Float64 => 1,
        DType::Float16 => 2,
        DType::Int8 => 3,
        DType::Complex64 => 4,
        DType::Complex128 => 5,
        DType::Int32 => 10,
        DType::BFloat16 => 14,
        DType::Float8E4M3Fn => 28,
        DType::Float8E5M2 => 29,
        DType::Float4E2M1FnX2 => 33,
        _ => return Err(Error::InvalidValue(format!("cuBLASLt has no matrices of {dtype}"))),
    })
}

/// Returns a number as cuBLASLt reads `alpha` and `beta` of a type, padded with zeros.
pub(super) fn scalar(dtype: DType, [real, imaginary]: [f64; 2]) -> [u64; 2] {
    let single = |number: f64| u64::from((number as f32).to_bits());
    match dtype {
        DType::Float16 => [u64::from(half(real as f32)), 0],
        DType::Int32 => [u64::from(real as i32 as u32), 0],
        DType::Float64 => [real.to_bits(), 0],
        DType::Complex64 => [single(real) | single(imaginary) << 32, 0],
        DType::Complex128 => [real.to_bits(), imaginary.to_bits()],
        _ => [single(real), 0],
    }
}

/// Returns the bits of the nearest number in half precision, the even one of two.
fn half(number: f32) -> u16 {
    let (sign, size) = ((number.to_bits() >> 16) as u16 & 0x8000, number.abs());
    let bits = if size.is_nan() {
        0x7e00
    } else if size >= 65520.0 {
        0x7c00
    } else if size < 2.0_f32.powi(-14) {
        // Multiples of the smallest number.
        (size * 2.0_f32.powi(24)).round_ties_even() as u16
    } else {
        let bits = size.to_bits();
        // 13 bits are dropped, and the exponent counts from another zero. A carry of the rounding
        // goes to the exponent.
        let rounded = bits + 0xfff + (bits >> 13 & 1);
        ((rounded >> 13) - (112 << 10)) as u16
    };
    sign | bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_half_precision() {
        for (number, bits) in [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (f32::INFINITY, 0x7c00),
            (f32::NAN, 0x7e00),
            (5.960_464_5e-8, 1),
            (2.980_232_2e-8, 0),
            (6.097_555e-5, 0x3ff),
            (6.103_515_6e-5, 0x400),
            (0.1, 0x2e66),
            (1.000_488_3, 0x3c00),
            (1.001_464_8, 0x3c02),
        ] {
            assert_eq!(half(number), bits, "{number}");
        }
    }

    #[test]
    fn scalars_have_the_bytes_of_their_type() {
        let bytes = |dtype, number: [f64; 2]| {
            let [low, high] = scalar(dtype, number).map(u64::to_le_bytes);
            [low, high].concat()
        };
        assert_eq!(bytes(DType::Int32, [-3.0, 0.0])[..4], (-3_i32).to_le_bytes());
        assert_eq!(bytes(DType::Float32, [1.5, 0.0])[..4], 1.5_f32.to_le_bytes());
        let complex = bytes(DType::Complex64, [1.5, -2.0]);
        assert_eq!(
            (&complex[..4], &complex[4..8]),
            (&1.5_f32.to_le_bytes()[..], &(-2.0_f32).to_le_bytes()[..])
        );
        assert_eq!(bytes(DType::Complex128, [0.5, -2.0])[8..], (-2.0_f64).to_le_bytes());
    }
}
