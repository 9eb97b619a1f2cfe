//! Defers releases. An operand borrowed from a library that does not know our streams stays alive
//! until the GPU work on it is done. Memory whose stream is being captured is freed after the
//! capture ends.
//!
//! Nothing waits for the end of the work or of the capture. [`release_finished`] looks whether they
//! have ended, whenever memory is allocated or borrowed, and when the interpreter exits.

use std::sync::Mutex;

use gpumath_core::device::{Event, RelaxedCapture, StreamRef};
use gpumath_core::memory::MemoryPointer;
use gpumath_core::process::PerProcess;
use gpumath_core::tensor::MemoryLocation;
use pyo3::prelude::*;

use super::{KeepAlive, Operand};

/// Something whose release was deferred.
enum Entry {
    Borrowed {
        /// Recorded behind the work on the operand.
        event: Event,
        _keep_alive: KeepAlive,
        _operand: Py<PyAny>,
    },
    Memory {
        block: MemoryPointer,
        /// The object of the block's stream, which must outlive the block.
        _stream: Option<Py<PyAny>>,
    },
}

impl Entry {
    fn is_finished(&self) -> bool {
        match self {
            // After an error the work may still run, so the operand stays alive to the end of the
            // process.
            Self::Borrowed { event, .. } => matches!(event.query(), Ok(true)),
            Self::Memory { block, .. } => !block.waits_for_capture(),
        }
    }
}

/// A forked child leaves the entries of its parent alone: it cannot use CUDA.
static ENTRIES: PerProcess<Mutex<Vec<Entry>>> = PerProcess::new();

/// Releases the operands whose work is done, and the memory whose capture has ended. Does not wait.
pub(crate) fn release_finished() {
    let mut finished = Vec::new();
    {
        let mut entries = ENTRIES.lock();
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
    // Deleters may run any code, which must not find the lock held.
    drop(finished);
}

/// Keeps `operand` alive until the work that is on `stream` now is done. Returns without waiting.
///
/// If `stream` is being captured into a graph, nothing is kept. The user has to keep the operand,
/// because only the user knows how often the graph will be launched.
pub(crate) fn keep_until_done(
    object: &Bound<'_, PyAny>,
    operand: &mut Operand,
    stream: StreamRef,
) -> gpumath_core::Result<()> {
    let MemoryLocation::Device(_) = operand.view.device else { return Ok(()) };
    let Some(keep_alive) = operand.keep_alive.take() else { return Ok(()) };
    release_finished();
    if !stream.is_legacy_default() && stream.is_capturing()? {
        return Ok(());
    }
    let event = Event::new(stream.device(), false)?;
    event.record(stream)?;
    push(Entry::Borrowed { event, _keep_alive: keep_alive, _operand: object.clone().unbind() });
    Ok(())
}

/// Frees memory in the order of its stream, after the capture ends if the stream is being captured.
/// The object of the stream, `stream`, is kept until then.
pub(crate) fn free_or_defer(block: MemoryPointer, stream: Option<Py<PyAny>>) {
    if block.waits_for_capture() {
        push(Entry::Memory { block, _stream: stream });
    } else {
        drop(block);
        drop(stream);
    }
}

fn push(entry: Entry) {
    ENTRIES.lock().push(entry);
}
