//! Transforms on a device of operands in host memory.
//!
//! The whole range of memory that the elements lie in is copied, so that the plan, made for the operand's own strides,
//! fits the copy too.

use std::sync::Arc;

use super::plan::{Execution, FftPlan};
use super::problem::Direction;
use super::transform::Transform;
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::memory::{
    ALIGNMENT, BaseCUDAMemoryManager, MemoryKind, MemoryPointer, StreamOrderedPool, copy_elements,
    copy_from_host, copy_to_host,
};
use crate::tensor::TensorView;

/// What cuFFT's elements are aligned to.
const ELEMENT_ALIGNMENT: usize = 16;

impl FftPlan {
    /// Copies `source` to the plan's device, transforms it there when the work on `stream` is done, and copies the result
    /// to `target`, without what lies between its elements. The result is there on return; after an error nothing uses
    /// the memory any more.
    ///
    /// # Safety
    /// As for [`Self::execute`], but that both are in host memory.
    pub unsafe fn execute_from_host(
        self: &Arc<Self>,
        source: &TensorView,
        target: &TensorView,
        direction: Direction,
        factor: Option<f64>,
        stream: StreamRef,
        workspace: usize,
    ) -> Result<()> {
        let Execution::Cuda { device } = self.execution() else {
            return Err(Error::InvalidState(
                "this plan is not one for a single GPU, to which operands in host memory are copied"
                    .into(),
            ));
        };
        let _context = ContextGuard::enter(device)?;
        let ((input, input_size), (output, output_size)) = (source.span(), target.span());
        if input_size == 0 {
            return Ok(());
        }
        let (input_front, output_front) = (source.ptr - input, target.ptr - output);
        let input_start = padding(input_front);
        let mut output_start = input_start;
        let mut size = input_start + input_size;
        if !self.problem().inplace {
            output_start = size.next_multiple_of(ALIGNMENT) + padding(output_front);
            size = output_start + output_size;
        }
        // SAFETY: the caller vouches for the stream and the operands. The block has room for what is copied there, and
        // is given back in the order of the stream.
        unsafe {
            let block = StreamOrderedPool::of(device)?.memalloc(size, stream)?;
            let copied = block.address() + input_start;
            let result = block.address() + output_start;
            let gapless = target.layout.len() as usize * target.dtype.size() == output_size;
            let staged =
                if gapless { None } else { Some(MemoryKind::Host.allocate(output_size, stream)?) };
            let run = || {
                copy_from_host(copied, input, input_size, stream)?;
                let (input, output) = (copied + input_front, result + output_front);
                let transform = Transform { input, output, direction, factor };
                self.execute(transform, stream, None, workspace)?;
                let destination = staged.as_ref().map_or(output, MemoryPointer::address);
                copy_to_host(destination, result, output_size, stream)
            };
            let enqueued = run();
            // Also after an error: the copies use host memory that the caller may free.
            let done = stream.synchronize();
            enqueued.and(done)?;
            if let Some(staged) = staged {
                copy_elements(output, staged.address(), &target.layout, target.dtype.size());
            }
        }
        Ok(())
    }
}

/// Bytes to leave free such that what comes `front` bytes later is aligned.
fn padding(front: usize) -> usize {
    front.wrapping_neg() % ELEMENT_ALIGNMENT
}
