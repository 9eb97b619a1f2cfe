//! Opens files for libmathdx and NVRTC, because the dynamic loader does not open them or does not
//! make their symbols available.

use std::path::Path;

use gpumath_sys::dynlib::{DynamicLibrary, check};

use crate::loader::catalog::LibrarySpec;
use crate::loader::mapped_files;
use crate::version::Version;

/// Prepares the process for opening a library: for libmathdx, makes libstdc++ global.
///
/// libmathdx contains a C++ runtime of its own. If the process has a libstdc++ already, the dynamic
/// loader replaces parts of that runtime by libstdc++'s. Functions of both then work on the same
/// data and libmathdx fails, unless it can use all symbols of that libstdc++.
pub(super) fn before_open(library: &LibrarySpec) {
    if library.name != "mathdx" {
        return;
    }
    for file in mapped_files::matching(|name| name.starts_with("libstdc++.so.6")) {
        // SAFETY: the process has this file open already, so its constructors do not run again.
        let _ = unsafe { DynamicLibrary::open_global(&file) };
    }
}

/// Completes the opening of a library: for NVRTC, opens the `libnvrtc-builtins` beside it.
///
/// NVRTC opens that file by its bare name when it first compiles, and some releases do not find it
/// unless it is open already. NVRTC reports most errors when it compiles, so they are ignored here;
/// but a file that would end the process then is an error now.
pub(super) fn after_open(
    library: &LibrarySpec,
    path: &Path,
    version: Option<Version>,
) -> Result<(), String> {
    let ("nvrtc", Some(folder), Some(Version { major, minor, .. })) =
        (library.name, path.parent(), version)
    else {
        return Ok(());
    };
    let file = folder.join(format!("libnvrtc-builtins.so.{major}.{minor}"));
    if file.is_absolute() {
        check(&file).map_err(|damage| {
            format!("needs {}, which cannot be used: {damage}", file.display())
        })?;
        // SAFETY: the file lies beside NVRTC and has the name that NVRTC itself would open.
        let _ = unsafe { DynamicLibrary::open(&file) };
    }
    Ok(())
}
