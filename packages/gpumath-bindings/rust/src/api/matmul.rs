//! Products of two matrices, for Python.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gpumath_core::matmul::{Matmul, MatmulArguments, MatmulPlan, MatmulRequest};
use gpumath_core::operation::Problem;
use gpumath_core::tensor::MemoryLocation;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::operation::arguments::{ExecutionArguments, thread_limit};
use super::operation::{Operands, PyWorkspace, UserStream};
use crate::integers::Integers;

/// The product of two matrices of some shapes, layouts and element type, ready to run. It holds no
/// workspace.
///
/// Parameters
/// ----------
/// a, b : array
///     What `TensorView` takes: two matrices of one library and one memory, with elements of type
///     float32 or float64. They say shapes, strides, element type and device; their values do not
///     matter, and they are not kept.
/// execution : {'cpu', 'cuda'}, optional
///     By default where the operands are.
/// device_id : int, optional
///     CUDA device for operands in host memory, 0 by default. Operands on a device are multiplied
///     there.
/// device_ids : sequence of int, optional
///     Refused: a product is computed on one device.
/// num_threads : int, optional
///     Limit on the CPU threads that compute a product at once; by default one for each core that
///     the process may use. Results for different limits may differ in their last bits.
/// out : array, optional
///     What the result will be written to, on the operands' device and in any layout without
///     overlaps.
/// stream : int or stream object, optional
///     Stream that the plan will first run on, by default the current stream of the operands'
///     library. A plan cannot be made while it is captured into a graph.
///
/// Raises
/// ------
/// InvalidStateError
///     The plan has to be made, and the stream is being captured.
/// ValueError, TypeError
///     An operand or an option is not allowed; the message says what is.
/// UnsupportedLayoutError
///     cuBLASLt does not cover the strides of an operand.
/// NoDeviceError
///     There is no such CUDA device.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
/// >>> core.MatmulPlan(a, a).run(a, a)
/// array([[ 7., 10.],
///        [15., 22.]])
#[pyclass(frozen, name = "MatmulPlan", module = "gpumath.bindings.core")]
pub(crate) struct PyMatmulPlan {
    plan: Arc<MatmulPlan>,
}

#[pymethods]
impl PyMatmulPlan {
    #[new]
    #[pyo3(signature = (
        a, b, *, execution=None, device_id=None, device_ids=None, num_threads=None, out=None,
        stream=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one Python constructor")]
    fn new<'py>(
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        execution: Option<&str>,
        device_id: Option<i32>,
        device_ids: Option<Integers<i32>>,
        #[pyo3(from_py_with = thread_limit)] num_threads: Option<NonZeroUsize>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let operands = Operands::read(&[("a", a), ("b", b)], out, None)?;
        let device_id = device_id.filter(|_| operands.location() == MemoryLocation::Host);
        let chosen = ExecutionArguments { execution, device_id, device_ids, num_threads };
        let output = operands.out().cloned();
        let request = MatmulRequest { output, ..MatmulRequest::default() };
        let stream = stream.map(UserStream::of).transpose()?;
        let plan = operands.plan::<Matmul>(py, &request, &chosen, stream.as_ref())?;
        Ok(Self { plan })
    }

    /// Ordinal of the CUDA device; None on the CPU.
    #[getter]
    fn device_id(&self) -> Option<i32> {
        self.plan.execution().device()
    }

    /// None: a product is computed on one device.
    #[getter]
    fn device_ids<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let devices = self.plan.execution().devices();
        devices.map(|devices| PyTuple::new(py, devices.ordinals())).transpose()
    }

    /// What computes: "cublaslt" or "embedded"; "none" for an empty result.
    #[getter]
    fn engine(&self) -> &'static str {
        self.plan.engine_name()
    }

    /// Bytes of device memory that `run` works in.
    #[getter]
    fn workspace_size(&self) -> usize {
        self.plan.workspace_size()
    }

    /// Multiply `a` and `b`.
    ///
    /// Parameters
    /// ----------
    /// a, b : array
    ///     Operands of exactly the plan's layouts, element type and device.
    /// out : array, optional
    ///     Array of the operands' library for the result, in exactly the plan's layout; by default
    ///     a new one.
    /// stream : int or stream object, optional
    ///     CUDA stream that the work goes to. By default the current stream of the operands'
    ///     library, and the default stream where it has none.
    /// workspace : Workspace, optional
    ///     Keeps the device memory that the plan works in. By default the pool of the operands'
    ///     library lends it.
    /// blocking : bool, default: False
    ///     Wait for the result.
    ///
    /// Returns
    /// -------
    /// array
    ///     `out`, or the new array.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An array does not fit the plan.
    /// InvalidStateError
    ///     The stream is captured into a graph, and `blocking` is asked for or the operands are in
    ///     host memory.
    /// cuBLASLtError
    ///     cuBLASLt refused.
    #[pyo3(
        signature = (a, b, out=None, stream=None, workspace=None, blocking=false),
        text_signature = "($self, a, b, out=None, stream=None, workspace=None, blocking=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python method")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        workspace: Option<&Bound<'py, PyWorkspace>>,
        blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream.map(UserStream::of).transpose()?;
        let handle = stream.as_ref().map_or(0, |stream| stream.handle);
        let mut operands = Operands::read(&[("a", a), ("b", b)], out, Some(handle))?;
        let workspace = workspace.map(Bound::get);
        let arguments = MatmulArguments::default();
        operands.run(py, &self.plan, arguments, stream.as_ref(), workspace, blocking)
    }

    fn __repr__(&self) -> String {
        let problem = self.plan.problem();
        let shapes: Vec<_> = problem.inputs().map(|spec| spec.layout.shape.to_vec()).collect();
        let dtype = problem.output(0).map_or("", |spec| spec.dtype.name());
        format!("MatmulPlan(dtype={dtype:?}, shapes={shapes:?}, engine={:?})", self.engine())
    }
}
