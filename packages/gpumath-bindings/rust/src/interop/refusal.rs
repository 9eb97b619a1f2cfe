//! Why an object is no operand, in words that fit whatever the caller calls the object.

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The reason why an object cannot be used as an operand. It is said by [`Named::named`].
pub(crate) enum Refusal {
    /// A reader of this crate refuses the object.
    Own {
        class: ExceptionClass,
        /// Begins right after the name of the operand: "'s element type …", " has a mask …".
        text: String,
        cause: Option<PyErr>,
    },
    /// Python code of the object's library raised this exception, which is passed on as it is.
    Raised(PyErr),
}

/// The class of the exception for a [`Refusal::Own`].
pub(crate) enum ExceptionClass {
    Value,
    Type,
    Buffer,
}

impl Refusal {
    pub(super) fn value(text: impl Into<String>) -> Self {
        Self::Own { class: ExceptionClass::Value, text: text.into(), cause: None }
    }

    pub(super) fn of_type(text: impl Into<String>) -> Self {
        Self::Own { class: ExceptionClass::Type, text: text.into(), cause: None }
    }

    pub(super) fn buffer(text: impl Into<String>) -> Self {
        Self::Own { class: ExceptionClass::Buffer, text: text.into(), cause: None }
    }

    /// Adds the exception that led to this refusal.
    pub(super) fn caused_by(mut self, error: Option<PyErr>) -> Self {
        if let Self::Own { cause, .. } = &mut self {
            *cause = error;
        }
        self
    }

    /// Turns a `TypeError` into a `ValueError`, which is what functions raise about their results.
    pub(super) fn into_value(mut self) -> Self {
        if let Self::Own { class: class @ ExceptionClass::Type, .. } = &mut self {
            *class = ExceptionClass::Value;
        }
        self
    }
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

/// `?` from a result of the readers to a result of PyO3.
pub(crate) trait Named<T> {
    /// Returns the value, or the refusal as an exception about `name`, such as "the operand".
    fn named(self, py: Python<'_>, name: &str) -> PyResult<T>;
}

impl<T> Named<T> for Result<T, Refusal> {
    #[inline]
    fn named(self, py: Python<'_>, name: &str) -> PyResult<T> {
        self.map_err(|refusal| to_pyerr(py, refusal, name))
    }
}

#[cold]
fn to_pyerr(py: Python<'_>, refusal: Refusal, name: &str) -> PyErr {
    match refusal {
        Refusal::Own { class, text, cause } => {
            let text = format!("{name}{text}");
            let error = match class {
                ExceptionClass::Value => PyValueError::new_err(text),
                ExceptionClass::Type => PyTypeError::new_err(text),
                ExceptionClass::Buffer => PyBufferError::new_err(text),
            };
            if cause.is_some() {
                error.set_cause(py, cause);
            }
            error
        }
        Refusal::Raised(error) => error,
    }
}
