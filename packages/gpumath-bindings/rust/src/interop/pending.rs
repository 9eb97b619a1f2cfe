//! What was borrowed from a library that does not know our streams is kept until the work on it is done.

use std::sync::{Mutex, PoisonError};

use gpumath_core::device::{Event, is_capturing};
use gpumath_core::tensor::Device;
use pyo3::prelude::*;

use super::{Operand, Owner};

struct Entry {
    event: Event,
    _owner: Owner,
    _operand: Py<PyAny>,
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Gives back what is no longer used.
pub(crate) fn release_finished() {
    let mut finished = Vec::new();
    {
        let mut entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = 0;
        while index < entries.len() {
            // After an error nobody knows; the memory is left.
            if matches!(entries[index].event.query(), Ok(true)) {
                finished.push(entries.swap_remove(index));
            } else {
                index += 1;
            }
        }
    }
    // Deleters may run any code, so not with the lock held.
    drop(finished);
}

/// Keeps `operand` until the work that is on `stream` now is done. Not while that is captured into a graph: a graph runs
/// as often as the user wants, who has to keep the operand.
pub(crate) fn keep(
    object: &Bound<'_, PyAny>,
    operand: Operand,
    stream: usize,
) -> gpumath_core::Result<()> {
    let (Device::Cuda(device), Some(owner)) = (operand.view.device, operand.owner) else {
        return Ok(());
    };
    release_finished();
    // SAFETY: the work was put on this stream of this device just now.
    let event = unsafe {
        if is_capturing(stream, device)? {
            return Ok(());
        }
        let event = Event::new(device, false)?;
        event.record(stream)?;
        event
    };
    let entry = Entry { event, _owner: owner, _operand: object.clone().unbind() };
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    Ok(())
}
