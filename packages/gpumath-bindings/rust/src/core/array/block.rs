//! The memory behind an array, shared with what it was lent to.

use std::mem::ManuallyDrop;

use gpumath_core::memory::{MemoryPointer, Space};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::interop::Owner;

/// Whose memory it is.
pub(super) enum Memory {
    Own {
        _memory: MemoryPointer,
        /// The object behind the stream in whose order the memory goes back, so that it lives until then.
        _stream: Option<Py<PyAny>>,
    },
    Borrowed {
        owner: Option<Owner>,
        operand: Py<PyAny>,
    },
}

/// Memory that goes back when its last user drops it, on whichever thread.
pub(super) struct Block {
    memory: ManuallyDrop<Memory>,
    waits: bool,
}

impl Block {
    pub(super) fn new(memory: Memory, space: Space) -> Self {
        // Pinned and managed memory waits for the stream before it goes back.
        let waits =
            matches!(memory, Memory::Own { .. }) && matches!(space, Space::Pinned | Space::Managed);
        Self { memory: ManuallyDrop::new(memory), waits }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &*self.memory {
            Memory::Own { _stream: stream, .. } => visit.call(stream),
            Memory::Borrowed { owner, operand } => {
                visit.call(operand)?;
                owner.as_ref().map_or(Ok(()), |owner| owner.traverse(visit))
            }
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let memory = unsafe { ManuallyDrop::take(&mut self.memory) };
        if !self.waits && matches!(memory, Memory::Own { _stream: None, .. }) {
            drop(memory);
            return;
        }
        let mut memory = Some(memory);
        // Attached also where a deleter is called with the interpreter held, which PyO3 cannot know: it would put off
        // to give the objects back.
        Python::try_attach(|py| {
            if self.waits {
                // Somebody whom the stream waits for may need the interpreter.
                py.detach(|| drop(memory.take()));
            } else {
                drop(memory.take());
            }
        });
        // Where there is no interpreter any more, memory is left to the end of the process.
        std::mem::forget(memory);
    }
}
