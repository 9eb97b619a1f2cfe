//! Device memory that executions work in.

use crate::device::StreamRef;
use crate::error::{Error, Result};
use crate::memory::{BaseCUDAMemoryManager, MemoryPointer, StreamOrderedPool};

/// Device memory to work in, kept between executions on one stream.
#[derive(Debug, Default)]
pub struct Workspace {
    block: Option<Block>,
}

#[derive(Debug)]
struct Block {
    memory: MemoryPointer,
    stream: StreamRef,
    /// Whether whoever gets the memory next waits for the work on it.
    follows_streams: bool,
}

impl Workspace {
    /// A workspace without memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { block: None }
    }

    /// Address of the memory that is kept; 0 if there is none.
    #[must_use]
    pub fn address(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.memory.address())
    }

    /// Returns the address of at least `size` bytes for work on `stream`, from `manager` unless the
    /// last execution left enough.
    pub fn reserve(
        &mut self,
        size: usize,
        stream: StreamRef,
        manager: &dyn BaseCUDAMemoryManager,
    ) -> Result<usize> {
        if let Some(block) = &self.block
            && block.stream == stream
            && block.memory.size() >= size
        {
            return Ok(block.memory.address());
        }
        self.release()?;
        let memory = manager.memalloc(size, stream)?;
        let address = memory.address();
        self.block = Some(Block { memory, stream, follows_streams: manager.follows_streams() });
        Ok(address)
    }

    /// Drops the memory. That of a manager that knows no streams is first waited for, because
    /// the manager may lend it again at once: this blocks until the work on the stream is done.
    pub fn release(&mut self) -> Result<()> {
        let Some(block) = self.block.take() else { return Ok(()) };
        if block.follows_streams {
            return Ok(());
        }
        let waited = if block.stream.is_capturing()? {
            Err(captured("memory of the allocator would be freed", "do it later"))
        } else {
            block.stream.synchronize()
        };
        if waited.is_err() {
            // The GPU may still use the memory, so it is never freed.
            std::mem::forget(block);
        }
        waited
    }
}

/// Returns `size` bytes for work that is being captured into a graph. The graph may run when the
/// operation is long gone, so the memory belongs to the graph.
pub fn allocate_in_graph(
    size: usize,
    stream: StreamRef,
    manager: Option<&dyn BaseCUDAMemoryManager>,
) -> Result<MemoryPointer> {
    match manager {
        // The driver makes nodes of the graph of what is taken from this pool.
        None => StreamOrderedPool::of(stream.device())?.memalloc(size, stream),
        Some(manager) if manager.follows_streams() => manager.memalloc(size, stream),
        Some(_) => Err(captured(
            "the allocator knows no streams",
            "give one with memalloc_async(size, stream), or none",
        )),
    }
}

/// The error for `what` would break a capture into a graph; `cure` says what to do instead.
#[must_use]
pub fn captured(what: &str, cure: &str) -> Error {
    Error::InvalidState(format!(
        "the stream is being captured into a graph: {what}, which cannot be captured; {cure}"
    ))
}
