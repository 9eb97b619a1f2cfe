//! The library with the interface of BLAS that takes the place of the `gemm` crate, if the user
//! names or has installed one.
//!
//! It multiplies blocks, each on the thread that has claimed it: its own threads are not used. So
//! the number of threads is that of the call, whatever the library. Small products, and those with
//! vectors or few columns, stay with the kernels of this crate.

use std::path::{Path, PathBuf};

use gpumath_sys::dynlib::DynamicLibrary;

use super::library_api::BlasApi;
use crate::error::{Attempt, Error, LibraryNotFound, Result};
use crate::loader::cpu_library::{
    check_mkl, choose_mkl_threads, cpu_library_folders, environment, open_file, set_variable,
};
use crate::process::SetOnce;

/// The environment variable that names the library: a path, or one of the names.
const VARIABLE: &str = "GPUMATH_BLAS_CPU_LIBRARY";

/// The variables that name the library, the first one that is set decides. The second one is
/// nvmath-python's.
const VARIABLES: [&str; 2] = [VARIABLE, "NVMATH_BLAS_CPU_LIBRARY"];

/// The folders of wheels below `site-packages`.
const FOLDERS: [&str; 3] = ["nvpl/lib", "scipy_openblas32/lib", "scipy_openblas64/lib"];

/// A library that is known by name.
struct Product {
    name: &'static str,
    /// File names to look for, the best one first.
    files: &'static [&'static str],
    /// How to install it, for messages.
    fix: &'static str,
    /// Whether it is used where it is installed in the Python environment, without being asked for.
    is_automatic: bool,
}

const PRODUCTS: [Product; 3] = [
    Product {
        name: "mkl",
        files: if cfg!(windows) {
            &["mkl_rt.3.dll", "mkl_rt.2.dll"]
        } else {
            &["libmkl_rt.so.3", "libmkl_rt.so.2"]
        },
        fix: "pip install mkl",
        is_automatic: true,
    },
    Product {
        name: "nvpl",
        files: &["libnvpl_blas_lp64_seq.so.0", "libnvpl_blas_ilp64_seq.so.0"],
        fix: "pip install nvpl-blas",
        is_automatic: true,
    },
    Product {
        name: "openblas",
        files: if cfg!(windows) {
            &["libscipy_openblas.dll", "libscipy_openblas64_.dll", "libopenblas.dll"]
        } else {
            &[
                "libscipy_openblas.so",
                "libscipy_openblas64_.so",
                "libopenblas.so.0",
                "libopenblas64.so.0",
            ]
        },
        fix: "pip install scipy-openblas32, or apt-get install libopenblas0",
        is_automatic: false,
    },
];

/// An opened library.
#[derive(Debug)]
pub(super) struct BlasLibrary {
    pub(super) name: &'static str,
    pub(super) api: BlasApi,
}

/// Returns the library to multiply with; `None` for the `gemm` crate. The first call that finds no
/// fault settles it for the process.
pub(super) fn library() -> Result<Option<&'static BlasLibrary>> {
    static CHOSEN: SetOnce<Option<BlasLibrary>> = SetOnce::new();
    if let Some(chosen) = CHOSEN.get() {
        return Ok(chosen.as_ref());
    }
    let chosen = selected(&cpu_library_folders(&FOLDERS))?;
    Ok(CHOSEN.get_or_init(|| chosen).as_ref())
}

/// Returns the name of what multiplies.
pub(crate) fn engine_name() -> &'static str {
    library().ok().flatten().map_or("embedded", |library| library.name)
}

/// Finds and opens the library that the environment asks for, or one that is installed.
fn selected(folders: &[PathBuf]) -> Result<Option<BlasLibrary>> {
    let Some((variable, value)) = set_variable(VARIABLES) else {
        let mut tried = Vec::new();
        let installed = PRODUCTS.iter().filter(|product| product.is_automatic);
        return Ok(installed.into_iter().find_map(|one| in_folders(one, folders, &mut tried)));
    };
    match value.to_str() {
        Some("embedded") => Ok(None),
        Some(asked) => requested(asked, folders).map(Some),
        None => Err(Error::InvalidValue(format!(
            "{variable} is not valid Unicode; set it to a path, mkl, nvpl, openblas or embedded"
        ))),
    }
}

/// Opens the library that the user named. An error lists the places that were tried.
fn requested(asked: &str, folders: &[PathBuf]) -> Result<BlasLibrary> {
    let mut tried = Vec::new();
    let named = PRODUCTS.iter().find(|product| product.name == asked);
    let found = match named {
        Some(product) => in_folders(product, folders, &mut tried).or_else(|| {
            let mut files = product.files.iter();
            files.find_map(|file| at(product.name, Path::new(file), "system", &mut tried))
        }),
        None => at(name_of(Path::new(asked)), Path::new(asked), "explicit", &mut tried),
    };
    found.ok_or_else(|| {
        let fix = named.map_or("give the path of a library with cblas_sgemm", |one| one.fix);
        Error::LibraryNotFound(Box::new(LibraryNotFound {
            library: named.map_or("BLAS", |product| product.name).into(),
            reason: format!("the CPU library {asked:?} was asked for and cannot be used"),
            tried,
            environment: environment(VARIABLES),
            fix: format!("{fix}; or set {VARIABLE}=embedded"),
        }))
    })
}

/// Returns the name of the product that is in a file's name, or "blas".
fn name_of(path: &Path) -> &'static str {
    let file = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let named = PRODUCTS.iter().find(|product| file.contains(product.name));
    named.map_or("blas", |product| product.name)
}

/// Opens the first file of a product in the folders, and notes in `tried` what fails.
fn in_folders(
    product: &Product,
    folders: &[PathBuf],
    tried: &mut Vec<Attempt>,
) -> Option<BlasLibrary> {
    folders.iter().find_map(|folder| {
        product.files.iter().find_map(|file| {
            let path = folder.join(file);
            if path.exists() {
                return at(product.name, &path, "wheel", tried);
            }
            let place = path.display().to_string();
            tried.push(Attempt { step: "wheel", place, outcome: "absent".into() });
            None
        })
    })
}

/// Opens the file at `path` if it has the functions, and notes in `tried` why it has not.
fn at(
    name: &'static str,
    path: &Path,
    step: &'static str,
    tried: &mut Vec<Attempt>,
) -> Option<BlasLibrary> {
    match open(name, path).and_then(|file| BlasApi::of(&file)) {
        Ok(api) => Some(BlasLibrary { name, api }),
        Err(outcome) => {
            tried.push(Attempt { step, place: path.display().to_string(), outcome });
            None
        }
    }
}

fn open(name: &str, path: &Path) -> std::result::Result<DynamicLibrary, String> {
    if name != "mkl" {
        return open_file(path);
    }
    check_mkl(path)?;
    let file = open_file(path)?;
    choose_mkl_threads(path, &file);
    Ok(file)
}
