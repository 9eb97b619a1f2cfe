//! The fast path of a call, for what nearly every call passes: integers, by position.
//!
//! A function has it if it takes only integers and returns only a status. A call that the fast path
//! cannot make takes [`slow_path`], which also raises the errors of wrong arguments.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use super::scalar_arguments::as_i64;
use super::specs::{FunctionSpec, ParameterKind, Returns, Value};
use super::{MAX_PARAMETERS, invoke, set_exception, slow_path, status_error};

/// All that a call needs, in one cache line, because the C function that ran before has most likely
/// evicted the rest.
#[repr(C, align(64))]
struct FastCall {
    /// Address of the C function; 0 until a call has looked it up.
    address: AtomicUsize,
    spec: &'static FunctionSpec,
    inputs: u8,
    /// For each parameter the numbers that it takes, as [`limit_of`] encodes them.
    limits: [u8; MAX_PARAMETERS],
}

/// Flag of a limit: negative numbers are allowed.
const NEGATIVE: u8 = 1 << 6;
/// Flag of a limit: 0 is refused.
const NOT_NULL: u8 = 1 << 7;

/// Encodes which numbers a parameter takes: how many bits without the sign, and the flags. Returns
/// `None` for a parameter that is no integer.
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
        // Larger numbers take the slow path.
        Value::U64 | Value::Address => 63,
        Value::F32 | Value::F64 | Value::C64 | Value::C128 | Value::Text => return None,
    };
    Some(if not_null { limit | NOT_NULL } else { limit })
}

/// Returns whether a parameter with this limit takes the number.
#[inline]
fn fits(number: i64, limit: u8) -> bool {
    let above = number >> (limit & 63);
    (above == 0 || (above == -1 && limit & NEGATIVE != 0)) && (number != 0 || limit & NOT_NULL == 0)
}

/// Returns the address of a [`FastCall`] that is never freed, or `None` if the function has no fast
/// path.
pub(super) fn prepare(spec: &'static FunctionSpec) -> Option<*mut c_void> {
    let mut limits = [0; MAX_PARAMETERS];
    for (limit, parameter) in limits.iter_mut().zip(spec.parameters) {
        *limit = limit_of(parameter.kind, parameter.not_null)?;
    }
    let inputs = u8::try_from(spec.inputs).ok().filter(|_| spec.returns == Returns::Status)?;
    let fast = FastCall { address: AtomicUsize::new(0), spec, inputs, limits };
    Some(Box::into_raw(Box::new(fast)).cast())
}

/// The entry of the functions that have the fast path. `CPython` calls it.
pub(super) unsafe extern "C" fn enter(
    capsule: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the capsule holds what `prepare` made, which is never freed. CPython calls with the
    // GIL, and its protocol for METH_FASTCALL and METH_KEYWORDS is what `slow_path` asks for.
    // `fill` is only called if there are as many positional arguments as inputs, and the call is
    // only made if `fill` has written all slots.
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

/// Converts all arguments. Returns false, without an exception set, if one of them needs the slow
/// path.
///
/// # Safety
/// - This thread has the GIL.
/// - `arguments` points to one live object for each input.
unsafe fn fill(
    fast: &FastCall,
    arguments: *const *mut ffi::PyObject,
    slots: &mut [MaybeUninit<u64>; MAX_PARAMETERS],
) -> bool {
    let limits = fast.limits.iter().zip(slots).enumerate();
    for (index, (limit, slot)) in limits.take(usize::from(fast.inputs)) {
        // SAFETY: the caller guarantees a live object for each input.
        let number = unsafe { as_i64(*arguments.add(index)) };
        // SAFETY: the caller guarantees the GIL.
        if number == -1 && unsafe { !ffi::PyErr_Occurred().is_null() } {
            // The slow path may convert the object after all. If not, it raises the exception
            // again.
            // SAFETY: the caller guarantees the GIL.
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
