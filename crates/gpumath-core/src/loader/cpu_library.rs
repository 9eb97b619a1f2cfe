//! What libraries for the CPU have in common: where they are, the variables that name them, how the
//! one to use is found, and how MKL is opened.

use std::ffi::{OsString, c_int};
use std::path::{Path, PathBuf};

use gpumath_sys::dynlib::{DynamicLibrary, check};

use super::search_paths;
use crate::error::{Attempt, Error, LibraryNotFound, Result};

/// A library that is known by name.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) name: &'static str,
    /// File names to look for, the best one first.
    pub(crate) files: &'static [&'static str],
    /// How to install it, for messages.
    pub(crate) fix: &'static str,
    /// Whether it is used where it is installed in the Python environment, without being asked for.
    pub(crate) is_automatic: fn() -> bool,
}

pub(crate) const MKL: Product = Product {
    name: "mkl",
    files: if cfg!(windows) {
        &["mkl_rt.3.dll", "mkl_rt.2.dll"]
    } else {
        &["libmkl_rt.so.3", "libmkl_rt.so.2"]
    },
    fix: "pip install mkl",
    is_automatic: || true,
};

/// Whether the processor is Intel's.
pub(crate) fn is_intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::x86_64::__cpuid(0).ebx == u32::from_le_bytes(*b"Genu");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The libraries of one interface, of which one may take an engine's place.
pub(crate) struct CpuLibraries<L> {
    pub(crate) products: &'static [Product],
    /// The name of files whose own name has none of the products' names.
    pub(crate) other: &'static str,
    /// The variables that name the library; the first one that is set decides. The first one is
    /// gpumath's own.
    pub(crate) variables: [&'static str; 2],
    /// Opens the file of a product if it has the interface. The error says what is wrong with it.
    pub(crate) open: fn(&'static str, &Path) -> std::result::Result<L, String>,
}

impl<L> CpuLibraries<L> {
    /// Finds and opens the library that the variables ask for, or one that is installed in
    /// `folders`; `None` for the embedded engine.
    pub(crate) fn selected(&self, folders: &[PathBuf]) -> Result<Option<L>> {
        let Some((variable, value)) = set_variable(self.variables) else {
            let mut tried = Vec::new();
            let mut installed = self.products.iter().filter(|product| (product.is_automatic)());
            return Ok(installed.find_map(|one| self.in_folders(one, folders, &mut tried)));
        };
        match value.to_str() {
            Some("embedded") => Ok(None),
            Some(asked) => self.requested(asked, folders).map(Some),
            None => {
                let names: Vec<_> = self.products.iter().map(|product| product.name).collect();
                Err(Error::InvalidValue(format!(
                    "{variable} is not valid Unicode; set it to a path, {} or embedded",
                    names.join(", ")
                )))
            }
        }
    }

    /// Opens the library of this name, in `folders` or where the system finds it, or at this path.
    /// An error lists the places that were tried.
    pub(crate) fn requested(&self, asked: &str, folders: &[PathBuf]) -> Result<L> {
        let mut tried = Vec::new();
        let product = self.products.iter().find(|product| product.name == asked);
        let name = product.map_or_else(|| self.name_of(Path::new(asked)), |product| product.name);
        let found = product
            .and_then(|product| self.in_folders(product, folders, &mut tried))
            .or_else(|| {
                // Without a folder in its name, the system looks for a file.
                let step = if product.is_some() { "system" } else { "explicit" };
                let given = [asked];
                let files = product.map_or(&given[..], |product| product.files);
                files.iter().find_map(|file| self.at(name, Path::new(file), step, &mut tried))
            });
        found.ok_or_else(|| {
            let reason = format!("the CPU library {asked:?} was asked for and cannot be used");
            self.not_found(name, reason, tried)
        })
    }

    /// Returns the error for a library of this name that cannot be used.
    pub(crate) fn not_found(&self, name: &str, reason: String, tried: Vec<Attempt>) -> Error {
        let product = self.products.iter().find(|product| product.name == name);
        let fix = product.map_or("give the path of another library", |product| product.fix);
        Error::LibraryNotFound(Box::new(LibraryNotFound {
            library: name.to_owned(),
            reason,
            tried,
            environment: environment(self.variables),
            fix: format!("{fix}; or set {}=embedded", self.variables[0]),
        }))
    }

    /// Returns the name of the product that is in a file's name, or the one for others.
    fn name_of(&self, path: &Path) -> &'static str {
        let file = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let named = self.products.iter().find(|product| file.contains(product.name));
        named.map_or(self.other, |product| product.name)
    }

    /// Opens the first file of a product in the folders, and notes in `tried` what fails.
    fn in_folders(
        &self,
        product: &Product,
        folders: &[PathBuf],
        tried: &mut Vec<Attempt>,
    ) -> Option<L> {
        folders.iter().find_map(|folder| {
            product.files.iter().find_map(|file| {
                let path = folder.join(file);
                if path.exists() {
                    return self.at(product.name, &path, "wheel", tried);
                }
                let place = path.display().to_string();
                tried.push(Attempt { step: "wheel", place, outcome: "absent".into() });
                None
            })
        })
    }

    /// Opens the file at `path`, and notes in `tried` why that cannot be done.
    fn at(
        &self,
        name: &'static str,
        path: &Path,
        step: &'static str,
        tried: &mut Vec<Attempt>,
    ) -> Option<L> {
        let opened = (self.open)(name, path);
        opened
            .map_err(|outcome| {
                tried.push(Attempt { step, place: path.display().to_string(), outcome });
            })
            .ok()
    }
}

/// Returns the folders where wheels put such libraries; `packages` are those below `site-packages`.
pub(crate) fn cpu_library_folders(packages: &[&str]) -> Vec<PathBuf> {
    let paths = search_paths();
    let prefix = paths.prefix.iter().map(|prefix| prefix.join("lib"));
    let below =
        |folder: &PathBuf| packages.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
    prefix.chain(paths.package_folders.iter().flat_map(below)).collect()
}

/// Returns the variable that names a library, if one is set, for messages.
fn environment(variables: [&'static str; 2]) -> Vec<(String, String)> {
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

/// Opens the file of a product. MKL may be left without threads of its own.
pub(crate) fn open_product(name: &str, path: &Path) -> std::result::Result<DynamicLibrary, String> {
    if name != MKL.name {
        return open_file(path);
    }
    check_mkl(path)?;
    let file = open_file(path)?;
    choose_mkl_threads(path, &file);
    Ok(file)
}

/// Returns an error if a file is absent or damaged that MKL loads later, because MKL ends the
/// process then.
fn check_mkl(path: &Path) -> std::result::Result<(), String> {
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
fn choose_mkl_threads(path: &Path, mkl: &DynamicLibrary) {
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
