//! The class `MatmulPlan`.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gpumath_core::matmul::{
    AlgorithmSearch, ChosenTypes, Matmul, MatmulPlan, MatmulProblem, MatmulRequest,
};
use gpumath_core::operation::{Operation, Problem};
use gpumath_core::tensor::DType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use super::arguments::{compute_type, dtype, epilog, further_inputs, named, scalars};
use super::multiply::MultiplyCall;
use super::results::{keys, to_python};
use crate::api::operation::arguments::{ExecutionArguments, thread_limit};
use crate::api::operation::{Invocation, Operands, PyWorkspace, UserStream};
use crate::error::OrRaise;
use crate::integers::Integers;

/// A product ``alpha * a @ b + beta * c`` of operands of some shapes, layouts and element types,
/// ready to run. It holds no workspace.
///
/// Parameters
/// ----------
/// a, b : array
///     What `TensorView` takes: vectors, matrices or batches of matrices of one library and in one
///     memory. They say shapes, strides, element types and device; their values do not matter, and
///     they are not kept.
/// c : array, optional
///     What is added: with two dimensions or more, each as for the product or 1.
/// inputs : dict, optional
///     Further operands by name: ``bias``, ``relu_aux`` and ``gelu_aux`` as the epilog needs them,
///     and the scales ``a_scale``, ``b_scale``, ``c_scale``, ``d_scale`` and
///     ``aux_quantization_scale``, each one float32 number; with `block_scaling`, `a_scale` and
///     `b_scale` are vectors with a scale for each block.
/// execution : {'cpu', 'cuda'}, optional
///     By default where the operands are.
/// device_id : int, optional
///     CUDA device for operands in host memory, 0 by default. Operands on another device are
///     refused.
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
/// conjugate : tuple of bool, default: (False, False)
///     Whether to conjugate the elements of `a`, and those of `b`.
/// epilog : int, optional
///     ``cublasLt.Epilogue``: what is done with the sum before it is stored.
/// inplace : bool, default: False
///     Write the result to `c`.
/// compute_type : int, optional
///     ``cublas.ComputeType``; by default by the element types.
/// scale_type, result_type, aux_type : str, optional
///     Element types of `alpha` and `beta`, of the result, and of what an epilog with GELU writes
///     besides.
/// result_amax, aux_amax : bool, default: False
///     Find the largest magnitude in the result, or in what the epilog writes besides.
/// block_scaling : bool, default: False
///     Blocks of the operands have scales, as in MXFP8 and NVFP4, and not operands as a whole.
/// emulation_strategy : int, optional
///     ``cublas.EmulationStrategy``: when cuBLASLt emulates, for the compute types that it may
///     emulate. By default the library chooses.
/// mantissa_bit_count : bool, default: False
///     Return how many bits of the mantissa the emulation of float64 retained, -1 for none.
/// sm_count_target, fast_accumulation, limit, reduction_scheme_mask, max_waves_count,
/// numerical_impl_mask, max_workspace
///     What cuBLASLt chooses its algorithms by.
/// algorithm : bytes, optional
///     The one algorithm to use: a ``cublasLtMatmulAlgo_t``, from `algorithms`.
/// handle : int, default: 0
///     A ``cublasLtHandle_t`` to use instead of gpumath's own.
///
/// Raises
/// ------
/// InvalidStateError
///     The plan has to be made, and the stream is being captured.
/// ValueError, TypeError
///     An operand or an option is not allowed; the message says what is.
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
    pub(super) plan: Arc<MatmulPlan>,
}

impl PyMatmulPlan {
    fn problem(&self) -> &MatmulProblem {
        self.plan.problem()
    }
}

#[pymethods]
impl PyMatmulPlan {
    #[new]
    #[pyo3(signature = (
        a, b, c=None, *, inputs=None, execution=None, device_id=None, device_ids=None,
        num_threads=None, out=None, stream=None, conjugate=(false, false), epilog=None,
        inplace=false, compute_type=None, scale_type=None, result_type=None, aux_type=None,
        result_amax=false, aux_amax=false, block_scaling=false, emulation_strategy=None,
        mantissa_bit_count=false, sm_count_target=0, fast_accumulation=false, limit=1,
        reduction_scheme_mask=None, max_waves_count=0.0, numerical_impl_mask=None,
        max_workspace=None, algorithm=None, handle=0
    ), text_signature = "(a, b, c=None, *, inputs=None, execution=None, device_id=None, \
        device_ids=None, num_threads=None, out=None, stream=None, conjugate=(False, False), \
        epilog=None, inplace=False, compute_type=None, scale_type=None, result_type=None, \
        aux_type=None, result_amax=False, aux_amax=False, block_scaling=False, \
        emulation_strategy=None, mantissa_bit_count=False, sm_count_target=0, \
        fast_accumulation=False, limit=1, reduction_scheme_mask=None, max_waves_count=0.0, \
        numerical_impl_mask=None, max_workspace=None, algorithm=None, handle=0)")]
    #[expect(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "the keywords of one Python constructor"
    )]
    fn new<'py>(
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        c: Option<&Bound<'py, PyAny>>,
        inputs: Option<&Bound<'py, PyDict>>,
        execution: Option<&str>,
        device_id: Option<i32>,
        device_ids: Option<Integers<i32>>,
        #[pyo3(from_py_with = thread_limit)] num_threads: Option<NonZeroUsize>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        conjugate: (bool, bool),
        epilog: Option<i32>,
        inplace: bool,
        compute_type: Option<i32>,
        scale_type: Option<&str>,
        result_type: Option<&str>,
        aux_type: Option<&str>,
        result_amax: bool,
        aux_amax: bool,
        block_scaling: bool,
        emulation_strategy: Option<i32>,
        mantissa_bit_count: bool,
        sm_count_target: i32,
        fast_accumulation: bool,
        limit: i32,
        reduction_scheme_mask: Option<u32>,
        max_waves_count: f32,
        numerical_impl_mask: Option<u64>,
        max_workspace: Option<u64>,
        algorithm: Option<&[u8]>,
        handle: usize,
    ) -> PyResult<Self> {
        let further = further_inputs(c, inputs)?;
        let operands = Operands::read(&named(a, b, &further), out, None)?;
        let chosen = ExecutionArguments { execution, device_id, device_ids, num_threads };
        let request = MatmulRequest {
            further: further.iter().map(|(role, _)| *role).collect(),
            conjugate: conjugate.into(),
            types: ChosenTypes {
                result: dtype("result_type", result_type)?,
                compute: self::compute_type(compute_type)?,
                scale: dtype("scale_type", scale_type)?,
                block_scaling,
                emulation_strategy,
                mantissa_bit_count,
            },
            epilog: self::epilog(epilog)?,
            aux_type: dtype("aux_type", aux_type)?,
            result_amax,
            aux_amax,
            inplace,
            search: AlgorithmSearch {
                sm_count_target,
                fast_accumulation,
                limit,
                reduction_schemes: reduction_scheme_mask,
                max_waves: max_waves_count.to_bits(),
                implementations: numerical_impl_mask,
                max_workspace,
                algorithm: algorithm.map(words).transpose()?,
                handle,
            },
            output: operands.out().cloned(),
        };
        let stream = stream.map(UserStream::of).transpose()?;
        let plan = operands.plan::<Matmul>(py, &request, &chosen, stream.as_ref())?;
        Ok(Self { plan })
    }

    /// Plan and run in one call, from the cache if the plan is there; None declines, before
    /// anything has happened.
    ///
    /// The function of the host library then takes the longer way, which says what is wrong.
    /// `takes_host_memory` says whether operands in host memory are for this way at all.
    #[staticmethod]
    #[pyo3(
        signature = (
            a, b, c=None, alpha=None, beta=None, out=None, epilog=None, inputs=None,
            execution=None, takes_host_memory=true
        ),
        text_signature = "(a, b, c=None, alpha=None, beta=None, out=None, epilog=None, \
            inputs=None, execution=None, takes_host_memory=True)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python function")]
    fn multiply<'py>(
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        c: Option<&Bound<'py, PyAny>>,
        alpha: Option<&Bound<'py, PyAny>>,
        beta: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        epilog: Option<i32>,
        inputs: Option<&Bound<'py, PyDict>>,
        execution: Option<&str>,
        takes_host_memory: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let call = MultiplyCall {
            a,
            b,
            c,
            alpha,
            beta,
            out,
            epilog,
            inputs,
            execution,
            takes_host_memory,
        };
        call.run(py)
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

    /// What computes: "cublaslt", "gpumath" for a kernel of its own, or a library on the CPU;
    /// "none" for an empty result.
    #[getter]
    fn engine(&self) -> &'static str {
        self.plan.engine_name()
    }

    /// Bytes of device memory that `run` works in.
    #[getter]
    fn workspace_size(&self) -> usize {
        self.plan.workspace_size()
    }

    /// How many calls of the library one run makes.
    #[getter]
    fn library_calls(&self) -> usize {
        self.plan.library_calls()
    }

    /// How many matrices one run copies to a layout that the library takes.
    #[getter]
    fn copies(&self) -> usize {
        gpumath_core::matmul::copies(&self.plan)
    }

    /// The algorithms that cuBLASLt found, the best one first: each a ``cublasLtMatmulAlgo_t``, its
    /// bytes of workspace, and its number of waves. A kernel of gpumath's own is among them where
    /// there is one; its bytes begin with its name. Empty on the CPU.
    #[getter]
    fn algorithms<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, usize, f32)> {
        let algorithms = gpumath_core::matmul::algorithms(&self.plan);
        algorithms
            .iter()
            .map(|found| (bytes_of(py, &found.algorithm), found.workspace_size, found.waves))
            .collect()
    }

    /// What else can be given as ``algorithm`` for this product: the first algorithm for each other
    /// way to compute it, with the entries of a batch apart that are one matrix otherwise, with a
    /// copy of a factor, or with the epilog as a step of its own. The last one may be the first of
    /// `algorithms`, too. Some may be refused. Empty on the CPU.
    #[getter]
    fn other_ways<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let codes = gpumath_core::matmul::codes_of_other_ways(&self.plan).or_raise(py)?;
        Ok(codes.iter().map(|code| bytes_of(py, code)).collect())
    }

    /// ``cublas.ComputeType`` that is computed in.
    #[getter]
    fn compute_type(&self) -> i32 {
        self.problem().types().compute.code()
    }

    /// Element types of a, b, c and the result, and of alpha and beta.
    #[getter]
    fn dtypes(&self) -> [&'static str; 5] {
        let types = self.problem().types();
        [types.a, types.b, types.c, types.result, types.scale].map(DType::name)
    }

    /// m, n and k: rows and columns of the result, and the extent that is summed over.
    #[getter]
    fn extents(&self) -> [i64; 3] {
        self.problem().extents()
    }

    /// Shape of the result.
    #[getter]
    fn result_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let layout = self.problem().output(0).map(|spec| spec.layout.shape.to_vec());
        PyTuple::new(py, layout.unwrap_or_default())
    }

    /// Strides of the result, in elements.
    #[getter]
    fn result_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let layout = self.problem().output(0).map(|spec| spec.layout.strides.to_vec());
        PyTuple::new(py, layout.unwrap_or_default())
    }

    /// The keys of the dictionary that a run returns beside the result; empty if there is none.
    #[getter]
    fn auxiliary_outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, keys(self.problem()))
    }

    /// Raise unless `run` takes these numbers.
    ///
    /// Parameters
    /// ----------
    /// alpha, beta : number or None
    ///     As for `run`.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     One is no number.
    /// ValueError
    ///     One has an imaginary part, but the operands are real; or is no integer, but the product
    ///     is computed in integers.
    fn check_scalars(
        &self,
        py: Python<'_>,
        alpha: Option<&Bound<'_, PyAny>>,
        beta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        Matmul::check_arguments(self.problem(), scalars(alpha, beta)?).or_raise(py)
    }

    /// Multiply `a` and `b`.
    ///
    /// Parameters
    /// ----------
    /// a, b : array
    ///     Operands of exactly the plan's layouts, element types and device.
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
    /// c : array, optional
    ///     As for the plan.
    /// inputs : dict, optional
    ///     Further operands, in the plan's order.
    /// alpha, beta : number, optional
    ///     What the product and `c` are multiplied by; 1 and 0 by default.
    ///
    /// Returns
    /// -------
    /// array, or tuple of an array and a dict
    ///     `out`, `c`, or the new array; and what the epilog made, by name, if it made anything.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An array or a number does not fit the plan.
    /// InvalidStateError
    ///     The stream is captured into a graph, and `blocking` is asked for or the operands are in
    ///     host memory.
    /// cuBLASLtError
    ///     cuBLASLt refused.
    #[pyo3(
        signature = (
            a, b, out=None, stream=None, workspace=None, blocking=false, *, c=None, inputs=None,
            alpha=None, beta=None
        ),
        text_signature = "($self, a, b, out=None, stream=None, workspace=None, blocking=False, *, \
            c=None, inputs=None, alpha=None, beta=None)"
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
        c: Option<&Bound<'py, PyAny>>,
        inputs: Option<&Bound<'py, PyDict>>,
        alpha: Option<&Bound<'py, PyAny>>,
        beta: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream.map(UserStream::of).transpose()?;
        let handle = stream.as_ref().map_or(0, |stream| stream.handle);
        let further = further_inputs(c, inputs)?;
        if !self.problem().has_inputs(further.iter().map(|(role, _)| *role)) {
            return Err(PyValueError::new_err(
                "c and inputs are not those that the plan was made for; give the same ones",
            ));
        }
        let arguments = scalars(alpha, beta)?;
        let mut operands = Operands::read(&named(a, b, &further), out, Some(handle))?;
        let invocation = operands.invocation(&self.plan, arguments);
        let workspace = workspace.map(Bound::get);
        let invocation = Invocation { stream: stream.as_ref(), workspace, blocking, ..invocation };
        invocation.check().or_raise(py)?;
        to_python(py, self.problem(), invocation.run(py)?)
    }

    fn __repr__(&self) -> String {
        let problem = self.problem();
        let shapes: Vec<_> = problem.inputs().map(|spec| spec.layout.shape.to_vec()).collect();
        let dtype = problem.output(0).map_or("", |spec| spec.dtype.name());
        format!("MatmulPlan(dtype={dtype:?}, shapes={shapes:?}, engine={:?})", self.engine())
    }
}

/// Reads a `cublasLtMatmulAlgo_t`.
fn words(algorithm: &[u8]) -> PyResult<[u64; 8]> {
    let mut words = [0; 8];
    if algorithm.len() != size_of_val(&words) {
        return Err(PyValueError::new_err(format!(
            "algorithm has {} bytes, but a cublasLtMatmulAlgo_t has {}",
            algorithm.len(),
            size_of_val(&words)
        )));
    }
    for (word, bytes) in words.iter_mut().zip(algorithm.chunks_exact(8)) {
        let mut copied = [0; 8];
        copied.copy_from_slice(bytes);
        *word = u64::from_ne_bytes(copied);
    }
    Ok(words)
}

/// Returns a `cublasLtMatmulAlgo_t` as bytes.
fn bytes_of<'py>(py: Python<'py>, algorithm: &[u64; 8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, algorithm.map(u64::to_ne_bytes).as_flattened())
}
