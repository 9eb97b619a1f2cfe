//! Calls C functions from Python: converts the arguments to 64-bit slots, makes the call, and
//! converts what C wrote to the result.
//!
//! A function is data, a static [`FunctionSpec`] from the generated tables. Its Python object, made
//! by [`modules`], has the spec in a capsule, as its `self`, so all functions share one entry:
//! [`enter`]. Functions that take only integers and return only a status share a quicker one:
//! [`fast_path::enter`].

mod documentation;
mod fast_path;
mod kernel_arguments;
mod keywords;
mod log_callbacks;
pub(crate) mod modules;
mod pointer_arguments;
mod scalar_arguments;
pub(crate) mod specs;

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
use smallvec::SmallVec;

use crate::error::OrRaise;
use crate::gil::{release_gil, release_gil_for_c_call};
use pointer_arguments::ArgumentGuard;
use scalar_arguments::{output_object, slot_of, text_or_address, utf8_address};
use specs::{FunctionSpec, Length, ParameterKind, Returns, Value};

// What the generated tables are written in.
pub(crate) use {specs::Library, specs::library};

/// The most parameters that a function may have; the generator refuses more.
const MAX_PARAMETERS: usize = 32;

/// The entry of all functions that do not have the fast path. `CPython` calls it.
unsafe extern "C" fn enter(
    capsule: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: `capsule` is the one that `modules` made from a static spec. CPython calls with
    // the GIL, and its protocol for METH_FASTCALL and METH_KEYWORDS is what `slow_path` asks for.
    unsafe {
        let spec = &*ffi::PyCapsule_GetPointer(capsule, ptr::null()).cast::<FunctionSpec>();
        slow_path(spec, arguments, count, names)
    }
}

/// Calls any function, with arguments of any kind. Returns a new reference, or NULL with an
/// exception set.
///
/// # Safety
/// - This thread has the GIL.
/// - `names` is NULL or a tuple of `str`.
/// - `arguments` points to `count` positional arguments, and then one for each of `names`. They
///   stay alive during the call.
unsafe fn slow_path(
    spec: &'static FunctionSpec,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller guarantees the GIL and `count` arguments. Without any, the pointer may be
    // NULL.
    let (py, positional) = unsafe {
        let count = usize::try_from(count).unwrap_or(0);
        let positional =
            if count == 0 { &[] } else { std::slice::from_raw_parts(arguments, count) };
        (Python::assume_attached(), positional)
    };
    let outcome = if names.is_null() && positional.len() == spec.inputs {
        call(py, spec, positional)
    } else {
        // SAFETY: the caller guarantees what `bind` asks for.
        unsafe { keywords::bind(py, spec, arguments, positional, names) }
            .and_then(|bound| call(py, spec, &bound))
    };
    outcome.unwrap_or_else(set_exception)
}

/// Sets the exception and returns NULL, which tells `CPython` of it.
#[cold]
fn set_exception(error: PyErr) -> *mut ffi::PyObject {
    // PyO3 does not know that CPython has called, so it has put off what was dropped since.
    // Attaching drops it now.
    Python::attach(|py| error.restore(py));
    ptr::null_mut()
}

/// Arguments, and the indices of their parameters.
type Arrays = SmallVec<[(usize, *mut ffi::PyObject); 4]>;

/// Converts the arguments, calls the C function and returns its result as a new reference.
fn call(
    py: Python<'_>,
    spec: &'static FunctionSpec,
    arguments: &[*mut ffi::PyObject],
) -> PyResult<*mut ffi::PyObject> {
    // Only the entries in use are written, which saves time because most functions have few
    // parameters. `outputs` still needs its full length: for a plan on several GPUs, cuFFT writes
    // one work size per GPU (at most 16) from the output's cell onward.
    let mut slots = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
    let mut outputs = [const { MaybeUninit::<u64>::uninit() }; MAX_PARAMETERS];
    let mut guards: SmallVec<[ArgumentGuard; 4]> = SmallVec::new();
    let mut loggers = None;
    // The arguments that are no numbers, and the indices of their parameters.
    let mut arrays: Arrays = SmallVec::new();
    // Numbers come first, each converted once, because objects may answer differently the next
    // time: the length that an array is checked for is the one that C gets.
    let mut given = arguments.iter();
    let cells = slots.iter_mut().zip(&mut outputs).enumerate();
    for (parameter, (place, (slot, cell))) in spec.parameters.iter().zip(cells) {
        if let ParameterKind::Output(_) = parameter.kind {
            slot.write(ptr::from_mut(cell.write(0)) as u64);
            continue;
        }
        let Some(&argument) = given.next() else { break };
        let ParameterKind::Value(value) = parameter.kind else {
            slot.write(0);
            arrays.push((place, argument));
            continue;
        };
        if let Some(number) = scalar_arguments::exact_integer(argument, value)
            && (number != 0 || !parameter.not_null)
        {
            slot.write(number);
            continue;
        }
        let context = scalar_arguments::ArgumentContext { spec, parameter, index: None };
        let number = match value {
            Value::C64 | Value::C128 => {
                pointer_arguments::complex_from(py, argument, value, context, &mut guards)?
            }
            _ => slot_of(py, argument, value, context)?,
        };
        if parameter.not_null && number == 0 {
            return Err(scalar_arguments::null_error(context));
        }
        slot.write(number);
    }
    if !arrays.is_empty() {
        convert_arrays(py, spec, &arrays, &mut slots, &mut guards, &mut loggers)?;
    }
    let address = match spec.symbol.address() {
        Some(address) => address,
        None => look_up(py, spec.symbol)?,
    };
    // SAFETY: there is a slot for each parameter, converted as its kind says. `guards` and the
    // caller's references keep alive what slots point to.
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

/// Converts the arguments that are not numbers, after those: the numbers say how long arrays are.
#[inline(never)] // which keeps the calls without arrays short
fn convert_arrays<'py>(
    py: Python<'py>,
    spec: &'static FunctionSpec,
    arrays: &Arrays,
    slots: &mut [MaybeUninit<u64>; MAX_PARAMETERS],
    guards: &mut SmallVec<[ArgumentGuard<'py>; 4]>,
    loggers: &mut Option<log_callbacks::LogTarget>,
) -> PyResult<()> {
    for &(place, argument) in arrays {
        let Some(parameter) = spec.parameters.get(place) else { continue };
        let context = scalar_arguments::ArgumentContext { spec, parameter, index: None };
        let length = parameter.kind.length();
        let needed = required_length(spec, slots, length)?;
        let value = match parameter.kind {
            ParameterKind::Utf8 => utf8_address(py, argument, context)?,
            ParameterKind::Utf8OrAddress => text_or_address(py, argument, context)?,
            ParameterKind::Logger => {
                let (address, target) = log_callbacks::target_of(py, argument, context)?;
                *loggers = target;
                address
            }
            ParameterKind::KernelParameters => {
                kernel_arguments::kernel_parameters(py, argument, context, guards)?
            }
            ParameterKind::KernelExtra => {
                kernel_arguments::kernel_extra(py, argument, context, guards)?
            }
            kind => pointer_arguments::address_of(py, argument, kind, needed, context, guards)?,
        };
        // C does not look at an array of which it reads or writes no element.
        let is_used = needed != 0 || !matches!(length, Some(Length::Argument(_)));
        if parameter.not_null && value == 0 && is_used {
            return Err(scalar_arguments::null_error(context));
        }
        if let Some(slot) = slots.get_mut(place) {
            slot.write(value);
        }
    }
    Ok(())
}

/// Calls the C function, without the GIL unless the spec keeps it. Returns its result.
///
/// # Safety
/// - This thread has the GIL.
/// - `address` is that of the spec's symbol.
/// - `slots` points to one slot for each parameter, which holds what the shape takes.
///
/// Whether C may use the addresses among the arguments cannot be checked here. The documentation of
/// the Python modules makes that the duty of the user.
unsafe fn invoke(spec: &FunctionSpec, address: usize, slots: *const u64) -> u64 {
    // SAFETY: the shape is that of the symbol, and the caller guarantees its address and slots.
    let call = || unsafe { (spec.shape)(address, slots) };
    if spec.keep_gil {
        return call();
    }
    // SAFETY: the caller guarantees that this thread has the GIL. A trampoline touches nothing of
    // Python and does not unwind, and `log_callbacks` acquires the GIL by `acquire_gil`.
    unsafe { release_gil_for_c_call(call) }
}

/// Returns None, the only output, or a tuple of all outputs, as a new reference.
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
            // SAFETY: `output_object` returned a new reference.
            Ok(unsafe { Bound::from_owned_ptr(py, object) })
        })
        .collect::<PyResult<SmallVec<[_; 12]>>>()?;
    Ok(pyo3::types::PyTuple::new(py, objects)?.into_ptr())
}

/// Returns how many elements an array must have, 0 if no argument says so.
fn required_length(
    spec: &'static FunctionSpec,
    slots: &[MaybeUninit<u64>; MAX_PARAMETERS],
    length: Option<Length>,
) -> PyResult<usize> {
    let Some(Length::Argument(index)) = length else { return Ok(0) };
    let mut inputs = spec.parameters.iter().zip(slots).filter(|(p, _)| !p.is_output());
    let Some((parameter, slot)) = inputs.nth(index.into()) else { return Ok(0) };
    // SAFETY: `call` has written the slots of all numbers, and 0 to those of all other inputs.
    let slot = unsafe { slot.assume_init() };
    if matches!(parameter.kind, ParameterKind::Value(Value::U64 | Value::Address)) {
        return Ok(usize::try_from(slot).unwrap_or(usize::MAX));
    }
    let number = slot as i64;
    usize::try_from(number).map_err(|_| {
        let name = scalar_arguments::ArgumentContext { spec, parameter, index: None }.name();
        PyValueError::new_err(format!(
            "{name} is {number}, but a number of elements is not negative"
        ))
    })
}

/// Looks up the address of a symbol. Opens its library first, if no call has done so.
#[cold]
fn look_up(py: Python<'_>, symbol: &'static Symbol) -> PyResult<usize> {
    release_gil(py, || loader::address(symbol)).or_raise(py)
}

/// Returns the exception for a status that tells of a failure.
#[cold]
fn status_error(spec: &'static FunctionSpec, code: i32) -> PyErr {
    let (library, function) = (spec.symbol.library, spec.symbol.c_name);
    let status = Status { library, function, code, context: String::new() };
    // An error that ruins CUDA is kept for the process. The statuses of other libraries do not tell
    // of one.
    if matches!(library, "driver" | "runtime") {
        note_status(&status);
    }
    // Attached as PyO3 counts it, so that PyO3 does not put off what the conversion drops.
    Python::attach(|py| crate::error::to_pyerr(py, &Error::Status(Box::new(status))))
}
