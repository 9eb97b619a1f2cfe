//! Looks at files before the dynamic loader opens them, because some kill or hang the process.
//!
//! - To open a file that is no regular one can wait for ever (a FIFO) or have an effect (a device).
//! - A file that was cut, by an interrupted download or a full disk, is mapped, and touching what
//!   is missing ends the process.
//!
//! The libraries that a file needs are looked at too, where the dynamic loader would find them.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::dynlib::kind_that_is_no_library;
use crate::elf::{self, Needs};
use crate::ld_cache;

/// Returns an error for a file that is damaged, or that needs one that is.
///
/// `path` is that of a file, or a bare name that the dynamic loader searches for. A file that is
/// absent is no error here: the dynamic loader says it better.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    check_file(path, &mut Vec::new())
}

fn check_file(path: &Path, seen: &mut Vec<PathBuf>) -> Result<(), String> {
    let is_bare_name = !path.as_os_str().as_bytes().contains(&b'/');
    if is_bare_name {
        return match search(path.as_os_str(), Path::new("/"), &Needs::default()) {
            Some(found) => {
                check_file(&found, seen).map_err(|damage| format!("{}: {damage}", found.display()))
            }
            None => Ok(()),
        };
    }
    if seen.iter().any(|known| known == path) {
        return Ok(());
    }
    seen.push(path.to_path_buf());
    if let Some(what) = kind_that_is_no_library(path) {
        return Err(what.to_owned());
    }
    let Ok(file) = File::open(path) else { return Ok(()) };
    let needs = elf::needs(&file)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    for name in &needs.libraries {
        if let Some(found) = search(name, folder, &needs) {
            check_file(&found, seen).map_err(|damage| {
                format!("needs {}, which cannot be used: {damage}", found.display())
            })?;
        }
    }
    Ok(())
}

/// Returns the file that the dynamic loader would take for a name; `None` if it has one of that
/// name already, or if none is where this function looks.
fn search(name: &OsStr, origin: &Path, needs: &Needs) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return path.is_absolute().then(|| path.to_path_buf());
    }
    if loaded_names().iter().any(|loaded| loaded == name) {
        return None;
    }
    let from_environment = std::env::var_os("LD_LIBRARY_PATH");
    // As for the dynamic loader, RPATH counts only where there is no RUNPATH.
    let rpath = needs.rpath.as_ref().filter(|_| needs.runpath.is_none());
    let lists = [rpath, from_environment.as_ref(), needs.runpath.as_ref()];
    let mut folders = lists.into_iter().flatten().flat_map(|list| folders_of(list, origin));
    let in_folders = folders.find_map(|folder| {
        let file = folder.join(name);
        file.exists().then_some(file)
    });
    in_folders.or_else(|| ld_cache::find(name))
}

/// Returns the absolute folders of a list with colons. A relative one depends on the current
/// directory, and is left to the dynamic loader.
fn folders_of(list: &OsString, origin: &Path) -> Vec<PathBuf> {
    let folder = |bytes: &[u8]| {
        let text = OsStr::from_bytes(bytes).to_string_lossy();
        for variable in ["$ORIGIN", "${ORIGIN}"] {
            if let Some(rest) = text.strip_prefix(variable) {
                return origin.join(rest.trim_start_matches('/'));
            }
        }
        PathBuf::from(OsStr::from_bytes(bytes))
    };
    let folders = list.as_bytes().split(|&byte| byte == b':' || byte == b';').map(folder);
    folders.filter(|folder| folder.is_absolute()).collect()
}

/// The first members of `dl_phdr_info`.
#[repr(C)]
struct LoadedObject {
    address: usize,
    name: *const c_char,
}

unsafe extern "C" {
    fn dl_iterate_phdr(
        callback: unsafe extern "C" fn(*const LoadedObject, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// Returns the names of the files that the dynamic loader has open, without their folders.
///
/// `dlopen` with `RTLD_NOLOAD` is no way to ask for one: it opens the file to compare.
fn loaded_names() -> Vec<OsString> {
    unsafe extern "C" fn add(
        object: *const LoadedObject,
        _size: usize,
        names: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic loader passes a live object, whose name is NULL or ends in a zero,
        // and `names` is the list below.
        unsafe {
            let name = (*object).name;
            if !name.is_null() {
                let path = Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()));
                (*names.cast::<Vec<OsString>>()).extend(path.file_name().map(OsStr::to_os_string));
            }
        }
        0
    }
    let mut names: Vec<OsString> = Vec::new();
    // SAFETY: `add` takes what it is called with, and does not unwind.
    unsafe { dl_iterate_phdr(add, (&raw mut names).cast()) };
    names
}
