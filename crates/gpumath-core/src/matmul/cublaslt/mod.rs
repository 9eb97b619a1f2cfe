//! Products on a GPU, by cuBLASLt, or by cuBLAS where that is faster.

mod choice;
mod codes;
mod gemm;
mod planned;
mod product;
mod route;
mod split_sums;
mod vector_options;
mod ways;

use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::{cublaslt, driver};
use smallvec::SmallVec;

use self::codes::{emulation, scalar};
use self::gemm::Gemm;
use self::planned::Planned;
use self::product::{Pointer, Product, Target, pointers};
use self::route::Route;
use self::ways::{Demands, Way};
use super::MatmulArguments;
use super::block_scaling::BlockScaling;
use super::geometry::{MATRICES, Matrix};
use super::problem::{InputRole, MatmulProblem, OutputRole};
use crate::device::{ContextGuard, Device};
use crate::error::{Error, Result};
use crate::handle::{self, CUBLAS, CUBLASLT};
use crate::kernels::{self, CopyBetween};
use crate::memory::ALIGNMENT;
use crate::operation::{Call, Engine};
use crate::status::call;
use crate::tensor::DType;

pub(super) use self::choice::number_and_parts;
pub use self::product::FoundAlgorithm;
pub(super) use self::ways::codes_of_other_ways;

/// The number of mantissa bits if cuBLASLt does not emulate, -1 as an unsigned number.
const NOT_EMULATED: u32 = u32::MAX;

/// A product on one GPU.
#[derive(Debug)]
pub(super) struct CublasltMatmul {
    route: Route,
    product: Product,
    /// Held while the description's addresses are set and used: a plan is for all threads.
    pointers: Mutex<Vec<Pointer>>,
    has_pointers: bool,
    /// Which result is the number of mantissa bits that an emulation retained.
    bit_count: Option<usize>,
    algorithms: Vec<FoundAlgorithm>,
    /// The `cublasLtMatmulAlgo_t` that is used.
    used: [u64; 8],
    /// What the first algorithm is if cuBLAS computes the product.
    gemm: Option<Gemm>,
    /// Where each matrix is found; for the vector and the auxiliary matrix on one side or the
    /// other.
    places: [Option<Target>; MATRICES],
    /// Bytes of an element of each matrix.
    sizes: [usize; MATRICES],
    scale: DType,
    addend_is_like_result: bool,
    user_handle: usize,
}

impl CublasltMatmul {
    /// Plans the product.
    pub(super) fn new(problem: &MatmulProblem, device: i32) -> Result<Self> {
        check_device(problem, device)?;
        let find = |handle: usize| Planned::best(problem, device, handle);
        let user_handle = problem.search.handle;
        let Planned { route, product, algorithms, used, gemm } = if user_handle == 0 {
            handle::with(&CUBLASLT, device, find)
        } else {
            let _context = ContextGuard::enter(device)?;
            find(user_handle)
        }?;
        let is_by_cublas = gemm::is_code(&used);
        if is_by_cublas {
            // The handle is made before the first execution.
            handle::with(&CUBLAS, device, |_| Ok(()))?;
        }
        let pointers = pointers(problem, route.is_transposed);
        let input = |role| problem.input_index(role).map(Target::Input);
        let output = |role| problem.output_index(role).map(Target::Output);
        let places = [
            input(InputRole::Bias).or(output(OutputRole::Sums)),
            input(InputRole::Aux).or(output(OutputRole::Aux)),
            input(InputRole::A),
            input(InputRole::B),
            input(InputRole::C),
            output(OutputRole::Result),
        ];
        Ok(Self {
            route,
            product,
            has_pointers: !pointers.is_empty(),
            bit_count: problem.output_index(OutputRole::MantissaBitCount),
            pointers: Mutex::new(pointers),
            gemm: gemm.filter(|_| is_by_cublas),
            algorithms,
            used,
            places,
            sizes: problem.matrix_dtypes().map(|dtype| dtype.map_or(0, DType::size)),
            scale: problem.types.scale,
            addend_is_like_result: problem.types.c == problem.types.result,
            user_handle,
        })
    }

    /// Takes a kernel of gpumath's own as the second one of `limit` algorithms.
    pub(super) fn with_kernel(mut self, kernel: FoundAlgorithm, limit: usize) -> Self {
        self.algorithms.insert(1.min(self.algorithms.len()), kernel);
        self.algorithms.truncate(limit);
        self
    }

    /// What cuBLASLt found, the best one first.
    pub(super) fn algorithms(&self) -> &[FoundAlgorithm] {
        &self.algorithms
    }

    /// How many matrices are copied in the workspace.
    pub(super) fn copies(&self) -> usize {
        self.route.staged.len()
    }

    /// Bytes of the matrices that are copied in the workspace.
    pub(super) fn copied_bytes(&self) -> usize {
        self.route.staged_size
    }

    /// Bytes of workspace of the algorithm that is used.
    fn library_workspace(&self) -> usize {
        self.algorithms.first().map_or(0, |algorithm| algorithm.workspace_size)
    }

    /// Calls the library for one entry of the outer batch, of matrices at these addresses.
    ///
    /// # Safety
    /// `handle` is one of the library, and set up if that is cuBLAS. For the rest, as for
    /// [`Engine::execute`], for the parts of the matrices that the call is about.
    unsafe fn multiply(
        &self,
        handle: usize,
        addresses: &[usize; MATRICES],
        call: &Call<'_, MatmulArguments>,
        stream: usize,
    ) -> Result<()> {
        let address = |matrix: Matrix| addresses[matrix as usize];
        let (a, b, result) = (address(Matrix::A), address(Matrix::B), address(Matrix::Result));
        let (left, right) = if self.route.is_transposed { (b, a) } else { (a, b) };
        let has_addend = self.places[Matrix::C as usize].is_some();
        let alpha = scalar(self.scale, call.arguments.alpha);
        let beta = scalar(self.scale, if has_addend { call.arguments.beta } else { [0.0; 2] });
        if let Some(gemm) = &self.gemm {
            // SAFETY: the scalars are of the product's type, which is that of cuBLAS; the caller
            // guarantees the rest.
            return unsafe { gemm.enqueue(handle, [left, right, result], &alpha, &beta) };
        }
        // Without an addend, there is no address where its type is not that of the result.
        let addend = if has_addend {
            address(Matrix::C)
        } else if self.addend_is_like_result {
            result
        } else {
            0
        };
        let algorithm = &self.algorithms[0];
        let changes_description = self.has_pointers || self.bit_count.is_some();
        let pointers = changes_description
            .then(|| self.pointers.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: the descriptors are alive and those that the algorithm was chosen for, and only
        // the holder of the lock changes them; the library reads `alpha` and `beta` during the
        // call. The caller guarantees the rest.
        unsafe {
            for pointer in pointers.iter().flat_map(|pointers| pointers.iter()) {
                let value = match pointer.target {
                    Target::Matrix(matrix) => address(matrix),
                    Target::Input(index) => call.inputs[index],
                    Target::Output(index) => call.outputs[index],
                };
                let set = &cublaslt::MATMUL_DESC_SET_ATTRIBUTE;
                self.product.operation.set(set, pointer.attribute, value)?;
            }
            if let (Some(index), Some(emulation)) = (self.bit_count, &self.product.emulation) {
                let (to, attribute) = (call.outputs[index], emulation::MANTISSA_BIT_COUNT_POINTER);
                // Without emulation, the library writes nothing.
                call!(driver::MEMSET_D2D32_ASYNC, to, 4, NOT_EMULATED, 1, 1, stream)?;
                emulation.set(&cublaslt::EMULATION_DESC_SET_ATTRIBUTE, attribute, to)?;
            }
            call!(
                cublaslt::MATMUL,
                handle,
                self.product.operation.get(),
                &raw const alpha as usize,
                left,
                self.product.left.get(),
                right,
                self.product.right.get(),
                &raw const beta as usize,
                addend,
                self.product.addend.get(),
                result,
                self.product.result.get(),
                std::ptr::from_ref(&self.used) as usize,
                if algorithm.workspace_size == 0 { 0 } else { call.workspace },
                algorithm.workspace_size as u64,
                stream
            )
        }
    }
}

/// Bytes of the matrices that an execution by cuBLASLt copies.
pub(super) fn copied_bytes(problem: &MatmulProblem) -> Result<usize> {
    Ok(Route::of(problem, Demands::first(problem), Way::GIVEN)?.staged_size)
}

/// Returns `InvalidValue` if the device lacks what the types need.
fn check_device(problem: &MatmulProblem, device: i32) -> Result<()> {
    let types = &problem.types;
    if let Some(format) = problem.block_scaling {
        let found = Device::new(device)?.compute_capability()?;
        return if found >= BlockScaling::CAPABILITY {
            Ok(())
        } else {
            Err(format.refusal(&format!("CUDA device {device} has {}.{}", found.0, found.1)))
        };
    }
    let needed = match types.a {
        dtype if super::types::is_narrow(dtype) => (8, 9),
        DType::BFloat16 => (8, 0),
        _ => return Ok(()),
    };
    let found = Device::new(device)?.compute_capability()?;
    if found >= needed {
        return Ok(());
    }
    Err(Error::InvalidValue(format!(
        "products of {} and {} need a GPU of compute capability {}.{} or newer, but CUDA device \
         {device} has {}.{}; convert the operands",
        types.a, types.b, needed.0, needed.1, found.0, found.1
    )))
}

impl Engine for CublasltMatmul {
    type Arguments = MatmulArguments;

    fn name(&self) -> &'static str {
        if self.gemm.is_some() { "cublas" } else { "cublaslt" }
    }

    fn workspace_size(&self) -> usize {
        match self.route.staged_size {
            0 => self.library_workspace(),
            staged => self.library_workspace().next_multiple_of(ALIGNMENT) + staged,
        }
    }

    fn host_memory(&self) -> usize {
        // Five descriptors of a few hundred bytes.
        size_of::<Self>() + self.algorithms.len() * size_of::<FoundAlgorithm>() + 2048
    }

    fn library_calls(&self) -> usize {
        self.route.outer.count()
    }

    unsafe fn execute(
        &self,
        context: Option<&ContextGuard>,
        call: &Call<'_, MatmulArguments>,
    ) -> Result<()> {
        let (Some(context), Some(stream)) = (context, call.stream) else {
            return Err(Error::InvalidState("matmul on a GPU needs operands and a stream".into()));
        };
        let copies = call.workspace + self.library_workspace().next_multiple_of(ALIGNMENT);
        let given = self.places.map(|place| match place {
            Some(Target::Input(index)) => call.inputs[index],
            Some(Target::Output(index)) => call.outputs[index],
            _ => 0,
        });
        let mut addresses = given;
        let mut before: SmallVec<[CopyBetween<'_>; 2]> = SmallVec::new();
        for staged in &self.route.staged {
            let index = staged.matrix as usize;
            addresses[index] = copies + staged.offset;
            let is_unread = staged.matrix == Matrix::C && call.arguments.ignores_addend();
            if staged.matrix != Matrix::Result && !is_unread {
                before.push((addresses[index], given[index], &staged.copy));
            }
        }
        // SAFETY: the caller guarantees that operands have the problem's layouts; the workspace has
        // room for the copies, which the stream orders before their use.
        unsafe { kernels::copy_all(context, &before, stream) }?;
        let multiply = |handle: usize| {
            for entry in 0..self.route.outer.count() {
                let offsets = self.route.outer.offsets(entry);
                let mut addresses = addresses;
                for (index, address) in addresses.iter_mut().enumerate() {
                    *address = address
                        .wrapping_add_signed(offsets[index] as isize * self.sizes[index] as isize);
                }
                // SAFETY: the caller guarantees the memory of the whole batch.
                unsafe { self.multiply(handle, &addresses, call, stream.handle()) }?;
            }
            Ok(())
        };
        if self.gemm.is_some() {
            let workspace = (call.workspace, self.library_workspace());
            // SAFETY: the caller guarantees that stream and workspace are valid.
            unsafe { handle::with_cublas(context, stream, workspace, multiply) }
        } else if self.user_handle == 0 {
            handle::with_in(context, &CUBLASLT, multiply)
        } else {
            multiply(self.user_handle)
        }?;
        if let Some(staged) = self.route.staged(Matrix::Result) {
            let index = Matrix::Result as usize;
            // SAFETY: as for the operands, and the result's elements are its own.
            unsafe {
                kernels::copy(context, given[index], addresses[index], &staged.copy, stream)
            }?;
        }
        Ok(())
    }
}
