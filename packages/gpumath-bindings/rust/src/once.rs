//! Python objects that are made at their first use and kept.
//!
//! PyO3's own cells (`PyOnceLock`, and `pyo3::intern!`, which has one) let go of the GIL while they
//! are locked. A child that is forked then would wait for them for ever; for [`SetOnce`] nothing
//! waits.

use gpumath_core::process::SetOnce;
use pyo3::prelude::*;
use pyo3::types::PyString;

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
