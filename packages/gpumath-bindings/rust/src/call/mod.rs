//! One entry for every generated function: Python arguments to C slots, the call, the outputs back.
//!
//! The functions are built from static [`FunctionSpec`]s. The `self` of each is a capsule with its spec, so the one entry
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
use crate::gil::{release_gil, release_gil_for_c_call};
use pointer_arguments::ArgumentGuard;
use scalar_arguments::{output_object, slot_of, utf8_address};

// The generated tables have these names.
pub(crate) use {FunctionSpec as Row, ParameterKind as Kind};

/// Most parameters that a spec may have; the generator refuses more.
const MAX_PARAMETERS: usize = 32;

/// A function: everything that tells it from another.
pub(crate) struct FunctionSpec {
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
    pub(crate) kind: ParameterKind,
    /// Whether the library would crash on 0, which is refused then.
    pub(crate) not_null: bool,
}

/// How Python and C exchange an argument.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "which of them occur depends on the libraries that are generated")]
pub(crate) enum ParameterKind {
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

impl FunctionSpec {
    /// The parameters that Python passes.
    fn inputs(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|p| !matches!(p.kind, ParameterKind::Output(_)))
    }

    /// `"exec_c2c"`, for messages.
    fn display_name(&self) -> &'static str {
        self.symbol.name
    }
}

/// Gives `parent` a nested module for each library, importable by its full name.
pub(crate) fn add_modules(
    parent: &Bound<'_, PyModule>,
    modules: &'static [(&'static str, &'static [FunctionSpec])],
) -> PyResult<()> {
    let py = parent.py();
    let loaded = py.import("sys")?.getattr("modules")?;
    for (name, specs) in modules {
        let full_name = format!("gpumath.bindings._core.{name}");
        let module = PyModule::new(py, &full_name)?;
        add_functions(&module, specs)?;
        parent.add(*name, &module)?;
        loaded.set_item(full_name, module)?;
    }
    Ok(())
}

/// Gives `module` a function for every spec.
fn add_functions(module: &Bound<'_, PyModule>, specs: &'static [FunctionSpec]) -> PyResult<()> {
    let py = module.py();
    let module_name = module.name()?;
    for spec in specs {
        let fast = fast_path::of(spec);
        let method = Box::leak(Box::new(ffi::PyMethodDef {
            ml_name: spec.name.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: if fast.is_some() { fast_path::enter } else { enter },
            },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: spec.doc.as_ptr(),
        }));
        let own = fast.unwrap_or(ptr::from_ref(spec).cast_mut().cast::<c_void>());
        // SAFETY: the spec and the method live for ever; `enter` is of the type that the flags say; both calls return
        // a new reference or NULL with an exception set.
        let function = unsafe {
            let capsule = ffi::PyCapsule_New(own, ptr::null(), None);
            let capsule = Bound::from_owned_ptr_or_err(py, capsule)?;
            let function = ffi::PyCFunction_NewEx(method, capsule.as_ptr(), module_name.as_ptr());
            Bound::from_owned_ptr_or_err(py, function)?
        };
        // Not `add`, which would also list it in `__all__`.
        module.setattr(spec.symbol.name, function)?;
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
    // SAFETY: CPython calls with the capsule that `add_functions` made from a static spec; for the rest it vouches.
    unsafe {
        let spec = &*ffi::PyCapsule_GetPointer(capsule, ptr::null()).cast::<FunctionSpec>();
        slow_path(spec, arguments, count, names)
    }
}

/// A call of any spec.
///
/// # Safety
/// The thread is attached, and there are `count` positional arguments and then one for each of `names`, all borrowed
/// for the time of the call.
unsafe fn slow_path(
    spec: &'static FunctionSpec,
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
    let outcome = if names.is_null() && positional.len() == spec.inputs {
        call(py, spec, positional)
    } else {
        // SAFETY: as above; `names` is NULL or a tuple of str.
        unsafe { keywords::bind(py, spec, arguments, positional, names) }
            .and_then(|bound| call(py, spec, &bound))
    };
    outcome.unwrap_or_else(set_exception)
}

/// What `CPython` gets for an exception.
#[cold]
fn set_exception(error: PyErr) -> *mut ffi::PyObject {
    // Attaching, as PyO3 counts it, also frees what was dropped on the way.
    Python::attach(|py| error.restore(py));
    ptr::null_mut()
}

/// Converts the arguments, calls, and converts what comes back. Returns a new reference.
fn call(
    py: Python<'_>,
    spec: &'static FunctionSpec,
    arguments: &[*mut ffi::PyObject],
) -> PyResult<*mut ffi::PyObject> {
    // Only what the function has is written, which matters: most have few parameters. That the cells are so many is
    // needed too: with several GPUs, which are at most 16, cuFFT writes one size for each from the cell on.
    let mut slots = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
    let mut outputs = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
    let mut guards: SmallVec<[ArgumentGuard; 4]> = SmallVec::new();
    let mut loggers = None;
    let mut given = arguments.iter();
    for ((parameter, slot), cell) in spec.parameters.iter().zip(&mut slots).zip(&mut outputs) {
        if let ParameterKind::Output(_) = parameter.kind {
            slot.write(ptr::from_mut(cell.write(0)) as u64);
            continue;
        }
        let Some(&argument) = given.next() else { break };
        if let ParameterKind::Value(value) = parameter.kind
            && let Some(number) = scalar_arguments::exact_integer(argument, value)
            && (number != 0 || !parameter.not_null)
        {
            slot.write(number);
            continue;
        }
        let context = scalar_arguments::ArgumentContext { spec, parameter, index: None };
        let value = match parameter.kind {
            ParameterKind::Value(value @ (Value::C64 | Value::C128)) => {
                pointer_arguments::complex_from(py, argument, value, context, &mut guards)?
            }
            ParameterKind::Value(value) => slot_of(py, argument, value, context)?,
            ParameterKind::Text => utf8_address(py, argument, context)?,
            ParameterKind::Logger => {
                let (address, target) = log_callbacks::target_of(py, argument, context)?;
                loggers = target;
                address
            }
            ParameterKind::KernelParameters => {
                kernel_arguments::kernel_parameters(py, argument, context, &mut guards)?
            }
            ParameterKind::KernelExtra => {
                kernel_arguments::kernel_extra(py, argument, context, &mut guards)?
            }
            other => {
                pointer_arguments::address_of(py, argument, other, arguments, context, &mut guards)?
            }
        };
        if parameter.not_null && value == 0 && is_used(py, spec, arguments, parameter.kind)? {
            return Err(scalar_arguments::null_error(context));
        }
        slot.write(value);
    }
    let address = match spec.symbol.address() {
        Some(address) => address,
        None => look_up(py, spec.symbol)?,
    };
    // SAFETY: each slot holds what the spec's shape takes.
    let returned = unsafe { invoke(spec, address, slots.as_ptr().cast()) };
    drop(guards);
    if spec.returns == Returns::Status && returned as i32 != 0 {
        return Err(status_error(spec, returned as i32));
    }
    if let Some(target) = loggers {
        log_callbacks::set_target(py, spec.symbol.library, target);
    }
    match spec.returns {
        Returns::Value(value) => output_object(py, value, returned),
        Returns::Status | Returns::Void => results(py, spec, &outputs),
    }
}

/// Calls the C function, without the GIL unless its row keeps it.
///
/// # Safety
/// - This thread has the GIL.
/// - `address` is that of the function's symbol.
/// - `slots` holds as many slots as the function has parameters, each with what its shape takes.
/// - The addresses among the arguments are what the C function expects. Who calls from Python answers for that, as the
///   modules' documentation says.
unsafe fn invoke(spec: &FunctionSpec, address: usize, slots: *const u64) -> u64 {
    // SAFETY: the shape is that of the function's symbol; for the rest the caller answers.
    let call = || unsafe { (spec.shape)(address, slots) };
    if spec.keep_gil {
        return call();
    }
    // SAFETY: the caller guarantees that this thread has the GIL. A trampoline touches nothing of Python and does not
    // unwind, and `log_callbacks` acquires the GIL by `with_gil_in_callback`.
    unsafe { release_gil_for_c_call(call) }
}

/// None, the one output, or a tuple of all.
fn results(
    py: Python<'_>,
    spec: &'static FunctionSpec,
    cells: &[MaybeUninit<u64>; MAX_PARAMETERS],
) -> PyResult<*mut ffi::PyObject> {
    let mut values = spec.parameters.iter().zip(cells).filter_map(|(p, cell)| match p.kind {
        // SAFETY: `call` wrote 0 to the cell of every output.
        ParameterKind::Output(value) => Some((value, unsafe { cell.assume_init() })),
        _ => None,
    });
    let Some(first) = values.next() else { return Ok(py.None().into_ptr()) };
    let Some(second) = values.next() else { return output_object(py, first.0, first.1) };
    let all = [first, second].into_iter().chain(values);
    let objects = all
        .map(|(value, cell)| {
            let object = output_object(py, value, cell)?;
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
    spec: &'static FunctionSpec,
    arguments: &[*mut ffi::PyObject],
    kind: ParameterKind,
) -> PyResult<bool> {
    match kind {
        ParameterKind::Sequence(_, length)
        | ParameterKind::Nested(_, length)
        | ParameterKind::Texts(length)
        | ParameterKind::Bytes(length)
        | ParameterKind::Buffer(_, length) => {
            Ok(matches!(length, Length::Unknown)
                || required_length(py, spec, arguments, length)? != 0)
        }
        _ => Ok(true),
    }
}

/// How many elements an array must have.
fn required_length(
    py: Python<'_>,
    spec: &'static FunctionSpec,
    arguments: &[*mut ffi::PyObject],
    length: Length,
) -> PyResult<usize> {
    let Length::Argument(index) = length else { return Ok(0) };
    let (Some(&argument), Some(parameter)) = (arguments.get(index), spec.inputs().nth(index))
    else {
        return Ok(0);
    };
    let context = scalar_arguments::ArgumentContext { spec, parameter, index: None };
    let number = slot_of(py, argument, Value::I64, context)? as i64;
    usize::try_from(number).map_err(|_| {
        let name = spec.display_name();
        PyValueError::new_err(format!("{name}() argument '{}' is negative", parameter.name))
    })
}

#[cold]
fn look_up(py: Python<'_>, symbol: &'static Symbol) -> PyResult<usize> {
    release_gil(py, || loader::address(symbol)).or_raise(py)
}

#[cold]
fn status_error(spec: &'static FunctionSpec, code: i32) -> PyErr {
    let (library, function) = (spec.symbol.library, spec.symbol.c_name);
    let status = Status { library, function, code, context: String::new() };
    // Other libraries' statuses have numbers and meanings of their own.
    if matches!(library, "driver" | "runtime") {
        note_status(&status);
    }
    // Properly attached, so that what the conversion drops is dropped at once.
    Python::attach(|py| crate::error::to_pyerr(py, &Error::Status(Box::new(status))))
}
