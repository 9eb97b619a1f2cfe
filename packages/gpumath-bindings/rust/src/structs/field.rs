//! `Field`: the descriptor of a struct's field in a class body.

use std::ffi::{CString, c_int};
use std::ops::Range;
use std::sync::OnceLock;

use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyString, PyTuple, PyType};

use super::array::PyStructArray;
use super::buffer::BufferExport;
use super::layout::PyStructLayout;
use super::memory::reserve_bytes;
use super::number::{Number, wrong};

/// The type of a field's elements.
pub(super) enum FieldKind {
    Number(Number),
    /// `char[n]`, read as a text that ends with a NUL.
    Text,
    /// Another struct: its class, and the layout that the class had when the field was made.
    Struct(Py<PyType>, Py<PyStructLayout>),
}

/// A field of a struct, by its C type and its place.
///
/// Parameters
/// ----------
/// kind : str or class
///     ``"i8"`` to ``"u64"``, ``"f32"``, ``"f64"``, ``"text"``, or the class of a nested struct.
/// offset : int
///     Bytes before the field.
/// count : int, optional
///     Number of elements, if the field is an array.
#[pyclass(frozen, name = "Field", module = "gpumath.bindings._core.pod")]
pub(crate) struct PyField {
    pub(super) kind: FieldKind,
    /// Bytes before the field.
    pub(super) offset: usize,
    /// Number of elements; 1 unless the field is an array.
    pub(super) count: usize,
    /// Bytes of one element.
    element_size: usize,
    /// Python name, once a class has the field.
    name: OnceLock<String>,
}

#[pymethods]
impl PyField {
    #[new]
    #[pyo3(signature = (kind, offset, count = 1))]
    fn new(kind: &Bound<'_, PyAny>, offset: usize, count: usize) -> PyResult<Self> {
        let (kind, element_size) = if let Ok(class) = kind.cast::<PyType>() {
            let layout = PyStructLayout::of(class)?;
            let size = layout.get().size;
            (FieldKind::Struct(class.clone().unbind(), layout), size)
        } else {
            let name = kind.extract::<&str>()?;
            match Number::named(name) {
                Some(number) => (FieldKind::Number(number), number.size()),
                None if name == "text" => (FieldKind::Text, 1),
                None => {
                    return Err(PyValueError::new_err(format!(
                        "kind is {name:?}, but only \"i8\" to \"u64\", \"f32\", \"f64\" and \
                         \"text\" are allowed"
                    )));
                }
            }
        };
        let end = count.checked_mul(element_size).and_then(|size| size.checked_add(offset));
        if count == 0 || end.is_none_or(|end| isize::try_from(end).is_err()) {
            return Err(PyValueError::new_err(format!(
                "count is {count} and offset is {offset}, but a field has at least 1 element and \
                 ends within the address space"
            )));
        }
        Ok(Self { kind, offset, count, element_size, name: OnceLock::new() })
    }

    /// Bytes before the field in the struct.
    #[getter]
    fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements; 1 unless the field is an array.
    #[getter]
    fn count(&self) -> usize {
        self.count
    }

    /// ``"i8"`` to ``"u64"``, ``"f32"``, ``"f64"``, ``"text"``, or the class of a nested struct.
    #[getter]
    fn kind(&self, py: Python<'_>) -> Py<PyAny> {
        match &self.kind {
            FieldKind::Number(number) => PyString::new(py, number.name()).into_any().unbind(),
            FieldKind::Text => PyString::new(py, "text").into_any().unbind(),
            FieldKind::Struct(class, _) => class.clone_ref(py).into_any(),
        }
    }

    fn __set_name__(&self, _owner: &Bound<'_, PyAny>, name: String) {
        // The field keeps the name that the first class has given it.
        let _ = self.name.set(name);
    }

    fn __get__(
        slf: &Bound<'_, Self>,
        instance: &Bound<'_, PyAny>,
        _owner: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if instance.is_none() {
            return Ok(slf.clone().into_any().unbind());
        }
        slf.get().read(slf.get().array(instance)?)
    }

    fn __set__(&self, instance: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.write(self.array(instance)?.get(), value)
    }

    fn __delete__(&self, _instance: &Bound<'_, PyAny>) -> PyResult<()> {
        let text = format!("{} cannot be deleted; set it to 0", self.name());
        Err(PyAttributeError::new_err(text))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let kind = self.kind(py).bind(py).repr()?;
        Ok(format!("Field({kind}, {}, {})", self.offset, self.count))
    }
}

impl PyField {
    /// Returns the range of the field's bytes in the struct.
    pub(super) fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.count * self.element_size
    }

    /// Returns whether the field ends within so many bytes.
    pub(super) fn fits(&self, size: usize) -> bool {
        self.range().end <= size
    }

    /// Returns the field's name for messages.
    fn name(&self) -> &str {
        self.name.get().map_or("a field", String::as_str)
    }

    /// Returns the array whose field is used. Checks that the field ends within its structs.
    fn array<'a, 'py>(
        &self,
        instance: &'a Bound<'py, PyAny>,
    ) -> PyResult<&'a Bound<'py, PyStructArray>> {
        let array = instance.cast::<PyStructArray>().map_err(|_| {
            PyTypeError::new_err(format!("{} belongs to an array of structs", self.name()))
        })?;
        if self.fits(array.get().layout().size) {
            Ok(array)
        } else {
            Err(PyTypeError::new_err(format!("{} belongs to another struct", self.name())))
        }
    }

    /// Returns whether the field is an array of bytes, which is read as a memoryview.
    fn is_bytes(&self) -> bool {
        let small = matches!(self.kind, FieldKind::Number(Number::I8 | Number::U8));
        small && self.count > 1
    }

    /// Returns the value of one struct, or a view of the values of several.
    fn read(&self, array: &Bound<'_, PyStructArray>) -> PyResult<Py<PyAny>> {
        let py = array.py();
        let parts = array.get();
        let address = parts.address.wrapping_add(self.offset);
        match &self.kind {
            FieldKind::Struct(class, layout) => {
                let (length, stride) = match (parts.length, self.count) {
                    (_, 1) => (parts.length, parts.stride),
                    (1, count) => (count, self.element_size as isize),
                    _ => {
                        let text = format!("{} is an array: index the structs first", self.name());
                        return Err(PyTypeError::new_err(text));
                    }
                };
                let layout = layout.clone_ref(py);
                parts.view(class.bind(py), layout, address, length, stride)
            }
            FieldKind::Number(number) if parts.length == 1 && self.count == 1 => {
                // SAFETY: `array` checked that the field ends within the struct.
                unsafe { number.read(py, address) }
            }
            FieldKind::Number(number) if parts.length == 1 && !self.is_bytes() => {
                let items = (0..self.count).map(|index| {
                    // SAFETY: `array` checked that the field, all elements of it, ends within the
                    // struct.
                    unsafe { number.read(py, address + index * self.element_size) }
                });
                let items = items.collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, items)?.into_any().unbind())
            }
            FieldKind::Text if parts.length == 1 => {
                // SAFETY: `array` checked that the field ends within the struct. No Python code
                // runs before the bytes are copied.
                let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, self.count) };
                let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
                let text = PyString::new(py, &String::from_utf8_lossy(text));
                Ok(text.into_any().unbind())
            }
            _ => self.column(array, address),
        }
    }

    /// Returns a memoryview of the field in every struct.
    fn column(&self, array: &Bound<'_, PyStructArray>, address: usize) -> PyResult<Py<PyAny>> {
        let parts = array.get();
        let letter = match self.kind {
            FieldKind::Number(number) if !self.is_bytes() => number.letter(),
            _ => 'B',
        };
        let (mut shape, mut strides) = (vec![parts.length as isize], vec![parts.stride]);
        if self.count > 1 {
            shape.push(self.count as isize);
            strides.push(self.element_size as isize);
            if parts.length == 1 {
                (shape, strides) = (shape.split_off(1), strides.split_off(1));
            }
        }
        let column = PyColumn {
            array: array.clone().unbind(),
            address,
            format: CString::new(letter.to_string())?,
            item_size: self.element_size,
            shape,
            strides,
        };
        let column = Bound::new(array.py(), column)?;
        Ok(PyMemoryView::from(column.as_any())?.into_any().unbind())
    }

    /// Writes the values for all structs, or one value to all of them.
    fn write(&self, array: &PyStructArray, value: &Bound<'_, PyAny>) -> PyResult<()> {
        array.check_writable()?;
        let size = self.count * self.element_size;
        let mut bytes = reserve_bytes(array.length.checked_mul(size))?;
        if let FieldKind::Struct(class, layout) = &self.kind {
            let class = class.bind(value.py());
            if !value.is_instance(class)? {
                return Err(wrong(value, self.name(), &class.name()?.to_string()));
            }
            let given = value.cast::<PyStructArray>()?.get();
            if !given.has_layout(layout) {
                return Err(wrong(value, self.name(), &class.name()?.to_string()));
            }
            let wanted = array.length * self.count;
            if given.length != wanted && given.length != 1 {
                return Err(self.wrong_length(given.length, wanted));
            }
            bytes = given.bytes()?;
        } else if array.length == 1 || Self::is_one(value) {
            self.pack(value, &mut bytes)?;
        } else {
            let length = value.len()?;
            if length != array.length {
                return Err(self.wrong_length(length, array.length));
            }
            for index in 0..length {
                self.pack(&value.get_item(index)?, &mut bytes)?;
            }
        }
        // There is a value for each place, or one, which is repeated.
        if bytes.len() < size {
            bytes = bytes.repeat(size / bytes.len().max(1));
        }
        for (index, part) in bytes.chunks(size).cycle().take(array.length).enumerate() {
            let target = array.at(index).wrapping_add(self.offset);
            // SAFETY: `array` checked for `__set__` that the field ends within the struct. `part`
            // is a copy.
            unsafe { std::ptr::copy(part.as_ptr(), target as *mut u8, part.len()) };
        }
        Ok(())
    }

    /// Returns whether a value given to several structs is one value and not a sequence of them.
    fn is_one(value: &Bound<'_, PyAny>) -> bool {
        let text = value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>();
        text || value.len().is_err()
    }

    /// Appends the bytes of the field's value for one struct.
    fn pack(&self, value: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> PyResult<()> {
        let end = bytes.len() + self.count * self.element_size;
        match &self.kind {
            FieldKind::Number(number) if self.count == 1 => {
                return number.pack(value, self.name(), bytes);
            }
            FieldKind::Text => {
                let Ok(text) = value.cast::<PyString>() else {
                    return Err(wrong(value, self.name(), "a str"));
                };
                let text = text.to_str()?;
                if text.len() >= self.count || text.contains('\0') {
                    return Err(PyValueError::new_err(format!(
                        "{}: at most {} bytes of text without NUL characters fit",
                        self.name(),
                        self.count - 1
                    )));
                }
                bytes.extend_from_slice(text.as_bytes());
            }
            // SAFETY: `value` is alive.
            _ if self.is_bytes() && unsafe { ffi::PyObject_CheckBuffer(value.as_ptr()) } != 0 => {
                // SAFETY: `value` is alive. The call returns a new reference, or NULL with an
                // exception set.
                let copy = unsafe {
                    let copy = ffi::PyBytes_FromObject(value.as_ptr());
                    Bound::from_owned_ptr_or_err(value.py(), copy)?
                };
                let copy = copy.cast_into::<PyBytes>()?;
                let given = copy.as_bytes();
                if given.len() > self.count {
                    return Err(self.wrong_length(given.len(), self.count));
                }
                bytes.extend_from_slice(given);
            }
            FieldKind::Number(number) => {
                if value.is_instance_of::<PyString>() {
                    return Err(wrong(value, self.name(), "a sequence of numbers"));
                }
                let Ok(length) = value.len() else {
                    return Err(wrong(value, self.name(), "a sequence of numbers"));
                };
                if length != self.count {
                    return Err(self.wrong_length(length, self.count));
                }
                for index in 0..length {
                    number.pack(&value.get_item(index)?, self.name(), bytes)?;
                }
            }
            FieldKind::Struct(..) => {}
        }
        // Zeros fill what a short text or short bytes leave.
        bytes.resize(end, 0);
        Ok(())
    }

    /// Returns the error for a wrong number of values.
    fn wrong_length(&self, found: usize, wanted: usize) -> PyErr {
        let name = self.name();
        PyValueError::new_err(format!(
            "{name}: {found} values were given, but there is room for {wanted}"
        ))
    }
}

/// Exports one field of all structs of an array, for a memoryview.
#[pyclass(frozen, name = "Column", module = "gpumath.bindings._core.pod")]
struct PyColumn {
    array: Py<PyStructArray>,
    /// Address of the field in the first struct.
    address: usize,
    format: CString,
    item_size: usize,
    shape: Vec<isize>,
    strides: Vec<isize>,
}

#[pymethods]
impl PyColumn {
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let column = slf.get();
        let exported = BufferExport {
            noun: "structs",
            address: column.address,
            readonly: column.array.get().memory.readonly,
            format: &column.format,
            item_size: column.item_size,
            shape: &column.shape,
            strides: &column.strides,
        };
        // SAFETY: the view is CPython's. The column holds a reference to the array and so to its
        // memory, owns the rest, and is frozen.
        unsafe { exported.fill(slf.clone().into_any(), view, flags) }
    }
}
