//! Lends arrays to other libraries as DLPack capsules.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use gpumath_core::device::StreamRef;
use gpumath_core::memory::MemoryKind;
use gpumath_core::tensor::{Layout, MemoryLocation};
use pyo3::exceptions::PyBufferError;
use pyo3::{ffi, prelude::*};

use super::PyArray;
use super::storage::ArrayStorage;
use crate::api::wait::wait_until;
use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::dlpack_abi::{
    self, DlManagedTensor, DlManagedTensorVersioned, DlTensor, READ_ONLY, UNVERSIONED, VERSION,
    VERSIONED,
};

/// The content of a capsule, with all that it points to. The head comes first, so a pointer to it
/// is also a pointer to the whole.
#[repr(C)]
struct ExportedTensor<T> {
    head: T,
    layout: Layout,
    _storage: Arc<ArrayStorage>,
}

/// Makes a capsule, with the arguments of `Array.__dlpack__`.
pub(super) fn capsule<'py>(
    array: &Bound<'py, PyArray>,
    stream: Option<i64>,
    max_version: Option<(i64, i64)>,
    wanted: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, this) = (array.py(), array.get());
    if copy == Some(true) {
        return Err(PyBufferError::new_err(
            "a copy was asked for, but gpumath lends its memory as it is; copy what you get",
        ));
    }
    let device = this.__dlpack_device__();
    let as_host = wanted == Some((dlpack_abi::CPU, 0)) && this.space != MemoryKind::Device;
    if let Some(wanted) = wanted
        && wanted != device
        && !as_host
    {
        return Err(PyBufferError::new_err(format!(
            "the DLPack device {wanted:?} was asked for, but the array is on {device:?}; copy it \
             there first"
        )));
    }
    if as_host && this.space == MemoryKind::Managed {
        // The CPU has no stream that could wait, so this call waits.
        // SAFETY: the array keeps its stream alive.
        wait_until(py, || unsafe { StreamRef::new(this.device_id, this.stream) }.query())?;
    } else {
        order(py, this, stream)?;
    }
    let versioned = max_version.is_some_and(|(major, _)| major >= 1);
    if this.view.readonly && !versioned {
        return Err(PyBufferError::new_err(
            "the array is read-only, which only DLPack capsules of version 1 can say; ask with \
             max_version=(1, 0), or copy it first",
        ));
    }
    let (code, bits, lanes) = dlpack_abi::code_of(this.view.dtype);
    let device = if as_host { (dlpack_abi::CPU, 0) } else { device };
    let tensor = DlTensor {
        data: this.view.ptr,
        device_type: device.0,
        device_id: device.1,
        ndim: this.view.layout.ndim() as i32,
        type_code: code,
        type_bits: bits,
        type_lanes: lanes,
        shape: std::ptr::null(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let (layout, storage) = (this.view.layout.clone(), Arc::clone(&this.storage));
    let context = std::ptr::null_mut();
    if versioned {
        let flags = if this.view.readonly { READ_ONLY } else { 0 };
        let deleter = Some(
            delete::<DlManagedTensorVersioned>
                as unsafe extern "C" fn(*mut DlManagedTensorVersioned),
        );
        let head = DlManagedTensorVersioned { version: VERSION, context, deleter, flags, tensor };
        let mut exported = Box::new(ExportedTensor { head, layout, _storage: storage });
        exported.head.tensor.shape = exported.layout.shape.as_ptr();
        exported.head.tensor.strides = exported.layout.strides.as_ptr();
        wrap(py, exported, VERSIONED, drop_versioned)
    } else {
        let deleter = Some(delete::<DlManagedTensor> as unsafe extern "C" fn(*mut DlManagedTensor));
        let head = DlManagedTensor { tensor, context, deleter };
        let mut exported = Box::new(ExportedTensor { head, layout, _storage: storage });
        exported.head.tensor.shape = exported.layout.shape.as_ptr();
        exported.head.tensor.strides = exported.layout.strides.as_ptr();
        wrap(py, exported, UNVERSIONED, drop_unversioned)
    }
}

/// Makes the consumer's stream wait for the array's own stream. `stream` is a number of the array
/// API standard for `__dlpack__`.
fn order(py: Python<'_>, array: &PyArray, stream: Option<i64>) -> PyResult<()> {
    let MemoryLocation::Device(device) = array.view.device else {
        return match stream {
            None | Some(-1) => Ok(()),
            Some(stream) => Err(PyBufferError::new_err(format!(
                "stream is {stream}, but the array is in host memory; leave the stream out"
            ))),
        };
    };
    let consumer = match stream {
        Some(-1) => return Ok(()),
        // None means the legacy default stream, whose number is 1.
        None => 1,
        Some(stream) if stream > 0 => stream as usize,
        Some(stream) => {
            return Err(PyBufferError::new_err(format!(
                "stream is {stream}; a cudaStream_t, 1 (the legacy default stream), 2 (the \
                 per-thread one) or -1 (no order) is needed"
            )));
        }
    };
    // SAFETY: the array keeps its stream alive, and the consumer vouches for its own.
    release_gil(py, || unsafe {
        StreamRef::new(device, consumer).order_after(StreamRef::new(device, array.stream))
    })
    .or_raise(py)
}

/// Makes a capsule of this name that owns a tensor.
fn wrap<'py, T>(
    py: Python<'py>,
    exported: Box<ExportedTensor<T>>,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut ffi::PyObject),
) -> PyResult<Bound<'py, PyAny>> {
    let exported = Box::into_raw(exported);
    // SAFETY: the pointer is not NULL, the name is static, and the destructor is the one for `T`.
    let capsule =
        unsafe { ffi::PyCapsule_New(exported.cast::<c_void>(), name.as_ptr(), Some(destructor)) };
    if capsule.is_null() {
        // SAFETY: the pointer is from `into_raw` above, and no capsule owns it.
        drop(unsafe { Box::from_raw(exported) });
        return Err(PyErr::fetch(py));
    }
    // SAFETY: `PyCapsule_New` has returned a new reference.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
}

/// Frees an exported tensor. This is its DLPack deleter, which any thread may call, with or without
/// the GIL.
///
/// # Safety
/// `head` is NULL, or the head of an `ExportedTensor<T>` from `into_raw`, which nothing uses
/// afterwards.
unsafe extern "C" fn delete<T>(head: *mut T) {
    if !head.is_null() {
        // SAFETY: the caller guarantees that `head` is that of an `ExportedTensor<T>` from
        // `into_raw`, and that this is its last use.
        drop(unsafe { Box::from_raw(head.cast::<ExportedTensor<T>>()) });
    }
}

/// Destructor of versioned capsules.
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: CPython calls this with the capsule that it destroys, which `wrap` has made for this
    // type.
    unsafe { drop_unused::<DlManagedTensorVersioned>(capsule, VERSIONED) }
}

/// Destructor of unversioned capsules.
unsafe extern "C" fn drop_unversioned(capsule: *mut ffi::PyObject) {
    // SAFETY: CPython calls this with the capsule that it destroys, which `wrap` has made for this
    // type.
    unsafe { drop_unused::<DlManagedTensor>(capsule, UNVERSIONED) }
}

/// Frees the tensor of a capsule that nobody has taken out.
///
/// # Safety
/// `capsule` is a live capsule. If its name is `name`, it holds an `ExportedTensor<T>`.
unsafe fn drop_unused<T>(capsule: *mut ffi::PyObject, name: &CStr) {
    // SAFETY: the caller guarantees that the capsule is live. It still has its name, so no consumer
    // has taken the tensor, and the capsule is its owner.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, name.as_ptr()) != 0 {
            let head = ffi::PyCapsule_GetPointer(capsule, name.as_ptr());
            delete(head.cast::<T>());
        }
    }
}
