//! Kernels of gpumath's own, over the elements of arrays in device memory.
//!
//! They come as PTX that every driver since CUDA 12.0 compiles for its device, when they are first launched there.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, RelaxedCapture, call};
use crate::error::{Error, Result};
use crate::tensor::{DType, Layout};

/// `nox -s kernels` compiles it from `elements.cu`.
const PTX: &str = concat!(include_str!("generated/elements.ptx"), "\0");

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
    pub(crate) fn of(layout: &Layout) -> Result<Self> {
        let Layout { shape, strides } = layout.merged();
        let mut elements = Self {
            count: layout.len() as u64,
            rank: shape.len() as i64,
            extents: [1; MAX_RANK],
            strides: [0; MAX_RANK],
        };
        if shape.len() > MAX_RANK {
            return Err(Error::InvalidValue(format!(
                "an array of {} dimensions cannot be scaled: {MAX_RANK} are the most; merge some of them",
                shape.len()
            )));
        }
        elements.extents[..shape.len()].copy_from_slice(&shape);
        elements.strides[..shape.len()].copy_from_slice(&strides);
        Ok(elements)
    }
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
    let blocks = elements.count.div_ceil(u64::from(BLOCK) * UNROLLED).min(MAX_BLOCKS) as u32;
    let _context = ContextGuard::enter(device)?;
    let kernel = kernel(device, name)?;
    // SAFETY: the parameters are those of the kernel, and live until it is launched; the caller vouches for the rest.
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
            0,
            stream,
            parameters.as_ptr() as usize,
            0
        )
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

/// Handle of a kernel, in the current context of the device.
fn kernel(device: i32, name: &'static CStr) -> Result<usize> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&kernel) = loaded.kernels.get(&(device, name)) {
        return Ok(kernel);
    }
    // Loading is no part of a graph that is being captured.
    let _relaxed = RelaxedCapture::enter()?;
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
    Ok(kernel)
}

#[cfg(test)]
mod tests {
    use super::{Elements, PTX};
    use crate::tensor::{Dims, Layout};

    #[test]
    fn the_kernels_take_the_structure() {
        for name in ["float16", "float32", "float64", "complex32", "complex64", "complex128"] {
            let size = size_of::<Elements>();
            let parameter = format!("scale_{name}_param_2[{size}]");
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
