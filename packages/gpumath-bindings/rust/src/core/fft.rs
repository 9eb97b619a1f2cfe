//! `FftPlan` and its cache.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use gpumath_core::cache;
use gpumath_core::fft::{Direction, Execution, FftPlan as Plan, Kind, Request};
use gpumath_core::tensor::{DType, Device, Dims, Layout, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};

use crate::core::callback;
use crate::error::OrRaise;
use crate::interop::{self, Operand};

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
/// prolog, epilog : object, optional
///     Device functions that give the operand's elements and store the result's; CUDA only. An object has ``ltoir``,
///     the code as bytes or its address, ``size``, its length, and ``data``, the device address that the function gets
///     with each call, or None.
///
/// Raises
/// ------
/// ValueError, TypeError
///     The operand, an axis or an option is not allowed; the message says what is.
/// UnsupportedLayoutError
///     cuFFT covers the operand's strides with no plan, or with none that gives a callback the elements' offsets; the
///     exception says which copy helps.
/// FunctionNotFoundError
///     A callback needs a newer cuFFT.
/// NoDeviceError
///     There is no such CUDA device.
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
#[pyclass(frozen, module = "gpumath.bindings.core")]
pub(crate) struct FftPlan {
    plan: Arc<Plan>,
}

#[pymethods]
impl FftPlan {
    #[new]
    #[pyo3(signature = (
        operand, *, axes=None, kind=None, execution=None, device_id=None, num_threads=None, inplace=false,
        last_axis_parity="even", result_layout="optimized", cached=true, prolog=None, epilog=None
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
        prolog: Option<&Bound<'_, PyAny>>,
        epilog: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let view = interop::view(operand, None)?;
        let request = Request {
            kind: kind.map(parse_kind).transpose()?,
            axes: axes.map(Dims::from_vec),
            inplace,
            odd: choice("last_axis_parity", last_axis_parity, ["even", "odd"])? == 1,
            natural: choice("result_layout", result_layout, ["optimized", "natural"])? == 1,
        };
        let execution = parse_execution(execution, view.device, device_id, num_threads)?;
        let mut problem = request.problem(&view).or_raise(py)?;
        problem.callbacks = callback::callbacks(prolog, epilog)?;
        let plan = py.detach(|| {
            if cached {
                Plan::cached(problem, execution)
            } else {
                Plan::new(problem, execution).map(Arc::new)
            }
        });
        Ok(Self { plan: plan.or_raise(py)? })
    }

    /// "C2C", "R2C" or "C2R".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.plan.problem().kind {
            Kind::C2C => "C2C",
            Kind::R2C => "R2C",
            Kind::C2R => "C2R",
        }
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

    /// Ordinal of the CUDA device; None on the CPU.
    #[getter]
    fn device_id(&self) -> Option<i32> {
        self.plan.execution().device()
    }

    /// Number of CPU threads; None on CUDA.
    #[getter]
    fn num_threads(&self) -> Option<usize> {
        match self.plan.execution() {
            Execution::Cpu { threads } => Some(threads.get()),
            Execution::Cuda { .. } => None,
        }
    }

    /// Whether the result overwrites the operand.
    #[getter]
    fn inplace(&self) -> bool {
        self.plan.problem().inplace
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

    /// Bytes of device memory that `execute` needs; 0 on the CPU.
    #[getter]
    fn workspace_size(&self) -> usize {
        self.plan.workspace_size()
    }

    /// How many calls of the engine one execution makes.
    #[getter]
    fn library_calls(&self) -> usize {
        self.plan.library_calls()
    }

    /// Whether the plan fits `operand`: same shape, strides, element type and, for real ones, alignment.
    fn accepts(&self, operand: &Bound<'_, PyAny>) -> PyResult<bool> {
        let problem = self.plan.problem();
        let view = interop::view(operand, None)?;
        Ok(view.dtype == problem.input_dtype()
            && view.layout.is_equivalent(&problem.input)
            && problem.is_unaligned(view.ptr) == problem.unaligned)
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
        if (source == result) != problem.inplace && !problem.input.is_empty() {
            return Err(PyValueError::new_err(if problem.inplace {
                "this plan works in place: input and output have to be the same memory"
            } else {
                "this plan works out of place: input and output must not be the same memory"
            }));
        }
        let direction = match direction {
            -1 => Direction::Forward,
            1 => Direction::Inverse,
            other => {
                return Err(PyValueError::new_err(format!(
                    "direction is {other}; -1 (forward) and 1 (inverse) are allowed"
                )));
            }
        };
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
        let device = self.plan.execution().device().map_or(Device::Host, Device::Cuda);
        if view.dtype != dtype || !view.layout.is_equivalent(layout) || view.device != device {
            let wanted =
                TensorView { ptr: 0, dtype, layout: layout.clone(), device, readonly: false };
            return Err(PyValueError::new_err(format!(
                "the plan was made for an {side} of {}, and this one is {}",
                wanted.describe(),
                view.describe()
            )));
        }
        if written && view.readonly {
            return Err(PyValueError::new_err(format!("the {side} is read-only")));
        }
        Ok((view.ptr, view.owner.is_some().then_some(view)))
    }
}

fn parse_kind(kind: &str) -> PyResult<Kind> {
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
fn usable_cores() -> NonZeroUsize {
    static CORES: OnceLock<NonZeroUsize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Position of `value` among `allowed`.
fn choice<const N: usize>(name: &str, value: &str, allowed: [&str; N]) -> PyResult<usize> {
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
