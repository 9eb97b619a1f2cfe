//! Kernels of gpumath's own, over the elements of arrays in device memory.
//!
//! They are CUDA C++ that `nox -s kernels` compiles with the NVRTC of CUDA 12.0 for the oldest
//! architecture there, such that every newer driver takes the PTX for every newer device. The PTX
//! is committed, so that no compiler is needed at run time or for a build. The driver compiles it
//! for its device when a kernel is first launched there.

mod convolution;
mod convolution_lines;
mod copies;
mod cosine;
mod cosine_short;
mod epilog;
mod flat_copy;
mod line_sums;
mod mirror;
mod product;
mod spectra;
mod structured;
mod tiled_copy;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::Mutex;

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, RelaxedCapture, StreamRef};
use crate::error::{Error, Result};
use crate::process::PerProcess;
use crate::status::call;
use crate::tensor::{BatchDims, DType, Dims, Layout};

pub(crate) use convolution::Sums;
pub(crate) use copies::{CopyBetween, copy, copy_all};
pub(crate) use cosine::{CosineCall, CosineLine, compute_cosine_step};
pub(crate) use cosine_short::{MOST_POINTS, ShortLines, transform_short_lines};
pub(crate) use epilog::{EpilogCall, EpilogMatrices, LastStep};
pub(crate) use line_sums::{LineSumsCall, Lines};
pub(crate) use mirror::{Completed, Mirror, mirror};
pub(crate) use product::{Function, ProductCall, StridedProduct, Way};
pub(crate) use spectra::{Spectra, multiply_spectra};
pub(crate) use structured::{
    DIMENSIONS, Stored, StructuredKernel, StructuredProduct, multiply_structured,
};
pub(crate) use tiled_copy::TiledCopy;

/// The kernels of `scale.cu`.
const SCALE_PTX: &str = concat!(include_str!("generated/scale.ptx"), "\0");

/// Dimensions at most. More of them, of two or more elements each, do not fit into any memory.
const MAX_RANK: usize = 48;
/// Threads of a block.
const BLOCK: u32 = 256;
/// Elements that a thread of `scale` loads at a time.
const UNROLLED: u64 = 4;
/// Blocks at most. More do not fill a device better, so blocks go on with further parts.
const MAX_BLOCKS: u64 = 1 << 16;

/// The elements of a layout, as the kernels take them.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Elements {
    count: u64,
    rank: i64,
    extents: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
}

impl Elements {
    /// Describes a layout in its memory order, for kernels that access one array.
    pub(crate) fn of(layout: &Layout) -> Result<Self> {
        let mut dims = BatchDims::outside(&[], [layout]);
        let fastest = dims.pop_fastest();
        let dims = || dims.iter().chain([&fastest]);
        Ok(Self {
            count: layout.len() as u64,
            rank: dims().count() as i64,
            extents: filled(&dims().map(|dim| dim.extent).collect::<Dims>())?,
            strides: filled(&dims().map(|dim| dim.strides[0]).collect::<Dims>())?,
        })
    }
}

/// Copies numbers, or groups of them, to the start of an array of zeros.
fn filled<T: Copy + Default>(numbers: &[T]) -> Result<[T; MAX_RANK]> {
    let mut array = [T::default(); MAX_RANK];
    let Some(room) = array.get_mut(..numbers.len()) else {
        return Err(Error::InvalidValue(format!(
            "an array of {} dimensions is too much for a kernel: {MAX_RANK} are the most; merge \
             some of them",
            numbers.len()
        )));
    };
    room.copy_from_slice(numbers);
    Ok(array)
}

/// Enqueues on `stream` that every element is multiplied by `factor`, in the context of the
/// stream's device. Half precision is computed in single precision and rounded once. The work can
/// be captured into a graph.
///
/// # Safety
/// - `address` is that of the element with index (0, …, 0), aligned to the size of the type.
/// - The elements are in memory of the stream's device, and valid until the work is done.
/// - No two indices share an element.
pub(crate) unsafe fn scale(
    context: &ContextGuard,
    address: usize,
    dtype: DType,
    elements: &Elements,
    factor: f64,
    stream: StreamRef,
) -> Result<()> {
    if elements.count == 0 {
        return Ok(());
    }
    let name = match dtype {
        DType::Float16 => c"scale_float16",
        DType::Float32 => c"scale_float32",
        DType::Float64 => c"scale_float64",
        DType::Complex32 => c"scale_complex32",
        DType::Complex64 => c"scale_complex64",
        DType::Complex128 => c"scale_complex128",
        _ => {
            return Err(Error::InvalidValue(format!(
                "an array of {dtype} cannot be scaled; float16, float32, float64 and the complex \
                 types can"
            )));
        }
    };
    let parameters = [
        &raw const address as usize,
        &raw const factor as usize,
        std::ptr::from_ref(elements) as usize,
    ];
    let blocks = elements.count.div_ceil(UNROLLED * u64::from(BLOCK));
    // SAFETY: the kernel takes an address, a factor and `Elements`; the caller guarantees that they
    // fit the memory.
    unsafe { launch(context, (SCALE_PTX, name), blocks, &parameters, stream) }
}

/// Enqueues a convolution by sums of products on `stream`, in the context of the stream's device.
/// The work can be captured into a graph.
///
/// # Safety
/// - As for [`copy`], with the layouts of `sums` and elements of `dtype`, also for the filter.
/// - The addresses are aligned to the elements.
pub(crate) unsafe fn convolve(
    context: &ContextGuard,
    to: usize,
    from: usize,
    sums: &Sums,
    dtype: DType,
    stream: StreamRef,
) -> Result<()> {
    let Some(code) = convolution::code(dtype) else {
        return Err(Error::InvalidValue(format!(
            "sums of products of {dtype} are not computed by a kernel; those of real and complex \
             numbers in single and double precision, and of integers, are"
        )));
    };
    let enqueue = |name, [to, from]: [usize; 2], argument: usize, count: u64| {
        let parameters = [&raw const to as usize, &raw const from as usize, argument];
        let blocks = count.div_ceil(u64::from(BLOCK));
        // SAFETY: the kernel takes two addresses and the argument of its file; the caller
        // guarantees that they fit the memory.
        unsafe { launch(context, (code, name), blocks, &parameters, stream) }
    };
    match sums {
        Sums::Lines(call) => call.parts().try_for_each(|(argument, [to_first, from_first])| {
            let at = |address: usize, first: i64| {
                address.wrapping_add_signed(first as isize * dtype.size().cast_signed())
            };
            let addresses = [at(to, to_first), at(from, from_first)];
            enqueue(call.name(), addresses, &raw const argument as usize, argument.count())
        }),
        Sums::Others(call, along) => {
            let argument = std::ptr::from_ref(&**call) as usize;
            enqueue(along.name(), [to, from], argument, call.count())
        }
    }
}

/// Enqueues the product of `a` and `b`, multiplied by `alpha`, on `stream`, in the context of the
/// stream's device. The work can be captured into a graph.
///
/// # Safety
/// - The addresses are those of the first elements of `a`, `b`, the result and the bias, arrays
///   with the strides and types of `call`, in memory of the stream's device, and valid until the
///   work is done. That of the bias is 0 if there is none.
/// - No two elements of the result share memory, and it does not overlap the others.
pub(crate) unsafe fn multiply(
    context: &ContextGuard,
    [a, b, result, bias]: [usize; 4],
    call: &ProductCall,
    alpha: [f64; 2],
    stream: StreamRef,
) -> Result<()> {
    let (left, right) = if call.is_transposed() { (b, a) } else { (a, b) };
    let arguments = call.arguments(alpha);
    let parameters = [
        &raw const result as usize,
        &raw const left as usize,
        &raw const right as usize,
        &raw const bias as usize,
        &raw const arguments as usize,
    ];
    // SAFETY: the kernel takes four addresses and the argument of a product; the caller guarantees
    // that they fit the memory.
    unsafe { launch(context, call.kernel(), call.tiles(), &parameters, stream) }
}

/// Enqueues a kernel of some code on `stream`, in the context of its device. If `blocks` are too
/// many, each block of the kernel processes several parts.
///
/// # Safety
/// - The parameters are the addresses of live values of the types that the kernel takes.
/// - The memory that the kernel accesses for these values is valid until the work is done.
unsafe fn launch(
    context: &ContextGuard,
    kernel_of: (&'static str, &'static CStr),
    blocks: u64,
    parameters: &[usize],
    stream: StreamRef,
) -> Result<()> {
    // SAFETY: the caller guarantees it.
    unsafe { launch_with(context, kernel_of, (blocks, 0), parameters, stream) }
}

/// Likewise, with so many bytes of shared memory for each block that the kernel's code does not
/// name.
///
/// # Safety
/// As for [`launch`]; the shared memory is as much as the kernel uses.
unsafe fn launch_with(
    context: &ContextGuard,
    kernel_of: (&'static str, &'static CStr),
    (blocks, shared): (u64, u32),
    parameters: &[usize],
    stream: StreamRef,
) -> Result<()> {
    let blocks = blocks.min(MAX_BLOCKS) as u32;
    let (kernel, _relaxed) = kernel(context, kernel_of)?;
    let (parameters, stream) = (parameters.as_ptr() as usize, stream.handle());
    // SAFETY: `kernel` is never unloaded; the caller guarantees that the parameters are right, and
    // `StreamRef::new`'s that the stream is valid.
    unsafe {
        call!(
            driver::LAUNCH_KERNEL,
            kernel,
            blocks,
            1,
            1,
            BLOCK,
            1,
            1,
            shared,
            stream,
            parameters,
            0
        )
    }
}

/// The modules and kernels that were loaded. None is ever unloaded.
#[derive(Default)]
struct Loaded {
    /// The modules by device and address of the code.
    modules: BTreeMap<(i32, usize), usize>,
    /// The kernels by device, address of the code, and name: kernels for different types share
    /// their names.
    kernels: BTreeMap<(i32, usize, &'static CStr), usize>,
}

static LOADED: PerProcess<Mutex<Loaded>> = PerProcess::new();

/// Returns the handle of a kernel in a device's context. The first call for a device and kernel
/// also returns a
/// [`RelaxedCapture`]: hold it until after the launch, because the driver may load the kernel only
/// then, and during a stream capture it may do that only in relaxed mode.
fn kernel(
    context: &ContextGuard,
    (ptx, name): (&'static str, &'static CStr),
) -> Result<(usize, Option<RelaxedCapture>)> {
    let (device, code) = (context.device(), ptx.as_ptr() as usize);
    let mut loaded = LOADED.lock();
    if let Some(&kernel) = loaded.kernels.get(&(device, code, name)) {
        return Ok((kernel, None));
    }
    let relaxed = RelaxedCapture::enter()?;
    let mut module = loaded.modules.get(&(device, code)).copied().unwrap_or(0);
    if module == 0 {
        // SAFETY: the driver writes one handle to `module`, a live `usize`, and reads `ptx`, which
        // ends with a zero.
        unsafe { call!(driver::MODULE_LOAD_DATA, &raw mut module as usize, code) }?;
        loaded.modules.insert((device, code), module);
    }
    let mut kernel = 0_usize;
    // SAFETY: the driver writes one handle to `kernel`, a live `usize`. The module is never
    // unloaded, and a `CStr` ends with a zero.
    unsafe {
        call!(driver::MODULE_GET_FUNCTION, &raw mut kernel as usize, module, name.as_ptr() as usize)
    }?;
    loaded.kernels.insert((device, code, name), kernel);
    Ok((kernel, Some(relaxed)))
}

#[cfg(test)]
mod tests {
    use super::convolution::ConvolutionCall;
    use super::convolution_lines::LinesArgument;
    use super::copies::{Copies, SQUARES, WORDS};
    use super::{Elements, SCALE_PTX, TiledCopy, convolution};
    use crate::tensor::{DType, Dims, Layout};

    #[test]
    fn the_kernels_take_the_structure() {
        for name in ["float16", "float32", "float64", "complex32", "complex64", "complex128"] {
            let size = size_of::<Elements>();
            let parameter = format!("scale_{name}_param_2[{size}]");
            assert!(SCALE_PTX.contains(&parameter), "{parameter}");
        }
        for name in ["1", "2", "4", "8", "16", "square_1", "square_2"] {
            let ptx = if name.starts_with("square") { SQUARES } else { WORDS };
            let size = TiledCopy::ARGUMENTS_SIZE;
            let parameter = format!("copy_{name}_param_2[{size}]");
            assert!(ptx.contains(&parameter), "{parameter}");
            let parameter = format!("copies_{name}_param_0[{}]", size_of::<Copies>());
            assert!(ptx.contains(&parameter), "{parameter}");
        }
        for dtype in [DType::Float32, DType::Complex128, DType::UInt16] {
            let parameter = format!("convolve_wide_param_2[{}]", size_of::<ConvolutionCall>());
            assert!(convolution::code(dtype).unwrap().contains(&parameter), "{dtype}");
            let parameter = format!("convolve_lines_param_2[{}]", size_of::<LinesArgument>());
            assert!(convolution::code(dtype).unwrap().contains(&parameter), "{dtype}");
        }
    }

    #[test]
    fn what_follows_each_other_is_one_dimension() {
        let layout = |shape: &[i64], strides: &[i64]| Layout {
            shape: Dims::from_slice(shape),
            strides: Dims::from_slice(strides),
        };
        for (shape, strides, merged) in [
            (&[4, 1, 6][..], &[6, 9, 1][..], (&[24][..], &[1][..])),
            (&[6, 4], &[1, 8], (&[4, 6], &[8, 1])),
            (&[3, 4, 5], &[1, 3, 12], (&[60], &[1])),
            (&[3, 4], &[-4, -1], (&[12], &[-1])),
            (&[3, 4], &[4, -1], (&[3, 4], &[4, -1])),
            (&[1, 1], &[5, 7], (&[1], &[1])),
            (&[], &[], (&[1], &[1])),
        ] {
            let layout = layout(shape, strides);
            let elements = Elements::of(&layout).unwrap();
            let rank = elements.rank as usize;
            assert_eq!((&elements.extents[..rank], &elements.strides[..rank]), merged);
            assert_eq!(elements.count as i64, layout.len());
        }
    }
}
