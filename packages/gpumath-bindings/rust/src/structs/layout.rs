//! The layout of a struct: its size, and which field is where.

use std::ffi::CString;
use std::fmt::Write;

use gpumath_core::process::SetOnce;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::field::{FieldKind, PyField};
use crate::once::intern;

/// The attribute of a class that holds its layout.
const ATTRIBUTE: &str = "_layout";

/// The layout of the struct that a class stands for.
#[pyclass(frozen, name = "Layout", module = "gpumath.bindings._core.pod")]
pub(super) struct PyStructLayout {
    /// In bytes.
    pub(super) size: usize,
    /// In bytes.
    pub(super) alignment: usize,
    /// The format for the buffer protocol, such as `T{<Q:workspace_size:<i:state:4x}`.
    pub(super) format: CString,
    /// All fields, in the order of the class body. Some may overlap, as members of a union do.
    fields: Vec<(String, Py<PyField>)>,
    /// Indices of fields that do not overlap, by offset. Of a union, only the first member is
    /// there.
    parts: Vec<usize>,
    /// NumPy's description, once it has been asked for.
    dtype: SetOnce<Py<PyAny>>,
}

impl PyStructLayout {
    /// Returns the layout of a subclass of `StructArray`.
    pub(super) fn of(class: &Bound<'_, PyType>) -> PyResult<Py<Self>> {
        let py = class.py();
        let layout = class.getattr_opt(intern!(py, ATTRIBUTE))?;
        if let Some(Ok(layout)) = layout.map(Bound::cast_into) {
            return Ok(layout.unbind());
        }
        let name = class.name()?;
        Err(PyTypeError::new_err(format!("{name} has no fields; use one of its subclasses")))
    }

    /// Reads the fields from a class body and sets the layout of the class.
    pub(super) fn define(class: &Bound<'_, PyType>, size: usize, alignment: usize) -> PyResult<()> {
        let py = class.py();
        if size == 0
            || !alignment.is_power_of_two()
            || alignment > 4096
            || !size.is_multiple_of(alignment)
        {
            return Err(PyValueError::new_err(format!(
                "size is {size} and alignment is {alignment}, but the size must be a multiple of \
                 the alignment, which is a power of two up to 4096"
            )));
        }
        let own = class.getattr("__dict__")?;
        if own.contains(ATTRIBUTE)? {
            let name = class.name()?;
            return Err(PyTypeError::new_err(format!(
                "{name} has its fields already; define another class"
            )));
        }
        let mut fields = Vec::new();
        for item in own.call_method0("items")?.try_iter()? {
            let (name, value) = item?.extract::<(String, Bound<'_, PyAny>)>()?;
            if let Ok(field) = value.cast_into::<PyField>() {
                if !field.get().fits(size) {
                    return Err(PyValueError::new_err(format!(
                        "the field {name} ends behind the {size} bytes of its struct"
                    )));
                }
                fields.push((name, field.unbind()));
            }
        }
        let mut parts: Vec<usize> = Vec::new();
        for (index, (_, field)) in fields.iter().enumerate() {
            let range = field.get().range();
            let overlaps = |&other: &usize| {
                fields.get(other).is_some_and(|(_, other)| {
                    let other = other.get().range();
                    range.start < other.end && other.start < range.end
                })
            };
            if !parts.iter().any(overlaps) {
                parts.push(index);
            }
        }
        parts.sort_by_key(|&part| fields.get(part).map_or(0, |(_, field)| field.get().offset));
        let format = format_of(size, &fields, &parts)?;
        let layout = Self { size, alignment, format, fields, parts, dtype: SetOnce::new() };
        class.setattr(ATTRIBUTE, Py::new(py, layout)?)
    }

    /// Returns the fields that make up the struct, by offset, without any that overlap others.
    pub(super) fn parts(&self) -> impl Iterator<Item = &(String, Py<PyField>)> {
        self.parts.iter().filter_map(|&index| self.fields.get(index))
    }

    /// Returns NumPy's description of the struct. Imports NumPy.
    pub(super) fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || {
            let (mut names, mut formats, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
            let numpy = py.import("numpy")?;
            for (name, field) in self.parts() {
                let field = field.get();
                let element = match &field.kind {
                    FieldKind::Number(number) => {
                        numpy.getattr("dtype")?.call1((number.letter(),))?
                    }
                    FieldKind::Text => numpy.getattr("dtype")?.call1(("B",))?,
                    FieldKind::Struct(_, layout) => layout.get().dtype(py)?.into_bound(py),
                };
                names.push(name.as_str());
                let pair = (element, (field.count,));
                formats.push(if field.count == 1 {
                    pair.0
                } else {
                    numpy.getattr("dtype")?.call1((pair,))?
                });
                offsets.push(field.offset);
            }
            let description = PyDict::new(py);
            description.set_item("names", names)?;
            description.set_item("formats", formats)?;
            description.set_item("offsets", offsets)?;
            description.set_item("itemsize", self.size)?;
            Ok::<_, PyErr>(numpy.getattr("dtype")?.call1((description,))?.unbind())
        };
        Ok(self.dtype.get_or_try_init(make)?.clone_ref(py))
    }
}

/// Returns the format of a struct for the buffer protocol.
fn format_of(size: usize, fields: &[(String, Py<PyField>)], parts: &[usize]) -> PyResult<CString> {
    let mut text = String::from("T{");
    let mut end = 0;
    for (name, field) in parts.iter().filter_map(|&part| fields.get(part)) {
        let field = field.get();
        pad(&mut text, field.offset - end);
        if field.count != 1 {
            let _ = write!(text, "({})", field.count);
        }
        match &field.kind {
            FieldKind::Number(number) => {
                let _ = write!(text, "<{}", number.letter());
            }
            FieldKind::Text => text.push_str("<B"),
            FieldKind::Struct(_, layout) => {
                text.push_str(&layout.get().format.to_string_lossy());
            }
        }
        let _ = write!(text, ":{name}:");
        end = field.range().end;
    }
    pad(&mut text, size - end);
    text.push('}');
    CString::new(text).map_err(|_| PyValueError::new_err("a field's name holds a NUL character"))
}

/// Appends so many bytes of padding.
fn pad(text: &mut String, bytes: usize) {
    if bytes > 0 {
        let _ = write!(text, "{bytes}x");
    }
}
