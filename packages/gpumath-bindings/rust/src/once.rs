//! Python objects that are made at their first use and kept.
//!
//! PyO3's own cells (`PyOnceLock`, and `pyo3::intern!`, which has one) let go of the GIL while they
//! are locked. A child that is forked then would wait for them for ever; for [`SetOnce`] nothing
//! waits. What PyO3 keeps in such cells itself is made while the module is imported.

use gpumath_core::process::SetOnce;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyCapsule, PyComplex, PyDict, PyFloat, PyInt, PyList, PyMemoryView,
    PySequence, PySlice, PyString, PyTuple, PyType,
};

/// Makes the objects that PyO3 itself keeps in cells and that this crate uses. Call it while the
/// module is imported, when no other thread can be inside of it.
pub(crate) fn make_objects_of_pyo3(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<PyString>();
    class.module()?;
    class.name()?;
    class.qualname()?;
    class.fully_qualified_name()?;
    // For objects that are no list and no tuple, it imports an abstract class.
    let _ = class.cast::<PySequence>();
    let _ = class.mro();
    py.get_type::<PyBool>();
    py.get_type::<PyBytes>();
    py.get_type::<PyCapsule>();
    py.get_type::<PyComplex>();
    py.get_type::<PyDict>();
    py.get_type::<PyFloat>();
    py.get_type::<PyInt>();
    py.get_type::<PyList>();
    py.get_type::<PyMemoryView>();
    py.get_type::<PySlice>();
    py.get_type::<PyTuple>();
    py.get_type::<PyType>();
    Ok(())
}

/// A text as an interned `str`, made at the first use.
pub(crate) struct Interned {
    text: &'static str,
    object: SetOnce<Py<PyString>>,
}

impl Interned {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, object: SetOnce::new() }
    }

    #[inline]
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        self.object.get_or_init(|| PyString::intern(py, self.text).unbind()).bind(py)
    }
}

/// Returns a text as an interned `str`, which each place in the source makes once.
macro_rules! intern {
    ($py:expr, $text:expr) => {{
        static TEXT: $crate::once::Interned = $crate::once::Interned::new($text);
        TEXT.get($py)
    }};
}
pub(crate) use intern;
