//! Opens one file, reads the library's version and looks up its functions.

use std::ffi::c_int;
use std::path::{Path, PathBuf};

use gpumath_sys::dynlib::DynamicLibrary;
use gpumath_sys::table::{Release, Symbol};

use crate::error::{Error, FunctionNotFound, Result, status_text};
use crate::loader::catalog::{CUDA_MAJORS, DRIVER, LibrarySpec, VersionQuery};
use crate::loader::{mapped_files, messages, preload};
use crate::version::Version;

/// What is known of an open library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryInfo {
    /// Name of the library in the catalogue, such as `"cufft"`.
    pub name: &'static str,
    /// Path of the file.
    pub path: PathBuf,
    /// Version that the library reports; `None` if it has no function for that.
    pub version: Option<Version>,
    /// CUDA major that the library belongs to, `None` if that is unknown; for the driver, the
    /// newest that it supports.
    pub cuda_major: Option<u16>,
    /// Search step that found the file: `"explicit"`, `"loaded"`, `"wheel"`, `"conda"`, `"system"`
    /// or `"cuda-path"`.
    pub origin: &'static str,
}

/// An open library with its handle. Dropping it does not close the library.
#[derive(Debug)]
pub(super) struct OpenLibrary {
    pub(super) library: &'static LibrarySpec,
    pub(super) info: LibraryInfo,
    handle: DynamicLibrary,
}

impl OpenLibrary {
    /// Returns the address of a function of this library, unless this version lacks the function or
    /// has it with another signature.
    pub(super) fn address(&self, symbol: &Symbol) -> Result<usize> {
        let info = &self.info;
        // A library can export a symbol before the CUDA major that declares it, with another
        // signature: cufftXtSetJITCallback in CUDA 12.
        let too_old =
            info.name != DRIVER && info.cuda_major.is_some_and(|major| major < symbol.since.major);
        let other = too_old || !self.has_signature_of(symbol);
        let address = if other { None } else { self.handle.symbol(symbol.symbol) };
        address.ok_or_else(|| {
            Error::FunctionNotFound(Box::new(FunctionNotFound {
                function: format!("{}.{}", symbol.library, symbol.name),
                symbol: symbol.symbol.to_owned(),
                path: info.path.display().to_string(),
                version: messages::version_text(info.version),
                since: symbol.since,
                until: symbol.until,
                versions: versions_text(symbol),
            }))
        })
    }

    /// Returns whether the symbol has the row's signature in this version of the library. Yes if
    /// the version is unknown.
    fn has_signature_of(&self, symbol: &Symbol) -> bool {
        let Some(version) = self.info.version else { return true };
        let version = (version.major, version.minor);
        let numbers = |release: Release| (u32::from(release.major), u32::from(release.minor));
        let (from, before) = symbol.versions;
        from.is_none_or(|from| version >= numbers(from))
            && before.is_none_or(|before| version < numbers(before))
    }
}

/// Opens a file, or a bare file name by the dynamic loader's own search.
///
/// The error is one line for a message, without the file's path.
pub(super) fn open(
    library: &'static LibrarySpec,
    file: &Path,
    origin: &'static str,
) -> std::result::Result<OpenLibrary, String> {
    preload::before_open(library);
    // SAFETY: the file is what its name says. NVIDIA gives this library that name, or the user
    // named the file in a setting for this library.
    let handle =
        unsafe { DynamicLibrary::open(file) }.map_err(|text| without_own_path(&text, file))?;
    let version = query_version(library.name, &handle, library.version)?;
    let path = if file.is_absolute() {
        file.to_path_buf()
    } else {
        path_in_process(&handle, library, file)
    };
    preload::after_open(library, &path, version)?;
    let by_version = version.and_then(|version| library.cuda_major_of_version(version));
    let name = path.file_name().and_then(|name| name.to_str());
    let cuda_major = by_version.or_else(|| library.cuda_major_of_file(name?));
    let info = LibraryInfo { name: library.name, path, version, cuda_major, origin };
    Ok(OpenLibrary { library, info, handle })
}

/// Returns the releases that have a function as text, such as "CUDA 12.0 to 13.5 with cufft 12.1 or
/// newer".
pub(super) fn versions_text(symbol: &Symbol) -> String {
    // libmathdx is no part of the toolkit. Its rows count its own releases, which are below CUDA's.
    let own = symbol.since.major < CUDA_MAJORS[0];
    let product = if own { symbol.library } else { "CUDA" };
    let own_versions = match symbol.versions {
        (None, None) => String::new(),
        (Some(from), None) => format!(" with {} {from} or newer", symbol.library),
        (None, Some(before)) => format!(" with {} before {before}", symbol.library),
        (Some(from), Some(before)) => {
            format!(" with {} {from} or newer, but before {before}", symbol.library)
        }
    };
    let last = match symbol.until {
        until if until == symbol.since => String::new(),
        until => format!(" to {until}"),
    };
    format!("{product} {}{last}{own_versions}", symbol.since)
}

impl VersionQuery {
    /// Returns the symbol of the function; empty if there is none.
    const fn symbol(self) -> &'static str {
        match self {
            Self::Property(name)
            | Self::Pair(name)
            | Self::Triple(name)
            | Self::Thousands(name) => name,
            Self::None => "",
        }
    }
}

/// The status `CUDA_ERROR_STUB_LIBRARY` of the driver, and `cudaErrorStubLibrary` of the runtime.
const STUB_LIBRARY: c_int = 34;

/// Calls the library's version function; `None` if the library does not have it.
fn query_version(
    module: &str,
    library: &DynamicLibrary,
    query: VersionQuery,
) -> std::result::Result<Option<Version>, String> {
    let Some(address) = library.symbol(query.symbol()) else { return Ok(None) };
    let mut numbers: [c_int; 3] = [0; 3];
    let [major, minor, patch] = &mut numbers;
    let status = match query {
        VersionQuery::Property(_) => {
            // SAFETY: `address` is that of a `Property` function, which has this C signature.
            let get = unsafe {
                std::mem::transmute::<usize, unsafe extern "C" fn(c_int, *mut c_int) -> c_int>(
                    address,
                )
            };
            // SAFETY: each call writes one int to a live variable.
            unsafe { get(0, major) | get(1, minor) | get(2, patch) }
        }
        VersionQuery::Pair(_) => {
            // SAFETY: `address` is that of a `Pair` function, which has this C signature.
            let get = unsafe {
                std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>(
                    address,
                )
            };
            // SAFETY: the call writes two ints to live variables.
            unsafe { get(major, minor) }
        }
        VersionQuery::Triple(_) => {
            // SAFETY: `address` is that of a `Triple` function, which has this C signature.
            let get = unsafe {
                std::mem::transmute::<
                    usize,
                    unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> c_int,
                >(address)
            };
            // SAFETY: the call writes three ints to live variables.
            unsafe { get(major, minor, patch) }
        }
        VersionQuery::Thousands(_) => {
            // SAFETY: `address` is that of a `Thousands` function, which has this C signature.
            let get = unsafe {
                std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_int) -> c_int>(address)
            };
            // SAFETY: the call writes one int to a live variable.
            unsafe { get(major) }
        }
        VersionQuery::None => 0,
    };
    if status == STUB_LIBRARY {
        return Err(String::from("is a stub that serves for linking only"));
    }
    if status != 0 {
        return Err(status_text(module, status.into(), query.symbol(), ""));
    }
    let [major, minor, patch] = numbers.map(|number| number as u32);
    Ok(Some(match query {
        VersionQuery::Property(_) | VersionQuery::Triple(_) => {
            Version { major, minor, patch: Some(patch) }
        }
        VersionQuery::Pair(_) => Version::new(major, minor),
        VersionQuery::Thousands(_) => Version::from_thousands(major),
        VersionQuery::None => return Ok(None),
    }))
}

/// Returns the file that the dynamic loader's own search found under `name`. Falls back to `name`.
fn path_in_process(handle: &DynamicLibrary, library: &LibrarySpec, name: &Path) -> PathBuf {
    let known = std::iter::once(library.version.symbol());
    let mut symbols = known.chain(library.symbols().map(|symbol| symbol.symbol));
    let address = symbols.find_map(|symbol| handle.symbol(symbol));
    address.and_then(mapped_files::file_at).unwrap_or_else(|| name.to_path_buf())
}

/// Shortens the dynamic loader's message, and leaves out the file's own path, because errors have
/// the path beside this text.
fn without_own_path(text: &str, file: &Path) -> String {
    const NO_SUCH_FILE: &str = "cannot open shared object file: No such file or directory";
    let own = format!("{}: ", file.display());
    match (text.strip_prefix(&own), text.strip_suffix(NO_SUCH_FILE)) {
        (Some(NO_SUCH_FILE), _) => String::from(messages::ABSENT),
        (Some(rest), _) => rest.to_owned(),
        (None, Some(other)) => {
            format!("needs {}, which was not found", other.trim_end_matches([':', ' ']))
        }
        (None, None) => text.to_owned(),
    }
}
