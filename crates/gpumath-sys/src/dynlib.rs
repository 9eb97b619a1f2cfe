//! One shared library, opened for good.

use std::mem::ManuallyDrop;
use std::path::Path;

#[cfg(unix)]
use libloading::os::unix as os;
#[cfg(windows)]
use libloading::os::windows as os;

/// A shared library that is never closed: addresses taken from it stay valid until the process ends.
#[derive(Debug)]
pub struct DynamicLibrary {
    handle: ManuallyDrop<os::Library>,
}

impl DynamicLibrary {
    /// Opens a library with all its symbols bound, and without offering them to other libraries.
    ///
    /// A path with a separator is that file; a bare file name is left to the system's own search.
    ///
    /// # Errors
    /// The dynamic loader's own message.
    ///
    /// # Safety
    /// Opening a library runs its constructors: the file must be what its name says.
    pub unsafe fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: the caller vouches for the file.
        let opened = unsafe { open(path) };
        match opened {
            Ok(handle) => Ok(Self { handle: ManuallyDrop::new(handle) }),
            Err(error) => Err(loader_message(&error)),
        }
    }

    /// Opens a library like [`open`](Self::open), and offers its symbols to the libraries that are opened later.
    ///
    /// # Errors
    /// The dynamic loader's own message.
    ///
    /// # Safety
    /// As for [`open`](Self::open).
    #[cfg(unix)]
    pub unsafe fn open_global(path: &Path) -> Result<Self, String> {
        // SAFETY: the caller vouches for the file.
        match unsafe { os::Library::open(Some(path), os::RTLD_NOW | os::RTLD_GLOBAL) } {
            Ok(handle) => Ok(Self { handle: ManuallyDrop::new(handle) }),
            Err(error) => Err(loader_message(&error)),
        }
    }

    /// Opens a library like [`open`](Self::open): here it is offered to no other.
    ///
    /// # Errors
    /// The dynamic loader's own message.
    ///
    /// # Safety
    /// As for [`open`](Self::open).
    #[cfg(windows)]
    pub unsafe fn open_global(path: &Path) -> Result<Self, String> {
        // SAFETY: passed on to the caller.
        unsafe { Self::open(path) }
    }

    /// The address of an exported symbol, if the library has it.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<usize> {
        // SAFETY: the symbol is only taken as an address; nothing is read or called through this type.
        let symbol = unsafe { self.handle.get::<*mut ()>(name) }.ok()?;
        match *symbol as usize {
            0 => None,
            address => Some(address),
        }
    }
}

#[cfg(unix)]
unsafe fn open(path: &Path) -> Result<os::Library, libloading::Error> {
    // SAFETY: passed on to the caller.
    unsafe { os::Library::open(Some(path), os::RTLD_NOW | os::RTLD_LOCAL) }
}

#[cfg(windows)]
unsafe fn open(path: &Path) -> Result<os::Library, libloading::Error> {
    let flags = if path.is_absolute() {
        os::LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | os::LOAD_LIBRARY_SEARCH_DEFAULT_DIRS
    } else {
        0
    };
    // SAFETY: passed on to the caller.
    unsafe { os::Library::load_with_flags(path, flags) }
}

/// The message of the system's loader, without the wrapper's own words around it.
fn loader_message(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
