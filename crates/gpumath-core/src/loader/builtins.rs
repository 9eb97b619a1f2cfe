//! The library that NVRTC opens by its bare name, and does not always find, when it first compiles.

use std::path::Path;

use gpumath_sys::dynlib::DynamicLibrary;

use crate::version::Version;

/// Opens `libnvrtc-builtins` of this NVRTC if it is beside it, so that NVRTC finds it in the process.
///
/// What goes wrong here is left to NVRTC, which says so when it compiles.
pub(super) fn open_beside(nvrtc: &Path, version: Option<Version>) {
    let (Some(folder), Some(Version { major, minor, .. })) = (nvrtc.parent(), version) else {
        return;
    };
    let file = folder.join(format!("libnvrtc-builtins.so.{major}.{minor}"));
    if file.is_absolute() && file.is_file() {
        // SAFETY: the file has the name that NVRTC itself would open.
        let _ = unsafe { DynamicLibrary::open(&file) };
    }
}
