//! The class `StructuredMatmulPlan`.

use std::num::NonZeroUsize;
use std::sync::Arc;

use gpumath_core::operation::{Operation, Problem};
use gpumath_core::structured_matmul::{StructuredMatmul, StructuredMatmulPlan};
use gpumath_core::tensor::MemoryLocation;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::arguments::{QualifierTuple, qualifier, scalars};
use super::arrays::Arrays;
use super::small;
use crate::api::operation::arguments::{ExecutionArguments, thread_limit};
use crate::api::operation::{PyWorkspace, UserStream};
use crate::error::OrRaise;
use crate::integers::{Integers, Pairs};

/// The qualifiers of the factors of one product.
type QualifierPair = (QualifierTuple, QualifierTuple);
/// The scalars of one product.
type ScalarPair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Products of matrices of some shapes, structures, layouts and element type, ready to run. It
/// holds no workspace.
///
/// Parameters
/// ----------
/// a, b : array or sequence of array
///     What `TensorView` takes: matrices, vectors, or batches of matrices in further dimensions, of
///     one library and one memory, with elements of type float32, float64, complex64 or complex128.
///     A list or tuple of them stands for as many products, of any shapes. They say shapes,
///     strides, element type and device; their values do not matter, and they are not kept.
/// c : array or sequence of array, optional
///     What is added to the products, of their shapes.
/// qualifiers : sequence, optional
///     What is known of `a` and `b`: a pair for all products, or a pair for each, of tuples of an
///     abbreviation (ge, sy, he, tr, dg), whether the matrix is conjugated, and three numbers: the
///     triangle that is stored (0 the lower, 1 the upper), whether the diagonal is all ones, and 1
///     or -1 as the direction of the vector of a diagonal. By default general matrices.
/// scalars : sequence, optional
///     A pair of alpha and beta for each product, which takes precedence over those of `run`.
/// inplace : bool, default: False
///     Overwrite `c` with the result.
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
/// out : array or sequence of array, optional
///     What the results will be written to, on the operands' device and in any layout without
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
/// NoDeviceError
///     There is no such CUDA device.
///
/// Examples
/// --------
/// >>> import numpy as np
/// >>> from gpumath.bindings import core
/// >>> a, b = np.array([[1.0, 9.0], [2.0, 3.0]]), np.eye(2)
/// >>> lower, general = ("sy", False, 0, 0, 0), ("ge", False, 0, 0, 0)
/// >>> core.StructuredMatmulPlan(a, b, qualifiers=[(lower, general)]).run(a, b)
/// array([[1., 2.],
///        [2., 3.]])
#[pyclass(frozen, name = "StructuredMatmulPlan", module = "gpumath.bindings.core")]
pub(crate) struct PyStructuredMatmulPlan {
    pub(super) plan: Arc<StructuredMatmulPlan>,
}

#[pymethods]
impl PyStructuredMatmulPlan {
    #[new]
    #[pyo3(signature = (
        a, b, c=None, *, qualifiers=None, scalars=None, inplace=false, execution=None,
        device_id=None, device_ids=None, num_threads=None, out=None, stream=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one Python constructor")]
    fn new<'py>(
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        c: Option<&Bound<'py, PyAny>>,
        qualifiers: Option<Pairs<QualifierPair>>,
        scalars: Option<Pairs<ScalarPair<'py>>>,
        inplace: bool,
        execution: Option<&str>,
        device_id: Option<i32>,
        device_ids: Option<Integers<i32>>,
        #[pyo3(from_py_with = thread_limit)] num_threads: Option<NonZeroUsize>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let arrays = Arrays::read(a, b, c, out, None)?;
        let mut request = arrays.request();
        request.is_in_place = inplace;
        for (left, right) in qualifiers.map_or_else(Vec::new, |pairs| pairs.0) {
            request.qualifiers.push([qualifier("a", &left)?, qualifier("b", &right)?]);
        }
        for (alpha, beta) in scalars.map_or_else(Vec::new, |pairs| pairs.0) {
            request.scalars.push(super::arguments::scalars(Some(&alpha), Some(&beta))?);
        }
        for (name, given) in
            [("qualifiers", request.qualifiers.len()), ("scalars", request.scalars.len())]
        {
            let is_for_all = given == 0 || (given == 1 && name == "qualifiers");
            if !is_for_all && given != arrays.count {
                return Err(PyValueError::new_err(format!(
                    "{given} {name} are given for {} products; give as many",
                    arrays.count
                )));
            }
        }
        let device_id = device_id.filter(|_| arrays.location() == MemoryLocation::Host);
        let chosen = ExecutionArguments { execution, device_id, device_ids, num_threads };
        let execution = chosen.resolve(py, arrays.location())?;
        let stream = stream.map(UserStream::of).transpose()?;
        Ok(Self { plan: arrays.plan(py, &request, execution, stream.as_ref())? })
    }

    /// Plan and run a product; None if an argument is not simple or does not fit, and then nothing
    /// has happened.
    ///
    /// Parameters
    /// ----------
    /// a, b, c, alpha, beta, out
    ///     As for `gpumath.linalg.matmul`.
    /// execution : {'cpu', 'cuda'}, optional
    ///     By default where the operands are.
    /// num_threads : int, optional
    ///     As for the constructor.
    /// qualifiers : tuple, optional
    ///     What is known of `a` and `b`: a pair for all products, as for the constructor.
    ///
    /// Returns
    /// -------
    /// array or list of array or None
    ///     The result.
    #[staticmethod]
    #[pyo3(signature = (
        a, b, c=None, alpha=None, beta=None, out=None, execution=None, num_threads=None,
        qualifiers=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python function")]
    fn multiply<'py>(
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        c: Option<&Bound<'py, PyAny>>,
        alpha: Option<&Bound<'py, PyAny>>,
        beta: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        execution: Option<&str>,
        #[pyo3(from_py_with = thread_limit)] num_threads: Option<NonZeroUsize>,
        qualifiers: Option<QualifierPair>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let qualifiers = match qualifiers {
            Some((left, right)) => Some([qualifier("a", &left)?, qualifier("b", &right)?]),
            None => None,
        };
        let others = [c, alpha, beta, out];
        if others.iter().all(Option::is_none)
            && execution.is_none_or(|name| name == "cpu")
            && let Some(result) =
                small::multiply(a, b, qualifiers.unwrap_or_default(), num_threads)?
        {
            return Ok(Some(result));
        }
        let Ok(scalars) = scalars(alpha, beta) else { return Ok(None) };
        let Ok(mut arrays) = Arrays::read(a, b, c, out, Some(0)) else { return Ok(None) };
        let chosen = ExecutionArguments { execution, num_threads, ..ExecutionArguments::default() };
        let Ok(execution) = chosen.resolve(py, arrays.location()) else { return Ok(None) };
        let mut request = arrays.request();
        request.qualifiers.extend(qualifiers);
        arrays.plan_and_run(py, &request, execution, scalars)
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

    /// What computes: "cublas" or "embedded"; "none" for an empty result.
    #[getter]
    fn engine(&self) -> &'static str {
        self.plan.engine_name()
    }

    /// Bytes of device memory that `run` works in.
    #[getter]
    fn workspace_size(&self) -> usize {
        self.plan.workspace_size()
    }

    /// Whether the plan is for operands of these layouts and this element type.
    ///
    /// Parameters
    /// ----------
    /// a, b, c : array or sequence of array
    ///     As for `run`.
    ///
    /// Returns
    /// -------
    /// bool
    ///     False if `run` would refuse them.
    #[pyo3(signature = (a, b, c=None))]
    fn accepts(
        &self,
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        c: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let arrays = Arrays::read(a, b, c, None, None)?;
        Ok(arrays.count == self.plan.problem().count()
            && arrays.has_addend == self.has_addend()
            && self.plan.accepts(&arrays.views()))
    }

    /// Raise unless `run` takes these numbers.
    ///
    /// Parameters
    /// ----------
    /// alpha, beta : complex or None
    ///     As for `run`.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     One is no number.
    /// ValueError
    ///     One has an imaginary part, but the operands are real.
    fn check_scalars(
        &self,
        py: Python<'_>,
        alpha: Option<&Bound<'_, PyAny>>,
        beta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let scalars = scalars(alpha, beta)?;
        StructuredMatmul::check_arguments(self.plan.problem(), scalars).or_raise(py)
    }

    /// Compute ``alpha * a @ b + beta * c``.
    ///
    /// Parameters
    /// ----------
    /// a, b, c : array or sequence of array
    ///     Operands of exactly the plan's layouts, element type and device.
    /// alpha, beta : complex, optional
    ///     What products and third operands are multiplied by: 1 and 0 by default. If beta is 0,
    ///     `c` is not read.
    /// out : array or sequence of array, optional
    ///     Arrays of the operands' library for the results, in exactly the plan's layouts; by
    ///     default new ones, or `c` for a plan that works in place.
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
    /// array or list of array
    ///     `out`, or new arrays: a list if the operands are lists.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An array or a number does not fit the plan.
    /// InvalidStateError
    ///     The stream is captured into a graph, and `blocking` is asked for or the operands are in
    ///     host memory.
    /// cuBLASError
    ///     cuBLAS refused.
    #[pyo3(
        signature = (
            a, b, c=None, alpha=None, beta=None, out=None, stream=None, workspace=None,
            blocking=false
        ),
        text_signature = "($self, a, b, c=None, alpha=None, beta=None, out=None, stream=None, \
                          workspace=None, blocking=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the arguments of one Python method")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
        c: Option<&Bound<'py, PyAny>>,
        alpha: Option<&Bound<'py, PyAny>>,
        beta: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        workspace: Option<&Bound<'py, PyWorkspace>>,
        blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream.map(UserStream::of).transpose()?;
        let handle = stream.as_ref().map_or(0, |stream| stream.handle);
        let mut arrays = Arrays::read(a, b, c, out, Some(handle))?;
        let has_addend = self.has_addend();
        if arrays.has_addend != has_addend {
            return Err(PyValueError::new_err(format!(
                "c is {}, but the plan was made {} a c",
                if arrays.has_addend { "given" } else { "missing" },
                if has_addend { "with" } else { "without" }
            )));
        }
        let (scalars, workspace) = (scalars(alpha, beta)?, workspace.map(Bound::get));
        arrays.run(py, &self.plan, scalars, stream.as_ref(), workspace, blocking)
    }

    fn __repr__(&self) -> String {
        let problem = self.plan.problem();
        let shapes: Vec<_> = problem.inputs().map(|spec| spec.layout.shape.to_vec()).collect();
        let (dtype, engine) = (problem.dtype().name(), self.engine());
        format!("StructuredMatmulPlan(dtype={dtype:?}, shapes={shapes:?}, engine={engine:?})")
    }
}

impl PyStructuredMatmulPlan {
    /// Whether there is a third operand.
    fn has_addend(&self) -> bool {
        let problem = self.plan.problem();
        problem.input(2 * problem.count()).is_some()
    }
}
