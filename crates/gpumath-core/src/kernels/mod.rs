//! Kernels of gpumath's own, over the elements of arrays in device memory.
//!
//! They come as PTX that every driver since CUDA 12.0 compiles for its device, when they are first launched there.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, RelaxedCapture, call};
use crate::error::{Error, Result};
use crate::tensor::{DType, Layout, TensorView};

/// `nox -s kernels` compiles it from `scale_and_crop.cu`.
const PTX: &str = concat!(include_str!("generated/scale_and_crop.ptx"), "\0");

/// More dimensions of two or more elements do not fit into any memory.
const MAX_RANK: usize = 48;
const BLOCK: u32 = 256;
/// Elements that a thread loads at a time.
const UNROLLED: u64 = 4;
/// More blocks than that do not fill a device better; threads go on with further elements.
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
    /// For kernels that look at one array: in its memory order.
    pub(crate) fn of(layout: &Layout) -> Result<Self> {
        let Layout { shape, strides } = layout.merged();
        Ok(Self {
            count: layout.len() as u64,
            rank: shape.len() as i64,
            extents: filled(&shape)?,
            strides: filled(&strides)?,
        })
    }
}

/// What the kernels take that give an array the elements of another one.
#[derive(Debug)]
#[repr(C)]
struct CropOrPad {
    to: Elements,
    extents: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
}

impl CropOrPad {
    fn of(to: &Layout, from: &Layout) -> Result<Self> {
        let matters = |axis: &usize| to.shape[*axis] != 1 || from.shape[*axis] == 0;
        let order: Vec<usize> = to.memory_order().into_iter().filter(matters).collect();
        let ordered = |all: &[i64]| -> Result<[i64; MAX_RANK]> {
            filled(&order.iter().map(|&axis| all[axis]).collect::<Vec<_>>())
        };
        Ok(Self {
            to: Elements {
                count: to.len() as u64,
                rank: order.len() as i64,
                extents: ordered(&to.shape)?,
                strides: ordered(&to.strides)?,
            },
            extents: ordered(&from.shape)?,
            strides: ordered(&from.strides)?,
        })
    }
}

/// The numbers, in an array that has room for more.
fn filled(numbers: &[i64]) -> Result<[i64; MAX_RANK]> {
    let mut array = [0; MAX_RANK];
    let Some(room) = array.get_mut(..numbers.len()) else {
        return Err(Error::InvalidValue(format!(
            "an array of {} dimensions is too much for a kernel: {MAX_RANK} are the most; merge some of them",
            numbers.len()
        )));
    };
    room.copy_from_slice(numbers);
    Ok(array)
}

/// Enqueues on `stream` that every element is multiplied by `factor`; half precision is computed in single precision and
/// rounded once. The work can be captured into a graph.
///
/// # Safety
/// `address` is that of the element with index (0, …, 0), aligned to the size of the type, in memory of `device` that is
/// valid until the work is done, and `stream` a valid stream handle of the device. No two indices share an element.
pub(crate) unsafe fn scale(
    address: usize,
    dtype: DType,
    elements: &Elements,
    factor: f64,
    device: i32,
    stream: usize,
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
                "an array of {dtype} cannot be scaled; float16, float32, float64 and the complex types can"
            )));
        }
    };
    let parameters = [
        &raw const address as usize,
        &raw const factor as usize,
        std::ptr::from_ref(elements) as usize,
    ];
    // SAFETY: the parameters are those of the kernel; the caller vouches for the memory and the stream.
    unsafe { launch(name, elements.count.div_ceil(UNROLLED), &parameters, device, stream) }
}

/// Enqueues what [`crate::memory::crop_or_pad`] does.
///
/// # Safety
/// As there, in memory of `device`.
pub(crate) unsafe fn crop_or_pad(
    to: &TensorView,
    from: &TensorView,
    device: i32,
    stream: usize,
) -> Result<()> {
    let size = to.dtype.size();
    let name = match size {
        1 => c"resize_1",
        2 => c"resize_2",
        4 => c"resize_4",
        8 => c"resize_8",
        _ => c"resize_16",
    };
    for address in [to.ptr, from.ptr] {
        if !address.is_multiple_of(size) {
            return Err(Error::InvalidValue(format!(
                "the address {address:#x} of an array of {} is not a multiple of {size}; copy it to new memory first",
                to.dtype
            )));
        }
    }
    let arguments = CropOrPad::of(&to.layout, &from.layout)?;
    let parameters =
        [&raw const to.ptr as usize, &raw const from.ptr as usize, &raw const arguments as usize];
    // SAFETY: the parameters are those of the kernel; the caller vouches for the memory and the stream.
    unsafe { launch(name, arguments.to.count, &parameters, device, stream) }
}

/// Launches a kernel whose threads go on with further elements where `threads` are too many.
///
/// # Safety
/// The parameters are addresses of those that the kernel takes, and what it does with them is right.
unsafe fn launch(
    name: &'static CStr,
    threads: u64,
    parameters: &[usize; 3],
    device: i32,
    stream: usize,
) -> Result<()> {
    let blocks = threads.div_ceil(u64::from(BLOCK)).min(MAX_BLOCKS) as u32;
    let _context = ContextGuard::enter(device)?;
    let (kernel, _relaxed) = kernel(device, name)?;
    let parameters = parameters.as_ptr() as usize;
    // SAFETY: as the caller vouches.
    unsafe {
        call!(driver::LAUNCH_KERNEL, kernel, blocks, 1, 1, BLOCK, 1, 1, 0, stream, parameters, 0)
    }
}

/// What was loaded, for the life of the process.
struct Loaded {
    /// The module of each device.
    modules: BTreeMap<i32, usize>,
    kernels: BTreeMap<(i32, &'static CStr), usize>,
}

static LOADED: Mutex<Loaded> =
    Mutex::new(Loaded { modules: BTreeMap::new(), kernels: BTreeMap::new() });

/// Handle of a kernel, in the current context of the device. What comes with it the first time is to be kept until the
/// kernel is launched: the driver may put off loading it until then, which is no part of a graph that is captured.
fn kernel(device: i32, name: &'static CStr) -> Result<(usize, Option<RelaxedCapture>)> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&kernel) = loaded.kernels.get(&(device, name)) {
        return Ok((kernel, None));
    }
    let relaxed = RelaxedCapture::enter()?;
    let mut module = loaded.modules.get(&device).copied().unwrap_or(0);
    if module == 0 {
        // SAFETY: the address is that of a live usize, and the text ends with a zero.
        unsafe {
            call!(driver::MODULE_LOAD_DATA, &raw mut module as usize, PTX.as_ptr() as usize)
        }?;
        loaded.modules.insert(device, module);
    }
    let mut kernel = 0_usize;
    // SAFETY: the address is that of a live usize, the module is never unloaded, and the name ends with a zero.
    unsafe {
        call!(driver::MODULE_GET_FUNCTION, &raw mut kernel as usize, module, name.as_ptr() as usize)
    }?;
    loaded.kernels.insert((device, name), kernel);
    Ok((kernel, Some(relaxed)))
}

#[cfg(test)]
mod tests {
    use super::{CropOrPad, Elements, PTX};
    use crate::tensor::{Dims, Layout};

    #[test]
    fn the_kernels_take_the_structure() {
        for name in ["float16", "float32", "float64", "complex32", "complex64", "complex128"] {
            let size = size_of::<Elements>();
            let parameter = format!("scale_{name}_param_2[{size}]");
            assert!(PTX.contains(&parameter), "{parameter}");
        }
        for name in ["1", "2", "4", "8", "16"] {
            let parameter = format!("resize_{name}_param_2[{}]", size_of::<CropOrPad>());
            assert!(PTX.contains(&parameter), "{parameter}");
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
