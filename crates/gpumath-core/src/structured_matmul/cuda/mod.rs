//! Products on a GPU: a single product of general matrices, or of others that are completed, as
//! [`crate::matmul`] computes it, all others by cuBLAS and kernels of ours.
//!
//! cuBLAS's matrices are in column-major order. A result in row-major order is computed as the
//! transposed product. What cuBLAS does not take (other strides, conjugated elements that are not
//! transposed) is copied in the workspace by kernels of ours; two factors with a structure become
//! one that is completed; products by diagonal matrices, and those of one stored triangle that are
//! small or have few columns, are one kernel of ours; most others of one triangle are completed,
//! because cuBLAS takes longer for it than for a general product, or computed as the transposed
//! product, where its function is faster for a left factor than for a right one; and `beta`, which
//! its function for triangular matrices lacks, its sum of matrices adds.

mod calls;
mod completion;
mod general;
mod grouped;
mod kernel_call;
mod operand;
mod route;
mod way;

use gpumath_sys::generated::driver;

use self::calls::{Kind, Scalar};
use self::grouped::Groups;
use self::operand::Place;
use self::route::{Condition, Factor, Route, Step};
use self::way::most_completed;
use super::problem::StructuredMatmulProblem;
use super::scalars::Scalars;
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::handle::{self, CUBLAS};
use crate::kernels;
use crate::memory::ALIGNMENT;
use crate::operation::{Call, Engine};
use crate::status::call;
use crate::tensor::DType;

pub(super) use general::GeneralEngine;

/// Products on one GPU.
#[derive(Debug)]
pub(super) struct CublasEngine {
    problem: StructuredMatmulProblem,
    /// The products that have elements, by their places in the list. Each uses the same memory.
    routes: Vec<(usize, Route)>,
    library_workspace: usize,
    /// The number of products if one call computes all of them.
    grouped: Option<usize>,
}

impl CublasEngine {
    pub(super) fn new(problem: &StructuredMatmulProblem, device: i32) -> Result<Self> {
        let most = most_completed(device)?;
        let routes = problem.products.iter().enumerate();
        let routes: Vec<(usize, Route)> = routes
            .filter(|(_, product)| !product.is_empty())
            .map(|(place, product)| {
                let (dtype, has_addend) = (problem.dtype, problem.has_addend);
                Ok((place, Route::of(product, dtype, has_addend, problem.is_in_place, most)?))
            })
            .collect::<Result<_>>()?;
        // The handle is made, and the library loaded, before the first execution.
        handle::with(&CUBLAS, device, |_| Ok(()))?;
        let products = routes.iter().map(|(_, route)| groupable_products(route)).sum();
        let is_groupable = |(_, route): &(usize, Route)| groupable_products(route) > 0;
        let is_grouped = problem.count() > 1
            && routes.iter().all(is_groupable)
            && grouped::function(problem.dtype, products).is_some();
        Ok(Self {
            problem: problem.clone(),
            routes,
            library_workspace: handle::cublas_workspace(device)?,
            grouped: is_grouped.then_some(products),
        })
    }

    /// Enqueues products that one call computes, after the copies of their third operands.
    ///
    /// # Safety
    /// As for [`Engine::execute`]; the handle is set up for it.
    unsafe fn enqueue_groups<'a>(
        &self,
        executions: impl Iterator<Item = (&'a Route, Execution<'a>)>,
        handle: usize,
        room: usize,
        stream: StreamRef,
    ) -> Result<()> {
        let dtype = self.problem.dtype;
        let mut groups = Groups::default();
        for (route, execution) in executions {
            for step in &route.steps {
                let Step::Call { call, x, y, z, alpha, beta } = step else {
                    // SAFETY: the caller guarantees that the memory has the problem's layouts.
                    unsafe { execution.enqueue(step) }?;
                    continue;
                };
                let addresses = [*x, *y, *z].map(|place| execution.address(place));
                let [alpha, beta] =
                    [*alpha, *beta].map(|factor| execution.scalar(factor).bytes(dtype));
                groups.push(call, dtype.size(), addresses, [&alpha, &beta]);
            }
        }
        let products = self.grouped.unwrap_or(0);
        match grouped::function(dtype, products) {
            // SAFETY: the workspace has room for the addresses, and the caller guarantees the rest.
            Some(function) => unsafe { groups.enqueue(function, handle, room, stream) },
            None => Err(Error::InvalidState("the function for lists of products is gone".into())),
        }
    }
}

/// The number of products of a route that is a call after copies to the result alone, and 0 for
/// others.
fn groupable_products(route: &Route) -> usize {
    let Some((Step::Call { call, .. }, before)) = route.steps.split_last() else { return 0 };
    let are_copies = before.iter().all(|step| matches!(step, Step::Copy { .. }));
    match call.kind {
        Kind::General(_) if are_copies && route.size == 0 => call.products(),
        _ => 0,
    }
}

impl Engine for CublasEngine {
    type Arguments = Scalars;

    fn name(&self) -> &'static str {
        "cublas"
    }

    fn workspace_size(&self) -> usize {
        let copies = self.routes.iter().map(|(_, route)| route.size).max().unwrap_or(0);
        let copies = copies.max(self.grouped.unwrap_or(0) * 3 * size_of::<usize>());
        self.library_workspace + copies.next_multiple_of(ALIGNMENT)
    }

    fn host_memory(&self) -> usize {
        let steps: usize = self.routes.iter().map(|(_, route)| route.steps.len()).sum();
        size_of::<Self>() + steps * (size_of::<Step>() + 2048)
    }

    fn library_calls(&self) -> usize {
        let calls = self.routes.iter().flat_map(|(_, route)| &route.steps);
        calls.map(|step| if let Step::Call { call, .. } = step { call.count() } else { 0 }).sum()
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, Scalars>,
    ) -> Result<()> {
        let (Some(context), Some(stream)) = (context, call.stream) else {
            return Err(Error::InvalidState("matmul on a GPU needs a stream".into()));
        };
        let enqueue = |handle: usize| {
            let room = call.workspace + self.library_workspace;
            let executions = self.routes.iter().map(|(place, route)| {
                let [a, b, c, out] = self.problem.addresses(*place, call.inputs, call.outputs);
                let execution = Execution {
                    context,
                    stream,
                    handle,
                    dtype: self.problem.dtype,
                    inputs: [a, b, c],
                    result: out,
                    copies: room,
                    scalars: self.problem.products[*place].scalars(call.arguments),
                };
                (route, execution)
            });
            // A graph would read the addresses in host memory, when it runs.
            if self.grouped.is_some() && !call.capture.is_capturing() {
                // SAFETY: the caller guarantees that the memory has the problem's layouts.
                return unsafe { self.enqueue_groups(executions, handle, room, stream) };
            }
            for (route, execution) in executions {
                for step in &route.steps {
                    // SAFETY: the caller guarantees that the memory has the problem's layouts.
                    unsafe { execution.enqueue(step) }?;
                }
            }
            Ok(())
        };
        // SAFETY: the caller guarantees that the stream is valid, and that the workspace is the
        // plan's until the work on it is done.
        unsafe {
            handle::with_cublas(context, stream, (call.workspace, self.library_workspace), enqueue)
        }
    }
}

/// One execution of one product.
struct Execution<'a> {
    context: &'a ContextGuard,
    stream: StreamRef,
    handle: usize,
    dtype: DType,
    inputs: [usize; 3],
    result: usize,
    /// Address of the workspace for copies.
    copies: usize,
    scalars: Scalars,
}

impl Execution<'_> {
    /// The address of a matrix.
    fn address(&self, place: Place) -> usize {
        match place {
            Place::Input(index) => self.inputs[index],
            Place::Result => self.result,
            Place::Workspace(offset) => self.copies + offset,
        }
    }

    /// A number of a step.
    fn number(&self, factor: Factor) -> [f64; 2] {
        match factor {
            Factor::Zero => [0.0; 2],
            Factor::One => [1.0, 0.0],
            Factor::Alpha => self.scalars.alpha,
            Factor::Beta => self.scalars.beta,
        }
    }

    /// A number of a call.
    fn scalar(&self, factor: Factor) -> Scalar {
        Scalar::new(self.number(factor), self.dtype)
    }

    /// Enqueues a step, unless the scalars make it superfluous.
    ///
    /// # Safety
    /// The memory has the layouts of the step, and is valid until the work is done.
    unsafe fn enqueue(&self, step: &Step) -> Result<()> {
        let address = |place: Place| self.address(place);
        // SAFETY: the caller guarantees that the memory is valid, and steps are enqueued in the
        // order in which they depend on each other.
        unsafe {
            match step {
                Step::Copy { condition: Condition::WithBeta, .. } if !self.scalars.has_beta() => {
                    Ok(())
                }
                Step::Copy { to, from, copy, .. } => {
                    kernels::copy(self.context, address(*to), address(*from), copy, self.stream)
                }
                Step::Conjugate { at, imaginary_parts } => {
                    let (dtype, half) = match self.dtype {
                        DType::Complex64 => (DType::Float32, 4),
                        _ => (DType::Float64, 8),
                    };
                    let first = address(*at) + half;
                    kernels::scale(self.context, first, dtype, imaginary_parts, -1.0, self.stream)
                }
                Step::Complete { from, completion } => {
                    let from = address(*from);
                    completion.enqueue(self.context, from, self.copies, self.stream).map(drop)
                }
                Step::Structured { call, alpha } => {
                    let scalars = Scalars { alpha: self.number(*alpha), ..self.scalars };
                    call.enqueue(self.context, address, scalars, self.stream)
                }
                Step::Identity { at, side } => self.enqueue_identity(address(*at), *side),
                Step::Call { call, x, y, z, alpha, beta } => {
                    let addresses = [*x, *y, *z].map(address);
                    let scalars = [*alpha, *beta].map(|factor| self.scalar(factor));
                    call.enqueue(self.handle, self.dtype, addresses, scalars)
                }
            }
        }
    }

    /// Enqueues that a square matrix without gaps becomes the identity.
    ///
    /// # Safety
    /// The memory is valid until the work is done.
    unsafe fn enqueue_identity(&self, first: usize, side: i64) -> Result<()> {
        let (element, extent) = (self.dtype.size() as u64, side as u64);
        // The upper half of the number 1 in double precision; its lower half is zero.
        let (one, offset) = match self.dtype {
            DType::Float32 | DType::Complex64 => (1.0_f32.to_bits(), 0),
            _ => ((1.0_f64.to_bits() >> 32) as u32, 4),
        };
        let stream = self.stream.handle();
        // SAFETY: the caller guarantees that the memory is valid; elements on the diagonal are as
        // far apart as a column and an element are long.
        unsafe {
            let bytes = element * extent * extent;
            call!(driver::MEMSET_D2D8_ASYNC, first, bytes, 0, bytes, 1, stream)?;
            let pitch = (extent + 1) * element;
            call!(driver::MEMSET_D2D32_ASYNC, first + offset, pitch, one, 1, extent, stream)
        }
    }
}
