//! The streams of one piece of work: the one that the operands' library works on, and the one to
//! use.

use gpumath_core::Error;
use gpumath_core::device::StreamRef;
use gpumath_core::operation::captured;
use gpumath_core::tensor::MemoryLocation;
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::gil::release_gil;
use crate::interop::{ArrayLibrary, stream_handle};

/// A stream that the user named.
#[derive(Clone)]
pub(crate) struct UserStream<'py> {
    pub(crate) object: Bound<'py, PyAny>,
    pub(crate) handle: usize,
}

impl<'py> UserStream<'py> {
    /// Reads a stream of any library.
    pub(crate) fn of(stream: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self { object: stream.clone(), handle: stream_handle(stream)? })
    }
}

/// The streams of one piece of work on operands of one library.
#[derive(Clone, Copy)]
pub(crate) struct WorkStreams {
    library: ArrayLibrary,
    /// The stream that the library works on now; `None` for operands in host memory.
    current: Option<StreamRef>,
    /// The stream to work on; `None` if no GPU takes part.
    pub(crate) work: Option<StreamRef>,
}

impl WorkStreams {
    /// Finds the streams for operands at `location`, which are used on `device`. A stream that the
    /// user named is made to wait for the library's current one, on which the operands may still be
    /// being written.
    pub(crate) fn of(
        py: Python<'_>,
        library: ArrayLibrary,
        location: MemoryLocation,
        device: Option<i32>,
        given: Option<&UserStream<'_>>,
    ) -> PyResult<Self> {
        let current = match location {
            MemoryLocation::Host => None,
            MemoryLocation::Device(device) => {
                let handle = library.current_stream(py, device)?;
                // SAFETY: the handle is the library's own.
                Some(unsafe { StreamRef::new(device, handle) })
            }
        };
        // SAFETY: the user vouches for the handle, as the documentation of `stream` says.
        let given = |device| given.map(|given| unsafe { StreamRef::new(device, given.handle) });
        let work = device.map(|device| {
            given(device).or(current).unwrap_or_else(|| StreamRef::legacy_default(device))
        });
        if let (Some(work), Some(current)) = (work, current)
            && work != current
        {
            release_gil(py, || work.order_after(current)).or_raise(py)?;
        }
        Ok(Self { library, current, work })
    }

    /// Runs `allocate` such that the library allocates for the stream to work on.
    pub(crate) fn allocate<T>(
        &self,
        py: Python<'_>,
        allocate: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        match (self.work, self.current) {
            (Some(work), Some(current)) if work != current => {
                self.library.on_stream(py, work, allocate)
            }
            _ => allocate(),
        }
    }
}

/// Raises InvalidStateError if a stream is being captured into a graph, which `what` would break.
pub(super) fn refuse_capture(
    py: Python<'_>,
    stream: StreamRef,
    what: &str,
    cure: &str,
) -> PyResult<()> {
    match stream.is_capturing() {
        Ok(true) => Err(captured(what, cure)).or_raise(py),
        // Without a device nothing is captured, and other reasons may come first.
        Ok(false) | Err(Error::NoDevice(_)) => Ok(()),
        Err(error) => Err(error).or_raise(py),
    }
}
