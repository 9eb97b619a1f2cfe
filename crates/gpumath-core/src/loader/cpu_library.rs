//! What libraries for the CPU have in common: where they are, the variables that name them, and how
//! MKL is opened.

use std::ffi::{OsString, c_int};
use std::path::{Path, PathBuf};

use gpumath_sys::dynlib::{DynamicLibrary, check};

use super::search_paths;

/// Returns the folders where wheels put such libraries; `packages` are those below `site-packages`.
pub(crate) fn cpu_library_folders(packages: &[&str]) -> Vec<PathBuf> {
    let paths = search_paths();
    let prefix = paths.prefix.iter().map(|prefix| prefix.join("lib"));
    let below =
        |folder: &PathBuf| packages.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
    prefix.chain(paths.package_folders.iter().flat_map(below)).collect()
}

/// Returns the variable that names a library, if one is set, for messages.
pub(crate) fn environment(variables: [&'static str; 2]) -> Vec<(String, String)> {
    set_variable(variables)
        .map(|(name, value)| (name.to_string(), value.to_string_lossy().into_owned()))
        .into_iter()
        .collect()
}

/// Returns the variable that decides and its value; `None` if none is set, or all are empty.
pub(crate) fn set_variable(variables: [&'static str; 2]) -> Option<(&'static str, OsString)> {
    variables.into_iter().find_map(|name| {
        std::env::var_os(name).filter(|value| !value.is_empty()).map(|value| (name, value))
    })
}

/// Returns an error if a file is absent or damaged that MKL loads later, because MKL ends the
/// process then.
pub(crate) fn check_mkl(path: &Path) -> std::result::Result<(), String> {
    let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else { return Ok(()) };
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    let core = folder.join(file.to_string_lossy().replacen("mkl_rt", "mkl_core", 1));
    if !core.is_file() {
        return Err(format!("{} is absent", core.display()));
    }
    let entries = folder.read_dir().map_err(|error| error.to_string())?;
    for part in entries.flatten().map(|entry| entry.path()) {
        let name = part.file_name().unwrap_or_default().to_string_lossy();
        if name.contains("mkl_") && part.extension().is_some_and(|end| end != "a") {
            check(&part).map_err(|damage| {
                format!("needs {}, which cannot be used: {damage}", part.display())
            })?;
        }
    }
    Ok(())
}

/// Makes MKL run on one thread if Intel's OpenMP is absent, which its threads need by default.
pub(crate) fn choose_mkl_threads(path: &Path, mkl: &DynamicLibrary) {
    const SEQUENTIAL: c_int = 1;
    let openmp = if cfg!(windows) { "libiomp5md.dll" } else { "libiomp5.so" };
    if open_file(&path.with_file_name(openmp)).is_ok() || open_file(Path::new(openmp)).is_ok() {
        return;
    }
    if let Some(address) = mkl.symbol("MKL_Set_Threading_Layer") {
        // SAFETY: MKL's header gives the symbol this type.
        unsafe { function_at::<unsafe extern "C" fn(c_int) -> c_int>(address)(SEQUENTIAL) };
    }
}

pub(crate) fn open_file(path: &Path) -> std::result::Result<DynamicLibrary, String> {
    // SAFETY: loading runs the file's initializers. The file is the library that the
    // user or its name says.
    unsafe { DynamicLibrary::open(path) }
}

/// Returns the function at an address.
///
/// # Safety
/// `address` is that of a function of type `F`.
pub(crate) unsafe fn function_at<F: Copy>(address: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let pointer = std::ptr::with_exposed_provenance::<()>(address);
    // SAFETY: a function pointer has the size of an address, and the caller guarantees its type.
    unsafe { std::mem::transmute_copy(&pointer) }
}
