//! Reads arrays of any library through DLPack: `__dlpack__`, or the C exchange API.

use std::ffi::CStr;
use std::ptr::NonNull;

use gpumath_core::tensor::MemoryLocation;
use pyo3::exceptions::PyTypeError;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{ffi, prelude::*};

use super::dlpack_abi::{
    CUDA, CUDA_MANAGED, DlManagedTensor, DlManagedTensorVersioned, Exchange, IS_COPIED, READ_ONLY,
    UNVERSIONED, USED_UNVERSIONED, USED_VERSIONED, VERSION, VERSIONED,
};
use super::{KeepAlive, Operand, Refusal, checked, plausible};
use crate::gil::acquire_gil;
use crate::once::intern;

/// A tensor that was taken out of its capsule. Dropping it calls the producer's deleter, with the
/// GIL.
pub(crate) enum ImportedTensor {
    Unversioned(NonNull<DlManagedTensor>),
    Versioned(NonNull<DlManagedTensorVersioned>),
}

// SAFETY: the tensor is only read and deleted, and DLPack lets any thread call the deleter.
unsafe impl Send for ImportedTensor {}
// SAFETY: shared references only read the tensor, which its producer no longer changes.
unsafe impl Sync for ImportedTensor {}

impl Drop for ImportedTensor {
    fn drop(&mut self) {
        // Once the interpreter shuts down, the memory is left to the end of the process.
        acquire_gil(|py| {
            let pending = PyErr::take(py);
            // SAFETY: the tensor was taken out of its capsule, so this is the only call of its
            // deleter.
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

/// Reads an operand through its `__dlpack__`, with `stream` as for [`super::view`].
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

/// Reads an operand through the C exchange API of its class, which is not PyTorch's, with `stream`
/// as for [`super::view`].
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

/// Checks a tensor, and returns it as an operand that keeps it alive.
fn operand_of(managed: ImportedTensor) -> Result<Operand, Refusal> {
    let (tensor, flags) = match &managed {
        // SAFETY: the tensor lives until `managed` is dropped.
        ImportedTensor::Unversioned(tensor) => (unsafe { &tensor.as_ref().tensor }, 0),
        ImportedTensor::Versioned(tensor) => {
            // SAFETY: the struct begins with its version, which DLPack promises for every version.
            let (major, minor) = unsafe { tensor.cast::<(u32, u32)>().read() };
            if major != VERSION.0 {
                return Err(Refusal::buffer(format!(
                    "'s DLPack version is {major}.{minor}; version 1 was asked for"
                )));
            }
            // SAFETY: every version with the major number 1 has this layout.
            let tensor = unsafe { tensor.as_ref() };
            (&tensor.tensor, tensor.flags)
        }
    };
    if flags & IS_COPIED != 0 {
        return Err(Refusal::buffer(
            "'s library gave a copy instead of its memory; make the copy yourself, and pass that",
        ));
    }
    // SAFETY: DLPack promises that the shape and strides of a managed tensor are NULL or have
    // `ndim` elements.
    let (mut view, space) = unsafe { tensor.view() }?;
    view.readonly = flags & READ_ONLY != 0;
    let view = checked(plausible(view)?)?;
    Ok(Operand { view, space, keep_alive: Some(KeepAlive::Tensor(managed)) })
}

/// Calls the operand's `__dlpack__`, and asks for the newest version that the library has.
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
        // DLPack's number for the legacy default stream is 1, and -1 asks for no order.
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

/// Takes the tensor out of a capsule, which is renamed so that nobody else takes it.
fn take(capsule: &Bound<'_, PyCapsule>) -> Result<ImportedTensor, Refusal> {
    let raw = capsule.as_ptr();
    let holds = |name: &CStr| {
        // SAFETY: `raw` is a live object, and `name` ends in a zero.
        unsafe { ffi::PyCapsule_IsValid(raw, name.as_ptr()) != 0 }
    };
    let rename = |name: &'static CStr| {
        // SAFETY: `raw` is a live capsule, and `name` is static, so it outlives the capsule.
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
    // SAFETY: `raw` is a live capsule. Its name, if there is one, ends in a zero and lives while
    // the capsule does.
    let name = unsafe {
        let name = ffi::PyCapsule_GetName(raw);
        if name.is_null() {
            String::from("without a name")
        } else {
            format!("named {:?}", CStr::from_ptr(name).to_string_lossy())
        }
    };
    Err(Refusal::value(format!(
        "'s __dlpack__() returned a capsule {name}; {UNVERSIONED:?} or {VERSIONED:?} is \
         needed, and one that was used before cannot be used again"
    )))
}
