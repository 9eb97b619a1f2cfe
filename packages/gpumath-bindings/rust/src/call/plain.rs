//! The short way through a call, for the arguments that nearly every call has: integers, by position.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;

use super::convert::as_i64;
use super::{Kind, MAX_PARAMETERS, Returns, Row, Value, general, raised, status_error, through};

/// What a call of a row needs, in one line of the cache: the C function before has most likely emptied it.
#[repr(C, align(64))]
struct Plain {
    /// The symbol's address, once a call has found it.
    address: AtomicUsize,
    row: &'static Row,
    inputs: u8,
    /// For each parameter what [`limit_of`] says.
    limits: [u8; MAX_PARAMETERS],
}

const NONE: u8 = 0;
const INT: u8 = 1;
const LONG: u8 = 2;
const UNSIGNED: u8 = 3;
const POSITIVE: u8 = 4;

/// Which numbers the short way takes for a parameter; `NONE` if it is not for it.
fn limit_of(kind: Kind, not_null: bool) -> u8 {
    match kind {
        Kind::Value(Value::I32) if !not_null => INT,
        Kind::Value(Value::I64) if !not_null => LONG,
        Kind::Value(Value::U64 | Value::Address) => {
            if not_null {
                POSITIVE
            } else {
                UNSIGNED
            }
        }
        _ => NONE,
    }
}

/// What the short way needs for a row that takes nothing but integers and returns nothing but its status.
pub(super) fn of(row: &'static Row) -> Option<*mut c_void> {
    let mut limits = [NONE; MAX_PARAMETERS];
    for (limit, parameter) in limits.iter_mut().zip(row.parameters) {
        *limit = limit_of(parameter.kind, parameter.not_null);
        if *limit == NONE {
            return None;
        }
    }
    let inputs = u8::try_from(row.inputs).ok().filter(|_| row.returns == Returns::Status)?;
    let plain = Plain { address: AtomicUsize::new(0), row, inputs, limits };
    Some(Box::into_raw(Box::new(plain)).cast())
}

/// What `CPython` calls for such a row.
pub(super) unsafe extern "C" fn enter(
    capsule: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the capsule has what `of` made, which is never freed; else as in `super::enter`.
    unsafe {
        let plain = &*ffi::PyCapsule_GetPointer(capsule, ptr::null()).cast::<Plain>();
        let address = plain.address.load(Ordering::Relaxed);
        let mut slots = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
        if address == 0
            || !names.is_null()
            || count as usize != usize::from(plain.inputs)
            || !fill(plain, arguments, &mut slots)
        {
            let result = general(plain.row, arguments, count, names);
            plain.address.store(plain.row.symbol.address().unwrap_or(0), Ordering::Relaxed);
            return result;
        }
        match through(plain.row, address, slots.as_ptr().cast()) as i32 {
            0 => Python::assume_attached().None().into_ptr(),
            code => raised(status_error(plain.row, code)),
        }
    }
}

/// Converts all arguments; false, with nothing changed, if one is for the long way.
///
/// # Safety
/// There are as many live arguments as the row has parameters, and the thread is attached.
unsafe fn fill(
    plain: &Plain,
    arguments: *const *mut ffi::PyObject,
    slots: &mut [MaybeUninit<u64>; MAX_PARAMETERS],
) -> bool {
    let limits = plain.limits.iter().zip(slots).enumerate();
    for (index, (limit, slot)) in limits.take(usize::from(plain.inputs)) {
        // SAFETY: by the caller's promise.
        let number = unsafe { as_i64(*arguments.add(index)) };
        // SAFETY: the thread is attached.
        if number == -1 && unsafe { !ffi::PyErr_Occurred().is_null() } {
            // SAFETY: as above. The long way raises it again, if it is an error at all.
            unsafe { ffi::PyErr_Clear() };
            return false;
        }
        let fits = match *limit {
            INT => i32::try_from(number).is_ok(),
            UNSIGNED => number >= 0,
            POSITIVE => number > 0,
            _ => true,
        };
        if !fits {
            return false;
        }
        slot.write(number as u64);
    }
    true
}
