//! `FftPlan` and its cache.

mod multi;

use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use gpumath_core::device::{Devices, RelaxedCapture, is_capturing, is_default};
use gpumath_core::fft::{
    Callbacks, Direction, Execution, FftPlan as Plan, Found, Kind, Problem, Request,
};
use gpumath_core::tensor::{DType, Device, Dims, Layout, TensorView};
use gpumath_core::{Error, cache};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

use crate::core::callback;
use crate::core::fft_problem::FftProblem;
use crate::error::OrRaise;
use crate::interop::{self, Library, Operand, Reader};

/// A Fourier transform of one shape, layout and element type, ready to run. It holds no workspace.
///
/// Parameters
/// ----------
/// operand : array
///     What `TensorView` takes. It says shape, strides, element type and device; its values do not
///     matter, and it is not kept.
/// axes : sequence of int, optional
///     Transform axes, each once; negative ones count from the end. By default all. For R2C and C2R the
///     last of them is the one with ``n // 2 + 1`` complex numbers.
/// kind : {'C2C', 'R2C', 'C2R'}, optional
///     By default R2C for real operands and C2C for complex ones.
/// execution : {'cpu', 'cuda'}, optional
///     By default where the operand is.
/// device_id : int, optional
///     CUDA device for an operand in host memory, 0 by default.
/// device_ids : sequence of int, optional
///     Two or more distinct CUDA devices to work together, instead of `device_id`. The operand is in host memory or on one
///     of them. Only `run` executes such a plan, and it returns when the result is there.
/// num_threads : int, optional
///     CPU threads; by default one for each core that the process may use.
/// inplace : bool, default: False
///     Overwrite the operand; C2C only.
/// last_axis_parity : {'even', 'odd'}, default: 'even'
///     Whether a C2R result has ``2 * (n - 1)`` points along its last axis, or one more.
/// result_layout : {'optimized', 'natural'}, default: 'optimized'
///     Memory order of the operand, or C order. Neither has gaps.
/// cached : bool, default: True
///     Take the plan from the calling thread's cache, or put it there.
/// out : array, optional
///     What the result will be written to, on the operand's device and in any layout without overlaps: its strides
///     become the result's. The operand itself makes the plan work in place.
/// stream : int or stream object, optional
///     Stream that the plan will first run on, by default the current stream of the operand's library. A plan cannot be
///     made while it is captured into a graph.
/// prolog, epilog : object, optional
///     Device functions that give the operand's elements and store the result's; CUDA only. An object has ``ltoir``,
///     the code as bytes or its address, ``size``, its length, and ``data``, the device address that the function gets
///     with each call, or None.
///
/// Raises
/// ------
/// InvalidStateError
///     The plan has to be made, and the stream is being captured.
/// ValueError, TypeError
///     The operand, an axis or an option is not allowed; the message says what is.
/// UnsupportedLayoutError
///     cuFFT covers the operand's strides with no plan, or with none that gives a callback the elements' offsets; the
///     exception says which copy helps.
/// FunctionNotFoundError
///     A callback needs a newer cuFFT.
/// NoDeviceError
///     There is no such CUDA device, or there are fewer than `device_ids` names.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> a = np.array([1, 1j, -1, -1j])
/// >>> plan = core.FftPlan(a)
/// >>> result = np.empty(plan.output_shape, plan.output_dtype)
/// >>> plan.execute(a, result)
/// >>> result
/// array([0.+0.j, 4.+0.j, 0.+0.j, 0.+0.j])
#[pyclass(frozen, eq, hash, module = "gpumath.bindings.core")]
pub(crate) struct FftPlan {
    plan: Arc<Plan>,
}

/// Plans for the same problem in the same place are equal.
impl PartialEq for FftPlan {
    fn eq(&self, other: &Self) -> bool {
        self.plan.key() == other.plan.key()
    }
}

impl Eq for FftPlan {}

impl Hash for FftPlan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.plan.key().hash(state);
    }
}

#[pymethods]
impl FftPlan {
    #[new]
    #[pyo3(signature = (
        operand, axes=None, kind=None, *, execution=None, device_id=None, num_threads=None, inplace=false,
        last_axis_parity="even", result_layout="optimized", cached=true, out=None, stream=None,
        prolog=None, epilog=None, device_ids=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one Python constructor")]
    fn new(
        py: Python<'_>,
        operand: &Bound<'_, PyAny>,
        axes: Option<Vec<i64>>,
        kind: Option<&str>,
        execution: Option<&str>,
        device_id: Option<i32>,
        num_threads: Option<usize>,
        inplace: bool,
        last_axis_parity: &str,
        result_layout: &str,
        cached: bool,
        out: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        prolog: Option<&Bound<'_, PyAny>>,
        epilog: Option<&Bound<'_, PyAny>>,
        device_ids: Option<Vec<i32>>,
    ) -> PyResult<Self> {
        let devices = device_ids.map(|ids| Devices::new(&ids)).transpose().or_raise(py)?;
        let reader = Reader::of(operand)?;
        let view = reader.view(operand, None)?;
        reader.check_gradient(operand)?;
        let request = Request {
            kind: kind.map(parse_kind).transpose()?,
            axes: axes.map(Dims::from_vec),
            inplace,
            odd: choice("last_axis_parity", last_axis_parity, ["even", "odd"])? == 1,
            natural: choice("result_layout", result_layout, ["optimized", "natural"])? == 1,
            output: out
                .map(|out| interop::out_view(operand, out, None))
                .transpose()?
                .map(|out| out.view),
            callbacks: callback::callbacks(prolog, epilog)?,
        };
        let execution = match devices {
            Some(devices) => multi::execution(devices, execution, view.device, device_id)?,
            None => parse_execution(execution, view.device, device_id, num_threads)?,
        };
        let problem = if cached {
            match Plan::find(&request, &view, execution).or_raise(py)? {
                Found::Plan(plan) => return Ok(Self { plan }),
                Found::Problem(problem) => *problem,
            }
        } else {
            Plan::problem_of(&request, &view, execution).or_raise(py)?
        };
        Self::make(py, problem, execution, cached, &view, reader.library(), stream)
    }

    /// Plan, or take the plan from the cache, and run it where the operand is: the same as ``FftPlan(operand, axes,
    /// kind, out=out).run(operand, out, direction, None, workspace)``, in less time.
    #[staticmethod]
    #[pyo3(
        signature = (operand, axes=None, kind=None, out=None, direction=-1, workspace=None),
        text_signature = "(operand, axes=None, kind=None, out=None, direction=-1, workspace=None)"
    )]
    fn transform<'py>(
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        axes: Option<Vec<i64>>,
        kind: Option<&str>,
        out: Option<&Bound<'py, PyAny>>,
        direction: i32,
        workspace: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reader = Reader::of(operand)?;
        let source = reader.view(operand, Some(0))?;
        reader.check_gradient(operand)?;
        let target = out.map(|out| interop::out_view(operand, out, None)).transpose()?;
        let request = Request {
            kind: kind.map(parse_kind).transpose()?,
            axes: axes.map(Dims::from_vec),
            inplace: false,
            odd: false,
            natural: false,
            output: target.map(|target| target.view),
            callbacks: Callbacks::default(),
        };
        let execution = parse_execution(None, source.device, None, None)?;
        let this = match Plan::find(&request, &source, execution).or_raise(py)? {
            Found::Plan(plan) => Self { plan },
            Found::Problem(problem) => {
                let library = reader.library();
                Self::make(py, *problem, execution, true, &source, library, None)?
            }
        };
        this.run_on(py, operand, source, reader.library(), out, direction, None, workspace, false)
    }

    /// "C2C", "R2C" or "C2R".
    #[getter]
    fn kind(&self) -> &'static str {
        kind_name(self.plan.problem().kind)
    }

    /// Transform axes, counted from the first dimension.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.plan.problem().axes)
    }

    /// "cpu" or "cuda".
    #[getter]
    fn execution(&self) -> &'static str {
        if self.plan.execution().device().is_some() { "cuda" } else { "cpu" }
    }

    /// What computes: "cufft", "embedded", "mkl", "nvpl" or "fftw"; "none" for an empty batch.
    #[getter]
    fn engine(&self) -> &'static str {
        self.plan.engine_name()
    }

    /// Ordinal of the CUDA device, the first one of several; None on the CPU.
    #[getter]
    fn device_id(&self) -> Option<i32> {
        self.plan.execution().device()
    }

    /// Ordinals of the CUDA devices if there are several; otherwise None.
    #[getter]
    fn device_ids<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let devices = self.plan.execution().devices();
        devices.map(|devices| PyTuple::new(py, devices.ordinals())).transpose()
    }

    /// Number of CPU threads; None on CUDA.
    #[getter]
    fn num_threads(&self) -> Option<usize> {
        match self.plan.execution() {
            Execution::Cpu { threads } => Some(threads.get()),
            Execution::Cuda { .. } | Execution::CudaMulti { .. } => None,
        }
    }

    /// Whether the result overwrites the operand.
    #[getter]
    fn inplace(&self) -> bool {
        self.plan.problem().inplace
    }

    /// What is transformed, without the engine.
    #[getter]
    fn problem(&self) -> FftProblem {
        FftProblem::of(self.plan.problem(), self.plan.execution().device().is_some())
    }

    /// Shape of the operand.
    #[getter]
    fn input_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.plan.problem().input.shape)
    }

    /// Strides of the operand, in elements.
    #[getter]
    fn input_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.plan.problem().input.strides)
    }

    /// Element type of the operand.
    #[getter]
    fn input_dtype(&self) -> &'static str {
        self.plan.problem().input_dtype().name()
    }

    /// Shape of the result.
    #[getter]
    fn output_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.plan.problem().output.shape)
    }

    /// Strides of the result, in elements.
    #[getter]
    fn output_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.plan.problem().output.strides)
    }

    /// Element type of the result.
    #[getter]
    fn output_dtype(&self) -> &'static str {
        self.plan.problem().output_dtype().name()
    }

    /// Bytes of device memory that `execute` needs; 0 on the CPU. On several devices, the bytes that `run` allocates by
    /// itself on the device that it takes most of.
    #[getter]
    fn workspace_size(&self) -> usize {
        self.plan.workspace_size()
    }

    /// How many calls of the engine one execution makes.
    #[getter]
    fn library_calls(&self) -> usize {
        self.plan.library_calls()
    }

    /// Whether the plan fits `operand`: same shape, strides, element type and, for real ones, alignment, on the device of
    /// this ordinal (None: in host memory).
    #[pyo3(signature = (operand, device_id))]
    fn accepts(&self, operand: &Bound<'_, PyAny>, device_id: Option<i32>) -> PyResult<bool> {
        let reader = Reader::of(operand)?;
        let view = reader.view(operand, None)?;
        reader.check_gradient(operand)?;
        Ok(view.device == device_id.map_or(Device::Host, Device::Cuda) && self.plan.accepts(&view))
    }

    /// Transform `input` to `output`, without scaling.
    ///
    /// Never allocates device memory and, on CUDA, never waits for the device.
    ///
    /// Parameters
    /// ----------
    /// input, output : array or int
    ///     Operands of exactly the plan's layouts, element types and device, or their addresses, which are
    ///     not checked. For a plan in place both are the same.
    /// direction : {-1, 1}, default: -1
    ///     Sign of the exponent: forward or inverse. R2C is always -1, C2R always 1.
    /// stream : int or stream object, optional
    ///     CUDA stream of the plan's device that the work goes to; the default stream otherwise.
    /// workspace : int, default: 0
    ///     Address of `workspace_size` bytes of device memory, aligned to 256 bytes, that nothing else uses
    ///     until the work is done.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An operand does not fit the plan, or the workspace is missing.
    /// cuFFTError
    ///     cuFFT refused.
    // Without the text, PyO3 writes the default -1 as "...".
    #[pyo3(
        signature = (input, output, *, direction=-1, stream=None, workspace=0),
        text_signature = "($self, input, output, *, direction=-1, stream=None, workspace=0)"
    )]
    fn execute(
        &self,
        py: Python<'_>,
        input: &Bound<'_, PyAny>,
        output: &Bound<'_, PyAny>,
        direction: i32,
        stream: Option<&Bound<'_, PyAny>>,
        workspace: usize,
    ) -> PyResult<()> {
        let problem = self.plan.problem();
        let stream = stream.map_or(Ok(0), interop::stream_handle)?;
        let (source, source_operand) =
            self.address("input", input, problem.input_dtype(), &problem.input, false, stream)?;
        let (result, result_operand) =
            self.address("output", output, problem.output_dtype(), &problem.output, true, stream)?;
        self.check_sharing(source, result)?;
        let direction = parse_direction(direction)?;
        // SAFETY: operands were checked against the plan's layouts and are alive for the call; for bare addresses,
        // the stream and the workspace the caller vouches, as the documentation says.
        py.detach(|| unsafe { self.plan.execute(source, result, direction, stream, workspace) })
            .or_raise(py)?;
        for (object, operand) in [(input, source_operand), (output, result_operand)] {
            if let Some(operand) = operand {
                interop::pending::keep(object, operand, stream).or_raise(py)?;
            }
        }
        Ok(())
    }

    /// Transform an operand that is where the plan runs, and give the result, without scaling.
    ///
    /// Parameters
    /// ----------
    /// operand : array
    ///     Of the plan's input layout, element type and device.
    /// out : array, optional
    ///     What to write the result to, of the plan's output layout; by default a new array of the operand's library,
    ///     or the operand if the plan works in place.
    /// direction : {-1, 1}, default: -1
    ///     Sign of the exponent: forward or inverse. R2C is always -1, C2R always 1.
    /// stream : int or stream object, optional
    ///     CUDA stream that the work goes to. By default the current stream of the operand's library, and the default
    ///     stream where it has none. CuPy and PyTorch allocate new results on their own current streams: make a stream
    ///     that is given theirs.
    /// workspace : callable, optional
    ///     Called as ``workspace(operand, size, device_id, stream, captured)`` if the plan needs device memory to work in. It
    ///     gives the address and an owner, which is dropped when the work is enqueued. `captured` says whether the
    ///     stream is captured into a graph.
    /// blocking : bool, default: False
    ///     Wait for the result.
    ///
    /// Returns
    /// -------
    /// array
    ///     `out`, the operand, or the new array.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An array does not fit the plan, or the workspace is missing.
    /// InvalidStateError
    ///     `blocking` while the stream is captured into a graph.
    /// cuFFTError
    ///     cuFFT refused.
    #[pyo3(
        signature = (operand, out=None, direction=-1, stream=None, workspace=None, blocking=false),
        text_signature = "($self, operand, out=None, direction=-1, stream=None, workspace=None, blocking=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python method")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        direction: i32,
        stream: Option<&Bound<'py, PyAny>>,
        workspace: Option<&Bound<'py, PyAny>>,
        blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = stream.map(interop::stream_handle).transpose()?;
        let reader = Reader::of(operand)?;
        // Libraries without a current stream work on the default stream.
        let source = reader.view(operand, Some(given.unwrap_or(0)))?;
        let stream = stream.zip(given);
        let library = reader.library();
        self.run_on(py, operand, source, library, out, direction, stream, workspace, blocking)
    }

    /// Make a new array for the plan's result, in the library of an operand.
    ///
    /// Parameters
    /// ----------
    /// operand : array
    ///     Says the library and the device.
    /// stream : int or stream object, optional
    ///     Stream that it will be used on, for libraries without a current stream.
    ///
    /// Returns
    /// -------
    /// array
    ///     Without values.
    #[pyo3(signature = (operand, stream=None))]
    fn empty_result<'py>(
        &self,
        operand: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let problem = self.plan.problem();
        let reader = Reader::of(operand)?;
        let view = reader.view(operand, None)?;
        let dtype = problem.output_dtype();
        Ok(reader.library().empty(operand, &view, &problem.output, dtype, stream)?.array)
    }

    fn __repr__(&self) -> String {
        let problem = self.plan.problem();
        format!(
            "FftPlan(kind={:?}, input_dtype={:?}, input_shape={:?}, axes={:?}, engine={:?})",
            self.kind(),
            self.input_dtype(),
            problem.input.shape.as_slice(),
            problem.axes.as_slice(),
            self.engine()
        )
    }
}

impl FftPlan {
    /// Makes a plan that is in no cache; not while the stream that it will run on is captured.
    fn make(
        py: Python<'_>,
        problem: Problem,
        execution: Execution,
        cached: bool,
        operand: &TensorView,
        library: Library,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if let Some(devices) = execution.devices() {
            devices.check().or_raise(py)?;
        }
        // Several devices wait anyway, and are not a matter of the stream of one of them.
        if let Some(device) = execution.device().filter(|_| execution.devices().is_none()) {
            let stream = match stream {
                Some(stream) => interop::stream_handle(stream)?,
                None if operand.device == Device::Host => 0,
                None => library.current_stream(py, device)?,
            };
            refuse_capture(
                py,
                stream,
                device,
                "a plan is made",
                "make it before the capture begins",
            )?;
        }
        let plan = py.detach(|| {
            if cached {
                Plan::cached(problem, execution)
            } else {
                Plan::new(problem, execution).map(Arc::new)
            }
        });
        Ok(Self { plan: plan.or_raise(py)? })
    }

    /// Runs on an operand that `source` looks into; a stream comes with its handle.
    #[expect(clippy::too_many_arguments, reason = "what `run` and `transform` have in common")]
    fn run_on<'py>(
        &self,
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        source: Operand,
        library: Library,
        out: Option<&Bound<'py, PyAny>>,
        direction: i32,
        stream: Option<(&Bound<'py, PyAny>, usize)>,
        workspace: Option<&Bound<'py, PyAny>>,
        blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let problem = self.plan.problem();
        let direction = parse_direction(direction)?;
        self.check(&source, "operand", problem.input_dtype(), &problem.input, problem.inplace)?;
        if self.plan.execution().devices().is_some() {
            return self.run_multi(py, operand, &source, library, out, direction, stream);
        }
        let device = self.plan.execution().device();
        let handle = match (stream, device) {
            (Some((_, handle)), _) => handle,
            (None, Some(device)) => library.current_stream(py, device)?,
            (None, None) => 0,
        };
        let captured = match device {
            Some(device) if !is_default(handle) => {
                // SAFETY: the handle is the library's own, or the user vouches for it.
                unsafe { is_capturing(handle, device) }.or_raise(py)?
            }
            _ => false,
        };
        let is_new = out.is_none() && !problem.inplace;
        if captured && blocking {
            return Err(captured_error("blocking=True waits for the result", "leave it out"))
                .or_raise(py);
        }
        if captured && is_new && matches!(library, Library::Other) {
            return Err(captured_error("memory for a new result would belong to it", "give out="))
                .or_raise(py);
        }
        // Libraries may have to allocate for the result, and the driver to load what the first execution needs.
        let _relaxed = captured.then(RelaxedCapture::enter).transpose().or_raise(py)?;
        let stream_object = stream.map(|(stream, _)| stream);
        let (result, address, target) =
            self.result(operand, &source, library, out, handle, stream_object)?;
        self.check_sharing(source.ptr, address)?;
        let (scratch, _owner) = self.workspace(workspace, operand, stream, handle, captured)?;
        let ptr = source.ptr;
        // SAFETY: the views were checked against the plan's layouts and their objects are alive for the call; for the
        // stream and the workspace the caller vouches, as the documentation says.
        py.detach(|| unsafe { self.plan.execute(ptr, address, direction, handle, scratch) })
            .or_raise(py)?;
        interop::pending::keep(operand, source, handle).or_raise(py)?;
        if let (Some(out), Some(target)) = (out, target) {
            interop::pending::keep(out, target, handle).or_raise(py)?;
        }
        if let Some(device) = device
            && blocking
        {
            // SAFETY: as above.
            super::device::wait(py, || unsafe { gpumath_core::device::query(handle, device) })?;
        }
        Ok(result)
    }

    /// What the result goes to, its address, and the view of an array that the user gave.
    fn result<'py>(
        &self,
        operand: &Bound<'py, PyAny>,
        source: &Operand,
        library: Library,
        out: Option<&Bound<'py, PyAny>>,
        handle: usize,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, usize, Option<Operand>)> {
        let problem = self.plan.problem();
        if let Some(out) = out {
            let view = interop::out_view(operand, out, Some(handle))?;
            self.check(&view, "out", problem.output_dtype(), &problem.output, true)?;
            if !problem.inplace && view.overlaps(source) && view.ptr != source.ptr {
                return Err(PyValueError::new_err(
                    "out and the operand overlap in memory; give memory of its own",
                ));
            }
            let address = view.ptr;
            return Ok((out.clone(), address, Some(view)));
        }
        if problem.inplace {
            return Ok((operand.clone(), source.ptr, None));
        }
        let empty =
            library.empty(operand, source, &problem.output, problem.output_dtype(), stream)?;
        Ok((empty.array, empty.ptr, None))
    }

    /// The address of one side, and what to keep until the work is done: a bare address is taken as it is, an operand
    /// is checked against the plan.
    fn address(
        &self,
        side: &str,
        operand: &Bound<'_, PyAny>,
        dtype: DType,
        layout: &Layout,
        written: bool,
        stream: usize,
    ) -> PyResult<(usize, Option<Operand>)> {
        if let Ok(address) = operand.cast::<PyInt>() {
            return Ok((address.extract()?, None));
        }
        let view = interop::view(operand, Some(stream))?;
        self.check(&view, side, dtype, layout, written)?;
        Ok((view.ptr, view.owner.is_some().then_some(view)))
    }

    /// Refuses a view that does not fit one side of the plan.
    fn check(
        &self,
        view: &TensorView,
        side: &str,
        dtype: DType,
        layout: &Layout,
        written: bool,
    ) -> PyResult<()> {
        let device = self.place_of(view);
        if view.dtype != dtype || !view.layout.is_equivalent(layout) || view.device != device {
            let wanted =
                TensorView { ptr: 0, dtype, layout: layout.clone(), device, readonly: false };
            return Err(PyValueError::new_err(format!(
                "the plan was made for an {side} of {}, and this one is of {}; copy it to that, or make another plan",
                wanted.describe(),
                view.describe()
            )));
        }
        if written && view.readonly {
            return Err(PyValueError::new_err(format!("the {side} is read-only")));
        }
        Ok(())
    }

    /// Input and output are the same memory exactly if the plan works in place.
    fn check_sharing(&self, source: usize, result: usize) -> PyResult<()> {
        let problem = self.plan.problem();
        if (source == result) == problem.inplace || problem.input.is_empty() {
            return Ok(());
        }
        Err(PyValueError::new_err(if problem.inplace {
            "this plan works in place: input and output have to be the same memory"
        } else {
            "this plan works out of place: input and output must not be the same memory"
        }))
    }

    /// Device memory for one execution: address and owner.
    fn workspace<'py>(
        &self,
        source: Option<&Bound<'py, PyAny>>,
        operand: &Bound<'py, PyAny>,
        stream: Option<(&Bound<'py, PyAny>, usize)>,
        handle: usize,
        captured: bool,
    ) -> PyResult<(usize, Option<Bound<'py, PyAny>>)> {
        let size = self.plan.workspace_size();
        let (Some(source), Some(device), true) = (source, self.plan.execution().device(), size > 0)
        else {
            return Ok((0, None));
        };
        let block = match stream {
            Some((stream, _)) => source.call1((operand, size, device, stream, captured)),
            None => source.call1((operand, size, device, handle, captured)),
        };
        let (address, owner) = block?.extract()?;
        Ok((address, Some(owner)))
    }
}

/// Raises InvalidStateError if a stream is captured into a graph, which what is about to be done would break.
fn refuse_capture(
    py: Python<'_>,
    stream: usize,
    device: i32,
    what: &str,
    cure: &str,
) -> PyResult<()> {
    // SAFETY: the handle is the library's own, or the user vouches for it.
    match unsafe { is_capturing(stream, device) } {
        Ok(true) => Err(captured_error(what, cure)).or_raise(py),
        // Without a device nothing is captured, and other reasons may come first.
        Ok(false) | Err(Error::NoDevice(_)) => Ok(()),
        Err(error) => Err(error).or_raise(py),
    }
}

fn captured_error(what: &str, cure: &str) -> Error {
    Error::InvalidState(format!(
        "the stream is being captured into a graph: {what}, which cannot be captured; {cure}"
    ))
}

fn parse_direction(direction: i32) -> PyResult<Direction> {
    match direction {
        -1 => Ok(Direction::Forward),
        1 => Ok(Direction::Inverse),
        other => Err(PyValueError::new_err(format!(
            "direction is {other}; -1 (forward) and 1 (inverse) are allowed"
        ))),
    }
}

pub(super) const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::C2C => "C2C",
        Kind::R2C => "R2C",
        Kind::C2R => "C2R",
    }
}

pub(super) fn parse_kind(kind: &str) -> PyResult<Kind> {
    Ok([Kind::C2C, Kind::R2C, Kind::C2R][choice("kind", kind, ["C2C", "R2C", "C2R"])?])
}

fn parse_execution(
    execution: Option<&str>,
    operand: Device,
    device_id: Option<i32>,
    num_threads: Option<usize>,
) -> PyResult<Execution> {
    let on_cuda = match execution {
        Some(name) => choice("execution", name, ["cpu", "cuda"])? == 1,
        None => operand != Device::Host,
    };
    if on_cuda {
        let device = match (operand, device_id) {
            (Device::Cuda(operand), Some(asked)) if operand != asked => {
                return Err(PyValueError::new_err(format!(
                    "the operand is on device {operand} and device_id is {asked}; copy it there, or leave device_id out"
                )));
            }
            (Device::Cuda(operand), _) => operand,
            (Device::Host, asked) => asked.unwrap_or(0),
        };
        return Ok(Execution::Cuda { device });
    }
    let threads = match num_threads {
        None => usable_cores(),
        Some(count) => NonZeroUsize::new(count).ok_or_else(|| {
            PyValueError::new_err("num_threads is 0; at least one thread is needed, None means one for each usable core")
        })?,
    };
    Ok(Execution::Cpu { threads })
}

/// Cores that this process may use, asked once: the answer costs a read of the control group's files.
pub(crate) fn usable_cores() -> NonZeroUsize {
    static CORES: OnceLock<NonZeroUsize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Position of `value` among `allowed`.
pub(super) fn choice<const N: usize>(
    name: &str,
    value: &str,
    allowed: [&str; N],
) -> PyResult<usize> {
    allowed.iter().position(|&candidate| candidate == value).ok_or_else(|| {
        PyValueError::new_err(format!("{name} is {value:?}; allowed are {}", allowed.join(", ")))
    })
}

/// Statistics of the calling thread's plan cache.
#[pyclass(frozen, get_all, module = "gpumath.bindings.core")]
pub(crate) struct PlanCacheInfo {
    /// Look-ups that found a plan.
    hits: u64,
    /// Look-ups that had to make one.
    misses: u64,
    /// Plans kept now, for all devices.
    size: usize,
    /// Plans kept at most for each device; the CPU counts as one.
    limit: usize,
}

#[pymethods]
impl PlanCacheInfo {
    fn __repr__(&self) -> String {
        let Self { hits, misses, size, limit } = self;
        format!("PlanCacheInfo(hits={hits}, misses={misses}, size={size}, limit={limit})")
    }
}

/// Give the statistics of the calling thread's plan cache.
///
/// Returns
/// -------
/// PlanCacheInfo
///     Look-ups that found a plan and that did not, plans kept, and the limit.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> core.plan_cache_clear()
/// >>> plan = core.FftPlan(np.zeros(100))
/// >>> same = core.FftPlan(np.ones(100))
/// >>> core.plan_cache_info()
/// PlanCacheInfo(hits=1, misses=1, size=1, limit=16)
#[pyfunction]
pub(crate) fn plan_cache_info() -> PlanCacheInfo {
    let cache::Info { hits, misses, size, limit } = cache::info();
    PlanCacheInfo { hits, misses, size, limit }
}

/// Drop the calling thread's cached plans and set its counts to zero.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> core.plan_cache_clear()
/// >>> core.plan_cache_info().size
/// 0
#[pyfunction]
pub(crate) fn plan_cache_clear(py: Python<'_>) {
    py.detach(cache::clear);
}

/// Set how many plans each thread keeps for each device; 0 switches the cache off.
///
/// Parameters
/// ----------
/// limit : int
///     Number of plans; the CPU counts as one device. The calling thread drops what is over it at once, the others when
///     they next plan.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> limit = core.plan_cache_info().limit
/// >>> core.set_plan_cache_limit(100)
/// >>> core.set_plan_cache_limit(limit)
#[pyfunction]
pub(crate) fn set_plan_cache_limit(py: Python<'_>, limit: usize) {
    py.detach(|| cache::set_limit(limit));
}
