//! The short way through a call, for the arguments that nearly every call has: integers, by position.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use super::scalar_arguments::as_i64;
use super::{
    FunctionSpec, MAX_PARAMETERS, ParameterKind, Returns, Value, invoke, set_exception, slow_path,
    status_error,
};

/// What a call of a spec needs, in one line of the cache: the C function before has most likely emptied it.
#[repr(C, align(64))]
struct FastCall {
    /// The symbol's address, once a call has found it.
    address: AtomicUsize,
    spec: &'static FunctionSpec,
    inputs: u8,
    /// For each parameter what [`limit_of`] says.
    limits: [u8; MAX_PARAMETERS],
}

/// Besides the bits of a number: negative ones are allowed, 0 is not.
const NEGATIVE: u8 = 1 << 6;
const NOT_NULL: u8 = 1 << 7;

/// Which numbers a parameter takes: how many bits without the sign, and the flags; `None` for no integer.
fn limit_of(kind: ParameterKind, not_null: bool) -> Option<u8> {
    let ParameterKind::Value(value) = kind else { return None };
    let limit = match value {
        Value::I8 => 7 | NEGATIVE,
        Value::U8 => 8,
        Value::I16 => 15 | NEGATIVE,
        Value::U16 => 16,
        Value::I32 => 31 | NEGATIVE,
        Value::U32 => 32,
        Value::I64 => 63 | NEGATIVE,
        // Larger ones go the long way.
        Value::U64 | Value::Address => 63,
        Value::F32 | Value::F64 | Value::C64 | Value::C128 | Value::Text => return None,
    };
    Some(if not_null { limit | NOT_NULL } else { limit })
}

#[inline]
fn fits(number: i64, limit: u8) -> bool {
    let above = number >> (limit & 63);
    (above == 0 || (above == -1 && limit & NEGATIVE != 0)) && (number != 0 || limit & NOT_NULL == 0)
}

/// What the short way needs for a spec that takes nothing but integers and returns nothing but its status.
pub(super) fn of(spec: &'static FunctionSpec) -> Option<*mut c_void> {
    let mut limits = [0; MAX_PARAMETERS];
    for (limit, parameter) in limits.iter_mut().zip(spec.parameters) {
        *limit = limit_of(parameter.kind, parameter.not_null)?;
    }
    let inputs = u8::try_from(spec.inputs).ok().filter(|_| spec.returns == Returns::Status)?;
    let fast = FastCall { address: AtomicUsize::new(0), spec, inputs, limits };
    Some(Box::into_raw(Box::new(fast)).cast())
}

/// What `CPython` calls for such a spec.
pub(super) unsafe extern "C" fn enter(
    capsule: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the capsule has what `of` made, which is never freed; else as in `super::enter`.
    unsafe {
        let fast = &*ffi::PyCapsule_GetPointer(capsule, ptr::null()).cast::<FastCall>();
        let address = fast.address.load(Ordering::Relaxed);
        let mut slots = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
        if address == 0
            || !names.is_null()
            || count as usize != usize::from(fast.inputs)
            || !fill(fast, arguments, &mut slots)
        {
            let result = slow_path(fast.spec, arguments, count, names);
            fast.address.store(fast.spec.symbol.address().unwrap_or(0), Ordering::Relaxed);
            return result;
        }
        match invoke(fast.spec, address, slots.as_ptr().cast()) as i32 {
            0 => Python::assume_attached().None().into_ptr(),
            code => set_exception(status_error(fast.spec, code)),
        }
    }
}

/// Converts all arguments; false, with nothing changed, if one is for the long way.
///
/// # Safety
/// There are as many live arguments as the spec has parameters, and the thread is attached.
unsafe fn fill(
    fast: &FastCall,
    arguments: *const *mut ffi::PyObject,
    slots: &mut [MaybeUninit<u64>; MAX_PARAMETERS],
) -> bool {
    let limits = fast.limits.iter().zip(slots).enumerate();
    for (index, (limit, slot)) in limits.take(usize::from(fast.inputs)) {
        // SAFETY: by the caller's promise.
        let number = unsafe { as_i64(*arguments.add(index)) };
        // SAFETY: the thread is attached.
        if number == -1 && unsafe { !ffi::PyErr_Occurred().is_null() } {
            // SAFETY: as above. The long way raises it again, if it is an error at all.
            unsafe { ffi::PyErr_Clear() };
            return false;
        }
        if !fits(number, *limit) {
            return false;
        }
        slot.write(number as u64);
    }
    true
}
