//! Arguments that C takes by address: numbers, texts and bytes from Python objects, kept for the time of the call.

use std::ffi::c_int;

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PySequence, PyString};
use smallvec::SmallVec;

use super::scalar_arguments::{ArgumentContext, slot_of, type_name, utf8_address};
use super::{ParameterKind, Value, required_length};

/// What an argument lends to C until the call is over.
pub(super) enum ArgumentGuard<'py> {
    /// A copy, packed as C's element type.
    Words { _words: Vec<u64> },
    /// A new object; other arguments are guards by the caller.
    Object { _object: Bound<'py, PyAny> },
    /// A buffer that is locked.
    Buffer { _buffer: ArgumentBufferGuard },
}

/// Everything that the arguments of one call lend to C.
pub(super) type ArgumentGuards<'py> = SmallVec<[ArgumentGuard<'py>; 4]>;

/// The buffer of an object, released when dropped.
pub(super) struct ArgumentBufferGuard(pub(super) ffi::Py_buffer);

impl ArgumentBufferGuard {
    /// The object's buffer as `flags` ask for it, or why it has none.
    pub(super) fn of(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        // SAFETY: an all-zero Py_buffer is valid to be filled.
        let mut view: ffi::Py_buffer = unsafe { std::mem::zeroed() };
        // SAFETY: a live object and a live view; on -1 an exception is set and the view holds nothing.
        let outcome = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut view, flags) };
        if outcome == 0 { Ok(Self(view)) } else { Err(PyErr::fetch(object.py())) }
    }
}

impl Drop for ArgumentBufferGuard {
    fn drop(&mut self) {
        // SAFETY: filled by `PyObject_GetBuffer`; calls drop what they hold with the thread attached.
        unsafe { ffi::PyBuffer_Release(&raw mut self.0) }
    }
}

/// The slot of an array, a text array, a buffer or a struct by value.
pub(super) fn address_of<'py>(
    py: Python<'py>,
    argument: *mut ffi::PyObject,
    kind: ParameterKind,
    arguments: &[*mut ffi::PyObject],
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // SAFETY: `argument` is a live object.
    let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
    let needed = |length| required_length(py, context.spec, arguments, length);
    match kind {
        ParameterKind::Sequence(value, length) => {
            let fits = check_length(needed(length)?, context);
            numbers(&object, value, fits, context, guards)
        }
        ParameterKind::Nested(value, length) => {
            let fits = check_length(needed(length)?, context);
            address_array(&object, "a sequence of sequences of numbers", fits, context, guards, {
                |item, context, guards| numbers(item, value, |_| Ok(()), context, guards)
            })
        }
        ParameterKind::Texts(length) => {
            let fits = check_length(needed(length)?, context);
            address_array(&object, "a sequence of str or bytes", fits, context, guards, text)
        }
        ParameterKind::Bytes(length) => bytes(&object, needed(length)?, context, guards),
        ParameterKind::Buffer(value, length) => {
            let size = needed(length)?.saturating_mul(size_of_element(value));
            buffer(&object, size, context, guards)
        }
        ParameterKind::Struct(size) => by_value(&object, size, context, guards),
        _ => Ok(0),
    }
}

/// The slot of a complex number: its bits, or the address of the wider one.
pub(super) fn complex_from<'py>(
    py: Python<'py>,
    argument: *mut ffi::PyObject,
    value: Value,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // SAFETY: `argument` is a live object.
    let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
    let wrong = || {
        let (name, found) = (context.name(), type_name(&object));
        PyTypeError::new_err(format!("{name}: a complex number is required, not {found}"))
    };
    // complex() would parse a str.
    if object.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let number = py
        .get_type::<PyComplex>()
        .call1((&object,))
        .map_err(|error| if error.is_instance_of::<PyTypeError>(py) { wrong() } else { error })?;
    let part = |name| -> PyResult<f64> { number.getattr(name)?.extract() };
    let (re, im) = (part("real")?, part("imag")?);
    if value == Value::C64 {
        return Ok(u64::from((re as f32).to_bits()) | u64::from((im as f32).to_bits()) << 32);
    }
    Ok(keep_words(vec![re.to_bits(), im.to_bits()], guards))
}

/// The address of numbers: an integer as it is, or a copy of a sequence.
fn numbers<'py>(
    object: &Bound<'py, PyAny>,
    value: Value,
    fits: impl Fn(usize) -> PyResult<()>,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    let Some(length) = sequence_length(object) else {
        return integer_address(object, "a sequence of numbers", context);
    };
    fits(length)?;
    let per_word = 8 / size_of_element(value);
    let bits = 64 / per_word;
    let mut words = reserve_words(length.div_ceil(per_word), context)?;
    words.resize(length.div_ceil(per_word), 0);
    for index in 0..length {
        let item = object.get_item(index)?;
        let context = ArgumentContext { index: Some(index), ..context };
        let slot = slot_of(object.py(), item.as_ptr(), value, context)?;
        if let Some(word) = words.get_mut(index / per_word) {
            // Little-endian, like every CPU that these libraries run on.
            *word |= (slot << (64 - bits) >> (64 - bits)) << (index % per_word * bits);
        }
    }
    Ok(keep_words(words, guards))
}

/// The address of an array of addresses, one an item.
fn address_array<'py>(
    object: &Bound<'py, PyAny>,
    what: &str,
    fits: impl Fn(usize) -> PyResult<()>,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
    address: impl Fn(&Bound<'py, PyAny>, ArgumentContext, &mut ArgumentGuards<'py>) -> PyResult<u64>,
) -> PyResult<u64> {
    let bytes = object.is_instance_of::<PyBytes>();
    let Some(length) = sequence_length(object).filter(|_| !bytes) else {
        return integer_address(object, what, context);
    };
    fits(length)?;
    let mut addresses = reserve_words(length, context)?;
    for index in 0..length {
        let item = object.get_item(index)?;
        let context = ArgumentContext { index: Some(index), ..context };
        addresses.push(address(&item, context, guards)?);
        guards.push(ArgumentGuard::Object { _object: item });
    }
    Ok(keep_words(addresses, guards))
}

/// The address of the text of a `str` or of `bytes`.
fn text<'py>(
    object: &Bound<'py, PyAny>,
    context: ArgumentContext,
    _: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    let Ok(bytes) = object.cast::<PyBytes>() else {
        if object.is_instance_of::<PyString>() {
            return utf8_address(object.py(), object.as_ptr(), context);
        }
        let (name, found) = (context.name(), type_name(object));
        return Err(PyTypeError::new_err(format!(
            "{name}: a str or bytes is required, not {found}"
        )));
    };
    if bytes.as_bytes().contains(&0) {
        let name = context.name();
        return Err(PyValueError::new_err(format!("{name}: a NUL byte is inside")));
    }
    // Bytes have a NUL behind them.
    Ok(bytes.as_bytes().as_ptr() as u64)
}

/// The address of data: an integer as it is, or the buffer of an object.
fn bytes<'py>(
    object: &Bound<'py, PyAny>,
    needed: usize,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // Objects that are an address and a buffer both have their bytes at that address.
    if !is_data(object)? {
        return integer_address(object, "an object with a buffer", context);
    }
    let bytes = bytes_of(object)?;
    check_length(needed, context)(bytes.as_bytes().len())?;
    let address = bytes.as_bytes().as_ptr() as u64;
    guards.push(ArgumentGuard::Object { _object: bytes.into_any() });
    Ok(address)
}

/// The address of memory that C writes to.
fn buffer<'py>(
    object: &Bound<'py, PyAny>,
    needed: usize,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    if !is_data(object)? {
        return integer_address(object, "an object with a writable buffer", context);
    }
    let view = ArgumentBufferGuard::of(object, ffi::PyBUF_WRITABLE).map_err(|cause| {
        let name = context.name();
        PyTypeError::new_err(format!("{name}: a contiguous writable buffer is required: {cause}"))
    })?;
    check_length(needed, context)(usize::try_from(view.0.len).unwrap_or(0))?;
    let address = view.0.buf as u64;
    guards.push(ArgumentGuard::Buffer { _buffer: view });
    Ok(address)
}

/// The address of a struct that C takes by value.
fn by_value<'py>(
    object: &Bound<'py, PyAny>,
    size: usize,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    if !is_data(object)? {
        let address = integer_address(object, "an object with a buffer", context)?;
        return if address == 0 {
            Err(super::scalar_arguments::null_error(context))
        } else {
            Ok(address)
        };
    }
    let bytes = bytes_of(object)?;
    let found = bytes.as_bytes().len();
    if found != size {
        let name = context.name();
        return Err(PyValueError::new_err(format!("{name} has {found} bytes, the struct {size}")));
    }
    let address = bytes.as_bytes().as_ptr() as u64;
    guards.push(ArgumentGuard::Object { _object: bytes.into_any() });
    Ok(address)
}

/// Whether an object lends its bytes. A NumPy integer could, but stands for an address as every integer does.
fn is_data(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // SAFETY: a live object.
    if !has_buffer(object) || unsafe { ffi::PyIndex_Check(object.as_ptr()) } == 0 {
        return Ok(has_buffer(object));
    }
    let view = ArgumentBufferGuard::of(object, ffi::PyBUF_ND)?;
    Ok(view.0.ndim > 0 || view.0.readonly == 0)
}

pub(super) fn has_buffer(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a live object.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
}

/// The object's bytes. Exact bytes are not copied; a NUL is behind them, which C's text formats need.
fn bytes_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    // SAFETY: an object with a buffer; a new reference or NULL with an exception.
    let bytes = unsafe {
        Bound::from_owned_ptr_or_err(object.py(), ffi::PyBytes_FromObject(object.as_ptr()))?
    };
    Ok(bytes.cast_into::<PyBytes>()?)
}

/// The number of items, of what can be indexed and is no text.
fn sequence_length(object: &Bound<'_, PyAny>) -> Option<usize> {
    if object.is_instance_of::<PyString>() {
        return None;
    }
    let sequence = object.cast::<PySequence>().ok().and_then(|s| s.len().ok());
    // SAFETY: a live object. Arrays are no instances of Sequence, but they can be indexed.
    let indexable = unsafe { ffi::PySequence_Check(object.as_ptr()) } != 0;
    sequence.or_else(|| indexable.then(|| object.len().ok()).flatten())
}

/// An address, where something else would do as well.
pub(super) fn integer_address(
    object: &Bound<'_, PyAny>,
    other: &str,
    context: ArgumentContext,
) -> PyResult<u64> {
    if !object.is_instance_of::<PyString>() && object.hasattr("__int__")? {
        return slot_of(object.py(), object.as_ptr(), Value::Address, context);
    }
    let (name, found) = (context.name(), type_name(object));
    Err(PyTypeError::new_err(format!("{name}: an address or {other} is required, not {found}")))
}

fn check_length(needed: usize, context: ArgumentContext) -> impl Fn(usize) -> PyResult<()> {
    move |length| {
        if length >= needed {
            return Ok(());
        }
        let (unit, verb) = match context.parameter.kind {
            ParameterKind::Buffer(..) => ("bytes", "written to"),
            ParameterKind::Bytes(_) => ("bytes", "read from"),
            _ => ("elements", "read from"),
        };
        let name = context.name();
        let message = format!("{name} has {length} {unit}, {needed} are {verb} it");
        Err(PyValueError::new_err(message))
    }
}

/// An empty vector with room for so many words: what an object says of its length may be anything.
fn reserve_words(words: usize, context: ArgumentContext) -> PyResult<Vec<u64>> {
    let mut room = Vec::new();
    room.try_reserve_exact(words).map_err(|_| {
        let name = context.name();
        PyMemoryError::new_err(format!("{name}: no memory for a copy of {words} words"))
    })?;
    Ok(room)
}

pub(super) fn keep_words(words: Vec<u64>, guards: &mut ArgumentGuards<'_>) -> u64 {
    let address = words.as_ptr() as u64;
    guards.push(ArgumentGuard::Words { _words: words });
    address
}

fn size_of_element(value: Value) -> usize {
    match value {
        Value::I8 | Value::U8 => 1,
        Value::I16 | Value::U16 => 2,
        Value::I32 | Value::U32 | Value::F32 => 4,
        _ => 8,
    }
}
