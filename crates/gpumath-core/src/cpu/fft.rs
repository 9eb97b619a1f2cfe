//! Fourier transforms on the CPU.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::CpuLibrary;
use super::embedded::EmbeddedFft;
use super::fftw::FftwFft;
use crate::error::{Error, Result};
use crate::fft::{Direction, FftProblem};

/// A planned transform. It holds tables, no work memory, and may run on several threads at once.
pub struct CpuFft {
    engine: CpuEngine,
    inplace: bool,
    alignment: usize,
}

impl fmt::Debug for CpuFft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuFft").field("engine", &self.engine_name()).finish_non_exhaustive()
    }
}

enum CpuEngine {
    Embedded(Box<EmbeddedFft>),
    Fftw(Box<FftwFft>),
}

impl CpuFft {
    /// Plans a transform on up to `threads` threads, with `library` or else the embedded engine.
    ///
    /// A library that was found installed, not asked for, is passed over where it cannot plan a
    /// layout.
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
        Ok(Self { engine, inplace: problem.inplace, alignment: problem.precision.real().size() })
    }

    /// `"embedded"`, `"mkl"`, `"nvpl"` or `"fftw"`.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        match &self.engine {
            CpuEngine::Embedded(_) => "embedded",
            CpuEngine::Fftw(fft) => fft.library().name(),
        }
    }

    /// Transforms the operand at `input` into `output`, which are the addresses of the elements
    /// with index (0, …, 0), and multiplies the result by the factor if there is one. The input is
    /// only read, unless the problem is in place.
    ///
    /// # Safety
    /// `direction` must be one that the kind of transform has. `input` must be readable and `output`
    /// writable at every offset of the problem's layouts for the whole call, by nobody else; the
    /// elements of the output must be distinct; and the two must not overlap unless the problem is
    /// in place.
    pub unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
        factor: Option<f64>,
    ) -> Result<()> {
        self.check(input, output)?;
        match &self.engine {
            // SAFETY: passed on.
            CpuEngine::Embedded(fft) => unsafe { fft.execute(input, output, direction, factor) },
            // SAFETY: passed on.
            CpuEngine::Fftw(fft) => unsafe { fft.execute(input, output, direction, factor) },
        }
    }

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
