//! Fourier transforms on the CPU (seed; the CPU worker replaces this file).
use crate::error::Result;
use crate::fft::{Direction, Problem};
use std::num::NonZeroUsize;

/// A planned transform.
#[derive(Debug)]
pub struct CpuFft {}
impl CpuFft {
    /// Plans.
    pub fn new(_problem: &Problem, _threads: NonZeroUsize) -> Result<Self> {
        Ok(Self {})
    }
    /// Runs.
    ///
    /// # Safety
    /// Addresses must be valid for the problem's layouts.
    pub unsafe fn execute(
        &self,
        _input: usize,
        _output: usize,
        _direction: Direction,
    ) -> Result<()> {
        Ok(())
    }
}
