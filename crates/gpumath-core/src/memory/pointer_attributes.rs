//! What the driver knows about an address.

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, call, check_sticky, count};
use crate::error::{Error, Result};

const MEMORY_TYPE: i32 = 2;
const DEVICE_ORDINAL: i32 = 9;
const INVALID_CONTEXT: i32 = 201;

/// The ordinal of the device whose memory `address` lies in.
pub fn device_of(address: usize) -> Result<i32> {
    if count()? == 0 {
        return Err(Error::NoDevice(format!(
            "the operand says that it is in the memory of a GPU, at address {address:#x}, and there is no CUDA device"
        )));
    }
    check_sticky()?;
    let answer = match pointer_attribute(address, DEVICE_ORDINAL) {
        Err(Error::Status(status)) if status.code == INVALID_CONTEXT => {
            // Any context will do, since addresses are the same in all of them. One is made only where there is none.
            let _context = ContextGuard::enter(0)?;
            pointer_attribute(address, DEVICE_ORDINAL)
        }
        other => other,
    };
    // The look-up itself may have been told of a kernel's error.
    check_sticky()?;
    match answer {
        Ok(ordinal) if ordinal >= 0 => Ok(ordinal),
        Ok(_) | Err(Error::Status(_)) => Err(Error::InvalidValue(format!(
            "the operand's address {address:#x} is not in the memory of a CUDA device"
        ))),
        Err(other) => Err(other),
    }
}

/// Whether the driver knows the memory: it is pinned, managed or a device's. Needs a current context.
pub(super) fn is_cuda_memory(address: usize) -> bool {
    pointer_attribute(address, MEMORY_TYPE).is_ok()
}

/// An attribute that is a 32-bit number.
fn pointer_attribute(address: usize, attribute: i32) -> Result<i32> {
    let mut value = -1_i32;
    // SAFETY: the attribute is an i32, and the address that of a live one; the driver only looks `address` up.
    unsafe { call!(driver::POINTER_GET_ATTRIBUTE, &raw mut value as usize, attribute, address) }?;
    Ok(value)
}
