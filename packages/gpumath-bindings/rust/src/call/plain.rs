//! The short way through a call, for the arguments that nearly every call has: integers, by position.

use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;

use super::{Kind, MAX_PARAMETERS, Returns, Row, Value, raised, status_error, through};

/// Whether a row takes nothing but integers and returns nothing but its status.
pub(super) fn applies_to(row: &Row) -> bool {
    let integers = row
        .parameters
        .iter()
        .all(|parameter| matches!(parameter.kind, Kind::Value(value) if width(value) != 0));
    integers && row.returns == Returns::Status
}

/// What `CPython` calls for such a row.
pub(super) unsafe extern "C" fn enter(
    capsule: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as in `super::enter`, which has the same contract.
    unsafe {
        let row = &*ffi::PyCapsule_GetPointer(capsule, std::ptr::null()).cast::<Row>();
        let mut slots = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
        match row.symbol.address() {
            Some(address)
                if names.is_null()
                    && count as usize == row.inputs
                    && fill(row, arguments, &mut slots) =>
            {
                match through(row, address, slots.as_ptr().cast()) as i32 {
                    0 => Python::assume_attached().None().into_ptr(),
                    code => raised(status_error(row, code)),
                }
            }
            _ => super::enter(capsule, arguments, count, names),
        }
    }
}

/// Converts all arguments; false, with nothing changed, if one is for the long way.
///
/// # Safety
/// There are as many live arguments as the row has parameters, and the thread is attached.
unsafe fn fill(
    row: &Row,
    arguments: *const *mut ffi::PyObject,
    slots: &mut [MaybeUninit<u64>; MAX_PARAMETERS],
) -> bool {
    for (index, (parameter, slot)) in row.parameters.iter().zip(slots).enumerate() {
        let Kind::Value(value) = parameter.kind else { return false };
        // SAFETY: by the caller's promise.
        let number = unsafe { ffi::PyLong_AsLongLong(*arguments.add(index)) };
        // SAFETY: the thread is attached.
        if number == -1 && unsafe { !ffi::PyErr_Occurred().is_null() } {
            // SAFETY: as above. The long way raises it again, if it is an error at all.
            unsafe { ffi::PyErr_Clear() };
            return false;
        }
        let fits = match width(value) {
            32 => i32::try_from(number).is_ok(),
            63 => number >= 0,
            _ => true,
        };
        if !fits || (parameter.not_null && number == 0) {
            return false;
        }
        slot.write(number as u64);
    }
    true
}

/// Bits of the numbers that the short way takes; 63 where negative ones are not allowed, 0 for none.
const fn width(value: Value) -> u32 {
    match value {
        Value::I32 => 32,
        Value::I64 => 64,
        Value::U64 | Value::Address => 63,
        _ => 0,
    }
}
