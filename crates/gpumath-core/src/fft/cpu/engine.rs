//! A planned Fourier transform on the CPU, by whichever engine computes it.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::CpuLibrary;
use super::embedded::EmbeddedFft;
use super::fftw::FftwFft;
use crate::error::{Error, Result};
use crate::fft::{Direction, FftProblem};

/// A planned transform. It holds tables but no work memory, and several threads may execute it at
/// once.
pub struct CpuFft {
    engine: CpuEngine,
    inplace: bool,
    /// About how many bytes its tables take.
    table_bytes: usize,
    /// Bytes that the addresses of operands are multiples of.
    alignment: usize,
}

impl fmt::Debug for CpuFft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuFft").field("engine", &self.engine_name()).finish_non_exhaustive()
    }
}

/// What computes a transform.
enum CpuEngine {
    Embedded(Box<EmbeddedFft>),
    Fftw(Box<FftwFft>),
}

impl CpuFft {
    /// Plans a transform on up to `threads` threads, by `library` or, without one, by the embedded
    /// engine.
    ///
    /// Where `library` cannot plan the transform, that is an error if it was requested by name. If
    /// it was only found installed, the embedded engine takes its place.
    pub fn new(
        problem: &FftProblem,
        threads: NonZeroUsize,
        library: Option<Arc<CpuLibrary>>,
    ) -> Result<Self> {
        let planned = library.map(|library| {
            (
                library.is_requested(),
                FftwFft::new(problem, threads, library).map(|fft| CpuEngine::Fftw(Box::new(fft))),
            )
        });
        let engine = match planned {
            Some((_, Ok(engine))) => engine,
            Some((true, Err(error))) => return Err(error),
            None | Some((false, Err(_))) => {
                CpuEngine::Embedded(Box::new(EmbeddedFft::new(problem, threads)?))
            }
        };
        let element = problem.precision.complex().size();
        let table_bytes = match &engine {
            CpuEngine::Embedded(fft) => fft.table_bytes(),
            // Libraries do not say. They keep about two factors for each point of an axis.
            CpuEngine::Fftw(_) => (0..problem.axes.len())
                .map(|position| 2 * element * problem.extent(position) as usize)
                .sum(),
        };
        let alignment = problem.precision.real().size();
        Ok(Self { engine, inplace: problem.inplace, table_bytes, alignment })
    }

    /// Returns about how many bytes of host memory the plan takes.
    #[must_use]
    pub fn host_memory(&self) -> usize {
        self.table_bytes
    }

    /// Returns `"embedded"`, `"mkl"`, `"nvpl"` or `"fftw"`.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        match &self.engine {
            CpuEngine::Embedded(_) => "embedded",
            CpuEngine::Fftw(fft) => fft.library().name(),
        }
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
        self.check(input, output)?;
        match &self.engine {
            // SAFETY: the caller guarantees what the engines require.
            CpuEngine::Embedded(fft) => unsafe { fft.execute(input, output, direction, factor) },
            // SAFETY: the caller guarantees what the engines require.
            CpuEngine::Fftw(fft) => unsafe { fft.execute(input, output, direction, factor) },
        }
    }

    /// Returns an error if the addresses do not fit the plan.
    fn check(&self, input: usize, output: usize) -> Result<()> {
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
        Ok(())
    }
}
