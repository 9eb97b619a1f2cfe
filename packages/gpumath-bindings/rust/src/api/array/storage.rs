//! The memory behind an array, shared with what it was lent to.

use std::mem::ManuallyDrop;

use gpumath_core::memory::{MemoryKind, MemoryPointer};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::gil::{acquire_gil, release_gil};
use crate::interop::{KeepAlive, deferred_release};

/// Whose memory it is.
pub(super) enum ArrayMemory {
    Own {
        memory: MemoryPointer,
        /// The object behind the stream in whose order the memory goes back, so that it lives until then.
        stream: Option<Py<PyAny>>,
    },
    Borrowed {
        keep_alive: Option<KeepAlive>,
        operand: Py<PyAny>,
    },
}

/// Memory that goes back when its last user drops it, on whichever thread.
pub(super) struct ArrayStorage {
    memory: ManuallyDrop<ArrayMemory>,
    waits: bool,
}

impl ArrayStorage {
    pub(super) fn new(memory: ArrayMemory, space: MemoryKind) -> Self {
        // Pinned and managed memory waits for the stream before it goes back.
        let waits = matches!(memory, ArrayMemory::Own { .. })
            && matches!(space, MemoryKind::Pinned | MemoryKind::Managed);
        Self { memory: ManuallyDrop::new(memory), waits }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &*self.memory {
            ArrayMemory::Own { stream, .. } => visit.call(stream),
            ArrayMemory::Borrowed { keep_alive, operand } => {
                visit.call(operand)?;
                keep_alive.as_ref().map_or(Ok(()), |keep_alive| keep_alive.traverse(visit))
            }
        }
    }
}

impl Drop for ArrayStorage {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let memory = unsafe { ManuallyDrop::take(&mut self.memory) };
        if let ArrayMemory::Own { memory: block, stream: None } = &memory
            && !self.waits
            && !block.waits_for_capture()
        {
            drop(memory);
            return;
        }
        let mut memory = Some(memory);
        // PyO3 cannot know that a thread which calls a deleter of DLPack has the GIL already, and
        // would put off dropping the objects.
        acquire_gil(|py| match memory.take() {
            Some(ArrayMemory::Own { memory: block, stream }) if block.waits_for_capture() => {
                deferred_release::free_or_defer(block, stream);
            }
            // Dropping blocks on the stream, whose work may include a host function that needs the GIL.
            Some(taken) if self.waits => release_gil(py, || drop(taken)),
            taken => drop(taken),
        });
        // Once the interpreter shuts down, the memory is left to the end of the process.
        std::mem::forget(memory);
    }
}
