//! `StructArray`: the base of all struct classes.

use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyMemoryView, PySlice, PyTuple, PyType};

use super::buffer::BufferExport;
use super::layout::PyStructLayout;
use super::memory::{StructMemory, reserve_bytes};
use super::number::{integer, wrong};

/// An array of C structs of one kind, all zero at first.
///
/// The object itself is accepted where C wants the address of a struct.
///
/// Parameters
/// ----------
/// size : int, optional
///     Number of structs, at least 1.
#[pyclass(subclass, frozen, name = "StructArray", module = "gpumath.bindings._core.pod")]
pub(crate) struct PyStructArray {
    pub(super) memory: Arc<StructMemory>,
    layout: Py<PyStructLayout>,
    /// Address of the first struct.
    pub(super) address: usize,
    /// Number of structs; a slice may have none.
    pub(super) length: usize,
    /// Bytes from one struct to the next; negative in a reversed slice.
    pub(super) stride: isize,
    /// The length, at an address to which exported buffers point.
    shape: [isize; 1],
}

/// Carries a finished array to `__new__`, which returns it as an object of the right class.
#[pyclass(frozen, name = "Seed", module = "gpumath.bindings._core.pod")]
struct PySeed(Mutex<Option<PyStructArray>>);

/// The argument of `__new__`.
enum Origin {
    /// The number of structs that a user asks for.
    Length(usize),
    /// The array from a [`PySeed`].
    Seed(PyStructArray),
}

/// The descriptor `StructArray.dtype`. It computes the value when it is asked, because that imports
/// NumPy.
#[pyclass(frozen, name = "Dtype", module = "gpumath.bindings._core.pod")]
struct PyStructDtype;

#[pymethods]
impl PyStructDtype {
    #[expect(clippy::unused_self, reason = "descriptors have one")]
    fn __get__(
        &self,
        _instance: &Bound<'_, PyAny>,
        owner: &Bound<'_, PyType>,
    ) -> PyResult<Py<PyAny>> {
        PyStructLayout::of(owner)?.get().dtype(owner.py())
    }
}

#[pymethods]
impl PyStructArray {
    #[new]
    #[classmethod]
    #[pyo3(signature = (size = Origin::Length(1)), text_signature = "(size=1)")]
    fn new(
        cls: &Bound<'_, PyType>,
        #[pyo3(from_py_with = origin_of)] size: Origin,
    ) -> PyResult<Self> {
        let length = match size {
            Origin::Seed(array) => return Ok(array),
            Origin::Length(length) => length,
        };
        let layout = PyStructLayout::of(cls)?;
        let bytes = length.checked_mul(layout.get().size);
        let (memory, address) = StructMemory::zeroed(bytes, layout.get().alignment)?;
        Ok(Self::whole(Arc::new(memory), layout, address, length))
    }

    /// Set up a subclass, as in ``class Pair(StructArray, size=8, alignment=4): ...``.
    #[classmethod]
    #[pyo3(signature = (*, size = None, alignment = 1))]
    fn __init_subclass__(
        cls: &Bound<'_, PyType>,
        size: Option<usize>,
        alignment: usize,
    ) -> PyResult<()> {
        match size {
            Some(size) => PyStructLayout::define(cls, size, alignment),
            // A subclass of a struct class is another name for the same struct.
            None => Ok(()),
        }
    }

    /// View structs at an address.
    ///
    /// Parameters
    /// ----------
    /// ptr : int
    ///     Address of the first struct. The memory must stay valid as long as this array and its
    ///     views.
    /// size : int, optional
    ///     Number of structs.
    /// readonly : bool, optional
    ///     Refuse to write.
    #[classmethod]
    #[pyo3(signature = (ptr, size = 1, readonly = false))]
    fn from_ptr(
        cls: &Bound<'_, PyType>,
        ptr: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = length_of)] size: usize,
        readonly: bool,
    ) -> PyResult<Py<PyAny>> {
        let layout = PyStructLayout::of(cls)?;
        let address = usize::try_from(integer(ptr, "ptr")?).unwrap_or(0);
        let end = size.checked_mul(layout.get().size).and_then(|bytes| bytes.checked_add(address));
        if address == 0 || end.is_none_or(|end| isize::try_from(end).is_err()) {
            return Err(PyValueError::new_err(format!(
                "ptr is {address:#x}, which is NULL or leaves no room for {size} structs in the \
                 address space"
            )));
        }
        Self::whole(Arc::new(StructMemory::foreign(readonly)), layout, address, size)
            .into_object(cls)
    }

    /// View the structs in an object's buffer, and keep the object alive.
    ///
    /// Parameters
    /// ----------
    /// buffer : bytes-like
    ///     Contiguous bytes of one or more structs.
    #[classmethod]
    fn from_buffer(cls: &Bound<'_, PyType>, buffer: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let layout = PyStructLayout::of(cls)?;
        let found = PyUntypedBuffer::get(buffer)?;
        let (size, bytes) = (layout.get().size, found.len_bytes());
        if !found.is_c_contiguous() || bytes == 0 || bytes % size != 0 {
            return Err(PyValueError::new_err(format!(
                "buffer has {bytes} bytes, but {size} for each struct are needed, without gaps"
            )));
        }
        let address = found.buf_ptr() as usize;
        Self::whole(Arc::new(StructMemory::borrowed(found)), layout, address, bytes / size)
            .into_object(cls)
    }

    /// View the elements of a structured NumPy array, and keep the array alive.
    ///
    /// Parameters
    /// ----------
    /// data : numpy.ndarray
    ///     An array of one dimension, whose element type is the ``dtype`` of this class.
    #[classmethod]
    fn from_data(cls: &Bound<'_, PyType>, data: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = cls.py();
        let layout = PyStructLayout::of(cls)?;
        if let Some(dtype) = data.getattr_opt("dtype")? {
            let own = layout.get().dtype(py)?;
            if !dtype.eq(own.bind(py))? {
                let text =
                    format!("the elements of data are {dtype}, but {} is needed", own.bind(py));
                return Err(PyTypeError::new_err(text));
            }
        }
        let found = PyUntypedBuffer::get(data)?;
        if found.dimensions() != 1 || found.item_size() != layout.get().size {
            return Err(PyTypeError::new_err(format!(
                "data has {} dimensions of elements of {} bytes, but 1 dimension of elements of {} \
                 bytes is needed",
                found.dimensions(),
                found.item_size(),
                layout.get().size
            )));
        }
        let &[length] = found.shape() else { return Err(PyValueError::new_err("no shape")) };
        let &[stride] = found.strides() else { return Err(PyValueError::new_err("no strides")) };
        if length == 0 {
            return Err(PyValueError::new_err("data is empty, but at least 1 struct is needed"));
        }
        let address = found.buf_ptr() as usize;
        let memory = Arc::new(StructMemory::borrowed(found));
        Self { memory, layout, address, length, stride, shape: [length as isize] }.into_object(cls)
    }

    /// NumPy's description of one struct.
    #[classattr]
    fn dtype(py: Python<'_>) -> PyResult<Py<PyStructDtype>> {
        Py::new(py, PyStructDtype)
    }

    /// Address of the first struct.
    #[getter]
    fn ptr(&self) -> PyResult<usize> {
        if self.contiguous() {
            return Ok(self.address);
        }
        Err(PyValueError::new_err(
            "these structs do not lie one behind another, as C expects; pass a copy: \
             copy.copy(...)",
        ))
    }

    /// Bytes of one struct.
    #[getter]
    fn itemsize(&self) -> usize {
        self.layout().size
    }

    /// Bytes of all structs.
    #[getter]
    fn nbytes(&self) -> usize {
        self.length * self.layout().size
    }

    /// Whether the structs cannot be written to.
    #[getter]
    fn readonly(&self) -> bool {
        self.memory.readonly
    }

    fn __int__(&self) -> PyResult<usize> {
        self.ptr()
    }

    fn __index__(&self) -> PyResult<usize> {
        self.ptr()
    }

    fn __len__(&self) -> usize {
        self.length
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        // SAFETY: `slf` is alive. The call returns a new reference, or NULL with an exception set.
        unsafe {
            let iterator = ffi::PySeqIter_New(slf.as_ptr());
            Ok(Bound::from_owned_ptr_or_err(slf.py(), iterator)?.unbind())
        }
    }

    fn __getitem__(slf: &Bound<'_, Self>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (start, length, step) = slf.get().chosen(index)?;
        let array = slf.get();
        // The layout is that of the memory, even if the class was exchanged.
        let layout = array.layout.clone_ref(slf.py());
        let stride = array.stride.wrapping_mul(step);
        array.view(&slf.get_type(), layout, array.at(start), length, stride)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let array = slf.get();
        array.check_writable()?;
        let (start, length, step) = array.chosen(index)?;
        let Some(given) = value.cast::<Self>().ok().filter(|v| v.get().layout.is(&array.layout))
        else {
            return Err(wrong(value, "a struct", &slf.get_type().name()?.to_string()));
        };
        if given.get().length != length {
            let found = given.get().length;
            let text = format!("{found} structs were given, but there is room for {length}");
            return Err(PyValueError::new_err(text));
        }
        let target =
            Self::part(array, array.at(start), length, array.stride.wrapping_mul(step), slf.py());
        target.fill(&given.get().bytes()?);
        Ok(())
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let array = slf.get();
        let Some(other) = other.cast::<Self>().ok().filter(|v| v.get().layout.is(&array.layout))
        else {
            return Ok(py.NotImplemented());
        };
        let equal = array.length == other.get().length && array.bytes()? == other.get().bytes()?;
        Ok(PyBool::new(py, equal).to_owned().into_any().unbind())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let array = slf.get();
        let class = slf.get_type().name()?;
        if array.length != 1 {
            return Ok(format!("<{class}: {} structs at {:#x}>", array.length, array.address));
        }
        let mut parts = Vec::new();
        // Without members of unions that overlap another field.
        for (name, _) in array.layout().parts() {
            let value = slf.getattr(name.as_str())?;
            let value = if value.is_instance_of::<PyMemoryView>() {
                value
                    .call_method0("tobytes")?
                    .call_method1("rstrip", (PyBytes::new(slf.py(), &[0]),))?
            } else {
                value
            };
            parts.push(format!("{name}={}", value.repr()?));
        }
        Ok(format!("{class}({})", parts.join(", ")))
    }

    /// The bytes of all structs.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.bytes()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, array, class) = (slf.py(), slf.get(), slf.get_type());
        if array.length > 0 {
            return (class, (array.length,), array.__bytes__(py)?).into_pyobject(py);
        }
        // A class makes no empty array, but an empty slice of an array is one.
        let select = py.import("operator")?.getattr("getitem")?;
        (select, (class.call_method1("__new__", (&class,))?, PySlice::new(py, 0, 0, 1)))
            .into_pyobject(py)
    }

    /// Restore the bytes that ``__reduce__`` returned.
    fn __setstate__(&self, state: &Bound<'_, PyBytes>) -> PyResult<()> {
        self.check_writable()?;
        let bytes = state.as_bytes();
        if bytes.len() != self.nbytes() {
            let text =
                format!("the state has {} bytes, but the array has {}", bytes.len(), self.nbytes());
            return Err(PyValueError::new_err(text));
        }
        self.fill(bytes);
        Ok(())
    }

    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let array = slf.get();
        let exported = BufferExport {
            noun: "structs",
            address: array.address,
            readonly: array.memory.readonly,
            format: &array.layout().format,
            item_size: array.layout().size,
            shape: &array.shape,
            strides: std::slice::from_ref(&array.stride),
        };
        // SAFETY: the view is CPython's. The array holds references to its memory and its layout,
        // and is frozen.
        unsafe { exported.fill(slf.clone().into_any(), view, flags) }
    }
}

impl PyStructArray {
    /// Returns an array of structs one behind another.
    fn whole(
        memory: Arc<StructMemory>,
        layout: Py<PyStructLayout>,
        address: usize,
        length: usize,
    ) -> Self {
        let stride = layout.get().size as isize;
        Self { memory, layout, address, length, stride, shape: [length as isize] }
    }

    /// Returns an array of other structs in the same memory.
    fn part(&self, address: usize, length: usize, stride: isize, py: Python<'_>) -> Self {
        let (memory, layout) = (Arc::clone(&self.memory), self.layout.clone_ref(py));
        Self { memory, layout, address, length, stride, shape: [length as isize] }
    }

    /// Turns the array into an object of a class.
    fn into_object(self, class: &Bound<'_, PyType>) -> PyResult<Py<PyAny>> {
        let seed = PySeed(Mutex::new(Some(self)));
        // Not by calling the class: a subclass may have an `__init__`.
        Ok(class.call_method1("__new__", (class, seed))?.unbind())
    }

    /// Returns a view of structs of any class in the same memory, where `layout` has room.
    pub(super) fn view(
        &self,
        class: &Bound<'_, PyType>,
        layout: Py<PyStructLayout>,
        address: usize,
        length: usize,
        stride: isize,
    ) -> PyResult<Py<PyAny>> {
        let memory = Arc::clone(&self.memory);
        Self { memory, layout, address, length, stride, shape: [length as isize] }
            .into_object(class)
    }

    /// Returns whether the structs have this layout.
    pub(super) fn has_layout(&self, layout: &Py<PyStructLayout>) -> bool {
        self.layout.is(layout)
    }

    pub(super) fn layout(&self) -> &PyStructLayout {
        self.layout.get()
    }

    /// Returns the address of the struct at `index`.
    pub(super) fn at(&self, index: usize) -> usize {
        self.address.wrapping_add_signed(self.stride.wrapping_mul(index as isize))
    }

    /// Returns whether the structs are one behind another.
    fn contiguous(&self) -> bool {
        self.length <= 1 || self.stride == self.layout().size as isize
    }

    pub(super) fn check_writable(&self) -> PyResult<()> {
        if self.memory.readonly {
            return Err(PyValueError::new_err(
                "the structs are read-only; write to a copy: copy.copy(...)",
            ));
        }
        Ok(())
    }

    /// Returns a copy of the bytes of all structs.
    pub(super) fn bytes(&self) -> PyResult<Vec<u8>> {
        let size = self.layout().size;
        let mut bytes = reserve_bytes(self.length.checked_mul(size))?;
        for index in 0..self.length {
            // SAFETY: `index` is below the length, so the struct is in `memory`, which this array
            // keeps alive.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(self.at(index) as *const u8, size)
            });
        }
        Ok(bytes)
    }

    /// Copies `bytes` to the structs, in order.
    fn fill(&self, bytes: &[u8]) {
        for (index, part) in bytes.chunks(self.layout().size).enumerate().take(self.length) {
            // SAFETY: `index` is below the length, so the struct is in `memory`, and `part` is no
            // longer than a struct.
            unsafe { std::ptr::copy(part.as_ptr(), self.at(index) as *mut u8, part.len()) };
        }
    }

    /// Returns first index, number and step of the structs that an index or a slice selects.
    fn chosen(&self, index: &Bound<'_, PyAny>) -> PyResult<(usize, usize, isize)> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let picked = slice.indices(self.length as isize)?;
            let start = if picked.slicelength == 0 { 0 } else { picked.start };
            return Ok((start as usize, picked.slicelength, picked.step));
        }
        if !index.hasattr("__index__")? {
            return Err(wrong(index, "the index", "an integer or a slice"));
        }
        let number = integer(index, "the index").unwrap_or(i128::MAX);
        let from_start = if number < 0 { number + self.length as i128 } else { number };
        match usize::try_from(from_start) {
            Ok(start) if start < self.length => Ok((start, 1, 1)),
            _ => {
                let text = format!("the index is outside of {} structs", self.length);
                Err(PyIndexError::new_err(text))
            }
        }
    }
}

/// Reads the argument of `__new__`.
fn origin_of(size: &Bound<'_, PyAny>) -> PyResult<Origin> {
    let Ok(seed) = size.cast::<PySeed>() else { return length_of(size).map(Origin::Length) };
    let mut seed = seed.get().0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    seed.take().map(Origin::Seed).ok_or_else(|| PyTypeError::new_err("this view was made already"))
}

/// Reads a number of structs, which is at least 1.
fn length_of(size: &Bound<'_, PyAny>) -> PyResult<usize> {
    let number = integer(size, "size")?;
    match usize::try_from(number) {
        Ok(length) if length > 0 => Ok(length),
        _ => Err(PyValueError::new_err(format!("size must be at least 1, not {number}"))),
    }
}
