//! Any library's arrays, through DLPack: `__dlpack__`, or the C exchange API.

use std::ffi::CStr;
use std::ptr::NonNull;

use gpumath_core::tensor::MemoryLocation;
use pyo3::exceptions::PyTypeError;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, intern, prelude::*};

use super::dlpack_abi::{
    CUDA, CUDA_MANAGED, DlManagedTensor, DlManagedTensorVersioned, Exchange, IS_COPIED, READ_ONLY,
    UNVERSIONED, USED_UNVERSIONED, USED_VERSIONED, VERSION, VERSIONED,
};
use super::{KeepAlive, Operand, Refusal, checked, plausible};
use crate::gil::acquire_gil;

/// A tensor that was taken out of its capsule; its producer hears when it is dropped.
pub(crate) enum ImportedTensor {
    Unversioned(NonNull<DlManagedTensor>),
    Versioned(NonNull<DlManagedTensorVersioned>),
}

// SAFETY: it is only kept and deleted, and DLPack lets any thread do that.
unsafe impl Send for ImportedTensor {}
// SAFETY: as above.
unsafe impl Sync for ImportedTensor {}

impl Drop for ImportedTensor {
    fn drop(&mut self) {
        // Once the interpreter shuts down, the memory is left to the end of the process.
        acquire_gil(|py| {
            let pending = PyErr::take(py);
            // SAFETY: taken out of its capsule, so that nobody else deletes it.
            unsafe {
                match self {
                    Self::Unversioned(tensor) => {
                        if let Some(deleter) = tensor.as_ref().deleter {
                            deleter(tensor.as_ptr());
                        }
                    }
                    Self::Versioned(tensor) => {
                        if let Some(deleter) = tensor.as_ref().deleter {
                            deleter(tensor.as_ptr());
                        }
                    }
                }
            }
            if let Some(error) = PyErr::take(py) {
                error.write_unraisable(py, None);
            }
            if let Some(pending) = pending {
                pending.restore(py);
            }
        });
    }
}

/// Work on `stream` waits for what made the elements; `None` if they are not looked at.
pub(super) fn view(operand: &Bound<'_, PyAny>, stream: Option<usize>) -> Result<Operand, Refusal> {
    let capsule = request(operand, stream)?;
    let capsule = capsule.cast_into::<PyCapsule>().map_err(|error| {
        let class = error.into_inner().get_type();
        Refusal::of_type(format!(
            "'s __dlpack__() returned a {}; it has to be a capsule",
            class.fully_qualified_name().map_or_else(|_| String::new(), |name| name.to_string())
        ))
    })?;
    operand_of(take(&capsule)?)
}

/// Through the C exchange API, for classes other than PyTorch's.
pub(super) fn exchanged_view(
    operand: &Bound<'_, PyAny>,
    exchange: Exchange,
    stream: Option<usize>,
) -> Result<Operand, Refusal> {
    let found = operand_of(exchange.managed(operand)?)?;
    if let (MemoryLocation::Device(device), Some(stream)) = (found.view.device, stream) {
        exchange.order(operand.py(), device, stream)?;
    }
    Ok(found)
}

fn operand_of(managed: ImportedTensor) -> Result<Operand, Refusal> {
    let (tensor, flags) = match &managed {
        // SAFETY: it is ours, until it is dropped.
        ImportedTensor::Unversioned(tensor) => (unsafe { &tensor.as_ref().tensor }, 0),
        ImportedTensor::Versioned(tensor) => {
            // SAFETY: it starts with a version, whatever follows.
            let (major, minor) = unsafe { tensor.cast::<(u32, u32)>().read() };
            if major != VERSION.0 {
                return Err(Refusal::buffer(format!(
                    "'s DLPack version is {major}.{minor}; version 1 was asked for"
                )));
            }
            // SAFETY: version 1 has this layout.
            let tensor = unsafe { tensor.as_ref() };
            (&tensor.tensor, tensor.flags)
        }
    };
    if flags & IS_COPIED != 0 {
        return Err(Refusal::buffer(
            "'s library gave a copy instead of its memory; make the copy yourself, and pass that",
        ));
    }
    // SAFETY: DLPack's rules for what a managed tensor holds.
    let (mut view, space) = unsafe { tensor.view() }?;
    view.readonly = flags & READ_ONLY != 0;
    let view = checked(plausible(view)?)?;
    Ok(Operand { view, space, keep_alive: Some(KeepAlive::Tensor(managed)) })
}

/// The result of `__dlpack__`, in the newest form that the library has.
fn request<'py>(
    operand: &Bound<'py, PyAny>,
    stream: Option<usize>,
) -> Result<Bound<'py, PyAny>, Refusal> {
    let py = operand.py();
    let device = operand.call_method0(intern!(py, "__dlpack_device__"))?;
    let (kind, _): (i32, i32) = device.extract().map_err(|_| {
        Refusal::of_type(format!(
            "'s __dlpack_device__() returned {device}; it has to be a pair of integers"
        ))
    })?;
    let keywords = PyDict::new(py);
    if kind == CUDA || kind == CUDA_MANAGED {
        // The legacy default stream is 1 here, and -1 asks for no order.
        let stream = stream.map_or(-1, |handle| handle.max(1) as i64);
        keywords.set_item(intern!(py, "stream"), stream)?;
    }
    keywords.set_item(intern!(py, "max_version"), VERSION)?;
    let method = operand.getattr(intern!(py, "__dlpack__"))?;
    match method.call((), Some(&keywords)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            // The library is older than DLPack 1.0, which introduced `max_version`.
            keywords.del_item(intern!(py, "max_version"))?;
            Ok(method.call((), Some(&keywords))?)
        }
        result => Ok(result?),
    }
}

/// The tensor of a capsule, which is then marked as used.
fn take(capsule: &Bound<'_, PyCapsule>) -> Result<ImportedTensor, Refusal> {
    let raw = capsule.as_ptr();
    let holds = |name: &CStr| {
        // SAFETY: a live capsule and a NUL-terminated name.
        unsafe { ffi::PyCapsule_IsValid(raw, name.as_ptr()) != 0 }
    };
    let rename = |name: &'static CStr| {
        // SAFETY: as above; the name is never freed.
        match unsafe { ffi::PyCapsule_SetName(raw, name.as_ptr()) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(capsule.py())),
        }
    };
    if holds(VERSIONED) {
        let tensor = capsule.pointer_checked(Some(VERSIONED))?.cast::<DlManagedTensorVersioned>();
        rename(USED_VERSIONED)?;
        return Ok(ImportedTensor::Versioned(tensor));
    }
    if holds(UNVERSIONED) {
        let tensor = capsule.pointer_checked(Some(UNVERSIONED))?.cast::<DlManagedTensor>();
        rename(USED_UNVERSIONED)?;
        return Ok(ImportedTensor::Unversioned(tensor));
    }
    // SAFETY: a live capsule; a name, where there is one, is NUL-terminated.
    let name = unsafe {
        let name = ffi::PyCapsule_GetName(raw);
        if name.is_null() { None } else { Some(CStr::from_ptr(name).to_string_lossy()) }
    };
    Err(Refusal::value(format!(
        "'s __dlpack__() returned a capsule named {name:?}; {UNVERSIONED:?} or {VERSIONED:?} is needed, \
         and one that was used before cannot be used again"
    )))
}
