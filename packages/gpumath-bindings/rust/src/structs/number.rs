//! Converts Python numbers to the bytes of a C type, and back.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};

/// The C type of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    /// Returns the type with this name, as the generated classes have it, such as `"u64"`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "i8" => Self::I8,
            "u8" => Self::U8,
            "i16" => Self::I16,
            "u16" => Self::U16,
            "i32" => Self::I32,
            "u32" => Self::U32,
            "i64" => Self::I64,
            "u64" => Self::U64,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    /// Returns the name, such as `"u64"`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Returns the letter of the module `struct` and of the buffer protocol.
    pub(super) fn letter(self) -> char {
        match self {
            Self::I8 => 'b',
            Self::U8 => 'B',
            Self::I16 => 'h',
            Self::U16 => 'H',
            Self::I32 => 'i',
            Self::U32 => 'I',
            Self::I64 => 'q',
            Self::U64 => 'Q',
            Self::F32 => 'f',
            Self::F64 => 'd',
        }
    }

    /// Returns the size in bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Returns the number at an address.
    ///
    /// # Safety
    ///
    /// - `size()` bytes at `address` can be read. The address need not be aligned.
    pub(super) unsafe fn read(self, py: Python<'_>, address: usize) -> PyResult<Py<PyAny>> {
        // SAFETY: the caller guarantees readable bytes, and unaligned reads need no more.
        unsafe {
            match self {
                Self::I8 => (address as *const i8).read_unaligned().into_py_any(py),
                Self::U8 => (address as *const u8).read_unaligned().into_py_any(py),
                Self::I16 => (address as *const i16).read_unaligned().into_py_any(py),
                Self::U16 => (address as *const u16).read_unaligned().into_py_any(py),
                Self::I32 => (address as *const i32).read_unaligned().into_py_any(py),
                Self::U32 => (address as *const u32).read_unaligned().into_py_any(py),
                Self::I64 => (address as *const i64).read_unaligned().into_py_any(py),
                Self::U64 => (address as *const u64).read_unaligned().into_py_any(py),
                Self::F32 => (address as *const f32).read_unaligned().into_py_any(py),
                Self::F64 => (address as *const f64).read_unaligned().into_py_any(py),
            }
        }
    }

    /// Appends the bytes of a Python number to `bytes`. `field` is its name for messages.
    pub(super) fn pack(
        self,
        value: &Bound<'_, PyAny>,
        field: &str,
        bytes: &mut Vec<u8>,
    ) -> PyResult<()> {
        match self {
            Self::F32 => {
                let number = float(value, field)?;
                let single = number as f32;
                if single.is_infinite() && number.is_finite() {
                    let text = format!("{field}: {number} is out of range for float");
                    return Err(PyOverflowError::new_err(text));
                }
                bytes.extend_from_slice(&single.to_ne_bytes());
            }
            Self::F64 => bytes.extend_from_slice(&float(value, field)?.to_ne_bytes()),
            _ => {
                let number = self.in_range(integer(value, field)?, field)?;
                // Every CPU that these libraries run on is little-endian.
                let all = number.to_le_bytes();
                bytes.extend(all.into_iter().take(self.size()));
            }
        }
        Ok(())
    }

    /// Returns the number if an integer of this type can hold it.
    fn in_range(self, number: i128, field: &str) -> PyResult<i128> {
        let signed = matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64);
        let bits = 8 * self.size() as u32;
        let (low, high) =
            if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        if (low..=high).contains(&number) {
            return Ok(number);
        }
        let sign = if signed { "" } else { "unsigned " };
        let text = format!("{field}: {number} is out of range for {sign}{bits}-bit integers");
        Err(PyOverflowError::new_err(text))
    }
}

/// Returns the value of an `int`, a whole `float`, or an object with `__index__` or `__int__`, such
/// as a handle or an enum member. `what` is its name for messages.
pub(super) fn integer(value: &Bound<'_, PyAny>, what: &str) -> PyResult<i128> {
    let whole = if let Ok(number) = value.cast::<PyInt>() {
        number.clone()
    } else if value.hasattr("__index__")? {
        value.call_method0("__index__")?.cast_into()?
    } else {
        let number = value.cast::<PyFloat>();
        let fraction = number.is_ok_and(|number| number.value().fract() != 0.0);
        let text = value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>();
        if text || fraction || !value.hasattr("__int__")? {
            return Err(wrong(value, what, "an integer"));
        }
        value.call_method0("__int__")?.cast_into()?
    };
    let number = whole.extract::<u64>().map(i128::from);
    number.or_else(|_| whole.extract::<i64>().map(i128::from)).map_err(|_| {
        PyOverflowError::new_err(format!("{what}: the integer does not fit into 64 bits"))
    })
}

/// Returns the value of a number. `field` is its name for messages.
fn float(value: &Bound<'_, PyAny>, field: &str) -> PyResult<f64> {
    value.extract::<f64>().map_err(|error| {
        if error.is_instance_of::<PyTypeError>(value.py()) {
            wrong(value, field, "a number")
        } else {
            error
        }
    })
}

/// Returns the exception for an object of a wrong class.
pub(super) fn wrong(value: &Bound<'_, PyAny>, what: &str, wanted: &str) -> PyErr {
    let found =
        value.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
    PyTypeError::new_err(format!("{what}: {wanted} is required, not {found}"))
}
