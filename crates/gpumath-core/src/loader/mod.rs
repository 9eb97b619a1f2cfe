//! Where the CUDA libraries are.
//!
//! Nothing is loaded until it is used. All libraries come from one *set*: one CUDA major, and one
//! origin as far as it reaches. `docs/libraries.md` tells the search order to users.

pub mod catalog;
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

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use gpumath_sys::table::{Function, Symbol};

use crate::error::{Error, Result};
use crate::loader::catalog::DRIVER;

pub use environment::{Environment, SearchPaths};
pub use open::LibraryInfo;
pub use report::Report;
pub use resolver::Resolver;

static RESOLVER: Mutex<Option<Resolver>> = Mutex::new(None);
static SEARCH_HOOK: OnceLock<fn() -> SearchPaths> = OnceLock::new();

/// Sets the function that tells where packages are. It is called at each search, without a lock
/// held, and may be set once; a later call changes nothing.
pub fn set_search_hook(hook: fn() -> SearchPaths) {
    let _ = SEARCH_HOOK.set(hook);
}

/// Where packages are now, as the hook says.
#[must_use]
pub fn search_paths() -> SearchPaths {
    SEARCH_HOOK.get().map(|hook| hook()).unwrap_or_default()
}

/// The callable for a table row, loading its library first if need be.
#[inline]
pub fn function<F: Copy>(function: &'static Function<F>) -> Result<F> {
    let address = address(function.symbol())?;
    // SAFETY: `address` looked this very symbol up.
    Ok(unsafe { function.at(address) })
}

/// The address for a table row, loading its library first if need be.
#[inline]
pub fn address(symbol: &'static Symbol) -> Result<usize> {
    symbol.address().map_or_else(|| look_up(symbol), Ok)
}

/// The address for the name of a function, loading its library first if need be.
///
/// `"cufft.exec_c2c"`, or the C name or the exported symbol after the module: `"cufft.cufftExecC2C"`.
pub fn address_of(name: &str) -> Result<usize> {
    address(function_names::symbol(name)?)
}

/// Opens a library unless it is open, and tells where it is.
pub fn library(name: &str) -> Result<LibraryInfo> {
    let open = resolver().as_ref().and_then(|resolver| resolver.library_if_open(name).cloned());
    open.map_or_else(
        || {
            let environment = environment_for(name);
            resolver().get_or_insert_default().library(name, &environment).cloned()
        },
        Ok,
    )
}

/// Every library of the chosen set that can be opened, and the driver. Opens them.
#[must_use]
pub fn libraries() -> Vec<LibraryInfo> {
    report().libraries
}

/// Searches for every library, opens what is there, and tells what came of it.
#[must_use]
pub fn report() -> Report {
    let environment = environment();
    Report::of(resolver().get_or_insert_default(), &environment)
}

/// Whether a library (`"cufft"`) or a function of it (`"cufft.xt_exec"`) can be used here.
///
/// Loads the library. `InvalidValue` if gpumath knows no such library or function.
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

fn is_available<T>(found: Result<T>) -> Result<bool> {
    match found {
        Ok(_) => Ok(true),
        Err(Error::LibraryNotFound(_) | Error::FunctionNotFound(_)) => Ok(false),
        Err(other) => Err(other),
    }
}

#[cold]
fn look_up(symbol: &'static Symbol) -> Result<usize> {
    let open = resolver().as_ref().and_then(|resolver| resolver.address_if_open(symbol));
    let address = open.unwrap_or_else(|| {
        let environment = environment_for(symbol.library);
        resolver().get_or_insert_default().address(symbol, &environment)
    })?;
    symbol.set_address(address);
    Ok(address)
}

/// The environment for a search of all libraries.
fn environment() -> Environment {
    Environment::of_process(SEARCH_HOOK.get().map(|hook| hook()).unwrap_or_default())
}

/// The environment for a search of one library.
fn environment_for(library: &str) -> Environment {
    // No package folder holds the driver. Callers may count on the hook not being called for it.
    if library == DRIVER { Environment::of_process(SearchPaths::default()) } else { environment() }
}

/// The resolver of this process. The environment is taken before: the hook can wait for another
/// thread (Python's interpreter lock), which must not wait for this lock meanwhile.
fn resolver() -> MutexGuard<'static, Option<Resolver>> {
    RESOLVER.lock().unwrap_or_else(PoisonError::into_inner)
}
