//! The functions of Python that find CUDA libraries, and the class that describes one.

use std::path::PathBuf;

use gpumath_core::loader::{self, LibraryInfo, SearchPaths};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::OrRaise;
use crate::gil::{acquire_gil, release_gil};

/// A CUDA library that the loader found.
#[pyclass(name = "Library", frozen, module = "gpumath.bindings.core")]
pub(crate) struct PyLibrary(LibraryInfo);

#[pymethods]
impl PyLibrary {
    /// Name of the library and of its main module, such as "cufft".
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    /// Path of the file.
    #[getter]
    fn path(&self) -> String {
        self.0.path.to_string_lossy().into_owned()
    }

    /// Version that the library reports; an empty string if it has no function for that.
    #[getter]
    fn version(&self) -> String {
        self.0.version.map(|version| version.to_string()).unwrap_or_default()
    }

    /// CUDA major that the library belongs to, None if that is unknown; for the driver, the newest
    /// that it supports.
    #[getter]
    fn cuda_major(&self) -> Option<u16> {
        self.0.cuda_major
    }

    /// Search step that found the file: "explicit", "loaded", "wheel", "conda", "system" or
    /// "cuda-path".
    #[getter]
    fn origin(&self) -> &'static str {
        self.0.origin
    }

    fn __repr__(&self) -> String {
        format!(
            "Library(name={:?}, version={:?}, path={:?}, origin={:?})",
            self.name(),
            self.version(),
            self.path(),
            self.origin()
        )
    }
}

/// Open every CUDA library that can be opened, the driver too, and list them.
///
/// Returns
/// -------
/// list of Library
///     One for each open library; an empty list if there is none.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> all(library.path for library in core.libraries())
/// True
#[pyfunction]
pub(crate) fn libraries(py: Python<'_>) -> Vec<PyLibrary> {
    release_gil(py, loader::libraries).into_iter().map(PyLibrary).collect()
}

/// Say whether a library or a function can be used here.
///
/// The library is opened to find out, but the function is not called.
///
/// Parameters
/// ----------
/// name : str
///     A library as in ``"cufft"``, or a function by its Python name as in ``"cufft.xt_exec"`` or
///     by its C name as in ``"cufft.cufftXtExec"``.
///
/// Returns
/// -------
/// bool
///     False if the library is absent or cannot be opened, or its version lacks the function.
///
/// Raises
/// ------
/// ValueError
///     gpumath knows no such library or function.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> core.has("cufft.xt_exec") in (True, False)
/// True
#[pyfunction]
pub(crate) fn has(py: Python<'_>, name: &str) -> PyResult<bool> {
    release_gil(py, || loader::has(name)).or_raise(py)
}

/// Search for every CUDA library, open those that are there, and report what was found where.
///
/// Returns
/// -------
/// dict
///     ``cuda_major`` and ``origin`` of the chosen set and the ``reason`` for that major (None if
///     there is no set); the ``libraries`` that are open; the origins ``considered`` as (step,
///     place, outcome); the ``missing`` libraries as dicts with ``name``, ``reason``, ``tried`` and
///     ``fix``; the ``environment``, names and values of the settings that the search depends on.
///
/// Examples
/// --------
/// >>> from gpumath.bindings import core
/// >>> report = core.search_report()
/// >>> all(library["fix"] for library in report["missing"])
/// True
#[pyfunction]
pub(crate) fn search_report(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let report = release_gil(py, loader::report);
    let attempts = |attempts: &[gpumath_core::error::Attempt]| {
        attempts.iter().map(|a| (a.step, a.place.clone(), a.outcome.clone())).collect::<Vec<_>>()
    };
    let missing = PyList::empty(py);
    for library in &report.missing {
        let entry = PyDict::new(py);
        entry.set_item("name", &library.library)?;
        entry.set_item("reason", &library.reason)?;
        entry.set_item("tried", attempts(&library.tried))?;
        entry.set_item("fix", &library.fix)?;
        missing.append(entry)?;
    }
    let result = PyDict::new(py);
    result.set_item("cuda_major", report.cuda_major)?;
    result.set_item("reason", report.reason)?;
    result.set_item("origin", report.origin)?;
    result
        .set_item("libraries", report.libraries.into_iter().map(PyLibrary).collect::<Vec<_>>())?;
    result.set_item("considered", attempts(&report.considered))?;
    result.set_item("missing", missing)?;
    result.set_item("environment", report.environment)?;
    Ok(result)
}

/// Returns where Python's packages are now. The loader calls this at each search, on any thread.
///
/// Blocks until the thread has the GIL. Once the interpreter shuts down, it returns no places
/// instead, because a C program may still search then and must not hang.
pub(crate) fn search_paths() -> SearchPaths {
    let paths = acquire_gil(|py| {
        let paths = py.import("sys").and_then(|sys| {
            // Entries of sys.path may be anything; only strings are folders.
            let folders = sys.getattr("path")?.try_iter()?.filter_map(|entry| {
                entry.ok().and_then(|entry| entry.extract::<String>().ok()).map(PathBuf::from)
            });
            Ok(SearchPaths {
                package_folders: folders.collect(),
                prefix: Some(PathBuf::from(sys.getattr("prefix")?.extract::<String>()?)),
            })
        });
        paths.unwrap_or_default()
    });
    paths.unwrap_or_default()
}
