//! The class `FftPlan`.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gpumath_core::fft::{Direction, Fft, FftArguments, FftPlan, FftRequest};
use gpumath_core::operation::{Execution, Operation};
use gpumath_core::tensor::MemoryLocation;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::arguments::{
    kind_name, parse_direction, parse_kind, parse_norm, parse_parity, parse_result_layout,
};
use super::callback;
use super::execute::execute;
use super::problem::{PyFftPass, PyFftProblem, copies_of, on_one_gpu, passes_of};
use super::transform::TransformCall;
use crate::api::operation::arguments::{ExecutionArguments, axes as parse_axes, thread_limit};
use crate::api::operation::{Operands, Planning, PyWorkspace, UserStream, find_or_plan};
use crate::error::OrRaise;
use crate::integers::Integers;
use crate::interop;

/// A Fourier transform of one shape, layout and element type, ready to run. It holds no workspace.
///
/// Parameters
/// ----------
/// operand : array
///     Any operand of `TensorView`. Its shape, strides, element type and device matter, but its
///     values do not. It is not kept.
/// axes : sequence of int, optional
///     Transform axes, each once; negative ones count from the end. By default all. For R2C and C2R
///     the last of them is the one with ``n // 2 + 1`` complex numbers.
/// kind : {'C2C', 'R2C', 'C2R'}, optional
///     By default R2C for real operands and C2C for complex ones.
/// execution : {'cpu', 'cuda'}, optional
///     By default where the operand is.
/// device_id : int, optional
///     CUDA device for an operand in host memory, 0 by default. An operand on another device is
///     refused.
/// device_ids : sequence of int, optional
///     Two or more distinct CUDA devices that work together, instead of `device_id`. The operand is
///     in host memory or on one of them. Only `run` executes such a plan, and it returns when the
///     result is there.
/// num_threads : int, optional
///     Limit on the CPU threads of one transform; by default one for each core that the process may
///     use. Results for different limits may differ in their last bits.
/// inplace : bool, default: False
///     Overwrite the operand; C2C only.
/// last_axis_parity : {'even', 'odd'}, default: 'even'
///     Whether a C2R result has ``2 * (n - 1)`` points along its last axis, or one more.
/// result_layout : {'optimized', 'natural'}, default: 'optimized'
///     Memory order of a new result: the one that takes the least time, or the operand's. Where
///     transforms are interleaved in the operand, the transform axes become the fastest ones.
/// cached : bool, default: True
///     Take the plan from the plan cache, or put it there.
/// out : array, optional
///     Array for the result, on the operand's device and in any layout without overlaps. Its
///     strides become the result's. The operand itself makes the plan work in place.
/// stream : int or stream object, optional
///     Stream that the plan will first run on, by default the current stream of the operand's
///     library. A plan cannot be made while this stream is being captured into a graph.
/// prolog, epilog : object, optional
///     Device functions that load the operand's elements and store the result's; CUDA only. An
///     object has ``ltoir``, the code as bytes or its address, ``size``, its length, and ``data``,
///     the device address that the function gets with each call, or None.
///
/// Raises
/// ------
/// InvalidStateError
///     The plan has to be made, and the stream is being captured.
/// ValueError, TypeError
///     The operand, an axis or an option is not allowed; the message says what is.
/// UnsupportedLayoutError
///     No plans of cuFFT cover the operand's strides, or none that tell a callback the offsets of
///     the elements. The exception says which copy helps.
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
#[pyclass(frozen, eq, hash, name = "FftPlan", module = "gpumath.bindings.core")]
pub(crate) struct PyFftPlan {
    pub(super) plan: Arc<FftPlan>,
}

#[pymethods]
impl PyFftPlan {
    #[new]
    #[pyo3(signature = (
        operand, axes=None, kind=None, *, execution=None, device_id=None, num_threads=None,
        inplace=false, last_axis_parity="even", result_layout="optimized", cached=true, out=None,
        stream=None, prolog=None, epilog=None, device_ids=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one Python constructor")]
    fn new(
        py: Python<'_>,
        operand: &Bound<'_, PyAny>,
        axes: Option<&Bound<'_, PyAny>>,
        kind: Option<&str>,
        execution: Option<&str>,
        device_id: Option<i32>,
        #[pyo3(from_py_with = thread_limit)] num_threads: Option<NonZeroUsize>,
        inplace: bool,
        last_axis_parity: &str,
        result_layout: &str,
        cached: bool,
        out: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        prolog: Option<&Bound<'_, PyAny>>,
        epilog: Option<&Bound<'_, PyAny>>,
        device_ids: Option<Integers<i32>>,
    ) -> PyResult<Self> {
        let (view, library) = interop::view_without_gradient("the operand", operand, None)?;
        let output = out.map(|out| interop::out_view(operand, out, None)).transpose()?;
        let request = FftRequest {
            kind: parse_kind(kind)?,
            axes: parse_axes(axes)?,
            inplace,
            may_overwrite: false,
            odd_output_length: parse_parity(last_axis_parity)?,
            result_layout: parse_result_layout(result_layout)?,
            output: output.map(|out| out.view),
            callbacks: callback::callbacks(prolog, epilog)?,
        };
        let chosen = ExecutionArguments { execution, device_id, device_ids, num_threads };
        let stream = stream.map(UserStream::of).transpose()?;
        let planning = Planning::<Fft> {
            request: &request,
            inputs: &[&view],
            execution: chosen.resolve(py, view.device)?,
            library,
            stream: stream.as_ref(),
        };
        let plan = if cached { find_or_plan(py, &planning) } else { planning.uncached(py) };
        Ok(Self { plan: plan? })
    }

    /// Plan, or take the plan from the cache, and run it.
    ///
    /// It is like ``FftPlan(operand, axes, kind, out=out, ...).run(operand, out, direction,
    /// norm=norm)`` with the other arguments of `FftPlan`, but takes less time. ``may_overwrite``
    /// saves a copy where C2R runs on a GPU, and the values of the operand may be lost.
    ///
    /// Returns
    /// -------
    /// array or None
    ///     The result; None, before anything has happened, for arguments that `FftPlan` or `run`
    ///     would refuse.
    #[staticmethod]
    #[pyo3(
        signature = (
            operand, axes=None, kind=None, out=None, direction=-1, norm=None, execution=None, *,
            device_id=None, num_threads=None, inplace=false, last_axis_parity="even",
            result_layout="optimized", may_overwrite=false
        ),
        text_signature = "(operand, axes=None, kind=None, out=None, direction=-1, norm=None, \
                          execution=None, *, device_id=None, num_threads=None, inplace=False, \
                          last_axis_parity=\"even\", result_layout=\"optimized\", \
                          may_overwrite=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python function")]
    fn transform<'py>(
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        axes: Option<&Bound<'py, PyAny>>,
        kind: Option<&str>,
        out: Option<&Bound<'py, PyAny>>,
        direction: i32,
        norm: Option<&Bound<'py, PyAny>>,
        execution: Option<&str>,
        device_id: Option<i32>,
        num_threads: Option<&Bound<'py, PyAny>>,
        inplace: bool,
        last_axis_parity: &str,
        result_layout: &str,
        may_overwrite: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Ok(num_threads) = num_threads.map_or(Ok(None), thread_limit) else { return Ok(None) };
        let chosen = ExecutionArguments { execution, device_id, num_threads, device_ids: None };
        TransformCall {
            operand,
            axes,
            kind,
            out,
            direction,
            norm,
            chosen,
            inplace,
            may_overwrite,
            last_axis_parity,
            result_layout,
        }
        .run(py)
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

    /// Engine that computes: "cufft", "embedded", "mkl", "nvpl" or "fftw"; "none" for an empty
    /// batch.
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
        let Execution::Cpu { threads } = self.plan.execution() else { return None };
        Some(threads.get())
    }

    /// Whether the result overwrites the operand.
    #[getter]
    fn inplace(&self) -> bool {
        self.plan.problem().inplace
    }

    /// The problem that the plan solves, without the engine.
    #[getter]
    fn problem(&self) -> PyFftProblem {
        PyFftProblem::of(self.plan.problem(), self.plan.execution().device().is_some())
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

    /// Bytes of device memory that `execute` needs; 0 on the CPU. On several devices, the bytes
    /// that `run` allocates by itself on the device where it needs most.
    #[getter]
    fn workspace_size(&self) -> usize {
        self.plan.workspace_size()
    }

    /// Number of calls of the engine in one execution.
    #[getter]
    fn library_calls(&self) -> usize {
        self.plan.library_calls()
    }

    /// List the cuFFT plans that one execution on a GPU runs, in their order.
    ///
    /// Returns
    /// -------
    /// list of FftPass
    ///     Empty on the CPU, for several GPUs, and for an empty batch.
    fn passes(&self, py: Python<'_>) -> PyResult<Vec<PyFftPass>> {
        let device = self.plan.execution().device();
        on_one_gpu(&self.plan).map_or(Ok(Vec::new()), |problem| passes_of(py, problem, device))
    }

    /// Number of copies to another layout that one execution on a GPU makes; 0 elsewhere.
    #[getter]
    fn copies(&self, py: Python<'_>) -> PyResult<usize> {
        let device = self.plan.execution().device();
        on_one_gpu(&self.plan).map_or(Ok(0), |problem| copies_of(py, problem, device))
    }

    /// Say whether the plan fits an operand on a device, or in host memory if `device_id` is None.
    ///
    /// The operand must have the plan's shape, strides and element type, and, if it is real, its
    /// alignment.
    #[pyo3(signature = (operand, device_id))]
    fn accepts(&self, operand: &Bound<'_, PyAny>, device_id: Option<i32>) -> PyResult<bool> {
        let (view, _) = interop::view_without_gradient("the operand", operand, None)?;
        let location = device_id.map_or(MemoryLocation::Host, MemoryLocation::Device);
        Ok(view.device == location && self.plan.accepts(&[&view]))
    }

    /// Say whether `run` accepts this operand and, unless it is None, `out`.
    #[pyo3(signature = (operand, out=None))]
    fn fits(&self, operand: &Bound<'_, PyAny>, out: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let direction = self.plan.problem().kind.only_direction().unwrap_or(Direction::Forward);
        let arguments = FftArguments { direction, factor: None };
        let mut operands = Operands::read(&[("the operand", operand)], out, Some(0))?;
        Ok(operands.invocation(&self.plan, arguments).check().is_ok())
    }

    /// Transform `input` to `output`.
    ///
    /// It never allocates device memory and, on CUDA, never waits for the device.
    ///
    /// Parameters
    /// ----------
    /// input, output : array or int
    ///     Operands of exactly the plan's layouts, element types and device, or their addresses,
    ///     which are not checked. For a plan in place both are the same.
    /// direction : {-1, 1}, default: -1
    ///     Sign of the exponent: forward or inverse. R2C is always -1, C2R always 1.
    /// stream : int or stream object, optional
    ///     CUDA stream of the plan's device to enqueue the work on; by default the default stream.
    /// workspace : int, default: 0
    ///     Address of `workspace_size` bytes of device memory, aligned to 256 bytes, that nothing
    ///     else uses until the work is done.
    /// norm : {'backward', 'ortho', 'forward'}, optional
    ///     Divide the result of an inverse transform (backward) or of a forward one (forward) by
    ///     the number of points of the transform, or either by its square root (ortho). By default
    ///     nothing is scaled.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An operand does not fit the plan, or the workspace is missing.
    /// cuFFTError
    ///     cuFFT refused.
    // Without `text_signature`, PyO3 writes the default -1 as "...".
    #[pyo3(
        signature = (input, output, *, direction=-1, stream=None, workspace=0, norm=None),
        text_signature = "($self, input, output, *, direction=-1, stream=None, workspace=0, \
                          norm=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python method")]
    fn execute(
        &self,
        py: Python<'_>,
        input: &Bound<'_, PyAny>,
        output: &Bound<'_, PyAny>,
        direction: i32,
        stream: Option<&Bound<'_, PyAny>>,
        workspace: usize,
        norm: Option<&str>,
    ) -> PyResult<()> {
        let direction = parse_direction(direction)?;
        let factor = self.plan.problem().factor(parse_norm(norm)?, direction);
        let arguments = FftArguments { direction, factor };
        execute(py, &self.plan, input, output, arguments, stream, workspace)
    }

    /// Transform an operand, and return the result.
    ///
    /// An operand in host memory is copied to the plan's device. Then the call waits until the
    /// result has been copied to host memory.
    ///
    /// Parameters
    /// ----------
    /// operand : array
    ///     Of the plan's input layout and element type, on its device or in host memory.
    /// out : array, optional
    ///     Array for the result, of the plan's output layout; by default a new array of the
    ///     operand's library, or the operand if the plan works in place.
    /// direction : {-1, 1}, default: -1
    ///     Sign of the exponent: forward or inverse. R2C is always -1, C2R always 1.
    /// stream : int or stream object, optional
    ///     CUDA stream to enqueue the work on. By default the current stream of the operand's
    ///     library, or the default stream if the library has none. CuPy and PyTorch allocate new
    ///     results on their own current streams: make a stream that is given theirs.
    /// workspace : Workspace, optional
    ///     Keeps the device memory that the plan works in. By default the memory is taken from the
    ///     pool of the operand's library for this call.
    /// blocking : bool, default: False
    ///     Wait for the result.
    /// norm : {'backward', 'ortho', 'forward'}, optional
    ///     As for `execute`.
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
    ///     The stream is being captured into a graph, but `blocking` is True or the operand is in
    ///     host memory.
    /// cuFFTError
    ///     cuFFT refused.
    #[pyo3(
        signature = (
            operand, out=None, direction=-1, stream=None, workspace=None, blocking=false, norm=None
        ),
        text_signature = "($self, operand, out=None, direction=-1, stream=None, workspace=None, \
                          blocking=False, norm=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python method")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        operand: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        direction: i32,
        stream: Option<&Bound<'py, PyAny>>,
        workspace: Option<&Bound<'py, PyWorkspace>>,
        blocking: bool,
        norm: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let direction = parse_direction(direction)?;
        let factor = self.plan.problem().factor(parse_norm(norm)?, direction);
        let arguments = FftArguments { direction, factor };
        Fft::check_arguments(self.plan.problem(), arguments).or_raise(py)?;
        let stream = stream.map(UserStream::of).transpose()?;
        let handle = stream.as_ref().map_or(0, |stream| stream.handle);
        let mut operands = Operands::read(&[("the operand", operand)], out, Some(handle))?;
        let workspace = workspace.map(Bound::get);
        operands.run(py, &self.plan, arguments, stream.as_ref(), workspace, blocking)
    }

    /// Make a new array for the plan's result, in the library of an operand.
    ///
    /// Parameters
    /// ----------
    /// operand : array
    ///     Operand of the library and on the device that the array is made for.
    /// stream : int or stream object, optional
    ///     Stream that the array will be used on, for libraries without a current stream.
    ///
    /// Returns
    /// -------
    /// array
    ///     An array whose elements are undefined.
    #[pyo3(signature = (operand, stream=None))]
    fn empty_result<'py>(
        &self,
        operand: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let problem = self.plan.problem();
        let (view, library) = interop::view("the operand", operand, None)?;
        let (layout, dtype) = (&problem.output, problem.output_dtype());
        Ok(library.empty(operand, &view, layout, dtype, stream)?.array)
    }

    fn __repr__(&self) -> String {
        self.describe()
    }
}
