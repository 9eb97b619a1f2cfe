//! Converts single values: Python numbers and texts to 64-bit slots, and what C returned or wrote
//! to Python objects.

use std::ffi::{c_char, c_long};

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};

use super::specs::{FunctionSpec, Parameter, Value};

/// The argument that is being converted, for error messages.
#[derive(Clone, Copy)]
pub(super) struct ArgumentContext {
    pub(super) spec: &'static FunctionSpec,
    pub(super) parameter: &'static Parameter,
    /// Index of the item, if the argument is a sequence.
    pub(super) index: Option<usize>,
}

impl ArgumentContext {
    /// Returns function, argument and item: `exec_c2c() argument 'plan'`.
    pub(super) fn name(&self) -> String {
        let place = self.index.map(|index| format!("[{index}]")).unwrap_or_default();
        format!("{}() argument '{}'{place}", self.spec.display_name(), self.parameter.name)
    }
}

/// Returns the number of an object with `__index__`. Returns -1 with an exception set for any other
/// object and for a number that `i64` cannot hold, and -1 without an exception for the number -1.
///
/// It uses `PyLong_AsLong` if `long` is wide enough, because for numbers as large as addresses
/// `CPython` is slower with `long long`.
///
/// # Safety
/// - This thread has the GIL.
/// - `argument` is a live object.
#[inline]
pub(super) unsafe fn as_i64(argument: *mut ffi::PyObject) -> i64 {
    // SAFETY: the caller guarantees the GIL and a live object.
    unsafe {
        if size_of::<c_long>() == size_of::<i64>() {
            ffi::PyLong_AsLong(argument) as i64
        } else {
            ffi::PyLong_AsLongLong(argument)
        }
    }
}

/// Returns the slot of an `int` that fits, which nearly all arguments are. Returns `None`, without
/// an exception set, for all else, -1 included: that is left to [`slot_of`].
#[inline]
pub(super) fn exact_integer(argument: *mut ffi::PyObject, value: Value) -> Option<u64> {
    // SAFETY: arguments and their items are live objects.
    if unsafe { ffi::PyLong_CheckExact(argument) } == 0 {
        return None;
    }
    // SAFETY: arguments and their items are live objects, and conversions run with the GIL.
    let number = unsafe { as_i64(argument) };
    let fits = match value {
        Value::I8 => i64::from(number as i8) == number,
        Value::U8 => i64::from(number as u8) == number,
        Value::I16 => i64::from(number as i16) == number,
        Value::U16 => i64::from(number as u16) == number,
        Value::I32 => i64::from(number as i32) == number,
        Value::U32 => i64::from(number as u32) == number,
        Value::I64 => true,
        Value::U64 | Value::Address => number >= 0,
        _ => false,
    };
    if number == -1 {
        // SAFETY: conversions run with the GIL.
        unsafe { ffi::PyErr_Clear() };
        return None;
    }
    fits.then_some(number as u64)
}

/// Returns the slot of a number.
#[inline]
pub(super) fn slot_of(
    py: Python<'_>,
    argument: *mut ffi::PyObject,
    value: Value,
    context: ArgumentContext,
) -> PyResult<u64> {
    if matches!(value, Value::F32 | Value::F64) {
        return float_slot(py, argument, value, context);
    }
    // SAFETY: arguments and their items are live objects.
    if unsafe { ffi::PyLong_Check(argument) } == 0 {
        // Attached as PyO3 counts it, so that PyO3 does not put off the drop of exceptions.
        return Python::attach(|py| {
            // SAFETY: arguments and their items are live objects.
            let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
            let integer = integer_of(&object, value, context)?;
            slot_of(py, integer.as_ptr(), value, context)
        });
    }
    // SAFETY: arguments and their items are live objects, and `py` says that this thread has the
    // GIL.
    let number = unsafe { as_i64(argument) };
    // SAFETY: `py` says that this thread has the GIL.
    if number == -1 && unsafe { !ffi::PyErr_Occurred().is_null() } {
        return Python::attach(|py| large_integer(py, argument, value, context));
    }
    let fits = match value {
        Value::I32 => i32::try_from(number).is_ok(),
        Value::I64 => true,
        Value::U64 | Value::Address => number >= 0,
        _ => in_range(i128::from(number), value).is_some(),
    };
    if fits { Ok(number as u64) } else { Err(out_of_range(&number, value, context)) }
}

/// Returns the number that an object of another class stands for: by `__index__`, or `__int__`
/// unless it has a part behind the point or holds several numbers. Either is called once.
#[cold]
fn integer_of<'py>(
    object: &Bound<'py, PyAny>,
    value: Value,
    context: ArgumentContext,
) -> PyResult<Bound<'py, PyInt>> {
    let py = object.py();
    // SAFETY: `object` is alive. The call returns a new reference, or NULL with an exception set.
    let index = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Index(object.as_ptr())) };
    let error = match index {
        Ok(integer) => return Ok(integer.cast_into::<PyInt>()?),
        Err(error) => error,
    };
    if !error.is_instance_of::<PyTypeError>(py) {
        return Err(error);
    }
    let (name, found) = (context.name(), type_name(object));
    if object.hasattr("__len__")? && !object.is_instance_of::<PyString>() {
        let is_array =
            object.hasattr("__dlpack__")? || object.hasattr("__cuda_array_interface__")?;
        return Err(PyTypeError::new_err(if is_array && value == Value::Address {
            format!(
                "{name}: an address is required, not {found}; give the address of an array's \
                 memory: .ctypes.data in NumPy, .data.ptr in CuPy, .data_ptr() in PyTorch"
            )
        } else {
            format!("{name}: an integer is required, not {found}")
        }));
    }
    let convertible = !object.is_instance_of::<PyString>() && object.hasattr("__int__")?;
    let whole = object.cast::<PyFloat>().map_or(Ok(true), |number| {
        number.call_method0("is_integer").and_then(|answer| answer.is_truthy())
    })?;
    if !convertible || !whole {
        let found = if convertible { object.repr()?.to_string() } else { found };
        return Err(PyTypeError::new_err(format!("{name}: an integer is required, not {found}")));
    }
    Ok(object.call_method0("__int__")?.cast_into::<PyInt>()?)
}

/// Returns the slot of an `int` of more than 63 bits. The exception of [`as_i64`] must be set.
#[cold]
fn large_integer(
    py: Python<'_>,
    argument: *mut ffi::PyObject,
    value: Value,
    context: ArgumentContext,
) -> PyResult<u64> {
    drop(PyErr::take(py));
    // SAFETY: arguments and their items are live objects.
    let integer = unsafe { Bound::from_borrowed_ptr(py, argument) };
    let number = integer.extract::<u64>().map(i128::from);
    match number.ok().and_then(|number| in_range(number, value)) {
        Some(slot) => Ok(slot),
        None => Err(out_of_range(&text_of(&integer), value, context)),
    }
}

/// Returns the digits of an `int`, unless it has more of them than Python writes.
fn text_of(integer: &Bound<'_, PyAny>) -> String {
    integer.str().map_or_else(|_| String::from("the number"), |text| text.to_string())
}

/// Returns the slot of a number that the type can hold.
#[inline]
fn in_range(number: i128, value: Value) -> Option<u64> {
    let (low, high) = match value {
        Value::I8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Value::U8 => (0, i128::from(u8::MAX)),
        Value::I16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Value::U16 => (0, i128::from(u16::MAX)),
        Value::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Value::U32 => (0, i128::from(u32::MAX)),
        Value::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => (0, i128::from(u64::MAX)),
    };
    (low..=high).contains(&number).then_some(number as u64)
}

#[cold]
fn out_of_range(number: &dyn std::fmt::Display, value: Value, context: ArgumentContext) -> PyErr {
    let what = match value {
        Value::I8 => "an 8-bit integer",
        Value::U8 => "an unsigned 8-bit integer",
        Value::I16 => "a 16-bit integer",
        Value::U16 => "an unsigned 16-bit integer",
        Value::I32 => "a 32-bit integer",
        Value::U32 => "an unsigned 32-bit integer",
        Value::I64 => "a 64-bit integer",
        Value::U64 => "an unsigned 64-bit integer",
        _ => "an address",
    };
    PyOverflowError::new_err(format!("{}: {number} is out of range for {what}", context.name()))
}

/// Returns the slot of a `float` or a `double`.
fn float_slot(
    py: Python<'_>,
    argument: *mut ffi::PyObject,
    value: Value,
    context: ArgumentContext,
) -> PyResult<u64> {
    // SAFETY: arguments and their items are live objects, and `py` says that this thread has the
    // GIL.
    let number = unsafe { ffi::PyFloat_AsDouble(argument) };
    #[allow(clippy::float_cmp, reason = "exactly -1 is what tells of an error")]
    if number == -1.0
        && let Some(error) = PyErr::take(py)
    {
        if !error.is_instance_of::<PyTypeError>(py) {
            return Err(error);
        }
        // SAFETY: arguments and their items are live objects.
        let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
        let (name, found) = (context.name(), type_name(&object));
        return Err(PyTypeError::new_err(format!("{name}: a number is required, not {found}")));
    }
    if value == Value::F64 {
        return Ok(number.to_bits());
    }
    let single = number as f32;
    if single.is_infinite() && number.is_finite() {
        let name = context.name();
        return Err(PyOverflowError::new_err(format!(
            "{name}: {number} is out of range for float"
        )));
    }
    Ok(u64::from(single.to_bits()))
}

/// Returns the address of the UTF-8 text of a `str`, with a NUL at the end. The `str` keeps the
/// text, so the address is valid as long as the argument.
pub(super) fn utf8_address(
    py: Python<'_>,
    argument: *mut ffi::PyObject,
    context: ArgumentContext,
) -> PyResult<u64> {
    // SAFETY: arguments and their items are live objects.
    let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
    let Ok(text) = object.cast::<PyString>() else {
        let (name, found) = (context.name(), type_name(&object));
        return Err(PyTypeError::new_err(format!("{name}: a str is required, not {found}")));
    };
    if text.to_str()?.contains('\0') {
        return Err(PyValueError::new_err(format!(
            "{}: a NUL character is inside",
            context.name()
        )));
    }
    // SAFETY: `argument` is a live `str`. The length is not asked for, so NULL is allowed.
    let address = unsafe { ffi::PyUnicode_AsUTF8AndSize(argument, std::ptr::null_mut()) };
    if address.is_null() { Err(PyErr::fetch(py)) } else { Ok(address as u64) }
}

/// Returns the address of the text of a `str`, as [`utf8_address`] does, or the address that is
/// given.
pub(super) fn text_or_address(
    py: Python<'_>,
    argument: *mut ffi::PyObject,
    context: ArgumentContext,
) -> PyResult<u64> {
    // SAFETY: arguments and their items are live objects.
    if unsafe { Bound::from_borrowed_ptr(py, argument) }.is_instance_of::<PyString>() {
        utf8_address(py, argument, context)
    } else {
        slot_of(py, argument, Value::Address, context)
    }
}

/// Returns the error for a 0 on which the library would crash.
#[cold]
pub(super) fn null_error(context: ArgumentContext) -> PyErr {
    PyValueError::new_err(format!("{} is 0 (NULL), and the library would crash", context.name()))
}

/// Returns a new reference to the Python object for what C wrote or returned.
#[inline]
pub(super) fn output_object(
    py: Python<'_>,
    value: Value,
    cell: u64,
) -> PyResult<*mut ffi::PyObject> {
    // SAFETY: `py` says that this thread has the GIL. Each call returns a new reference, or NULL
    // with an exception set.
    let object = unsafe {
        match value {
            Value::I8 => ffi::PyLong_FromLongLong(i64::from(cell as i8)),
            Value::U8 => ffi::PyLong_FromLongLong(i64::from(cell as u8)),
            Value::I16 => ffi::PyLong_FromLongLong(i64::from(cell as i16)),
            Value::U16 => ffi::PyLong_FromLongLong(i64::from(cell as u16)),
            Value::I32 => ffi::PyLong_FromLongLong(i64::from(cell as i32)),
            Value::U32 => ffi::PyLong_FromLongLong(i64::from(cell as u32)),
            Value::I64 => ffi::PyLong_FromLongLong(cell as i64),
            Value::U64 | Value::Address => ffi::PyLong_FromUnsignedLongLong(cell),
            Value::F32 => ffi::PyFloat_FromDouble(f64::from(f32::from_bits(cell as u32))),
            Value::F64 => ffi::PyFloat_FromDouble(f64::from_bits(cell)),
            Value::C64 | Value::C128 | Value::Text => return text_output(py, cell),
        }
    };
    if object.is_null() { Err(PyErr::fetch(py)) } else { Ok(object) }
}

/// Returns a new reference to a `str` with the text at `address`, or to None for NULL.
fn text_output(py: Python<'_>, address: u64) -> PyResult<*mut ffi::PyObject> {
    if address == 0 {
        return Ok(py.None().into_ptr());
    }
    // SAFETY: the documentation of the C functions that have this type promises a NUL-terminated
    // string that is never freed.
    let text = unsafe { ffi::PyUnicode_FromString(address as *const c_char) };
    if text.is_null() { Err(PyErr::fetch(py)) } else { Ok(text) }
}

/// Returns the name of the object's class, for messages.
pub(super) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this object".into(), |name| name.to_string())
}
