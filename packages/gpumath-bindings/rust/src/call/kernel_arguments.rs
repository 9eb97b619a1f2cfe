//! Converts the arguments of a kernel to the array that the driver reads: `void **kernelParams`.
//!
//! Each entry of the array is the address of one argument's bytes. Python passes the address of
//! such an array, an object whose buffer is one, a list of addresses, or `(values, types)`, from
//! which an array is built for the call.

use std::ffi::{CStr, c_int, c_long, c_ulong};

use gpumath_core::process::SetOnce;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple, PyType};

use super::pointer_arguments::{
    ArgumentGuard, ArgumentGuards, has_buffer, integer_address, keep_words,
};
use super::scalar_arguments::{ArgumentContext, exact_integer, slot_of, type_name};
use super::specs::Value;
use crate::once::intern;
use crate::py_buffer::ArgumentBufferGuard;

/// The objects that may have `None` in place of a type, for messages.
const OWN_BYTES: &str = "an object with its own bytes (a struct, a NumPy scalar, an enum member)";

/// How a ctypes type is passed to a kernel.
#[derive(Clone, Copy)]
enum CtypesKind {
    /// A number or an address.
    Number(Value),
    /// `bool`
    Bool,
    /// `char`
    Byte,
    /// `wchar_t`
    Wide,
}

/// Classes of ctypes and enum, imported when the first kernel is launched with values.
struct CtypesClasses {
    /// Address and kind of each simple class. Aliases such as `c_int64` are the same objects.
    simple: [(usize, CtypesKind); 16],
    /// Base of the simple classes: `_SimpleCData`.
    simple_base: Py<PyType>,
    /// Base of all ctypes classes.
    base: Py<PyType>,
    /// `enum.Enum`.
    enumeration: Py<PyType>,
}

static TYPES: SetOnce<CtypesClasses> = SetOnce::new();

impl CtypesClasses {
    fn get(py: Python<'_>) -> PyResult<&CtypesClasses> {
        TYPES.get_or_try_init(|| Self::import(py))
    }

    #[cold]
    fn import(py: Python<'_>) -> PyResult<CtypesClasses> {
        let ctypes = py.import("ctypes")?;
        let class = |name: &str| Ok::<_, PyErr>(ctypes.getattr(name)?.cast_into::<PyType>()?);
        // ctypes is never unloaded, so the addresses of its classes stay theirs.
        let entry = |name: &str, passed| Ok::<_, PyErr>((class(name)?.as_ptr() as usize, passed));
        let number = |name: &str, value| entry(name, CtypesKind::Number(value));
        let signed = if size_of::<c_long>() == 8 { Value::I64 } else { Value::I32 };
        let unsigned = if size_of::<c_ulong>() == 8 { Value::U64 } else { Value::U32 };
        Ok(CtypesClasses {
            simple: [
                number("c_void_p", Value::Address)?,
                number("c_int", Value::I32)?,
                number("c_float", Value::F32)?,
                number("c_double", Value::F64)?,
                number("c_uint", Value::U32)?,
                number("c_long", signed)?,
                number("c_ulong", unsigned)?,
                number("c_longlong", Value::I64)?,
                number("c_ulonglong", Value::U64)?,
                number("c_short", Value::I16)?,
                number("c_ushort", Value::U16)?,
                number("c_byte", Value::I8)?,
                number("c_ubyte", Value::U8)?,
                entry("c_bool", CtypesKind::Bool)?,
                entry("c_char", CtypesKind::Byte)?,
                entry("c_wchar", CtypesKind::Wide)?,
            ],
            simple_base: class("_SimpleCData")?.unbind(),
            base: class("Structure")?.getattr("__base__")?.cast_into::<PyType>()?.unbind(),
            enumeration: py.import("enum")?.getattr("Enum")?.cast_into::<PyType>()?.unbind(),
        })
    }

    /// Returns how a simple class is passed; `None` for any other object.
    fn passed(&self, class: *mut ffi::PyObject) -> Option<CtypesKind> {
        self.simple.iter().find(|(known, _)| *known == class as usize).map(|(_, passed)| *passed)
    }
}

/// Returns the slot of `void **kernelParams`.
pub(super) fn kernel_parameters<'py>(
    py: Python<'py>,
    argument: *mut ffi::PyObject,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // SAFETY: arguments are live objects.
    let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
    if let Ok(pair) = object.cast::<PyTuple>() {
        return from_pair(pair, context, guards);
    }
    addresses(&object, "an array of addresses or a tuple (values, ctypes types)", context, guards)
}

/// Returns the slot of `void **extra`. `argument` is NULL if it was left out.
pub(super) fn kernel_extra<'py>(
    py: Python<'py>,
    argument: *mut ffi::PyObject,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    if argument.is_null() {
        return Ok(0);
    }
    // SAFETY: an argument that is not NULL is a live object.
    let object = unsafe { Bound::from_borrowed_ptr(py, argument) };
    addresses(&object, "an array of addresses", context, guards)
}

/// Returns the address of a `void*[]`: an integer as it is, 0 for None, or the address of a copy of
/// a list or of the buffer of an array. `forms` is what the argument may be, for the message.
fn addresses<'py>(
    object: &Bound<'py, PyAny>,
    forms: &str,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    // SAFETY: `object` is alive.
    if unsafe { ffi::PyLong_Check(object.as_ptr()) } != 0 {
        return slot_of(object.py(), object.as_ptr(), Value::Address, context);
    }
    if object.is_none() {
        return Ok(0);
    }
    if let Ok(list) = object.cast::<PyList>() {
        // Copy the items first, because converting them may run Python code that changes the list.
        let items = list.to_tuple();
        if items.is_empty() {
            return Ok(0);
        }
        let copied = items.iter().enumerate().map(|(index, item)| {
            let context = ArgumentContext { index: Some(index), ..context };
            slot_of(object.py(), item.as_ptr(), Value::Address, context)
        });
        return Ok(keep_words(copied.collect::<PyResult<_>>()?, guards));
    }
    if has_buffer(object) {
        let view = view_of(object, ffi::PyBUF_ND | ffi::PyBUF_FORMAT, context)?;
        // A NumPy scalar has a buffer of no dimensions, and is a number.
        if view.0.ndim > 0 {
            check_elements(&view.0, context)?;
            let address = view.0.buf as u64;
            guards.push(ArgumentGuard::Buffer { _buffer: view });
            return Ok(address);
        }
    }
    integer_address(object, forms, context)
}

/// Checks that the elements of a buffer are 64-bit integers.
fn check_elements(view: &ffi::Py_buffer, context: ArgumentContext) -> PyResult<()> {
    // SAFETY: the format was asked for, so the exporter has set a NUL-terminated one, or NULL for
    // bytes.
    let format = unsafe {
        if view.format.is_null() { b"B" } else { CStr::from_ptr(view.format).to_bytes() }
    };
    let plain = format.strip_prefix(b"<").or(format.strip_prefix(b"@")).unwrap_or(format);
    if view.itemsize == 8 && matches!(plain, [b'l' | b'L' | b'q' | b'Q' | b'n' | b'N' | b'P']) {
        return Ok(());
    }
    let (name, found) = (context.name(), String::from_utf8_lossy(format));
    Err(PyTypeError::new_err(format!(
        "{name}: an array of addresses has 64-bit integers, not elements of the format '{found}'"
    )))
}

/// Locks the C-contiguous buffer of an object.
fn view_of(
    object: &Bound<'_, PyAny>,
    flags: c_int,
    context: ArgumentContext,
) -> PyResult<ArgumentBufferGuard> {
    ArgumentBufferGuard::of(object, flags).map_err(|cause| {
        let name = context.name();
        PyValueError::new_err(format!("{name}: a C-contiguous buffer is required: {cause}"))
    })
}

/// Builds a `void*[]` and the values it points to from `(values, types)`, and returns its address.
fn from_pair<'py>(
    pair: &Bound<'py, PyTuple>,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<u64> {
    let (values, classes) = match pair.len() {
        2 => (tuple_of(pair, 0, context)?, tuple_of(pair, 1, context)?),
        length => {
            let name = context.name();
            return Err(PyTypeError::new_err(format!(
                "{name}: a tuple is (values, ctypes types), not of length {length}"
            )));
        }
    };
    let count = values.len();
    if count != classes.len() {
        return Err(PyValueError::new_err(format!(
            "{}: there are {count} values, but {} ctypes types",
            context.name(),
            classes.len()
        )));
    }
    if count == 0 {
        return Ok(0);
    }
    let py = pair.py();
    let types = CtypesClasses::get(py)?;
    let mut words = vec![0_u64; 2 * count];
    let base = words.as_ptr() as u64;
    let (addresses, cells) = words.split_at_mut(count);
    for (index, (address, cell)) in addresses.iter_mut().zip(cells).enumerate() {
        let (value, class) = (values.get_borrowed_item(index)?, classes.get_borrowed_item(index)?);
        let passed = types.passed(class.as_ptr());
        let plain = passed.and_then(|passed| exact_word(value.as_ptr(), passed));
        let context = || ArgumentContext { index: Some(index), ..context };
        let bytes = match (plain, passed) {
            (Some(word), _) => ArgumentBytes::Word(word),
            (None, Some(passed)) => {
                ArgumentBytes::Word(word(types, value.to_owned(), passed, context())?)
            }
            (None, None) => own_bytes(types, &value, &class, context(), guards)?,
        };
        *address = match bytes {
            ArgumentBytes::Word(word) => {
                // Every CPU that CUDA runs on is little-endian, so narrow values are in the first
                // bytes.
                *cell = word;
                base + 8 * (count + index) as u64
            }
            ArgumentBytes::At(address) => address,
        };
    }
    keep_words(words, guards);
    // `values` may be a copy of a list that loses its items meanwhile, so keep it until the driver
    // has read them.
    guards.push(ArgumentGuard::Object { _object: values.into_any() });
    Ok(base)
}

/// The bytes of a kernel argument.
enum ArgumentBytes {
    /// The first bytes of this word, which is still to be stored.
    Word(u64),
    /// Those at this address, which a guard or the caller keeps valid.
    At(u64),
}

/// Returns the values or the types of the pair, of which a list is copied.
fn tuple_of<'py>(
    pair: &Bound<'py, PyTuple>,
    index: usize,
    context: ArgumentContext,
) -> PyResult<Bound<'py, PyTuple>> {
    let item = pair.get_item(index)?;
    if let Ok(tuple) = item.cast::<PyTuple>() {
        return Ok(tuple.clone());
    }
    if let Ok(list) = item.cast::<PyList>() {
        return Ok(list.to_tuple());
    }
    let (name, found) = (context.name(), type_name(&item));
    Err(PyTypeError::new_err(format!(
        "{name}: a tuple is (values, ctypes types), each a tuple or a list, not {found}"
    )))
}

/// Returns the word for an `int` or a `float` that fits, which nearly all values are; `None` for
/// all else, which is left to [`word`].
#[inline]
fn exact_word(value: *mut ffi::PyObject, passed: CtypesKind) -> Option<u64> {
    let CtypesKind::Number(number) = passed else { return None };
    match number {
        Value::F32 | Value::F64 => {
            // SAFETY: `value` is an item of a tuple that is alive, and a `float` when its number is
            // asked for.
            let double = unsafe {
                if ffi::PyFloat_CheckExact(value) == 0 {
                    return None;
                }
                ffi::PyFloat_AsDouble(value)
            };
            let single = double as f32;
            match number {
                Value::F64 => Some(double.to_bits()),
                _ if single.is_infinite() && double.is_finite() => None,
                _ => Some(u64::from(single.to_bits())),
            }
        }
        number => exact_integer(value, number),
    }
}

/// Returns the word for a value of a simple ctypes type.
fn word(
    types: &CtypesClasses,
    mut object: Bound<'_, PyAny>,
    passed: CtypesKind,
    context: ArgumentContext,
) -> PyResult<u64> {
    let py = object.py();
    // Not `isinstance`, which asks `__instancecheck__`.
    // SAFETY: both are live classes.
    if unsafe { ffi::PyType_IsSubtype(object.get_type_ptr(), types.simple_base.as_ptr().cast()) }
        != 0
    {
        object = object.getattr(intern!(py, "value"))?;
        // The value of a null pointer is None.
        if object.is_none() {
            object = 0_u64.into_pyobject(py)?.into_any();
        }
    }
    match passed {
        CtypesKind::Number(Value::Address) => address_of(&object, context),
        CtypesKind::Number(number) => slot_of(py, object.as_ptr(), number, context),
        CtypesKind::Bool => Ok(u64::from(slot_of(py, object.as_ptr(), Value::I64, context)? != 0)),
        CtypesKind::Byte => match object.cast::<PyBytes>().map(PyBytesMethods::as_bytes) {
            Ok([byte]) => Ok(u64::from(*byte)),
            Ok(bytes) => Err(PyValueError::new_err(format!(
                "{}: c_char is one byte, not {}",
                context.name(),
                bytes.len()
            ))),
            Err(_) => slot_of(py, object.as_ptr(), Value::U8, context),
        },
        CtypesKind::Wide => {
            let Ok(text) = object.cast::<PyString>() else {
                let (name, found) = (context.name(), type_name(&object));
                return Err(PyTypeError::new_err(format!(
                    "{name}: a str is required, not {found}"
                )));
            };
            let text = text.to_str()?;
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (Some(character), None) => Ok(u64::from(u32::from(character))),
                _ => Err(PyValueError::new_err(format!(
                    "{}: c_wchar is one character, not {}",
                    context.name(),
                    text.chars().count()
                ))),
            }
        }
    }
}

/// Returns the address that an object stands for where the kernel takes a pointer.
fn address_of(object: &Bound<'_, PyAny>, context: ArgumentContext) -> PyResult<u64> {
    let py = object.py();
    if let Some(address) = own_address(object)? {
        return slot_of(py, address.as_ptr(), Value::Address, context);
    }
    // The `__int__` of an array with one element returns that element, not its address.
    if object.hasattr(intern!(py, "__cuda_array_interface__"))? {
        let (name, found) = (context.name(), type_name(object));
        return Err(PyTypeError::new_err(format!(
            "{name}: an address is required, not {found}: pass a.data.ptr (CuPy) or a.data_ptr() \
             (PyTorch)"
        )));
    }
    slot_of(py, object.as_ptr(), Value::Address, context)
}

/// Returns what `getPtr()` or the attribute `ptr` says; `None` if the object has neither.
fn own_address<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Some(method) = object.getattr_opt(intern!(object.py(), "getPtr"))? {
        return method.call0().map(Some);
    }
    object.getattr_opt(intern!(object.py(), "ptr"))
}

/// Returns the bytes of an object that is itself what the kernel takes: its type is given as None,
/// or as its own ctypes class.
fn own_bytes<'py>(
    types: &CtypesClasses,
    value: &Bound<'py, PyAny>,
    class: &Bound<'py, PyAny>,
    context: ArgumentContext,
    guards: &mut ArgumentGuards<'py>,
) -> PyResult<ArgumentBytes> {
    let py = value.py();
    if !class.is_none() {
        let base = types.base.bind(py);
        let ctypes = class.cast::<PyType>().is_ok_and(|c| c.is_subclass(base).unwrap_or(false));
        if !ctypes || !value.is_instance(class)? {
            return Err(wrong_type(value, class, ctypes, context));
        }
    }
    if has_buffer(value) {
        let view = view_of(value, ffi::PyBUF_SIMPLE, context)?;
        if view.0.len == 0 {
            return Err(PyValueError::new_err(format!("{}: it has no bytes", context.name())));
        }
        let address = view.0.buf as u64;
        guards.push(ArgumentGuard::Buffer { _buffer: view });
        return Ok(ArgumentBytes::At(address));
    }
    if value.is_instance(types.enumeration.bind(py))? {
        let number = value.getattr(intern!(py, "value"))?;
        return Ok(ArgumentBytes::Word(slot_of(py, number.as_ptr(), Value::I32, context)?));
    }
    // The driver would read the address of device memory as one of host memory.
    let on_device = value.hasattr(intern!(py, "device_id"))?
        || value.hasattr(intern!(py, "__cuda_array_interface__"))?;
    let address = if on_device { None } else { own_address(value)? };
    let Some(address) = address else {
        let (name, found) = (context.name(), type_name(value));
        let hint = if on_device { "; the type of device memory is c_void_p" } else { "" };
        return Err(PyTypeError::new_err(format!(
            "{name}: with the type None, {OWN_BYTES} is required, not {found}{hint}"
        )));
    };
    match slot_of(py, address.as_ptr(), Value::Address, context)? {
        0 => Err(PyValueError::new_err(format!("{}: its address is 0", context.name()))),
        address => Ok(ArgumentBytes::At(address)),
    }
}

/// Returns the error for a type that is no ctypes type, or is not that of the value.
#[cold]
fn wrong_type(
    value: &Bound<'_, PyAny>,
    class: &Bound<'_, PyAny>,
    ctypes: bool,
    context: ArgumentContext,
) -> PyErr {
    let name = context.name();
    let class_name = class.cast::<PyType>().ok().and_then(|class| class.name().ok());
    let text = match class_name {
        Some(class) if ctypes => {
            format!("{name}: an instance of {class} is required, not {}", type_name(value))
        }
        _ => format!(
            "{name}: the type is a ctypes type, or None for {OWN_BYTES}, not {}",
            class.repr().map_or_else(|_| type_name(class), |text| text.to_string())
        ),
    };
    PyTypeError::new_err(text)
}
