//! Executions on operands that are not where the plan computes.
//!
//! Inputs are copied to the plan's device, or from a device to the host for a plan on the CPU.
//! Results are copied back. The whole range of memory that an operand's elements lie in is copied,
//! so that the plan, made for the operand's own strides, fits the copy too. What lies between the
//! elements of a result may belong to others, and stays as it is.

use std::ops::Range;
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
    /// Computes like [`Self::execute`], on operands that may be elsewhere: in host memory for a
    /// plan on a CUDA device, in the memory of the stream's device for a plan on the CPU. Blocks
    /// until the results are there. After an error nothing uses the operands any more.
    ///
    /// # Safety
    /// As for [`Self::execute`], with the memory that the views describe. The workspace is for the
    /// plan.
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
        let overwritten = self.problem().overwritten_inputs();
        let execute = |inputs: &[usize], outputs: &[usize]| {
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
                on_device(inputs, outputs, overwritten, stream, execute)
            }
            Execution::Cpu { .. } => on_host(inputs, outputs, overwritten, stream, execute),
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
    overwritten: Range<usize>,
    stream: StreamRef,
    execute: impl FnOnce(&[usize], &[usize]) -> Result<()>,
) -> Result<()> {
    let copies = Copies::of(inputs, outputs, overwritten);
    let block = StreamOrderedPool::of(stream.device())?.memalloc(copies.size, stream)?;
    // Where other memory lies between the elements of a result, they are copied one by one at the
    // end, from here.
    let staged: Vec<Option<MemoryPointer>> = outputs
        .iter()
        .map(|view| {
            if is_gapless(view) {
                Ok(None)
            } else {
                MemoryKind::Host.allocate(view.span().1, stream).map(Some)
            }
        })
        .collect::<Result<_>>()?;
    let run = || {
        for (view, copy) in inputs.iter().zip(&copies.sources) {
            let (start, size) = view.span();
            // SAFETY: the caller of `execute_elsewhere` vouches for the input, and the block has
            // room for its range.
            unsafe { copy_from_host(block.address() + copy.start, start, size, stream) }?;
        }
        copies.execute(block.address(), execute)?;
        for ((view, copy), staged) in outputs.iter().zip(&copies.results).zip(&staged) {
            let (start, size) = view.span();
            let destination = staged.as_ref().map_or(start, MemoryPointer::address);
            // SAFETY: the destination has as many bytes as the result's range, and so has the
            // block.
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
    overwritten: Range<usize>,
    stream: StreamRef,
    execute: impl FnOnce(&[usize], &[usize]) -> Result<()>,
) -> Result<()> {
    let copies = Copies::of(inputs, outputs, overwritten);
    let block = MemoryKind::Host.allocate(copies.size, stream)?;
    let run = || {
        for (view, copy) in inputs.iter().zip(&copies.sources) {
            let (start, size) = view.span();
            // SAFETY: the caller of `execute_elsewhere` vouches for the input, and the block has
            // room for its range.
            unsafe { copy_to_host(block.address() + copy.start, start, size, stream) }?;
        }
        stream.synchronize()?;
        copies.execute(block.address(), execute)?;
        for (view, copy) in outputs.iter().zip(&copies.results) {
            copy_result(view, block.address(), copy, stream)?;
        }
        Ok(())
    };
    let enqueued = run();
    // Also after an error, because the copies use the block.
    let done = stream.synchronize();
    enqueued.and(done)
}

/// Copies a result's range of memory from a block in host memory to the result on a device.
fn copy_result(view: &TensorView, block: usize, copy: &RangeCopy, stream: StreamRef) -> Result<()> {
    let ((start, size), source) = (view.span(), block + copy.start);
    if is_gapless(view) {
        // SAFETY: the caller of `execute_elsewhere` vouches for the result, and the block has its
        // bytes.
        return unsafe { copy_from_host(start, source, size, stream) };
    }
    // By way of other device memory, from which a kernel takes the elements alone.
    let pool = StreamOrderedPool::of(stream.device())?;
    let staged = pool.memalloc(size + ALIGNMENT, stream)?;
    // Aligned as the copy in the block is.
    let first = staged.address() + copy.start % ALIGNMENT;
    let from = TensorView { ptr: first + copy.front, ..(*view).clone() };
    // SAFETY: the staged memory has room for the range, and is freed in the order of the stream.
    unsafe {
        copy_from_host(first, source, size, stream)?;
        crop_or_pad(view, &from, &[], stream)
    }
}

/// Where the copies of operands lie in one block of memory.
struct Copies {
    sources: Vec<RangeCopy>,
    results: Vec<RangeCopy>,
    /// Bytes of the block.
    size: usize,
}

/// The copy of the range of memory that an operand's elements lie in.
#[derive(Clone, Copy)]
struct RangeCopy {
    /// Bytes from the start of the block to the copy.
    start: usize,
    /// Bytes from there to the element at index (0, …, 0), which is aligned to [`ALIGNMENT`].
    front: usize,
}

impl Copies {
    /// Lays out the copies. Results that overwrite inputs have those of the inputs.
    fn of(inputs: &[&TensorView], outputs: &[&TensorView], mut overwritten: Range<usize>) -> Self {
        let mut size = 0;
        let mut place = |view: &TensorView| {
            let (lowest, length) = view.span();
            let front = view.ptr.wrapping_sub(lowest);
            let start = (size + front).next_multiple_of(ALIGNMENT) - front;
            size = start + length;
            RangeCopy { start, front }
        };
        let sources: Vec<RangeCopy> = inputs.iter().map(|view| place(view)).collect();
        let results = outputs.iter().map(|view| match overwritten.next() {
            Some(input) => sources[input],
            None => place(view),
        });
        let results = results.collect();
        Self { sources, results, size }
    }

    /// Runs `execute` on the addresses of the copies in a block at `base`.
    fn execute(
        &self,
        base: usize,
        execute: impl FnOnce(&[usize], &[usize]) -> Result<()>,
    ) -> Result<()> {
        let address = |copy: &RangeCopy| base + copy.start + copy.front;
        let addresses = |copies: &[RangeCopy]| copies.iter().map(address).collect::<Vec<_>>();
        execute(&addresses(&self.sources), &addresses(&self.results))
    }
}

/// Whether all memory between a result's elements is its own.
fn is_gapless(view: &TensorView) -> bool {
    view.span().1 == view.layout.len() as usize * view.dtype.size()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{DType, Layout, MemoryLocation};

    fn view(ptr: usize, shape: &[i64], strides: &[i64]) -> TensorView {
        let layout = Layout { shape: shape.into(), strides: strides.into() };
        let device = MemoryLocation::Host;
        TensorView { ptr, dtype: DType::Float32, layout, device, readonly: false }
    }

    #[test]
    fn copies_are_apart_and_aligned_at_their_first_element() {
        let backwards = view(0x1010, &[5], &[-1]);
        let matrix = view(0x2004, &[3, 4], &[10, 2]);
        let copies = Copies::of(&[&backwards, &matrix], &[&matrix], 0..0);
        let all: Vec<RangeCopy> = copies.sources.iter().chain(&copies.results).copied().collect();
        let mut end = 0;
        for (copy, view) in all.iter().zip([&backwards, &matrix, &matrix]) {
            assert!(copy.start >= end && (copy.start + copy.front).is_multiple_of(ALIGNMENT));
            assert_eq!(copy.front, view.ptr - view.span().0);
            end = copy.start + view.span().1;
        }
        assert_eq!(copies.size, end);
    }

    #[test]
    fn a_result_that_overwrites_an_input_shares_its_copy() {
        let operand = view(0x1000, &[6], &[1]);
        let copies = Copies::of(&[&operand; 3], &[&operand; 3], 1..3);
        let starts =
            |copies: &[RangeCopy]| copies.iter().map(|copy| copy.start).collect::<Vec<_>>();
        assert_eq!(starts(&copies.results[..2]), starts(&copies.sources[1..]));
        assert!(!starts(&copies.sources).contains(&copies.results[2].start));
        copies
            .execute(4096, |inputs, outputs| {
                assert_eq!(outputs[0], inputs[1]);
                Ok(())
            })
            .unwrap();
    }
}
