//! Attributes of the memory at an address, as the driver knows them.

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, count};
use crate::error::{Error, Result};
use crate::status::{call, check_sticky};

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`
const MEMORY_TYPE: i32 = 2;
const DEVICE_ORDINAL: i32 = 9;
/// `CUDA_ERROR_INVALID_CONTEXT`
const INVALID_CONTEXT: i32 = 201;

/// Returns the ordinal of the device whose memory `address` lies in.
pub fn device_of(address: usize) -> Result<i32> {
    if count()? == 0 {
        return Err(Error::NoDevice(format!(
            "the operand says that it is in the memory of a GPU, at address {address:#x}, but \
             there is no CUDA device"
        )));
    }
    check_sticky()?;
    let answer = match pointer_attribute(address, DEVICE_ORDINAL) {
        Err(Error::Status(status)) if status.code == INVALID_CONTEXT => {
            // Any context will do, because addresses are the same in all contexts. One is made only
            // if none is current.
            let _context = ContextGuard::enter(0)?;
            pointer_attribute(address, DEVICE_ORDINAL)
        }
        other => other,
    };
    // The look-up itself may have returned the error of an earlier kernel.
    check_sticky()?;
    match answer {
        Ok(ordinal) if ordinal >= 0 => Ok(ordinal),
        Ok(_) | Err(Error::Status(_)) => Err(Error::InvalidValue(format!(
            "the operand's address {address:#x} is not in the memory of a CUDA device"
        ))),
        Err(other) => Err(other),
    }
}

/// Returns whether CUDA knows the memory at `address`: it is pinned, managed or of a device.
/// `_context` is the proof that a context is current, without which the driver cannot look.
pub(super) fn is_cuda_memory_in(_context: &ContextGuard, address: usize) -> bool {
    pointer_attribute(address, MEMORY_TYPE).is_ok()
}

/// Returns an attribute that is a 32-bit number.
fn pointer_attribute(address: usize, attribute: i32) -> Result<i32> {
    let mut value = -1_i32;
    // SAFETY: for the attributes of this module the driver writes one number to `value`, a live
    // `i32`. It does not access the memory at `address`.
    unsafe { call!(driver::POINTER_GET_ATTRIBUTE, &raw mut value as usize, attribute, address) }?;
    Ok(value)
}
