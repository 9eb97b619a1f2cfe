//! The structs of DLPack, and its C exchange API: a table of C functions that a tensor class
//! offers.
//!
//! Layouts: <https://dmlc.github.io/dlpack/latest/c_api.html>.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use gpumath_core::device::StreamRef;
use gpumath_core::memory::MemoryKind;
use gpumath_core::tensor::{DType, Dims, Layout, MemoryLocation, TensorView};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};

use super::dlpack_import::ImportedTensor;
use super::{Refusal, unsupported_dtype};
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::once::intern;

/// Names of capsules before and after a consumer has taken the tensor.
pub(crate) const VERSIONED: &CStr = c"dltensor_versioned";
pub(crate) const UNVERSIONED: &CStr = c"dltensor";
pub(crate) const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
pub(crate) const USED_UNVERSIONED: &CStr = c"used_dltensor";

/// Version of DLPack that imports ask for, and that exports have.
pub(crate) const VERSION: (u32, u32) = (1, 1);

/// Flags of a `DLManagedTensorVersioned`.
pub(crate) const READ_ONLY: u64 = 1;
pub(crate) const IS_COPIED: u64 = 2;

/// Types of devices.
pub(crate) const CPU: i32 = 1;
pub(crate) const CUDA: i32 = 2;
pub(crate) const CUDA_HOST: i32 = 3;
pub(crate) const CUDA_MANAGED: i32 = 13;

/// Limit on the dimensions, which no library reaches.
const MAX_DIMENSIONS: i32 = 64;

/// `DLTensor`
#[repr(C)]
pub(crate) struct DlTensor {
    pub(crate) data: usize,
    pub(crate) device_type: i32,
    pub(crate) device_id: i32,
    pub(crate) ndim: i32,
    pub(crate) type_code: u8,
    pub(crate) type_bits: u8,
    pub(crate) type_lanes: u16,
    pub(crate) shape: *const i64,
    pub(crate) strides: *const i64,
    pub(crate) byte_offset: u64,
}

/// `DLManagedTensor`
#[repr(C)]
pub(crate) struct DlManagedTensor {
    pub(crate) tensor: DlTensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`
#[repr(C)]
pub(crate) struct DlManagedTensorVersioned {
    pub(crate) version: (u32, u32),
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut Self)>,
    pub(crate) flags: u64,
    pub(crate) tensor: DlTensor,
}

impl DlTensor {
    /// Address of the element at index (0, …, 0).
    pub(super) fn address(&self) -> usize {
        self.data.wrapping_add(self.byte_offset as usize)
    }

    /// Returns the tensor as a view, and the kind of its memory.
    ///
    /// # Safety
    /// `shape` and `strides` are each NULL or the address of `ndim` integers.
    pub(super) unsafe fn view(&self) -> Result<(TensorView, MemoryKind), Refusal> {
        let Some(dtype) = dtype(self.type_code, self.type_bits, self.type_lanes) else {
            return Err(unsupported_dtype(&describe_dtype(
                self.type_code,
                self.type_bits,
                self.type_lanes,
            )));
        };
        if !(0..=MAX_DIMENSIONS).contains(&self.ndim) || (self.ndim > 0 && self.shape.is_null()) {
            return Err(Refusal::value(format!(
                "'s DLPack tensor is invalid: it has {} dimensions and {} shape",
                self.ndim,
                if self.shape.is_null() { "no" } else { "a" }
            )));
        }
        let ndim = self.ndim as usize;
        let layout = if ndim == 0 {
            Layout { shape: Dims::new(), strides: Dims::new() }
        } else {
            // SAFETY: `shape` is not NULL, so the caller guarantees that it has `ndim` elements.
            let shape = unsafe { std::slice::from_raw_parts(self.shape, ndim) };
            if self.strides.is_null() {
                Layout::contiguous(shape)
            } else {
                // SAFETY: `strides` is not NULL, so the caller guarantees that it has `ndim`
                // elements.
                let strides = unsafe { std::slice::from_raw_parts(self.strides, ndim) };
                Layout { shape: shape.into(), strides: strides.into() }
            }
        };
        let (device, space) = device(self.device_type, self.device_id)?;
        let view = TensorView { ptr: self.address(), dtype, layout, device, readonly: false };
        Ok((view, space))
    }
}

/// `DLPackExchangeAPI`, up to the last entry that is used here.
#[repr(C)]
struct ExchangeTable {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: usize,
    managed_from_object: Option<ManagedFromObject>,
    managed_to_object: usize,
    tensor_from_object: Option<TensorFromObject>,
    current_stream: Option<ExchangeCurrentStream>,
}

type ManagedFromObject =
    unsafe extern "C" fn(object: *mut c_void, out: *mut *mut DlManagedTensorVersioned) -> c_int;
type TensorFromObject = unsafe extern "C" fn(object: *mut c_void, out: *mut DlTensor) -> c_int;
type ExchangeCurrentStream =
    unsafe extern "C" fn(kind: c_int, ordinal: i32, out: *mut usize) -> c_int;

/// The functions of a tensor class. None of them synchronizes.
#[derive(Clone, Copy)]
pub(crate) struct Exchange {
    /// Returns a tensor that keeps its memory alive, with flags.
    managed: Option<ManagedFromObject>,
    /// Returns a tensor that does not keep its memory alive, without flags.
    tensor: Option<TensorFromObject>,
    current_stream: Option<ExchangeCurrentStream>,
}

impl Exchange {
    /// Returns the functions of `class`; `None` if it offers none, or a table of another version.
    pub(super) fn of(class: &Bound<'_, PyType>) -> PyResult<Option<Self>> {
        let py = class.py();
        let Some(capsule) = class.getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else {
            return Ok(None);
        };
        let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
        let table = capsule.pointer_checked(Some(c"dlpack_exchange_api"))?.cast::<ExchangeTable>();
        // SAFETY: DLPack says that a capsule of this name holds such a table, which lives as long
        // as the process. Until the version is known to be 1, only the version is read, which comes
        // first in every version.
        let table = unsafe { table.as_ref() };
        if table.major != 1 {
            return Ok(None);
        }
        Ok(Some(Self {
            managed: table.managed_from_object,
            tensor: table.tensor_from_object,
            current_stream: table.current_stream,
        }))
    }

    /// Whether [`Self::tensor`] can be called.
    pub(super) fn has_tensor(&self) -> bool {
        self.tensor.is_some()
    }

    /// Whether [`Self::managed`] can be called.
    pub(super) fn has_managed(&self) -> bool {
        self.managed.is_some()
    }

    /// Returns the tensor of `object`, whose class offers these functions. The tensor's shape and
    /// strides live as long as `object`.
    pub(super) fn tensor(self, object: &Bound<'_, PyAny>) -> Result<DlTensor, Refusal> {
        let mut tensor = MaybeUninit::uninit();
        let Some(function) = self.tensor else { return Err(no_memory(object.py())) };
        // SAFETY: the class of `object` offers this function, and `object` proves that this thread
        // has the GIL.
        if unsafe { function(object.as_ptr().cast(), tensor.as_mut_ptr()) } != 0 {
            return Err(no_memory(object.py()));
        }
        // SAFETY: the function has returned 0, so it has filled the tensor.
        Ok(unsafe { tensor.assume_init() })
    }

    /// Like [`Self::tensor`], but the result keeps the memory alive.
    pub(super) fn managed(self, object: &Bound<'_, PyAny>) -> Result<ImportedTensor, Refusal> {
        let mut tensor = std::ptr::null_mut();
        let Some(function) = self.managed else { return Err(no_memory(object.py())) };
        // SAFETY: the class of `object` offers this function, and `object` proves that this thread
        // has the GIL.
        let status = unsafe { function(object.as_ptr().cast(), &raw mut tensor) };
        match NonNull::new(tensor) {
            Some(tensor) if status == 0 => Ok(ImportedTensor::Versioned(tensor)),
            _ => Err(no_memory(object.py())),
        }
    }

    /// Returns the current stream of the class's library on a device; `None` if no function tells
    /// it.
    pub(super) fn current_stream(self, py: Python<'_>, device: i32) -> PyResult<Option<usize>> {
        let Some(current) = self.current_stream else { return Ok(None) };
        let mut own = 0_usize;
        // SAFETY: the class offers this function, which writes one handle to `own`.
        if unsafe { current(CUDA, device, &raw mut own) } != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(Some(own))
    }

    /// Makes `stream` wait for the work on the current stream of the class's library. Does not wait
    /// itself.
    pub(super) fn order(self, py: Python<'_>, device: i32, stream: usize) -> PyResult<()> {
        let Some(own) = self.current_stream(py, device)? else { return Ok(()) };
        // SAFETY: `own` is the library's handle of a live stream, and the user vouches for
        // `stream`.
        release_gil(py, || unsafe {
            StreamRef::new(device, stream).order_after(StreamRef::new(device, own))
        })
        .or_raise(py)
    }
}

fn no_memory(py: Python<'_>) -> Refusal {
    Refusal::of_type(
        " has no memory that can be addressed; sparse and other special tensors have to be made \
         dense first",
    )
    .caused_by(PyErr::take(py))
}

/// Code, bits and lanes of a `DLDataType`, and the element type that they stand for.
const DTYPES: [((u8, u8, u16), DType); 20] = [
    ((6, 8, 1), DType::Bool),
    ((0, 8, 1), DType::Int8),
    ((0, 16, 1), DType::Int16),
    ((0, 32, 1), DType::Int32),
    ((0, 64, 1), DType::Int64),
    ((1, 8, 1), DType::UInt8),
    ((1, 16, 1), DType::UInt16),
    ((1, 32, 1), DType::UInt32),
    ((1, 64, 1), DType::UInt64),
    ((10, 8, 1), DType::Float8E4M3Fn),
    ((12, 8, 1), DType::Float8E5M2),
    ((14, 8, 1), DType::Float8E8M0Fnu),
    ((17, 4, 2), DType::Float4E2M1FnX2),
    ((4, 16, 1), DType::BFloat16),
    ((2, 16, 1), DType::Float16),
    ((2, 32, 1), DType::Float32),
    ((2, 64, 1), DType::Float64),
    ((5, 32, 1), DType::Complex32),
    ((5, 64, 1), DType::Complex64),
    ((5, 128, 1), DType::Complex128),
];

/// Returns the element type of a `DLDataType`; `None` if gpumath does not know it.
fn dtype(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    DTYPES.iter().rev().find(|(key, _)| *key == (code, bits, lanes)).map(|entry| entry.1)
}

/// Returns the code, the bits and the lanes of an element type.
pub(crate) fn code_of(dtype: DType) -> (u8, u8, u16) {
    let found = DTYPES.iter().find(|entry| entry.1 == dtype);
    // The table has every type; 3 would mean an opaque one.
    found.map_or((3, 0, 1), |entry| entry.0)
}

/// Returns a name for a `DLDataType` that gpumath does not know.
fn describe_dtype(code: u8, bits: u8, lanes: u16) -> String {
    const NAMES: [&str; 7] = ["int", "uint", "float", "opaque", "bfloat", "complex", "bool"];
    let name = NAMES.get(code as usize).map_or_else(
        || format!("DLPack code {code} of {bits} bits"),
        |name| format!("{name}{bits}"),
    );
    if lanes == 1 { name } else { format!("{name}x{lanes}") }
}

/// Returns the location and kind of memory of a DLPack device type and ordinal.
fn device(kind: i32, ordinal: i32) -> Result<(MemoryLocation, MemoryKind), Refusal> {
    match kind {
        CPU => Ok((MemoryLocation::Host, MemoryKind::Host)),
        CUDA_HOST => Ok((MemoryLocation::Host, MemoryKind::Pinned)),
        CUDA => Ok((MemoryLocation::Device(ordinal), MemoryKind::Device)),
        CUDA_MANAGED => Ok((MemoryLocation::Device(ordinal), MemoryKind::Managed)),
        _ => Err(Refusal::value(format!(
            " is on a device of DLPack type {kind}; CPU and CUDA memory are supported"
        ))),
    }
}
