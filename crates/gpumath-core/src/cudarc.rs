//! Arrays, streams and devices of [`cudarc`](https://docs.rs/cudarc): operands are borrowed from
//! cudarc's slices and views, results are new slices (feature `cudarc`).
//!
//! cudarc orders the work on a slice by events. [`read()`] and [`write()`] take part in that: they
//! make their stream wait for earlier work, and what is enqueued until the borrowed operand is
//! dropped is what later work waits for. So any stream can be used with any slice of its device.
//!
//! gpumath calls the driver through its own table. What both crates share is the device's primary
//! context, so contexts of other kinds are refused.
//!
//! # Examples
//! ```no_run
//! use cudarc::driver::{CudaContext, CudaSlice};
//! use gpumath_core::cudarc::{compute, read};
//! use gpumath_core::fft::{Direction, Fft, FftArguments, FftRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stream = CudaContext::new(0)?.new_stream()?;
//! let signal: CudaSlice<f32> = stream.clone_htod(&vec![1.0_f32; 16 * 1024])?;
//! let signal = read(&signal, [16, 1024], &stream)?;
//! let request = FftRequest { axes: Some([1].as_slice().into()), ..FftRequest::default() };
//! let forward = FftArguments { direction: Direction::Forward, factor: None };
//! let spectrum = compute::<Fft, [f32; 2]>(&request, &[&signal], forward, &stream)?;
//! assert_eq!(spectrum.layout.shape.as_slice(), [16, 513]);
//! let numbers: Vec<[f32; 2]> = stream.clone_dtoh(&spectrum.memory)?;
//! # Ok(())
//! # }
//! ```

use std::ops::Deref;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DriverError,
    SyncOnDrop, result,
};
use gpumath_sys::generated::driver;

use crate::device::StreamRef;
use crate::error::{Error, Result};
use crate::memory::{BaseCUDAMemoryManager, MemoryPointer};
use crate::operation::{
    Computed, Execution, Operand, Operation, Plan, Workspace, captured, check_range,
};
use crate::status;
use crate::tensor::{Element, Layout, MemoryLocation, TensorView};

/// An operand in cudarc's memory, for work on one stream.
///
/// Drop it after the work has been enqueued. Until then cudarc does not know of that work.
#[derive(Debug)]
pub struct CudaOperand<'a> {
    operand: Operand<'a>,
    /// Records the work in the slice's event.
    _recorded: SyncOnDrop<'a>,
}

impl<'a> Deref for CudaOperand<'a> {
    type Target = Operand<'a>;

    fn deref(&self) -> &Operand<'a> {
        &self.operand
    }
}

/// Borrows a `CudaSlice` or a view to read it on `stream`, which waits for the work that writes it.
/// A shape such as `[64, 1000]` stands for C order; a [`Layout`] with other strides begins at the
/// first element too.
///
/// # Errors
/// `InvalidValue` if the layout leaves the slice, if the stream is one of another device, or if its
/// context is not the device's primary one.
pub fn read<'a, T: Element, Slice: DevicePtr<T>>(
    slice: &'a Slice,
    layout: impl Into<Layout>,
    stream: &'a CudaStream,
) -> Result<CudaOperand<'a>> {
    let work = stream_of(slice.stream().context(), stream)?;
    let size = slice.num_bytes();
    let (ptr, recorded) = slice.device_ptr(stream);
    borrow::<T>((ptr as usize, size), layout.into(), work, true, recorded)
}

/// Like [`read()`], to read and write a `CudaSlice` or a mutable view.
///
/// # Errors
/// As for [`read()`].
pub fn write<'a, T: Element, Slice: DevicePtrMut<T>>(
    slice: &'a mut Slice,
    layout: impl Into<Layout>,
    stream: &'a CudaStream,
) -> Result<CudaOperand<'a>> {
    let work = stream_of(slice.stream().context(), stream)?;
    let size = slice.num_bytes();
    let (ptr, recorded) = slice.device_ptr_mut(stream);
    borrow::<T>((ptr as usize, size), layout.into(), work, false, recorded)
}

/// Computes on the operands' device, and returns the one result in memory that cudarc allocates.
/// The work is enqueued on `stream`, for which the operands were borrowed, and so is the
/// allocation of the memory that it works in.
///
/// # Errors
/// `InvalidType` if the result is not of type `T`; `InvalidState` while the stream is being
/// captured into a graph, which takes [`Plan::run`] with an output; `InvalidValue` for what the
/// operation does not take.
pub fn compute<O: Operation, T: Element + DeviceRepr>(
    request: &O::Request,
    inputs: &[&Operand<'_>],
    arguments: O::Arguments,
    stream: &Arc<CudaStream>,
) -> Result<Computed<CudaSlice<T>>> {
    let allocator = StreamAllocator::new(stream)?;
    if !allocator.work.is_legacy_default() && allocator.work.is_capturing()? {
        return Err(captured("memory for a new result would belong to it", "use Plan::run"));
    }
    let plan = Plan::<O>::of(request, inputs, execution(stream.context())?)?;
    let layout = plan.new_result::<T>()?;
    // SAFETY: the result is written before it is returned, and every pattern of bits is a value.
    let mut memory = unsafe { allocator.allocate::<T>(layout.len() as usize) }?;
    let out = write(&mut memory, layout.clone(), stream)?;
    plan.run(inputs, &[&out], arguments, &mut Workspace::new(), Some(&allocator))?;
    drop(out);
    Ok(Computed { memory, layout })
}

/// Returns the execution on the device of a context.
///
/// # Errors
/// `InvalidValue` unless the context is the device's primary one.
pub fn execution(context: &CudaContext) -> Result<Execution> {
    if !context.is_primary() {
        return Err(Error::InvalidValue(format!(
            "the context of device {} was made for cudarc alone, but gpumath computes in the \
             primary one; use CudaContext::new",
            context.ordinal()
        )));
    }
    Ok(Execution::Cuda { device: context.ordinal() as i32 })
}

/// Memory of cudarc's for work on one stream: the memory that plans work in, and results.
#[derive(Clone, Debug)]
pub struct StreamAllocator {
    stream: Arc<CudaStream>,
    work: StreamRef,
}

impl StreamAllocator {
    /// Makes an allocator for a stream, which it keeps alive.
    ///
    /// # Errors
    /// `InvalidValue` unless the stream's context is the device's primary one.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        let work = stream_of(stream.context(), stream)?;
        Ok(Self { stream: Arc::clone(stream), work })
    }

    /// Allocates elements whose values are arbitrary.
    unsafe fn allocate<T: Element + DeviceRepr>(&self, count: usize) -> Result<CudaSlice<T>> {
        if count == 0 {
            return self.stream.null().map_err(error);
        }
        if count.checked_mul(size_of::<T>()).is_none() {
            return Err(Error::OutOfMemory(format!("{count} elements exceed the address space")));
        }
        // SAFETY: the caller writes the elements before they are read.
        unsafe { self.stream.alloc(count) }.map_err(error)
    }
}

impl BaseCUDAMemoryManager for StreamAllocator {
    fn memalloc(&self, size: usize, stream: StreamRef) -> Result<MemoryPointer> {
        if stream != self.work {
            return Err(Error::InvalidValue(
                "the allocator is for another stream than the operands; make one for theirs".into(),
            ));
        }
        let (context, has_pool) = (self.stream.context(), self.stream.context().has_async_alloc());
        context.bind_to_thread().map_err(error)?;
        // A slice would come with two events, which nothing would ask for.
        // SAFETY: the context is current, and the stream is one of it.
        let address = unsafe {
            if has_pool {
                result::malloc_async(self.stream.cu_stream(), size)
            } else {
                result::malloc_sync(size)
            }
        }
        .map_err(error)?;
        let stream = Arc::clone(&self.stream);
        let free = move || {
            let context = stream.context();
            context.record_err(context.bind_to_thread());
            // SAFETY: the memory is used on this stream only, and not after this.
            context.record_err(unsafe {
                if has_pool {
                    result::free_async(address, stream.cu_stream())
                } else {
                    stream.synchronize().and_then(|()| result::free_sync(address))
                }
            });
        };
        Ok(MemoryPointer::new(address as usize, size, Some(Box::new(free))))
    }
}

/// Names a stream for work on memory of `context`.
fn stream_of(context: &CudaContext, stream: &CudaStream) -> Result<StreamRef> {
    let (Execution::Cuda { device }, true) = (execution(context)?, stream.context().is_primary())
    else {
        return Err(Error::InvalidValue(
            "the stream is not in its device's primary context".into(),
        ));
    };
    let (expected, ordinal) = (context.ordinal(), stream.context().ordinal());
    if expected != ordinal {
        return Err(Error::InvalidValue(format!(
            "the memory is on device {expected}, but the stream is one of device {ordinal}; copy \
             the memory, or use a stream of its device"
        )));
    }
    // SAFETY: the handle is that of a live stream of the device. Those who keep the result also
    // borrow the stream or share it: `CudaOperand`, `StreamAllocator` and its memory.
    Ok(unsafe { StreamRef::new(device, stream.cu_stream() as usize) })
}

fn borrow<T: Element>(
    (ptr, size): (usize, usize),
    layout: Layout,
    stream: StreamRef,
    readonly: bool,
    recorded: SyncOnDrop<'_>,
) -> Result<CudaOperand<'_>> {
    let device = MemoryLocation::Device(stream.device());
    let view = TensorView { ptr, dtype: T::DTYPE, layout, device, readonly };
    check_range(&view, size)?;
    // SAFETY: the slice is borrowed as long as the operand, and its memory is freed in the order of
    // the work that cudarc knows of, which is that on `stream` until `recorded` is dropped.
    let operand = unsafe { Operand::new(view, Some(stream)) };
    Ok(CudaOperand { operand, _recorded: recorded })
}

/// Returns the error for a failed allocation of cudarc's.
fn error(error: DriverError) -> Error {
    let function = driver::MEM_ALLOC_ASYNC.symbol();
    match status::check(function, error.0 as i32, |_| "in cudarc".to_owned()) {
        Err(error) => error,
        Ok(()) => Error::InvalidState("cudarc failed without a status".into()),
    }
}
