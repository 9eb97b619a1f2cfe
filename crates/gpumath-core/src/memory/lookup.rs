//! Which device an address belongs to.

use gpumath_sys::generated::driver;

use crate::device::{ContextGuard, call};
use crate::error::{Error, Result};

const DEVICE_ORDINAL: i32 = 9;

/// The ordinal of the device whose memory `address` lies in.
pub fn device_of(address: usize) -> Result<i32> {
    // Any device's context will do: addresses are the same in all of them.
    let _context = ContextGuard::enter(0)?;
    let mut ordinal = -1_i32;
    // SAFETY: the attribute is an i32, and the address that of a live one; the driver only looks `address` up.
    let answer = unsafe {
        call!(driver::POINTER_GET_ATTRIBUTE, &raw mut ordinal as usize, DEVICE_ORDINAL, address)
    };
    match answer {
        Ok(()) if ordinal >= 0 => Ok(ordinal),
        Ok(()) | Err(Error::Status(_)) => Err(Error::InvalidValue(format!(
            "the operand's address {address:#x} is not in the memory of a CUDA device"
        ))),
        Err(other) => Err(other),
    }
}
