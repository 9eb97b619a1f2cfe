//! Shared libraries that are opened but never closed.

use std::mem::ManuallyDrop;
use std::path::Path;

#[cfg(unix)]
use libloading::os::unix as os;
#[cfg(windows)]
use libloading::os::windows as os;

#[cfg(unix)]
use crate::fork::Region;

/// The handle of an open shared library.
///
/// Dropping it does not close the library, so addresses taken from it stay valid until the process
/// ends.
#[derive(Debug)]
pub struct DynamicLibrary {
    handle: ManuallyDrop<os::Library>,
}

impl DynamicLibrary {
    /// Opens a library and binds all symbols that it needs. Its own symbols are not made available
    /// to libraries that are opened later (`RTLD_LOCAL`).
    ///
    /// A path with a separator is that file. A bare file name is searched for by the dynamic
    /// loader.
    ///
    /// # Errors
    /// The dynamic loader's message. Or what is wrong with the file, if opening it would wait for
    /// ever or end the process.
    ///
    /// # Safety
    /// - The file is the library that its name says, because opening it runs its constructors.
    pub unsafe fn open(path: &Path) -> Result<Self, String> {
        #[cfg(unix)]
        let _no_fork = Region::enter();
        check(path)?;
        // SAFETY: the caller guarantees that the file is what its name says.
        let opened = unsafe { open(path) };
        match opened {
            Ok(handle) => Ok(Self { handle: ManuallyDrop::new(handle) }),
            Err(error) => Err(loader_message(&error)),
        }
    }

    /// Opens a library like [`open`](Self::open), but makes its symbols available to libraries that
    /// are opened later (`RTLD_GLOBAL`). A library that is open already stays open, and its symbols
    /// become available.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    ///
    /// # Safety
    /// - The file is the library that its name says, because opening it runs its constructors.
    #[cfg(unix)]
    pub unsafe fn open_global(path: &Path) -> Result<Self, String> {
        let _no_fork = Region::enter();
        check(path)?;
        // SAFETY: the caller guarantees that the file is what its name says.
        match unsafe { os::Library::open(Some(path), os::RTLD_NOW | os::RTLD_GLOBAL) } {
            Ok(handle) => Ok(Self { handle: ManuallyDrop::new(handle) }),
            Err(error) => Err(loader_message(&error)),
        }
    }

    /// Opens a library exactly like [`open`](Self::open), because Windows has no symbols that are
    /// available to all libraries.
    ///
    /// # Errors
    /// The dynamic loader's message.
    ///
    /// # Safety
    /// - The file is the library that its name says, because opening it runs its constructors.
    #[cfg(windows)]
    pub unsafe fn open_global(path: &Path) -> Result<Self, String> {
        // SAFETY: the caller guarantees that the file is what its name says.
        unsafe { Self::open(path) }
    }

    /// Returns the address of an exported symbol, or `None` if the library does not have it.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<usize> {
        #[cfg(unix)]
        let _no_fork = Region::enter();
        // SAFETY: any symbol may be taken as a `*mut ()`. The pointer is converted into a number,
        // but nothing is read or called through it.
        let symbol = unsafe { self.handle.get::<*mut ()>(name) }.ok()?;
        match *symbol as usize {
            0 => None,
            address => Some(address),
        }
    }
}

/// Says what a path is if something is there that can be no library; `None` for regular files and
/// where nothing is.
#[must_use]
pub fn kind_that_is_no_library(path: &Path) -> Option<&'static str> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => None,
        (_, true) => Some("is a folder, not a file"),
        _ => Some("is not a regular file"),
    }
}

/// Looks at the file that would be opened for a path or a bare file name, and at those that it
/// needs, without opening them as libraries. [`DynamicLibrary::open`] does so itself.
///
/// # Errors
/// What is wrong with a file whose opening would wait for ever or end the process. A file that is
/// absent or of another format is no error here.
pub fn check(path: &Path) -> Result<(), String> {
    #[cfg(unix)]
    let _no_fork = Region::enter();
    #[cfg(unix)]
    return crate::damage::check(path);
    #[cfg(not(unix))]
    return kind_that_is_no_library(path).map_or(Ok(()), |what| Err(what.to_owned()));
}

/// Opens a file for [`DynamicLibrary::open`].
///
/// # Safety
/// - The file is the library that its name says, because opening it runs its constructors.
#[cfg(unix)]
unsafe fn open(path: &Path) -> Result<os::Library, libloading::Error> {
    // SAFETY: the caller guarantees that the file is what its name says.
    unsafe { os::Library::open(Some(path), os::RTLD_NOW | os::RTLD_LOCAL) }
}

/// Opens a file for [`DynamicLibrary::open`]. If the path is absolute, the libraries that the file
/// needs are searched for beside it too.
///
/// # Safety
/// - The file is the library that its name says, because opening it runs its constructors.
#[cfg(windows)]
unsafe fn open(path: &Path) -> Result<os::Library, libloading::Error> {
    let flags = if path.is_absolute() {
        os::LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | os::LOAD_LIBRARY_SEARCH_DEFAULT_DIRS
    } else {
        0
    };
    // SAFETY: the caller guarantees that the file is what its name says.
    unsafe { os::Library::load_with_flags(path, flags) }
}

/// Returns the dynamic loader's message, without the words that libloading puts around it.
fn loader_message(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
