//! CuPy arrays, through their attributes: half the cost of `__cuda_array_interface__`.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyCapsule, PyTuple};
use pyo3::{intern, prelude::*};

use super::array_library::numpy_dtype;
use super::{Refusal, checked, dims, layout_from_bytes, unsupported_dtype};

pub(super) fn view(array: &Bound<'_, PyAny>) -> Result<TensorView, Refusal> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let Some(dtype) = known_dtype(&dtype)? else {
        return Err(unsupported_dtype(dtype.str()?.to_str()?));
    };
    let data = array.getattr(intern!(py, "data"))?;
    let shape = dims(&array.getattr(intern!(py, "shape"))?)?;
    // A flag costs less than the strides.
    let layout = match array.getattr_opt(intern!(py, "_c_contiguous"))? {
        Some(flag) if flag.is(PyBool::new(py, true)) => Layout::contiguous(&shape),
        _ => {
            layout_from_bytes(shape, &dims(&array.getattr(intern!(py, "strides"))?)?, dtype.size())?
        }
    };
    checked(TensorView {
        ptr: data.getattr(intern!(py, "ptr"))?.extract()?,
        dtype,
        layout,
        device: MemoryLocation::Device(data.getattr(intern!(py, "device_id"))?.extract()?),
        readonly: false,
    })
}

/// The same for an array that gave `known`. Of what a view tells, only the layout of an array can change.
pub(super) fn view_again(
    array: &Bound<'_, PyAny>,
    known: &TensorView,
) -> Result<TensorView, Refusal> {
    let py = array.py();
    let flag = array.getattr_opt(intern!(py, "_c_contiguous"))?;
    if flag.is_some_and(|flag| flag.is(PyBool::new(py, true)))
        && known.layout.is_contiguous()
        && is_shape(&array.getattr(intern!(py, "shape"))?, &known.layout.shape)?
    {
        return Ok(known.clone());
    }
    view(array)
}

/// Whether a tuple has these numbers.
fn is_shape(tuple: &Bound<'_, PyAny>, shape: &[i64]) -> PyResult<bool> {
    let tuple = tuple.cast::<PyTuple>()?;
    if tuple.len() != shape.len() {
        return Ok(false);
    }
    for (extent, &known) in tuple.iter_borrowed().zip(shape) {
        if extent.extract::<i64>()? != known {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Handle of the stream that CuPy works on now; `None` if it has to be asked in Python.
pub(super) fn current_stream(py: Python<'_>, device: i32) -> PyResult<Option<usize>> {
    static FUNCTION: PyOnceLock<Option<CupyCurrentStream>> = PyOnceLock::new();
    let found = FUNCTION.get_or_init(py, || current_stream_function(py).ok());
    let Some(function) = found else { return Ok(None) };
    // SAFETY: CuPy offered this function, and the GIL is held.
    let handle = unsafe { function(device) };
    // A handle can have any value.
    if PyErr::occurred(py) { Err(PyErr::fetch(py)) } else { Ok(Some(handle)) }
}

/// `get_stream_ptr` of `cupy_backends/cuda/stream.pxd`
type CupyCurrentStream = unsafe extern "C" fn(device: c_int) -> usize;

/// The C function that CuPy's compiled modules themselves ask, at a fraction of the cost of the Python function. Its
/// capsule tells its C type.
fn current_stream_function(py: Python<'_>) -> PyResult<CupyCurrentStream> {
    let functions = py.import("cupy_backends.cuda.stream")?.getattr("__pyx_capi__")?;
    let capsule = functions.get_item("get_stream_ptr")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"intptr_t (int)"))?;
    // SAFETY: the name is the C type of the function that the capsule holds, which lives as long as the process.
    Ok(unsafe { std::mem::transmute::<NonNull<c_void>, CupyCurrentStream>(pointer) })
}

/// What `cupy.ndarray` is called with here: shape, dtype, memory, and strides in bytes.
type Arguments<'a, 'py> = (
    &'a Bound<'py, PyTuple>,
    &'a Bound<'py, PyAny>,
    &'a Bound<'py, PyAny>,
    Option<&'a Bound<'py, PyTuple>>,
);

/// `cupy.ndarray(shape, dtype, memory, strides)`
pub(super) fn ndarray<'py>(
    py: Python<'py>,
    arguments: Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static DIRECT: PyOnceLock<Option<DirectNdarray>> = PyOnceLock::new();
    match DIRECT.get_or_init(py, || DirectNdarray::find(py, arguments).ok().flatten()) {
        Some(direct) => direct.ndarray(py, arguments),
        None => py.import("cupy")?.getattr("ndarray")?.call1(arguments),
    }
}

/// The two methods of its base class that `cupy.ndarray` calls with what it was called with. The class is written in
/// Python, and costs as much again as they do.
struct DirectNdarray {
    class: Py<PyAny>,
    new: Py<PyAny>,
    init: Py<PyAny>,
}

impl DirectNdarray {
    /// The methods, where they make of `arguments` the array that the class makes.
    fn find(py: Python<'_>, arguments: Arguments) -> PyResult<Option<Self>> {
        let class = py.import("cupy")?.getattr("ndarray")?;
        let base = class.getattr("__base__")?;
        let new = base.getattr("__new__")?.unbind();
        let init = base.getattr("_init")?.unbind();
        let direct = Self { class: class.clone().unbind(), new, init };
        let (array, expected) = (direct.ndarray(py, arguments)?, class.call1(arguments)?);
        let mut is_alike = array.get_type().is(&class);
        for name in
            ["shape", "strides", "dtype", "data", "size", "base", "_c_contiguous", "_f_contiguous"]
        {
            is_alike &= array.getattr(name)?.eq(expected.getattr(name)?)?;
        }
        Ok(is_alike.then_some(direct))
    }

    fn ndarray<'py>(
        &self,
        py: Python<'py>,
        arguments: Arguments<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (shape, dtype, memory, strides) = arguments;
        let array = self.new.bind(py).call1((&self.class,))?;
        self.init.bind(py).call1((&array, shape, dtype, memory, strides))?;
        Ok(array)
    }
}

/// NumPy has one object for each of its own types, with few exceptions; others are known by name.
fn known_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    const FREQUENT: [DType; 4] =
        [DType::Complex64, DType::Float32, DType::Complex128, DType::Float64];
    static OBJECTS: PyOnceLock<[usize; 4]> = PyOnceLock::new();
    let py = dtype.py();
    let objects = OBJECTS.get_or_try_init(py, || {
        let mut objects = [0; 4];
        for (object, dtype) in objects.iter_mut().zip(FREQUENT) {
            *object = numpy_dtype(py, dtype)?.as_ptr() as usize;
        }
        Ok::<_, PyErr>(objects)
    })?;
    let own = dtype.as_ptr() as usize;
    if let Some(position) = objects.iter().position(|&object| object == own) {
        return Ok(Some(FREQUENT[position]));
    }
    if !dtype.getattr(intern!(py, "isnative"))?.is_truthy()? {
        return Ok(None);
    }
    Ok(DType::from_name(dtype.getattr(intern!(py, "name"))?.extract()?))
}
