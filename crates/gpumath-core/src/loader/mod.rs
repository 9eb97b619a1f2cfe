//! Finds and opens the CUDA libraries, and looks up their functions.
//!
//! A library is opened when it is first used, and stays open until the process ends. All libraries
//! come from one *set*: one CUDA major, and one origin as long as it has the library. Only a
//! library whose file the user names may differ. `docs/libraries.md` has the search order.
//!
//! One lock guards the search and the list of open libraries. An address that is known already is
//! returned without it. Every other look-up may block: until the searches of other threads are
//! done, and while the search hook waits. A forked child starts with an empty list: what its parent
//! has opened is mapped, so a search finds that first.

pub mod catalog;
pub(crate) mod cpu_library;
mod environment;
mod function_names;
mod library_set;
mod mapped_files;
mod messages;
mod open;
mod origin;
mod preload;
mod report;
mod resolver;

use std::sync::{Mutex, MutexGuard};

use gpumath_sys::table::{Function, Symbol};

use crate::error::{Error, Result};
use crate::loader::catalog::DRIVER;
use crate::process::{PerProcess, SetOnce};

pub use environment::{Environment, SearchPaths};
pub use open::LibraryInfo;
pub use report::Report;
pub use resolver::Resolver;

static RESOLVER: PerProcess<Mutex<Resolver>> = PerProcess::new();
static SEARCH_HOOK: SetOnce<fn() -> SearchPaths> = SetOnce::new();

/// Sets the function that says where packages are. Only the first call has an effect.
///
/// The hook is called at each search, on the thread that searches and without the loader's lock.
/// A search for the driver does not call it.
pub fn set_search_hook(hook: fn() -> SearchPaths) {
    SEARCH_HOOK.set(hook);
}

/// Returns where packages are now, as the hook says. Without a hook there are no places.
///
/// Relative places are left out: what a current directory holds, such as a folder of data, must not
/// be opened as a library.
#[must_use]
pub fn search_paths() -> SearchPaths {
    let mut paths = SEARCH_HOOK.get().map(|hook| hook()).unwrap_or_default();
    paths.package_folders.retain(|folder| folder.is_absolute());
    paths.prefix = paths.prefix.filter(|prefix| prefix.is_absolute());
    paths
}

/// Returns the callable for a table row. Opens its library first unless it is open.
#[inline]
pub fn function<F: Copy>(function: &'static Function<F>) -> Result<F> {
    let address = address(function.symbol())?;
    // SAFETY: `address` is that of this function's own symbol, and libraries are never closed.
    Ok(unsafe { function.at(address) })
}

/// Returns the address for a table row. Opens its library first unless it is open.
#[inline]
pub fn address(symbol: &'static Symbol) -> Result<usize> {
    symbol.address().map_or_else(|| look_up(symbol), Ok)
}

/// Returns the address for the name of a function. Opens its library first unless it is open.
///
/// After the module comes the Python name (`"cufft.exec_c2c"`), the C name or the exported symbol
/// (`"cufft.cufftExecC2C"`).
pub fn address_of(name: &str) -> Result<usize> {
    address(function_names::symbol(name)?)
}

/// Opens a library unless it is open, and returns what is known of it.
pub fn library(name: &str) -> Result<LibraryInfo> {
    let open = resolver().library_if_open(name).cloned();
    open.map_or_else(
        || {
            let environment = environment_for(name);
            resolver().library(name, &environment).cloned()
        },
        Ok,
    )
}

/// Opens every library that can be opened, the driver too, and returns what is known of each.
#[must_use]
pub fn libraries() -> Vec<LibraryInfo> {
    report().libraries
}

/// Searches for every library, opens those that are there, and reports what was found where.
#[must_use]
pub fn report() -> Report {
    let environment = environment();
    Report::of(&mut resolver(), &environment)
}

/// Returns whether a library (`"cufft"`) or a function (`"cufft.xt_exec"`) can be used here.
///
/// Opens the library to find out. A name that stands for several functions can be used if one of
/// them can. A name that gpumath does not know is an `InvalidValue` error.
pub fn has(name: &str) -> Result<bool> {
    if !name.contains('.') {
        return is_available(library(name));
    }
    for symbol in function_names::symbols(name)? {
        if is_available(address(symbol))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Turns the errors for what is not there into `false`.
fn is_available<T>(found: Result<T>) -> Result<bool> {
    match found {
        Ok(_) => Ok(true),
        Err(Error::LibraryNotFound(_) | Error::FunctionNotFound(_)) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Looks an address up, and stores it in the row for later calls.
#[cold]
fn look_up(symbol: &'static Symbol) -> Result<usize> {
    let open = resolver().address_if_open(symbol);
    let address = open.unwrap_or_else(|| {
        let environment = environment_for(symbol.library);
        resolver().address(symbol, &environment)
    })?;
    symbol.set_address(address);
    Ok(address)
}

/// Takes the environment for a search of all libraries. Calls the search hook.
fn environment() -> Environment {
    Environment::of_process(search_paths())
}

/// Takes the environment for a search of one library. Calls the search hook, but not for the
/// driver.
fn environment_for(library: &str) -> Environment {
    // No package folder holds the driver, and `set_search_hook` promises not to call the hook.
    if library == DRIVER { Environment::of_process(SearchPaths::default()) } else { environment() }
}

/// Locks the resolver of this process.
///
/// Take the environment before this lock. The search hook can wait for Python's interpreter lock,
/// and the thread that has that lock may be waiting for this one.
fn resolver() -> MutexGuard<'static, Resolver> {
    RESOLVER.lock()
}
