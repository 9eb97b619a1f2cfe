//! The DLPack C exchange API: a table of C functions that a tensor class offers.
//!
//! Layouts: <https://dmlc.github.io/dlpack/latest/c_api.html>.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use gpumath_core::tensor::DType;
use pyo3::exceptions::PyTypeError;
use pyo3::types::{PyCapsule, PyType};
use pyo3::{intern, prelude::*};

/// `DLTensor`
#[repr(C)]
pub(super) struct DlTensor {
    pub(super) data: usize,
    pub(super) device_type: i32,
    pub(super) device_id: i32,
    pub(super) ndim: i32,
    pub(super) type_code: u8,
    pub(super) type_bits: u8,
    pub(super) type_lanes: u16,
    pub(super) shape: *const i64,
    pub(super) strides: *const i64,
    pub(super) byte_offset: u64,
}

/// `DLPackExchangeAPI`, up to the entries that are used here.
#[repr(C)]
struct ExchangeTable {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: usize,
    managed_from_object: usize,
    managed_to_object: usize,
    tensor_from_object: Option<TensorFromObject>,
    current_stream: usize,
}

type TensorFromObject = unsafe extern "C" fn(object: *mut c_void, out: *mut DlTensor) -> c_int;

/// The function of a tensor class that fills a `DLTensor` without taking a reference.
#[derive(Clone, Copy)]
pub(super) struct Exchange(TensorFromObject);

impl Exchange {
    /// What `class` offers; `None` if it offers nothing, or a version with another layout.
    pub(super) fn of(class: &Bound<'_, PyType>) -> PyResult<Option<Self>> {
        let py = class.py();
        let Some(capsule) = class.getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else {
            return Ok(None);
        };
        let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
        let table = capsule.pointer_checked(Some(c"dlpack_exchange_api"))?.cast::<ExchangeTable>();
        // SAFETY: a capsule of this name holds a table that lives as long as the process; major version 1 fixes
        // the layout, and the version comes first in every layout.
        let table = unsafe { table.as_ref() };
        Ok(if table.major == 1 { table.tensor_from_object.map(Self) } else { None })
    }

    /// The tensor behind `object`, whose class offered this function. Its shape and strides live as long as `object`.
    pub(super) fn tensor(self, object: &Bound<'_, PyAny>) -> PyResult<DlTensor> {
        let mut tensor = MaybeUninit::uninit();
        // SAFETY: the class of `object` offered this function, and the GIL is held.
        if unsafe { (self.0)(object.as_ptr().cast(), tensor.as_mut_ptr()) } != 0 {
            let py = object.py();
            let error = PyTypeError::new_err(
                "the tensor has no memory that can be addressed; sparse and other special tensors have to be made \
                 dense first",
            );
            error.set_cause(py, Some(PyErr::fetch(py)));
            return Err(error);
        }
        // SAFETY: a return value of 0 means that it is filled.
        Ok(unsafe { tensor.assume_init() })
    }
}

/// The element type of a `DLDataType`.
pub(super) fn dtype(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    match (code, bits, lanes) {
        (2, 16, 1) => Some(DType::Float16),
        (2, 32, 1) => Some(DType::Float32),
        (2, 64, 1) => Some(DType::Float64),
        (5, 32, 1) => Some(DType::Complex32),
        (5, 64, 1) => Some(DType::Complex64),
        (5, 128, 1) => Some(DType::Complex128),
        _ => None,
    }
}
