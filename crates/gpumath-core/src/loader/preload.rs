//! What two libraries need from others beside them, which the dynamic loader does not know of.

use std::path::Path;

use gpumath_sys::dynlib::DynamicLibrary;

use crate::loader::catalog::LibrarySpec;
use crate::loader::mapped_files;
use crate::version::Version;

/// To be called before a library is opened.
///
/// libmathdx carries a C++ runtime of its own, parts of which the dynamic loader replaces by those of a libstdc++ that
/// is there already. Functions of both then work on the same data, and libmathdx fails, unless that libstdc++ is
/// offered to it as a whole.
pub(super) fn before_open(library: &LibrarySpec) {
    if library.name != "mathdx" {
        return;
    }
    for file in mapped_files::matching(|name| name.starts_with("libstdc++.so.6")) {
        // SAFETY: the process has it open already.
        let _ = unsafe { DynamicLibrary::open_global(&file) };
    }
}

/// To be called after a library is opened.
///
/// NVRTC opens `libnvrtc-builtins` by its bare name when it first compiles, and some releases do not find it, unless it
/// is open already. What goes wrong here is left to NVRTC, which says so when it compiles.
pub(super) fn after_open(library: &LibrarySpec, path: &Path, version: Option<Version>) {
    let ("nvrtc", Some(folder), Some(Version { major, minor, .. })) =
        (library.name, path.parent(), version)
    else {
        return;
    };
    let file = folder.join(format!("libnvrtc-builtins.so.{major}.{minor}"));
    if file.is_absolute() && file.is_file() {
        // SAFETY: the file has the name that NVRTC itself would open.
        let _ = unsafe { DynamicLibrary::open(&file) };
    }
}
