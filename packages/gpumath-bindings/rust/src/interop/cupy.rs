//! Reads CuPy arrays through their attributes, which takes half the time of
//! `__cuda_array_interface__`, and makes CuPy arrays.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use gpumath_core::process::SetOnce;
use gpumath_core::tensor::{DType, Layout, MemoryLocation, TensorView};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyString, PyTuple};

use super::array_library::numpy_dtype;
use super::{Refusal, checked, dims, layout_from_bytes, unsupported_dtype};
use crate::once::intern;

/// Reads a CuPy array.
pub(super) fn view(array: &Bound<'_, PyAny>) -> Result<TensorView, Refusal> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    let Some(dtype) = known_dtype(&dtype)? else {
        return Err(unsupported_dtype(dtype.str()?.to_str()?));
    };
    let data = array.getattr(intern!(py, "data"))?;
    let shape = dims(&array.getattr(intern!(py, "shape"))?)?;
    // Reading a flag takes less time than reading the strides.
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

/// Like [`view`], for an array that was viewed before as `known`. A CuPy array can change its shape
/// and strides but nothing else, so `known` is returned if both are contiguous and have the same
/// shape.
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

/// Whether a tuple has exactly these numbers.
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

/// Returns the handle of CuPy's current stream; `None` if only its Python function can tell.
pub(super) fn current_stream(py: Python<'_>, device: i32) -> PyResult<Option<usize>> {
    static FUNCTION: SetOnce<Option<CupyCurrentStream>> = SetOnce::new();
    let found = FUNCTION.get_or_init(|| current_stream_function(py).ok());
    let Some(function) = found else { return Ok(None) };
    // SAFETY: CuPy exports this function for calls with the GIL, which `py` proves.
    let handle = unsafe { function(device) };
    // No value of a handle means an error.
    if PyErr::occurred(py) { Err(PyErr::fetch(py)) } else { Ok(Some(handle)) }
}

/// `get_stream_ptr` of `cupy_backends/cuda/stream.pxd`
type CupyCurrentStream = unsafe extern "C" fn(device: c_int) -> usize;

/// Returns the C function that CuPy's compiled modules call. It saves 0.2 µs of each execution (of
/// 4.5 µs in place; docs/performance-calls.md). The name of its capsule is its C type.
fn current_stream_function(py: Python<'_>) -> PyResult<CupyCurrentStream> {
    let functions = py.import("cupy_backends.cuda.stream")?.getattr("__pyx_capi__")?;
    let capsule = functions.get_item("get_stream_ptr")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"intptr_t (int)"))?;
    // SAFETY: the capsule's name, which was checked, is the C type of the function. Extension
    // modules are never unloaded, so the function lives as long as the process.
    Ok(unsafe { std::mem::transmute::<NonNull<c_void>, CupyCurrentStream>(pointer) })
}

/// The arguments for `cupy.ndarray`: shape, dtype, memory, strides in bytes, and the order where
/// there are none.
type Arguments<'a, 'py> = (
    &'a Bound<'py, PyTuple>,
    &'a Bound<'py, PyAny>,
    &'a Bound<'py, PyAny>,
    Option<&'a Bound<'py, PyTuple>>,
    &'a Bound<'py, PyString>,
);

/// Calls `cupy.ndarray(shape, dtype, memory, strides, order)`, or what that calls itself.
pub(super) fn ndarray<'py>(
    py: Python<'py>,
    arguments: Arguments<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static DIRECT: SetOnce<Option<DirectNdarray>> = SetOnce::new();
    match DIRECT.get_or_init(|| DirectNdarray::find(py, arguments).ok().flatten()) {
        Some(direct) => direct.ndarray(py, arguments),
        None => py.import("cupy")?.getattr("ndarray")?.call1(arguments),
    }
}

/// The two methods of its base class to which `cupy.ndarray` passes its arguments. Calling them
/// directly saves 0.5 µs of each execution with a new result (of 6.3 µs;
/// docs/performance-calls.md), because `cupy.ndarray` itself is written in Python.
struct DirectNdarray {
    class: Py<PyAny>,
    new: Py<PyAny>,
    init: Py<PyAny>,
}

impl DirectNdarray {
    /// Returns the methods if they make the same array from `arguments` as the class does.
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

    /// Makes an array by the two methods.
    fn ndarray<'py>(
        &self,
        py: Python<'py>,
        arguments: Arguments<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (shape, dtype, memory, strides, order) = arguments;
        let array = self.new.bind(py).call1((&self.class,))?;
        self.init.bind(py).call1((&array, shape, dtype, memory, strides, order))?;
        Ok(array)
    }
}

/// Returns the element type of a NumPy dtype. The frequent types are known by the address of their
/// dtype, because NumPy has one object for each, with few exceptions; all others by their name.
fn known_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    const FREQUENT: [DType; 4] =
        [DType::Complex64, DType::Float32, DType::Complex128, DType::Float64];
    static OBJECTS: SetOnce<[usize; 4]> = SetOnce::new();
    let py = dtype.py();
    let objects = OBJECTS.get_or_try_init(|| {
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
