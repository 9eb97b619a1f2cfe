//! One entry for every generated function: Python arguments to C slots, the call, the outputs back.
//!
//! The functions are built from static [`Row`]s. The `self` of each is a capsule with its row, so the one entry
//! [`enter`] serves all of them: converting is data, not code.

mod fast_path;
mod kernel_arguments;
mod keywords;
mod log_callbacks;
mod pointer_arguments;
mod scalar_arguments;

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use gpumath_core::Error;
use gpumath_core::error::Status;
use gpumath_core::loader;
use gpumath_core::status::note_status;
use gpumath_sys::table::Symbol;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use smallvec::SmallVec;

use crate::error::OrRaise;
use pointer_arguments::Held;
use scalar_arguments::{output, slot_of, text_from};

/// Most parameters that a row may have; the generator refuses more.
const MAX_PARAMETERS: usize = 32;

/// A function: everything that tells it from another.
pub(crate) struct Row {
    /// Python name.
    pub(crate) name: &'static CStr,
    /// Signature, `--`, documentation; `inspect.signature` reads it.
    pub(crate) doc: &'static CStr,
    /// Where the C function is.
    pub(crate) symbol: &'static Symbol,
    /// All C parameters, in C's order.
    pub(crate) parameters: &'static [Parameter],
    /// How many of them Python passes.
    pub(crate) inputs: usize,
    /// The trampoline of its ABI shape.
    pub(crate) shape: unsafe fn(usize, *const u64) -> u64,
    /// What the C function returns.
    pub(crate) returns: Returns,
    /// Whether it is too short a call to give the GIL away.
    pub(crate) keep_gil: bool,
}

/// A C parameter.
pub(crate) struct Parameter {
    /// Python name.
    pub(crate) name: &'static str,
    /// How Python and C exchange it.
    pub(crate) kind: Kind,
    /// Whether the library would crash on 0, which is refused then.
    pub(crate) not_null: bool,
}

/// How Python and C exchange an argument.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "which of them occur depends on the libraries that are generated")]
pub(crate) enum Kind {
    /// By value.
    Value(Value),
    /// An address, or numbers that are copied for the call.
    Sequence(Value, Length),
    /// An address, or sequences of numbers that are copied for the call.
    Nested(Value, Length),
    /// An address, or a sequence of `str` or `bytes`.
    Texts(Length),
    /// An address, or an object with a buffer that is borrowed or copied for the call.
    Bytes(Length),
    /// An address, or an object with a writable buffer for so many elements.
    Buffer(Value, Length),
    /// A struct of so many bytes by value: an address, or an object with a buffer of that size.
    Struct(usize),
    /// The arguments of a kernel: values and their types, or addresses.
    KernelParameters,
    /// What else a kernel launch may take, and most leave out: addresses.
    KernelExtra,
    /// What the library's log messages go to.
    Logger,
    /// A `str`.
    Text,
    /// Not an argument of the Python function: C writes it, Python returns it.
    Output(Value),
}

/// A C type.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "which of them occur depends on the libraries that are generated")]
pub(crate) enum Value {
    /// `signed char`
    I8,
    /// `unsigned char`
    U8,
    /// `short`
    I16,
    /// `unsigned short`
    U16,
    /// `int`, and every enum
    I32,
    /// `unsigned int`
    U32,
    /// `long long`
    I64,
    /// `size_t`
    U64,
    /// Pointers, handles and `CUdeviceptr`
    Address,
    /// `float`
    F32,
    /// `double`
    F64,
    /// `cuComplex`
    C64,
    /// `cuDoubleComplex`
    C128,
    /// A NUL-terminated string that C returns
    Text,
}

/// How many elements C reads from an array.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// No argument says it.
    Unknown,
    /// As many as this Python argument says.
    Argument(usize),
}

/// What a C function returns.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "which of them occur depends on the libraries that are generated")]
pub(crate) enum Returns {
    /// A status; other than 0 it becomes an exception.
    Status,
    /// A value for Python.
    Value(Value),
    /// Nothing.
    Void,
}

impl Row {
    /// The parameters that Python passes.
    fn inputs(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|p| !matches!(p.kind, Kind::Output(_)))
    }

    /// `"exec_c2c"`, for messages.
    fn display_name(&self) -> &'static str {
        self.symbol.name
    }
}

/// Gives `parent` a nested module for each library, importable by its full name.
pub(crate) fn add_modules(
    parent: &Bound<'_, PyModule>,
    modules: &'static [(&'static str, &'static [Row])],
) -> PyResult<()> {
    let py = parent.py();
    let loaded = py.import("sys")?.getattr("modules")?;
    for (name, rows) in modules {
        let full_name = format!("gpumath.bindings._core.{name}");
        let module = PyModule::new(py, &full_name)?;
        add_functions(&module, rows)?;
        parent.add(*name, &module)?;
        loaded.set_item(full_name, module)?;
    }
    Ok(())
}

/// Gives `module` a function for every row.
fn add_functions(module: &Bound<'_, PyModule>, rows: &'static [Row]) -> PyResult<()> {
    let py = module.py();
    let module_name = module.name()?;
    for row in rows {
        let plain = fast_path::of(row);
        let method = Box::leak(Box::new(ffi::PyMethodDef {
            ml_name: row.name.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: if plain.is_some() { fast_path::enter } else { enter },
            },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: row.doc.as_ptr(),
        }));
        let own = plain.unwrap_or(ptr::from_ref(row).cast_mut().cast::<c_void>());
        // SAFETY: the row and the method live for ever; `enter` is of the type that the flags say; both calls return
        // a new reference or NULL with an exception set.
        let function = unsafe {
            let capsule = ffi::PyCapsule_New(own, ptr::null(), None);
            let capsule = Bound::from_owned_ptr_or_err(py, capsule)?;
            let function = ffi::PyCFunction_NewEx(method, capsule.as_ptr(), module_name.as_ptr());
            Bound::from_owned_ptr_or_err(py, function)?
        };
        // Not `add`, which would also list it in `__all__`.
        module.setattr(row.symbol.name, function)?;
    }
    Ok(())
}

/// What `CPython` calls, for every function.
unsafe extern "C" fn enter(
    capsule: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: CPython calls with the capsule that `add_functions` made from a static row; for the rest it vouches.
    unsafe {
        let row = &*ffi::PyCapsule_GetPointer(capsule, ptr::null()).cast::<Row>();
        general(row, arguments, count, names)
    }
}

/// A call of any row.
///
/// # Safety
/// The thread is attached, and there are `count` positional arguments and then one for each of `names`, all borrowed
/// for the time of the call.
unsafe fn general(
    row: &'static Row,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: by the caller's promise.
    let (py, positional) = unsafe {
        let count = usize::try_from(count).unwrap_or(0);
        let positional =
            if count == 0 { &[] } else { std::slice::from_raw_parts(arguments, count) };
        (Python::assume_attached(), positional)
    };
    let outcome = if names.is_null() && positional.len() == row.inputs {
        call(py, row, positional)
    } else {
        // SAFETY: as above; `names` is NULL or a tuple of str.
        unsafe { keywords::bind(py, row, arguments, positional, names) }
            .and_then(|bound| call(py, row, &bound))
    };
    outcome.unwrap_or_else(raised)
}

/// What `CPython` gets for an exception.
#[cold]
fn raised(error: PyErr) -> *mut ffi::PyObject {
    // Attaching, as PyO3 counts it, also frees what was dropped on the way.
    Python::attach(|py| error.restore(py));
    ptr::null_mut()
}

/// Converts the arguments, calls, and converts what comes back. Returns a new reference.
fn call(
    py: Python<'_>,
    row: &'static Row,
    arguments: &[*mut ffi::PyObject],
) -> PyResult<*mut ffi::PyObject> {
    // Only what the function has is written, which matters: most have few parameters. That the cells are so many is
    // needed too: with several GPUs, which are at most 16, cuFFT writes one size for each from the cell on.
    let mut slots = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
    let mut outputs = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
    let mut held: SmallVec<[Held; 4]> = SmallVec::new();
    let mut loggers = None;
    let mut given = arguments.iter();
    for ((parameter, slot), cell) in row.parameters.iter().zip(&mut slots).zip(&mut outputs) {
        if let Kind::Output(_) = parameter.kind {
            slot.write(ptr::from_mut(cell.write(0)) as u64);
            continue;
        }
        let Some(&argument) = given.next() else { break };
        if let Kind::Value(value) = parameter.kind
            && let Some(number) = scalar_arguments::plain_integer(argument, value)
            && (number != 0 || !parameter.not_null)
        {
            slot.write(number);
            continue;
        }
        let context = scalar_arguments::Context { row, parameter, index: None };
        let value = match parameter.kind {
            Kind::Value(value @ (Value::C64 | Value::C128)) => {
                pointer_arguments::complex_from(py, argument, value, context, &mut held)?
            }
            Kind::Value(value) => slot_of(py, argument, value, context)?,
            Kind::Text => text_from(py, argument, context)?,
            Kind::Logger => {
                let (address, target) = log_callbacks::target_of(py, argument, context)?;
                loggers = target;
                address
            }
            Kind::KernelParameters => {
                kernel_arguments::kernel_parameters(py, argument, context, &mut held)?
            }
            Kind::KernelExtra => kernel_arguments::extra(py, argument, context, &mut held)?,
            other => {
                pointer_arguments::address_of(py, argument, other, arguments, context, &mut held)?
            }
        };
        if parameter.not_null && value == 0 && is_used(py, row, arguments, parameter.kind)? {
            return Err(scalar_arguments::null(context));
        }
        slot.write(value);
    }
    let address = match row.symbol.address() {
        Some(address) => address,
        None => find(py, row.symbol)?,
    };
    // SAFETY: each slot holds what the row's shape takes.
    let returned = unsafe { through(row, address, slots.as_ptr().cast()) };
    drop(held);
    if row.returns == Returns::Status && returned as i32 != 0 {
        return Err(status_error(row, returned as i32));
    }
    if let Some(target) = loggers {
        log_callbacks::set(py, row.symbol.library, target);
    }
    match row.returns {
        Returns::Value(value) => output(py, value, returned),
        Returns::Status | Returns::Void => results(py, row, &outputs),
    }
}

/// Makes the call, without the GIL unless the row keeps it.
///
/// # Safety
/// The thread is attached, the address is that of the row's symbol, and the slots hold what its shape takes. What the C
/// function does with addresses is the responsibility of who passes them, as the modules' documentation says.
unsafe fn through(row: &Row, address: usize, slots: *const u64) -> u64 {
    // SAFETY: the row's shape is that of its symbol. A thread that is detached is attached again, and nothing in
    // between touches Python.
    unsafe {
        if row.keep_gil {
            return (row.shape)(address, slots);
        }
        let saved = ffi::PyEval_SaveThread();
        let returned = (row.shape)(address, slots);
        ffi::PyEval_RestoreThread(saved);
        returned
    }
}

/// None, the one output, or a tuple of all.
fn results(
    py: Python<'_>,
    row: &'static Row,
    cells: &[MaybeUninit<u64>; MAX_PARAMETERS],
) -> PyResult<*mut ffi::PyObject> {
    let mut values = row.parameters.iter().zip(cells).filter_map(|(p, cell)| match p.kind {
        // SAFETY: `call` wrote 0 to the cell of every output.
        Kind::Output(value) => Some((value, unsafe { cell.assume_init() })),
        _ => None,
    });
    let Some(first) = values.next() else { return Ok(py.None().into_ptr()) };
    let Some(second) = values.next() else { return output(py, first.0, first.1) };
    let all = [first, second].into_iter().chain(values);
    let objects = all
        .map(|(value, cell)| {
            let object = output(py, value, cell)?;
            // SAFETY: `output` returned a new reference.
            Ok(unsafe { Bound::from_owned_ptr(py, object) })
        })
        .collect::<PyResult<SmallVec<[_; 12]>>>()?;
    Ok(pyo3::types::PyTuple::new(py, objects)?.into_ptr())
}

/// False for an array that no element is read from or written to.
#[cold]
fn is_used(
    py: Python<'_>,
    row: &'static Row,
    arguments: &[*mut ffi::PyObject],
    kind: Kind,
) -> PyResult<bool> {
    match kind {
        Kind::Sequence(_, length)
        | Kind::Nested(_, length)
        | Kind::Texts(length)
        | Kind::Bytes(length)
        | Kind::Buffer(_, length) => {
            Ok(matches!(length, Length::Unknown) || needed(py, row, arguments, length)? != 0)
        }
        _ => Ok(true),
    }
}

/// How many elements an array must have.
fn needed(
    py: Python<'_>,
    row: &'static Row,
    arguments: &[*mut ffi::PyObject],
    length: Length,
) -> PyResult<usize> {
    let Length::Argument(index) = length else { return Ok(0) };
    let (Some(&argument), Some(parameter)) = (arguments.get(index), row.inputs().nth(index)) else {
        return Ok(0);
    };
    let context = scalar_arguments::Context { row, parameter, index: None };
    let number = slot_of(py, argument, Value::I64, context)? as i64;
    usize::try_from(number).map_err(|_| {
        let name = row.display_name();
        PyValueError::new_err(format!("{name}() argument '{}' is negative", parameter.name))
    })
}

#[cold]
fn find(py: Python<'_>, symbol: &'static Symbol) -> PyResult<usize> {
    py.detach(|| loader::address(symbol)).or_raise(py)
}

#[cold]
fn status_error(row: &'static Row, code: i32) -> PyErr {
    let (library, function) = (row.symbol.library, row.symbol.c_name);
    let status = Status { library, function, code, context: String::new() };
    // Other libraries' statuses have numbers and meanings of their own.
    if matches!(library, "driver" | "runtime") {
        note_status(&status);
    }
    // Properly attached, so that what the conversion drops is dropped at once.
    Python::attach(|py| crate::error::to_pyerr(py, &Error::Status(Box::new(status))))
}
