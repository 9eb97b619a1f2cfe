//! The modules of the extension, one for each library.

use std::ffi::c_void;
use std::ptr;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyModule, PyTuple};

use super::documentation;
use super::specs::Library;
use super::{enter, fast_path};

/// Adds to `parent` a module for each library, importable by its full name.
///
/// A module makes its functions and composes their documentation when it is first asked for a name,
/// as `from … import *` does, because a program needs one or two of the libraries.
pub(crate) fn add_modules(
    parent: &Bound<'_, PyModule>,
    libraries: &'static [&'static Library],
) -> PyResult<()> {
    let py = parent.py();
    let loaded = py.import("sys")?.getattr("modules")?;
    for library in libraries {
        let full_name = full_name(library);
        let module = PyModule::new(py, &full_name)?;
        let fill = move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            filled_attribute(arguments, library)
        };
        // Python calls it for a name that the module lacks.
        let getter = PyCFunction::new_closure(py, Some(c"__getattr__"), None, fill)?;
        module.setattr("__getattr__", getter)?;
        parent.add(library.name, &module)?;
        loaded.set_item(full_name, module)?;
    }
    Ok(())
}

fn full_name(library: &Library) -> String {
    format!("gpumath.bindings._core.{}", library.name)
}

/// Fills the module, unless that is done, and returns what it has under the name.
fn filled_attribute(
    arguments: &Bound<'_, PyTuple>,
    library: &'static Library,
) -> PyResult<Py<PyAny>> {
    let py = arguments.py();
    let name = arguments.get_item(0)?;
    let module = py.import(full_name(library))?;
    library.filled.get_or_try_init(|| add_functions(&module, library))?;
    match module.dict().get_item(&name)? {
        Some(found) => Ok(found.unbind()),
        None => Err(PyAttributeError::new_err(format!(
            "module '{}' has no attribute '{name}'",
            full_name(library)
        ))),
    }
}

/// Adds to `module` all functions of the library.
fn add_functions(module: &Bound<'_, PyModule>, library: &'static Library) -> PyResult<()> {
    let py = module.py();
    let module_name = module.name()?;
    let texts = documentation::texts(library);
    for (spec, (name, doc)) in library.functions.iter().zip(texts) {
        let fast = fast_path::prepare(spec);
        let method = Box::leak(Box::new(ffi::PyMethodDef {
            ml_name: name.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: if fast.is_some() { fast_path::enter } else { enter },
            },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: doc.as_ptr(),
        }));
        let own = fast.unwrap_or(ptr::from_ref(spec).cast_mut().cast::<c_void>());
        // SAFETY: the spec is static, and the method, its texts and the `FastCall` are never freed.
        // Both entries have the type that the flags announce. Both calls return a new reference, or
        // NULL with an exception set.
        let function = unsafe {
            let capsule = ffi::PyCapsule_New(own, ptr::null(), None);
            let capsule = Bound::from_owned_ptr_or_err(py, capsule)?;
            let function = ffi::PyCFunction_NewEx(method, capsule.as_ptr(), module_name.as_ptr());
            Bound::from_owned_ptr_or_err(py, function)?
        };
        // Not `add`, which would also list it in `__all__`.
        module.setattr(spec.symbol.name, function)?;
    }
    // `__getattr__` stays, because another thread may be about to ask for it.
    Ok(())
}
