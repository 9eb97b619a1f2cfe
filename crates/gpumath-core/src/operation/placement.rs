//! Executions on operands that are not where the plan computes.
//!
//! Inputs are copied to the plan's device, or from a device to the host for a plan on the CPU. Results are
//! copied back. The whole range of memory that an operand's elements lie in is copied, so that the
//! plan, made for the operand's own strides, fits the copy too. What lies between the elements of a
//! result may belong to others, and stays as it is.

use std::sync::Arc;

use super::workspace::captured;
use super::{Call, Execution, Operation, Plan, Problem};
use crate::device::{CaptureStatus, ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::memory::{
    ALIGNMENT, BaseCUDAMemoryManager, MemoryKind, MemoryPointer, StreamOrderedPool, copy_elements,
    copy_from_host, copy_to_host, crop_or_pad,
};
use crate::tensor::TensorView;

impl<O: Operation> Plan<O> {
    /// Computes like [`Self::execute`], on operands that may be elsewhere: in host memory for a plan
    /// on a CUDA device, in the memory of the stream's device for a plan on the CPU. Blocks until the results
    /// are there. After an error nothing uses the operands any more.
    ///
    /// # Safety
    /// As for [`Self::execute`], with the memory that the views describe. The workspace is for the plan.
    pub unsafe fn execute_elsewhere(
        self: &Arc<Self>,
        inputs: &[&TensorView],
        outputs: &[&TensorView],
        arguments: O::Arguments,
        stream: StreamRef,
        workspace: usize,
    ) -> Result<()> {
        O::check_arguments(self.problem(), arguments)?;
        if self.problem().is_empty() {
            return Ok(());
        }
        if stream.is_capturing()? {
            return Err(captured(
                "an operand is copied from or to the host, which waits",
                "compute where the operands are",
            ));
        }
        let overwritten = self.problem().overwritten_input();
        let call = |inputs: &[usize], outputs: &[usize]| {
            let call = Call {
                inputs,
                outputs,
                location: self.execution().location(),
                arguments,
                stream: self.execution().device().map(|_| stream),
                capture: CaptureStatus::NotCaptured,
                workspace,
            };
            // SAFETY: the copies have the layouts of the operands, for which the caller vouches.
            unsafe { self.execute(&call) }
        };
        let _context = ContextGuard::enter(stream.device())?;
        match self.execution() {
            Execution::Cuda { device } if device == stream.device() => {
                on_device(inputs, outputs, overwritten, stream, call)
            }
            Execution::Cpu { .. } => on_host(inputs, outputs, overwritten, stream, call),
            Execution::Cuda { .. } | Execution::CudaMulti { .. } => Err(Error::InvalidState(
                "this plan does not run on the device of the stream".into(),
            )),
        }
    }
}

/// Runs `execute` on the addresses of copies in device memory.
fn on_device(
    inputs: &[&TensorView],
    outputs: &[&TensorView],
    overwritten: Option<usize>,
    stream: StreamRef,
    execute: impl FnOnce(&[usize], &[usize]) -> Result<()>,
) -> Result<()> {
    let mut layout = BlockLayout::default();
    let sources: Vec<Copy> = inputs.iter().map(|view| layout.add(view)).collect();
    let results = results_of(outputs, overwritten, &sources, |view| layout.add(view));
    let block = StreamOrderedPool::of(stream.device())?.memalloc(layout.size, stream)?;
    // Where other memory lies between the elements of a result, they are copied one by one.
    let staged: Vec<Option<MemoryPointer>> = outputs
        .iter()
        .map(|view| match is_gapless(view) {
            true => Ok(None),
            false => MemoryKind::Host.allocate(view.span().1, stream).map(Some),
        })
        .collect::<Result<_>>()?;
    let run = || {
        for (view, copy) in inputs.iter().zip(&sources) {
            let (start, size) = view.span();
            // SAFETY: the caller of `execute_elsewhere` vouches for the input, and the block has room.
            unsafe { copy_from_host(block.address() + copy.start, start, size, stream) }?;
        }
        let address = |copy: &Copy| block.address() + copy.start + copy.front;
        let addresses = |copies: &[Copy]| copies.iter().map(address).collect::<Vec<_>>();
        execute(&addresses(&sources), &addresses(&results))?;
        for ((view, copy), staged) in outputs.iter().zip(&results).zip(&staged) {
            let (start, size) = view.span();
            let destination = staged.as_ref().map_or(start, MemoryPointer::address);
            // SAFETY: the destination has as many bytes as the result spans, which the block has.
            unsafe { copy_to_host(destination, block.address() + copy.start, size, stream) }?;
        }
        Ok(())
    };
    let enqueued = run();
    // Also after an error, because the copies use host memory that the caller may free.
    let done = stream.synchronize();
    enqueued.and(done)?;
    for (view, staged) in outputs.iter().zip(&staged) {
        if let Some(staged) = staged {
            let (start, _) = view.span();
            // SAFETY: both are memory of the view's layout, and the copy to `staged` is done.
            unsafe { copy_elements(start, staged.address(), &view.layout, view.dtype.size()) };
        }
    }
    Ok(())
}

/// Runs `execute` on the addresses of copies in host memory.
fn on_host(
    inputs: &[&TensorView],
    outputs: &[&TensorView],
    overwritten: Option<usize>,
    stream: StreamRef,
    execute: impl FnOnce(&[usize], &[usize]) -> Result<()>,
) -> Result<()> {
    let mut layout = BlockLayout::default();
    let sources: Vec<Copy> = inputs.iter().map(|view| layout.add(view)).collect();
    let results = results_of(outputs, overwritten, &sources, |view| layout.add(view));
    let block = MemoryKind::Host.allocate(layout.size, stream)?;
    let address = |copy: &Copy| block.address() + copy.start + copy.front;
    let addresses = |copies: &[Copy]| copies.iter().map(address).collect::<Vec<_>>();
    let run = || {
        for (view, copy) in inputs.iter().zip(&sources) {
            let (start, size) = view.span();
            // SAFETY: the caller of `execute_elsewhere` vouches for the input, and the block has room.
            unsafe { copy_to_host(block.address() + copy.start, start, size, stream) }?;
        }
        stream.synchronize()?;
        execute(&addresses(&sources), &addresses(&results))?;
        for (view, copy) in outputs.iter().zip(&results) {
            copy_result(view, block.address() + copy.start, copy, stream)?;
        }
        Ok(())
    };
    let enqueued = run();
    // Also after an error, because the copies use the block.
    let done = stream.synchronize();
    enqueued.and(done)
}

/// Copies a result's range of memory, which is at `source` in host memory, to the result.
fn copy_result(view: &TensorView, source: usize, copy: &Copy, stream: StreamRef) -> Result<()> {
    let (start, size) = view.span();
    if is_gapless(view) {
        // SAFETY: the result's caller vouches for it, and the block has its bytes.
        return unsafe { copy_from_host(start, source, size, stream) };
    }
    // By way of other device memory, from which a kernel takes the elements alone.
    let pool = StreamOrderedPool::of(stream.device())?;
    let staged = pool.memalloc(size + ALIGNMENT, stream)?;
    let first = staged.address() + copy.start % ALIGNMENT;
    let from = TensorView { ptr: first + copy.front, ..(*view).clone() };
    // SAFETY: the staged memory has room for the range behind its alignment, and is freed in the
    // order of the stream.
    unsafe {
        copy_from_host(first, source, size, stream)?;
        crop_or_pad(view, &from, stream)
    }
}

/// Where the copies of operands lie in one block of memory.
#[derive(Default)]
struct BlockLayout {
    /// Bytes so far.
    size: usize,
}

/// The copy of an operand's range of memory.
#[derive(Clone, Copy)]
struct Copy {
    /// Bytes from the start of the block to the copy.
    start: usize,
    /// Bytes from there to the element at index (0, …, 0), which is aligned to [`ALIGNMENT`].
    front: usize,
}

impl BlockLayout {
    fn add(&mut self, view: &TensorView) -> Copy {
        let (lowest, size) = view.span();
        let front = view.ptr.wrapping_sub(lowest);
        let start = (self.size + front).next_multiple_of(ALIGNMENT) - front;
        self.size = start + size;
        Copy { start, front }
    }
}

/// The copies of the results. The first one is that of the input that it overwrites, if it does.
fn results_of(
    outputs: &[&TensorView],
    overwritten: Option<usize>,
    sources: &[Copy],
    mut add: impl FnMut(&TensorView) -> Copy,
) -> Vec<Copy> {
    let of = |(index, view): (usize, &&TensorView)| match overwritten {
        Some(input) if index == 0 => sources[input],
        _ => add(view),
    };
    outputs.iter().enumerate().map(of).collect()
}

/// Whether all memory between a result's elements is its own.
fn is_gapless(view: &TensorView) -> bool {
    view.span().1 == view.layout.len() as usize * view.dtype.size()
}
