//! A planned Fourier transform on the CPU, with the lines of rustfft and realfft or of a library.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::CpuLibrary;
use super::fftw::FftwPlanner;
use super::passes::{AxisPasses, Transform};
use crate::device::ContextGuard;
use crate::error::{Error, Result};
use crate::fft::{Direction, FftArguments, FftProblem, Precision};
use crate::operation::{Call, Engine};

/// A planned transform. It holds tables but no work memory, and several threads may execute it at
/// once.
pub struct CpuFft {
    transform: Box<dyn Transform>,
    /// The engine's name.
    name: &'static str,
    inplace: bool,
    /// Bytes that the addresses of operands are multiples of.
    alignment: usize,
}

impl fmt::Debug for CpuFft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuFft").field("engine", &self.name).finish_non_exhaustive()
    }
}

impl CpuFft {
    /// Plans a transform on up to `threads` threads, with the lines of `library` or, without one,
    /// of the embedded engine.
    ///
    /// Where `library` lacks the precision, that is an error if it was requested by name. If it was
    /// only found installed, the embedded engine takes its place.
    pub fn new(
        problem: &FftProblem,
        threads: NonZeroUsize,
        library: Option<Arc<CpuLibrary>>,
    ) -> Result<Self> {
        let precision = problem.precision;
        if precision == Precision::Half {
            return Err(Error::InvalidValue(
                "the CPU engines have single and double precision; convert the operand to \
                 complex64 or float32, or run half precision on a GPU"
                    .into(),
            ));
        }
        let is_optional = library.as_ref().is_some_and(|library| !library.is_requested());
        let planner = library.map(|library| FftwPlanner::new(library, precision)).transpose();
        let planner = if is_optional { planner.unwrap_or(None) } else { planner? };
        let name = planner.as_ref().map_or("embedded", FftwPlanner::name);
        let transform: Box<dyn Transform> = match precision {
            Precision::Single => {
                Box::new(AxisPasses::<f32>::new(problem, threads, planner.as_ref())?)
            }
            _ => Box::new(AxisPasses::<f64>::new(problem, threads, planner.as_ref())?),
        };
        let (inplace, alignment) = (problem.inplace, precision.real().size());
        Ok(Self { transform, name, inplace, alignment })
    }

    /// Transforms the operand at `input` into `output`, and multiplies the result by the factor if
    /// there is one. The input is only read, unless the problem is in place. Blocks until the
    /// result is written.
    ///
    /// # Safety
    /// - `input` and `output` are the addresses of elements (0, …, 0) of memory in the problem's
    ///   layouts, the input readable and the output writable during the call.
    /// - No other thread writes to the input or uses the output during the call.
    /// - The elements of the output are distinct.
    /// - The two do not overlap, or are equal if the problem is in place.
    /// - The kind of transform has this direction.
    pub unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
    ) -> Result<()> {
        for (name, address) in [("input", input), ("output", output)] {
            if !address.is_multiple_of(self.alignment) {
                return Err(Error::InvalidValue(format!(
                    "the {name} at {address:#x} is not aligned to {} bytes; copy it to new memory",
                    self.alignment
                )));
            }
        }
        if self.inplace && input != output {
            return Err(Error::InvalidValue(
                "this transform was planned in place; give the same memory as input and output"
                    .into(),
            ));
        }
        // SAFETY: the caller guarantees what the transform requires.
        unsafe { self.transform.execute(input, output, direction, factor) }
    }
}

impl Engine for CpuFft {
    type Arguments = FftArguments;

    /// `"embedded"`, `"mkl"`, `"nvpl"` or `"fftw"`.
    fn name(&self) -> &'static str {
        self.name
    }

    fn host_memory(&self) -> usize {
        self.transform.table_bytes()
    }

    unsafe fn execute(
        &self,
        _context: Option<&ContextGuard>,
        call: &Call<'_, FftArguments>,
    ) -> Result<()> {
        let (input, output) = call.only_addresses()?;
        let FftArguments { direction, factor } = call.arguments;
        // SAFETY: the caller guarantees that the operand and the result fit the problem.
        unsafe { self.execute(input, output, direction, factor) }
    }
}
