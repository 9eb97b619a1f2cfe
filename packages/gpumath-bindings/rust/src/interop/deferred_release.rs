//! What must not go back yet: what was borrowed from a library that does not know our streams, until the work on it is
//! done, and memory whose stream is being captured, until that ends.

use std::sync::{Mutex, PoisonError};

use gpumath_core::device::{Event, RelaxedCapture, StreamRef};
use gpumath_core::memory::MemoryPointer;
use gpumath_core::tensor::MemoryLocation;
use pyo3::prelude::*;

use super::{KeepAlive, Operand};

enum Entry {
    Borrowed {
        event: Event,
        _keep_alive: KeepAlive,
        _operand: Py<PyAny>,
    },
    Memory {
        block: MemoryPointer,
        /// The object behind the block's stream.
        _stream: Option<Py<PyAny>>,
    },
}

impl Entry {
    fn is_finished(&self) -> bool {
        match self {
            // After an error nobody knows; the memory is left.
            Self::Borrowed { event, .. } => matches!(event.query(), Ok(true)),
            Self::Memory { block, .. } => !block.waits_for_capture(),
        }
    }
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Gives back what is no longer used.
pub(crate) fn release_finished() {
    let mut finished = Vec::new();
    {
        let mut entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.is_empty() {
            return;
        }
        let _relaxed = RelaxedCapture::enter();
        let mut index = 0;
        while index < entries.len() {
            if entries[index].is_finished() {
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
pub(crate) fn keep_until_done(
    object: &Bound<'_, PyAny>,
    operand: Operand,
    stream: StreamRef,
) -> gpumath_core::Result<()> {
    let (MemoryLocation::Device(_), Some(keep_alive)) = (operand.view.device, operand.keep_alive)
    else {
        return Ok(());
    };
    release_finished();
    if !stream.is_legacy_default() && stream.is_capturing()? {
        return Ok(());
    }
    let event = Event::new(stream.device(), false)?;
    event.record(stream)?;
    push(Entry::Borrowed { event, _keep_alive: keep_alive, _operand: object.clone().unbind() });
    Ok(())
}

/// Gives memory back in the order of its stream, whose object is kept until then.
pub(crate) fn free_or_defer(block: MemoryPointer, stream: Option<Py<PyAny>>) {
    if block.waits_for_capture() {
        push(Entry::Memory { block, _stream: stream });
    } else {
        drop(block);
        drop(stream);
    }
}

fn push(entry: Entry) {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
}
