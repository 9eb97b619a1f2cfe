//! GELU of neighbouring numbers.

#![expect(clippy::inline_always, reason = "vector code is compiled for the processor's features")]

use super::epilog::{CUBE, SLOPE};

/// Beyond this, 1 + exp(x) is 1 or exp(x).
const LARGEST: f64 = 40.0;

/// Returns what [`gelu`](super::epilog::gelu) does, without branches, so that a loop over
/// neighbours becomes one over vectors. Alone it takes longer.
#[inline(always)]
pub(super) fn gelu(x: f64) -> f64 {
    let exponent = -2.0 * SLOPE * (x + CUBE * x * x * x);
    let bounded = if exponent < -LARGEST { -LARGEST } else { exponent };
    let bounded = if bounded > LARGEST { LARGEST } else { bounded };
    let value = x / (1.0 + exp(bounded));
    if exponent > LARGEST { 0.0 * x } else { value }
}

/// 2⁵² and half of it: a number that is added to it and subtracted again has been rounded to an
/// integer, which is in the last bits of the sum.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// The logarithm of 2 in two parts: integers below 2¹¹ times the first one are exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// The factorials of 13 down to 0.
const FACTORIALS: [f64; 14] = [
    6_227_020_800.0,
    479_001_600.0,
    39_916_800.0,
    3_628_800.0,
    362_880.0,
    40_320.0,
    5_040.0,
    720.0,
    120.0,
    24.0,
    6.0,
    2.0,
    1.0,
    1.0,
];

/// Returns the exponential function of a number up to [`LARGEST`], to a few units of the last
/// place: 2ⁿ times the sum of a power series, whose argument is at most half the logarithm of 2.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let shifted = x * std::f64::consts::LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    let rest = x - n * LN_2[0] - n * LN_2[1];
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    FACTORIALS.iter().fold(0.0, |sum, factorial| sum * rest + 1.0 / factorial) * power
}

#[cfg(test)]
mod tests {
    use super::super::epilog;
    use super::*;

    #[test]
    fn the_exponential_function_is_exact_to_the_last_places() {
        for step in -4000..=4000 {
            let x = f64::from(step) / 100.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-15, "{x}");
        }
        assert!(exp(f64::NAN).is_nan());
    }

    #[test]
    fn gelu_of_large_numbers_is_theirs_or_zero() {
        for (x, expected) in [(1e3, 1e3), (1e300, 1e300), (f64::INFINITY, f64::INFINITY)] {
            assert_eq!(gelu(x).to_bits(), expected.to_bits(), "{x}");
        }
        for x in [-1e3, -1e300] {
            assert_eq!(gelu(x).to_bits(), (-0.0_f64).to_bits(), "{x}");
        }
        assert!(gelu(f64::NAN).is_nan() && gelu(f64::NEG_INFINITY).is_nan());
    }

    #[test]
    fn both_functions_are_the_same() {
        for step in -1000..=1000 {
            let x = f64::from(step) / 100.0;
            let (found, expected) = (gelu(x), epilog::gelu(x));
            assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{x}");
        }
    }
}
