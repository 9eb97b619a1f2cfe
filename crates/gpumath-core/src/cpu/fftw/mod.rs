//! Transforms by a library with FFTW's interface: MKL, NVPL or FFTW itself.

mod api;
mod library;
mod plan;

use std::num::NonZeroUsize;
use std::sync::Arc;

pub use self::library::CpuLibrary;

use self::plan::{Operands, Plan, Shape};
use super::buffer::{Buffer, Plain};
use super::loops::{self, Loops};
use crate::error::{Error, Result};
use crate::fft::{Direction, Kind, Precision, Problem};
use crate::tensor::Layout;
use rustfft::num_complex::Complex;

/// A transform planned by a library.
pub(super) struct FftwFft {
    library: Arc<CpuLibrary>,
    work: Work,
}

enum Work {
    Nothing,
    C2C { forward: Plan, inverse: Plan },
    R2C(Plan),
    C2R(Inverse),
}

/// C2R by way of a copy: FFTW's interface destroys the input of C2R over several axes, and leaves open what the
/// imaginary parts at the ends of a Hermitian half do.
struct Inverse {
    precision: Precision,
    /// The copy: complex numbers packed in the memory order of the output.
    copied: Layout,
    copy: Loops,
    /// The axis of the half, and whether its last number stands for the middle of the spectrum.
    halved: usize,
    even: bool,
    /// Over every axis but the last, within the copy.
    others: Option<Plan>,
    last: Plan,
}

impl FftwFft {
    pub(super) fn new(
        problem: &Problem,
        threads: NonZeroUsize,
        library: Arc<CpuLibrary>,
    ) -> Result<Self> {
        let (input, output) = (&problem.input, &problem.output);
        let api = library.api(problem.precision)?;
        let axes: Vec<usize> = problem.axes.iter().map(|&axis| axis as usize).collect();
        let plan = |shape: &Shape<'_>| {
            Plan::new(&api, shape, threads)
                .ok_or_else(|| Error::InvalidValue(unplanned(&library, problem)))
        };
        let shape = Shape { axes: &axes, from: input, to: output, operands: Operands::C2C(0) };
        let work = if input.is_empty() || output.is_empty() {
            Work::Nothing
        } else {
            match problem.kind {
                Kind::C2C => {
                    let sign = |direction: Direction| Shape {
                        operands: if problem.inplace {
                            Operands::InPlace(direction.sign())
                        } else {
                            Operands::C2C(direction.sign())
                        },
                        ..shape
                    };
                    Work::C2C {
                        forward: plan(&sign(Direction::Forward))?,
                        inverse: plan(&sign(Direction::Inverse))?,
                    }
                }
                Kind::R2C => Work::R2C(plan(&Shape { operands: Operands::R2C, ..shape })?),
                Kind::C2R => {
                    let copied = Layout::packed(&input.shape, &output.memory_order());
                    let (others, last) = axes.split_at(axes.len() - 1);
                    let within = Operands::InPlace(Direction::Inverse.sign());
                    let within =
                        Shape { axes: others, from: &copied, to: &copied, operands: within };
                    let across =
                        Shape { axes: last, from: &copied, to: output, operands: Operands::C2R };
                    Work::C2R(Inverse {
                        precision: problem.precision,
                        copy: loops::across(&[], input, &copied),
                        halved: last[0],
                        even: output.shape[last[0]] % 2 == 0,
                        others: (!others.is_empty()).then(|| plan(&within)).transpose()?,
                        last: plan(&across)?,
                        copied,
                    })
                }
            }
        };
        Ok(Self { library, work })
    }

    pub(super) fn library(&self) -> &CpuLibrary {
        &self.library
    }

    /// # Safety
    /// The addresses must be valid for the problem's layouts, and not overlap unless the problem is in place.
    pub(super) unsafe fn execute(
        &self,
        input: usize,
        output: usize,
        direction: Direction,
    ) -> Result<()> {
        // SAFETY: the plans were made for these layouts.
        unsafe {
            match (&self.work, direction) {
                (Work::Nothing, _) => {}
                (Work::C2C { forward: plan, .. }, Direction::Forward)
                | (Work::C2C { inverse: plan, .. }, Direction::Inverse)
                | (Work::R2C(plan), _) => plan.execute(input, output),
                (Work::C2R(inverse), _) => match inverse.precision {
                    Precision::Single => inverse.execute::<f32>(input, output)?,
                    _ => inverse.execute::<f64>(input, output)?,
                },
            }
        }
        Ok(())
    }
}

impl Inverse {
    /// # Safety
    /// As for [`FftwFft::execute`]; `T` is the real type of the precision.
    unsafe fn execute<T: Plain + Default>(&self, input: usize, output: usize) -> Result<()> {
        let len = self.copied.len() as usize;
        let mut buffer = Buffer::take(len * size_of::<Complex<T>>())?;
        let copied = buffer.pieces().next::<Complex<T>>(len);
        let address = copied.as_mut_ptr().expose_provenance();
        let input = std::ptr::with_exposed_provenance::<Complex<T>>(input);
        // SAFETY: the loops stay within the two layouts, the copy's plans within the copy, and what the plans read
        // and write is exposed here and by the caller.
        unsafe {
            copy(&self.copy, input, copied.as_mut_ptr());
            if let Some(others) = &self.others {
                others.execute(address, address);
            }
            let copied = std::ptr::with_exposed_provenance_mut::<Complex<T>>(address);
            self.make_ends_real(copied);
            self.last.execute(address, output);
        }
        Ok(())
    }

    /// # Safety
    /// `copied` must be valid for the layout of the copy.
    unsafe fn make_ends_real<T: Default>(&self, copied: *mut Complex<T>) {
        let ends = [0, self.copied.shape[self.halved] - 1];
        let lines = loops::across(&[self.halved], &self.copied, &self.copied);
        for &end in &ends[..if self.even { 2 } else { 1 }] {
            for number in 0..loops::count(&lines) {
                let (offset, _) = loops::offsets(&lines, number);
                let end = (end * self.copied.strides[self.halved]) as isize;
                // SAFETY: an index within the copy.
                unsafe { (*copied.offset(offset + end)).im = T::default() };
            }
        }
    }
}

/// # Safety
/// Both sides must be valid for the loops and not overlap.
unsafe fn copy<E: Copy>(loops: &Loops, from: *const E, to: *mut E) {
    let Some((inner, outer)) = loops.split_last() else {
        // SAFETY: no loops: one element.
        unsafe { *to = *from };
        return;
    };
    for number in 0..loops::count(outer) {
        let offsets = loops::offsets(outer, number);
        for index in 0..inner.extent as isize {
            // SAFETY: within the loops.
            unsafe {
                *to.offset(offsets.1 + index * inner.to) =
                    *from.offset(offsets.0 + index * inner.from);
            }
        }
    }
}

fn unplanned(library: &CpuLibrary, problem: &Problem) -> String {
    format!(
        "{} ({}) has no plan for this {:?} transform over axes {:?} of a {:?} operand with strides {:?}; set {}=embedded",
        library.name(),
        library.path(),
        problem.kind,
        problem.axes,
        problem.input.shape,
        problem.input.strides,
        library::VARIABLE,
    )
}
