//! The numbers that products and third operands are multiplied by.

use crate::error::{Error, Result};
use crate::tensor::DType;

/// The factors of `alpha * a @ b + beta * c`, as real and imaginary parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalars {
    /// What products are multiplied by.
    pub alpha: [f64; 2],
    /// What the third operand is multiplied by. It is not read if this is 0.
    pub beta: [f64; 2],
}

/// The product as it is, without a third operand.
impl Default for Scalars {
    fn default() -> Self {
        Self { alpha: [1.0, 0.0], beta: [0.0, 0.0] }
    }
}

impl Scalars {
    /// Returns `InvalidValue` if one has an imaginary part, but the elements have none.
    pub(super) fn check(self, dtype: DType) -> Result<()> {
        for (name, [real, imaginary]) in [("alpha", self.alpha), ("beta", self.beta)] {
            if imaginary != 0.0 && !dtype.is_complex() {
                return Err(Error::InvalidValue(format!(
                    "{name} is {real}{imaginary:+}j, but the operands are of type {dtype}; give a \
                     real number, or convert the operands to a complex type"
                )));
            }
        }
        Ok(())
    }

    /// Whether the third operand counts.
    pub(super) fn has_beta(self) -> bool {
        self.beta.iter().any(|&part| part != 0.0)
    }

    /// Whether the factors count.
    pub(super) fn has_factors(self) -> bool {
        self.alpha.iter().any(|&part| part != 0.0)
    }

    /// The bits of the numbers, as a part of the key of a plan.
    pub(super) fn bits(self) -> [[u64; 2]; 2] {
        [self.alpha, self.beta].map(|number| number.map(f64::to_bits))
    }

    /// The numbers with these bits.
    pub(super) fn from_bits(bits: [[u64; 2]; 2]) -> Self {
        let [alpha, beta] = bits.map(|number| number.map(f64::from_bits));
        Self { alpha, beta }
    }
}
