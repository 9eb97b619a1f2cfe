//! The arguments of one execution of a plan, whatever computes it.

use super::problem::Direction;

/// A transform of the memory at one address to the memory at another.
#[derive(Clone, Copy, Debug)]
pub struct Transform {
    /// Address of the input's element at index (0, …, 0).
    pub input: usize,
    /// Address of the output's element at index (0, …, 0); the input's for a problem in place.
    pub output: usize,
    /// Sign of the exponent.
    pub direction: Direction,
    /// Number that the result is multiplied by; `None` leaves it unscaled.
    ///
    /// A factor belongs to an execution, not to a plan: a callback of cuFFT's would cost a compiler
    /// and a plan of its own, and a transform without a factor costs nothing. On a GPU the factor
    /// is a kernel of gpumath's own.
    pub factor: Option<f64>,
}
