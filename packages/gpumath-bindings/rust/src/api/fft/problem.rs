//! The class `FftProblem`, and `FftPass`, which is a part of one.

use std::num::NonZeroUsize;

use gpumath_core::fft::{Callbacks, FftPlan, FftProblem, FftRequest, Pass, Route, TransformKind};
use gpumath_core::operation::{self, Execution, Request};
use gpumath_core::tensor::{DType, Dims, Layout, MemoryLocation, TensorView};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::arguments::{kind_name, parse_kind, parse_parity, parse_result_layout};
use crate::error::OrRaise;
use crate::integers::Integers;

/// Limit on the elements, which no memory reaches. Their size in bytes still fits into 64 bits.
const MAX_ELEMENTS: i64 = 1 << 57;

/// A Fourier transform of operands of one shape, layout and element type: what a plan is made for.
///
/// Two problems are equal exactly if every plan for one is a plan for the other, on the same
/// device. They are hashable and can be pickled. Strides that do not matter, those of dimensions
/// with one element, are 0.
///
/// Parameters
/// ----------
/// shape : sequence of int
///     Extent of each dimension of the operand.
/// dtype : str
///     Name of the operand's element type.
/// strides : sequence of int, optional
///     Distance between neighbours along each dimension, in elements; by default those of C order.
/// axes, kind, inplace, last_axis_parity, result_layout
///     As for `FftPlan`.
/// output_strides : sequence of int, optional
///     Strides of the result, instead of those of `result_layout`.
/// unaligned : bool, default: False
///     Whether the address of a real operand on a device is no multiple of the size of a complex
///     number. cuFFT's plan then works on a copy.
///
/// Raises
/// ------
/// ValueError
///     As for `FftPlan`; a layout cannot be in any memory.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> problem = core.FftProblem((4, 6), "float32", axes=[1])
/// >>> problem.kind, problem.output_shape, problem.output_dtype
/// ('R2C', (4, 4), 'complex64')
#[pyclass(frozen, eq, hash, name = "FftProblem", module = "gpumath.bindings.core")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyFftProblem {
    problem: FftProblem,
}

#[pymethods]
impl PyFftProblem {
    #[new]
    #[pyo3(signature = (
        shape, dtype, strides=None, axes=None, kind=None, *, inplace=false, last_axis_parity="even",
        result_layout="optimized", output_strides=None, unaligned=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one Python constructor")]
    fn new(
        py: Python<'_>,
        shape: Integers<i64>,
        dtype: &str,
        strides: Option<Integers<i64>>,
        axes: Option<Integers<i64>>,
        kind: Option<&str>,
        inplace: bool,
        last_axis_parity: &str,
        result_layout: &str,
        output_strides: Option<Integers<i64>>,
        unaligned: bool,
    ) -> PyResult<Self> {
        let dtype = DType::from_name(dtype).ok_or_else(|| {
            PyValueError::new_err(format!(
                "dtype is {dtype:?}; float16, float32, float64, complex32, complex64 and \
                 complex128 are transformed"
            ))
        })?;
        let operand = layout("", shape.0.into(), strides.map(|strides| strides.0))?;
        let view = TensorView {
            ptr: 0,
            dtype,
            layout: operand,
            device: MemoryLocation::Host,
            readonly: false,
        };
        let request = FftRequest {
            kind: parse_kind(kind)?,
            axes: axes.map(|axes| Dims::from_vec(axes.0)),
            inplace,
            may_overwrite: false,
            odd_output_length: parse_parity(last_axis_parity)?,
            result_layout: parse_result_layout(result_layout)?,
            output: None,
            callbacks: Callbacks::default(),
        };
        let execution = Execution::Cpu { threads: NonZeroUsize::MIN };
        let mut problem = request.problem(&[&view], execution).or_raise(py)?;
        if let Some(strides) = output_strides {
            let output = layout("output_", problem.output.shape, Some(strides.0))?;
            let FftProblem { kind, precision, axes, input, inplace, .. } = problem;
            problem =
                FftProblem::new(kind, precision, axes, input, output, inplace).or_raise(py)?;
        }
        problem.input_unaligned = unaligned && problem.kind == TransformKind::R2C;
        Ok(Self { problem: problem.normalized() })
    }

    /// "C2C", "R2C" or "C2R".
    #[getter]
    fn kind(&self) -> &'static str {
        kind_name(self.problem.kind)
    }

    /// Transform axes, counted from the first dimension.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.problem.axes)
    }

    /// Whether the result overwrites the operand.
    #[getter]
    fn inplace(&self) -> bool {
        self.problem.inplace
    }

    /// Whether cuFFT refuses the operand's address.
    #[getter]
    fn unaligned(&self) -> bool {
        self.problem.input_unaligned
    }

    /// Shape of the operand.
    #[getter]
    fn input_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.problem.input.shape)
    }

    /// Strides of the operand, in elements; 0 along dimensions of one element.
    #[getter]
    fn input_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.problem.input.strides)
    }

    /// Element type of the operand.
    #[getter]
    fn input_dtype(&self) -> &'static str {
        self.problem.input_dtype().name()
    }

    /// Shape of the result.
    #[getter]
    fn output_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.problem.output.shape)
    }

    /// Strides of the result, in elements; 0 along dimensions of one element.
    #[getter]
    fn output_strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.problem.output.strides)
    }

    /// Element type of the result.
    #[getter]
    fn output_dtype(&self) -> &'static str {
        self.problem.output_dtype().name()
    }

    /// List the cuFFT plans that the problem is cut into, in the order of execution.
    ///
    /// Parameters
    /// ----------
    /// device_id : int, optional
    ///     The GPU that the way is chosen for: the fastest one is not the same on all. By default
    ///     an NVIDIA H200, whether there is one or not.
    ///
    /// Returns
    /// -------
    /// list of FftPass
    ///     Empty for an empty batch.
    ///
    /// Raises
    /// ------
    /// UnsupportedLayoutError
    ///     Callbacks need offsets in a layout that cuFFT does not take.
    ///
    /// Examples
    /// --------
    /// >>> from gpumath.bindings import core
    /// >>> problem = core.FftProblem((2, 4, 3, 5), "complex64")
    /// >>> [(p.extents, p.batch) for p in problem.passes()]
    /// [((4, 3, 5), 2), ((2,), 60)]
    #[pyo3(signature = (*, device_id=None))]
    fn passes(&self, py: Python<'_>, device_id: Option<i32>) -> PyResult<Vec<PyFftPass>> {
        passes_of(py, &self.problem, device_id)
    }

    /// Number of copies to another layout that one execution on a GPU makes.
    ///
    /// They are made where cuFFT does not take a layout, or takes more time for it than for the
    /// other layout and the copies together, on an NVIDIA H200. `FftPlan.copies` counts those of a
    /// plan on its GPU.
    #[getter]
    fn copies(&self, py: Python<'_>) -> PyResult<usize> {
        copies_of(py, &self.problem, None)
    }

    /// Compute the bytes of a plan's workspace.
    ///
    /// They are `work_area`, which is the size of the largest work area of its cuFFT plans, and the
    /// copies that gpumath makes of operands that cuFFT cannot work on. `device_id` is as for
    /// `passes`.
    #[pyo3(signature = (work_area, *, device_id=None))]
    fn workspace_size(
        &self,
        py: Python<'_>,
        work_area: usize,
        device_id: Option<i32>,
    ) -> PyResult<usize> {
        Ok(Route::of(&self.problem, device_id).or_raise(py)?.workspace_size(work_area))
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let problem = &self.problem;
        let arguments = (
            self.input_shape(py)?,
            self.input_dtype(),
            self.input_strides(py)?,
            self.axes(py)?,
            self.kind(),
        );
        let keywords = PyDict::new(py);
        keywords.set_item("inplace", problem.inplace)?;
        let last = problem.axes.last().map_or(0, |&axis| axis as usize);
        let odd = problem.output.shape[last] % 2 == 1;
        keywords.set_item("last_axis_parity", if odd { "odd" } else { "even" })?;
        keywords.set_item("output_strides", self.output_strides(py)?)?;
        keywords.set_item("unaligned", problem.input_unaligned)?;
        Ok((arguments.into_pyobject(py)?, keywords))
    }

    fn __repr__(&self) -> String {
        format!(
            "FftProblem(kind={:?}, input_dtype={:?}, input_shape={:?}, input_strides={:?}, \
             axes={:?}, output_shape={:?}, output_strides={:?}, inplace={}, unaligned={})",
            self.kind(),
            self.input_dtype(),
            self.problem.input.shape.as_slice(),
            self.problem.input.strides.as_slice(),
            self.problem.axes.as_slice(),
            self.problem.output.shape.as_slice(),
            self.problem.output.strides.as_slice(),
            if self.problem.inplace { "True" } else { "False" },
            if self.problem.input_unaligned { "True" } else { "False" },
        )
    }
}

impl PyFftProblem {
    /// Returns the problem of a plan. Callbacks are no part of it, and alignment only on CUDA,
    /// because it matters to cuFFT alone.
    pub(crate) fn of(problem: &FftProblem, on_cuda: bool) -> Self {
        let mut problem = problem.normalized();
        problem.callbacks = Callbacks::default();
        problem.input_unaligned &= on_cuda;
        Self { problem }
    }
}

/// One of the cuFFT plans that a transform is cut into, in the terms of cuFFT's advanced data
/// layout.
#[pyclass(frozen, get_all, name = "FftPass", module = "gpumath.bindings.core")]
pub(crate) struct PyFftPass {
    /// "C2C", "R2C" or "C2R".
    kind: &'static str,
    /// Transform extents, slowest first.
    extents: Py<PyTuple>,
    /// Extents of the memory that the input is embedded in.
    input_embed: Py<PyTuple>,
    /// Elements between neighbours of the input along the fastest axis.
    input_stride: i64,
    /// Elements between inputs of the batch.
    input_distance: i64,
    /// Extents of the memory that the output is embedded in.
    output_embed: Py<PyTuple>,
    /// Elements between neighbours of the output along the fastest axis.
    output_stride: i64,
    /// Elements between outputs of the batch.
    output_distance: i64,
    /// Number of transforms.
    batch: i64,
}

#[pymethods]
impl PyFftPass {
    fn __repr__(&self) -> String {
        let Self { kind, extents, batch, .. } = self;
        format!("FftPass(kind={kind:?}, extents={extents}, batch={batch})")
    }
}

/// Returns the problem of a plan, with its callbacks, if one GPU computes it.
pub(super) fn on_one_gpu(plan: &FftPlan) -> Option<&FftProblem> {
    let execution = plan.execution();
    let is_one = execution.device().is_some() && execution.devices().is_none();
    is_one.then(|| plan.problem())
}

/// Counts the copies to another layout for a problem on a device.
pub(super) fn copies_of(
    py: Python<'_>,
    problem: &FftProblem,
    device: Option<i32>,
) -> PyResult<usize> {
    Ok(Route::of(problem, device).or_raise(py)?.copies())
}

/// Lists the cuFFT plans of a problem on a device.
pub(super) fn passes_of(
    py: Python<'_>,
    problem: &FftProblem,
    device: Option<i32>,
) -> PyResult<Vec<PyFftPass>> {
    let tuple = |dims: &Dims| Ok::<_, PyErr>(PyTuple::new(py, dims)?.unbind());
    let pass = |pass: &Pass| {
        Ok(PyFftPass {
            kind: kind_name(pass.kind),
            extents: tuple(&pass.extents)?,
            input_embed: tuple(&pass.input.embed)?,
            input_stride: pass.input.stride,
            input_distance: pass.input.distance,
            output_embed: tuple(&pass.output.embed)?,
            output_stride: pass.output.stride,
            output_distance: pass.output.distance,
            batch: pass.batch,
        })
    };
    Route::of(problem, device).or_raise(py)?.passes().map(pass).collect()
}

/// Returns the layout of a shape and strides, whose argument is called `{prefix}strides`.
fn layout(prefix: &str, shape: Dims, strides: Option<Vec<i64>>) -> PyResult<Layout> {
    let refuse = |what: String| Err(PyValueError::new_err(what));
    if let Some(extent) = shape.iter().find(|&&extent| extent < 0) {
        return refuse(format!("shape has the extent {extent}; extents are not negative"));
    }
    let layout = match strides {
        None => Layout::contiguous(&shape),
        Some(strides) if strides.len() != shape.len() => {
            return refuse(format!(
                "{prefix}strides has {} elements, and the shape {}; give one for each dimension",
                strides.len(),
                shape.len()
            ));
        }
        Some(strides) => Layout { shape, strides: strides.into() },
    };
    let Layout { shape, strides } = &layout;
    let elements = shape.iter().try_fold(1_i64, |product, &n| product.checked_mul(n.max(1)));
    let reach = shape.iter().zip(strides).try_fold(1_i64, |sum, (&n, &stride)| {
        sum.checked_add((n - 1).max(0).checked_mul(stride.checked_abs()?)?)
    });
    match (elements, reach) {
        (Some(elements), Some(reach)) if elements.max(reach) <= MAX_ELEMENTS => Ok(layout),
        _ => refuse(format!(
            "an array of shape {:?} and {prefix}strides {:?} is larger than any memory",
            shape.as_slice(),
            strides.as_slice()
        )),
    }
}

/// Count the cores that this process may use, which is the default number of a plan's CPU threads.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> core.usable_cores() >= 1
/// True
#[pyfunction]
pub(crate) fn usable_cores() -> usize {
    operation::usable_cores().get()
}
