//! Converts arguments that C takes by address. Numbers, texts and bytes of Python objects are
//! copied or locked, and [`ArgumentGuards`] keeps them alive until the call has returned.

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PySequence, PyString};
use smallvec::SmallVec;

use super::scalar_arguments::{ArgumentContext, slot_of, type_name, utf8_address};
use super::specs::{ParameterKind, Value};
use crate::py_buffer::ArgumentBufferGuard;

/// Keeps alive what C gets the address of.
pub(super) enum ArgumentGuard<'py> {
    /// A copy of numbers, packed as C's element type, or of addresses.
    Words { _words: Vec<u64> },
    /// A reference to an object that is no argument itself; the caller has references to those.
    Object { _object: Bound<'py, PyAny> },
    /// The locked buffer of an object.
    Buffer { _buffer: ArgumentBufferGuard },
}

/// Keeps alive all that the arguments of one call point to.
pub(super) type ArgumentGuards<'py> = SmallVec<[ArgumentGuard<'py>; 4]>;

/// Returns the address for an array, a buffer or a struct by value. C uses `needed` elements.
pub(super) fn address_of<'py>(
    py: Python<'py>,
    argument: *mut ffi::PyObject,
    kind: ParameterKind,
    needed: usize,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // SAFETY: arguments are live objects.
    let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
    let fits = check_length(needed, context);
    match kind {
        ParameterKind::Sequence(value, _) => numbers(&object, value, fits, context, guards),
        ParameterKind::Nested(value, _) => {
            address_array(&object, "a sequence of sequences of numbers", fits, context, guards, {
                |item, context, guards| numbers(item, value, |_| Ok(()), context, guards)
            })
        }
        ParameterKind::Texts(_) => {
            address_array(&object, "a sequence of str or bytes", fits, context, guards, text)
        }
        ParameterKind::Bytes(_) => bytes(&object, needed, context, guards),
        ParameterKind::Buffer(value, _) => {
            let size = needed.saturating_mul(size_of_element(value));
            buffer(&object, size, context, guards)
        }
        ParameterKind::Struct(size) => by_value(&object, size.into(), context, guards),
        _ => Ok(0),
    }
}

/// Returns the slot of a complex number: the bits of a `cuComplex`, or the address of a
/// `cuDoubleComplex`.
pub(super) fn complex_from<'py>(
    py: Python<'py>,
    argument: *mut ffi::PyObject,
    value: Value,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // SAFETY: arguments are live objects.
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

/// Returns the address of numbers: an integer as it is, or that of a copy of a sequence.
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

/// Returns the address of an array with the address of each item.
fn address_array<'py>(
    object: &Bound<'py, PyAny>,
    what: &str,
    fits: impl Fn(usize) -> PyResult<()>,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
    locate: impl Fn(&Bound<'py, PyAny>, ArgumentContext, &mut ArgumentGuards<'py>) -> PyResult<u64>,
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
        addresses.push(locate(&item, context, guards)?);
        guards.push(ArgumentGuard::Object { _object: item });
    }
    Ok(keep_words(addresses, guards))
}

/// Returns the address of the text of a `str` or of `bytes`, which the object keeps.
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
    // CPython keeps a NUL behind the bytes.
    Ok(bytes.as_bytes().as_ptr() as u64)
}

/// Returns the address of data: an integer as it is, or that of the bytes of an object.
fn bytes<'py>(
    object: &Bound<'py, PyAny>,
    needed: usize,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // A struct array is an address and a buffer. Its bytes are at that address, so both give the
    // same.
    if !is_data(object)? {
        return integer_address(object, "an object with a buffer", context);
    }
    let bytes = bytes_of(object)?;
    check_length(needed, context)(bytes.as_bytes().len())?;
    let address = bytes.as_bytes().as_ptr() as u64;
    guards.push(ArgumentGuard::Object { _object: bytes.into_any() });
    Ok(address)
}

/// Returns the address of memory to which C writes: an integer as it is, or that of a locked
/// buffer.
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

/// Returns the address of a struct that C takes by value, which the trampoline copies.
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
        return Err(PyValueError::new_err(format!(
            "{name} has {found} bytes, but the C struct has {size}"
        )));
    }
    let address = bytes.as_bytes().as_ptr() as u64;
    guards.push(ArgumentGuard::Object { _object: bytes.into_any() });
    Ok(address)
}

/// Returns whether an object stands for its bytes. A NumPy integer has a buffer too, but stands for
/// an address like every integer.
fn is_data(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // SAFETY: `object` is alive.
    if !has_buffer(object) || unsafe { ffi::PyIndex_Check(object.as_ptr()) } == 0 {
        return Ok(has_buffer(object));
    }
    let view = ArgumentBufferGuard::of(object, ffi::PyBUF_ND)?;
    Ok(view.0.ndim > 0 || view.0.readonly == 0)
}

/// Returns whether an object's class has the buffer protocol.
pub(super) fn has_buffer(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: `object` is alive.
    unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
}

/// Returns the bytes of an object, with a NUL behind them, which C's text formats need. `bytes` are
/// returned as they are, others are copied.
fn bytes_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    // SAFETY: `object` is alive. The call returns a new reference, or NULL with an exception set.
    let bytes = unsafe {
        Bound::from_owned_ptr_or_err(object.py(), ffi::PyBytes_FromObject(object.as_ptr()))?
    };
    Ok(bytes.cast_into::<PyBytes>()?)
}

/// Returns the length of an object that can be indexed; `None` for a `str` and for any other
/// object.
fn sequence_length(object: &Bound<'_, PyAny>) -> Option<usize> {
    if object.is_instance_of::<PyString>() {
        return None;
    }
    let sequence = object.cast::<PySequence>().ok().and_then(|s| s.len().ok());
    // Arrays of NumPy are no instances of Sequence, but can be indexed.
    // SAFETY: `object` is alive.
    let indexable = unsafe { ffi::PySequence_Check(object.as_ptr()) } != 0;
    sequence.or_else(|| indexable.then(|| object.len().ok()).flatten())
}

/// Returns the address that an integer stands for. `other` is what else the argument may be, for
/// the message.
pub(super) fn integer_address(
    object: &Bound<'_, PyAny>,
    other: &str,
    context: ArgumentContext,
) -> PyResult<u64> {
    let is_number = object.hasattr("__index__")? || object.hasattr("__int__")?;
    if is_number && !object.is_instance_of::<PyString>() {
        return slot_of(object.py(), object.as_ptr(), Value::Address, context);
    }
    let (name, found) = (context.name(), type_name(object));
    Err(PyTypeError::new_err(format!("{name}: an address or {other} is required, not {found}")))
}

/// Returns a check that an array has as many elements as the call needs.
fn check_length(needed: usize, context: ArgumentContext) -> impl Fn(usize) -> PyResult<()> {
    move |length| {
        if length >= needed {
            return Ok(());
        }
        let (unit, verb) = match context.parameter.kind {
            ParameterKind::Buffer(..) => ("bytes", "writes"),
            ParameterKind::Bytes(_) => ("bytes", "reads"),
            _ => ("elements", "reads"),
        };
        let name = context.name();
        let message = format!("{name} has {length} {unit}, but the call {verb} {needed}");
        Err(PyValueError::new_err(message))
    }
}

/// Returns an empty vector with room for so many words, or an error if that is too much memory: an
/// object may claim any length.
fn reserve_words(words: usize, context: ArgumentContext) -> PyResult<Vec<u64>> {
    let mut room = Vec::new();
    room.try_reserve_exact(words).map_err(|_| {
        let name = context.name();
        PyMemoryError::new_err(format!("{name}: no memory for a copy of {words} words"))
    })?;
    Ok(room)
}

/// Keeps the words for the call and returns their address.
pub(super) fn keep_words(words: Vec<u64>, guards: &mut ArgumentGuards<'_>) -> u64 {
    let address = words.as_ptr() as u64;
    guards.push(ArgumentGuard::Words { _words: words });
    address
}

/// Returns the bytes of a number or an address.
fn size_of_element(value: Value) -> usize {
    match value {
        Value::I8 | Value::U8 => 1,
        Value::I16 | Value::U16 => 2,
        Value::I32 | Value::U32 | Value::F32 => 4,
        _ => 8,
    }
}
