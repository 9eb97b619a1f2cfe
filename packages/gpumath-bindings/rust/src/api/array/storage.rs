//! The memory of an array, which the array shares with the consumers that it was lent to.

use std::mem::ManuallyDrop;

use gpumath_core::memory::{MemoryKind, MemoryPointer};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::gil::{acquire_gil, release_gil};
use crate::interop::{KeepAlive, deferred_release};

/// The memory of an array, and what keeps it alive.
pub(super) enum ArrayMemory {
    Own {
        memory: MemoryPointer,
        /// The object of the stream in whose order the memory is freed, which must outlive the
        /// memory.
        stream: Option<Py<PyAny>>,
    },
    Borrowed {
        keep_alive: Option<KeepAlive>,
        operand: Py<PyAny>,
    },
}

/// Owns the memory of an array. The last user drops it, on any thread, with or without the GIL.
///
/// Dropping it frees device memory in the order of its stream. It blocks on the stream before it
/// frees pinned or managed memory. Borrowed memory is released.
pub(super) struct ArrayStorage {
    memory: ManuallyDrop<ArrayMemory>,
    /// Whether dropping the memory blocks on its stream.
    waits: bool,
}

impl ArrayStorage {
    pub(super) fn new(memory: ArrayMemory, space: MemoryKind) -> Self {
        let waits = matches!(memory, ArrayMemory::Own { .. })
            && matches!(space, MemoryKind::Pinned | MemoryKind::Managed);
        Self { memory: ManuallyDrop::new(memory), waits }
    }

    /// Visits the Python objects, for the garbage collector.
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
        // SAFETY: the memory is taken only here, and `drop` runs once.
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
            // Dropping blocks on the stream, whose work may include a host function that needs the
            // GIL.
            Some(taken) if self.waits => release_gil(py, || drop(taken)),
            taken => drop(taken),
        });
        // Once the interpreter shuts down, the memory is left to the end of the process.
        std::mem::forget(memory);
    }
}
