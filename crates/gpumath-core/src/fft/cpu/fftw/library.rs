//! Finds and opens the library with FFTW's interface that takes the place of the embedded engine.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpumath_sys::dynlib::DynamicLibrary;

use super::api::FftwApi;
use crate::error::{Attempt, Error, LibraryNotFound, Result};
use crate::fft::Precision;
use crate::loader::cpu_library::{
    check_mkl, choose_mkl_threads, environment, function_at, open_file, set_variable,
};
use crate::process::SetOnce;

/// The environment variable that names the library to use: a path, `mkl`, `nvpl`, `fftw` or
/// `embedded`.
pub(super) const VARIABLE: &str = "GPUMATH_FFT_CPU_LIBRARY";

/// The variables that name the library, the first one that is set decides. The second one is
/// nvmath-python's.
const VARIABLES: [&str; 2] = [VARIABLE, "NVMATH_FFT_CPU_LIBRARY"];

/// The libraries that are known by name. Others count as [`Product::Fftw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Product {
    Mkl,
    Nvpl,
    Fftw,
}

impl Product {
    const ALL: [Self; 3] = [Self::Mkl, Self::Nvpl, Self::Fftw];

    const fn name(self) -> &'static str {
        match self {
            Self::Mkl => "mkl",
            Self::Nvpl => "nvpl",
            Self::Fftw => "fftw",
        }
    }

    /// Returns the file names to look for, newest first.
    const fn files(self) -> &'static [&'static str] {
        match self {
            Self::Mkl if cfg!(windows) => &["mkl_rt.3.dll", "mkl_rt.2.dll"],
            Self::Mkl => &["libmkl_rt.so.3", "libmkl_rt.so.2"],
            Self::Nvpl => &["libnvpl_fftw.so.0"],
            Self::Fftw if cfg!(windows) => &["libfftw3-3.dll"],
            Self::Fftw => &["libfftw3.so.3"],
        }
    }

    /// Returns how to install it, for messages.
    const fn fix(self) -> &'static str {
        match self {
            Self::Mkl => "pip install mkl",
            Self::Nvpl => "pip install nvpl-fft",
            Self::Fftw => {
                "apt-get install libfftw3-double3 libfftw3-single3, or give the path of \
                 libfftw3.so.3"
            }
        }
    }

    /// Returns the product that the file name contains, or FFTW.
    fn of_path(path: &Path) -> Self {
        let file = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let named = |product: &&Self| file.contains(product.name());
        Self::ALL.iter().find(named).copied().unwrap_or(Self::Fftw)
    }
}

/// An opened library with FFTW's interface.
#[derive(Debug)]
pub struct CpuLibrary {
    product: Product,
    path: PathBuf,
    /// Whether the user named the library, rather than that it was found installed.
    requested: bool,
    /// The files that have the functions, the main one first.
    files: Vec<DynamicLibrary>,
    /// The functions of each precision once they have been looked up, or a symbol that is missing.
    single: SetOnce<std::result::Result<FftwApi, String>>,
    double: SetOnce<std::result::Result<FftwApi, String>>,
}

impl CpuLibrary {
    /// Opens the library at a path, or the one of the name `"mkl"`, `"nvpl"` or `"fftw"` that the
    /// system's search finds.
    pub fn open(path_or_name: &str) -> Result<Arc<Self>> {
        Self::requested(path_or_name, &[])
    }

    /// Returns the library to use, or `None` for the embedded engine.
    ///
    /// The environment variable `GPUMATH_FFT_CPU_LIBRARY` decides: a path, or `mkl`, `nvpl`, `fftw`
    /// (looked for in the folders `search`, then by the system), or `embedded`. If it is not set or
    /// empty, nvmath-python's variable `NVMATH_FFT_CPU_LIBRARY` decides, and if that is not set
    /// either, MKL or NVPL in one of these folders is used.
    pub fn selected(search: &[PathBuf]) -> Result<Option<Arc<Self>>> {
        let Some((variable, value)) = set_variable(VARIABLES) else {
            return Ok(Self::installed(search));
        };
        match value.to_str() {
            Some("embedded") => Ok(None),
            Some(asked) => Self::requested(asked, search).map(Some),
            None => Err(Error::InvalidValue(format!(
                "{variable} is not valid Unicode; set it to a path, mkl, nvpl, fftw or embedded"
            ))),
        }
    }

    /// Returns MKL or NVPL if it is in one of the folders and can be opened.
    fn installed(search: &[PathBuf]) -> Option<Arc<Self>> {
        [Product::Mkl, Product::Nvpl].into_iter().find_map(|product| {
            let mut tried = Vec::new();
            Self::in_folders(product, search, false, &mut tried)
        })
    }

    /// Opens the library that the user named. An error lists the places that were tried.
    fn requested(path_or_name: &str, search: &[PathBuf]) -> Result<Arc<Self>> {
        let mut tried = Vec::new();
        let named = Product::ALL.into_iter().find(|product| product.name() == path_or_name);
        let (product, found) = if let Some(product) = named {
            let found = Self::in_folders(product, search, true, &mut tried).or_else(|| {
                product
                    .files()
                    .iter()
                    .find_map(|file| Self::at(product, Path::new(file), "system", true, &mut tried))
            });
            (product, found)
        } else {
            let path = Path::new(path_or_name);
            let product = Product::of_path(path);
            (product, Self::at(product, path, "explicit", true, &mut tried))
        };
        found.ok_or_else(|| {
            Error::LibraryNotFound(Box::new(LibraryNotFound {
                library: product.name().into(),
                reason: format!(
                    "the CPU library {path_or_name:?} was asked for and cannot be opened"
                ),
                tried,
                environment: environment(VARIABLES),
                fix: format!("{}; or set {VARIABLE}=embedded", product.fix()),
            }))
        })
    }

    /// Opens the first file of the product in the folders, and notes in `tried` what fails.
    fn in_folders(
        product: Product,
        search: &[PathBuf],
        requested: bool,
        tried: &mut Vec<Attempt>,
    ) -> Option<Arc<Self>> {
        search.iter().find_map(|folder| {
            product.files().iter().find_map(|file| {
                let path = folder.join(file);
                if path.exists() {
                    return Self::at(product, &path, "wheel", requested, tried);
                }
                let place = path.display().to_string();
                tried.push(Attempt { step: "wheel", place, outcome: "absent".into() });
                None
            })
        })
    }

    /// Opens the file at `path` if it has FFTW's interface, and notes in `tried` why it has not.
    fn at(
        product: Product,
        path: &Path,
        step: &'static str,
        requested: bool,
        tried: &mut Vec<Attempt>,
    ) -> Option<Arc<Self>> {
        let opened = open_files(product, path).and_then(|files| {
            let symbol = "fftw_plan_guru64_dft";
            if files.iter().any(|file| file.symbol(symbol).is_some()) {
                Ok(files)
            } else {
                Err(format!("has no {symbol}"))
            }
        });
        match opened {
            Ok(files) => Some(Arc::new(Self {
                product,
                path: path.into(),
                requested,
                files,
                single: SetOnce::new(),
                double: SetOnce::new(),
            })),
            Err(outcome) => {
                tried.push(Attempt { step, place: path.display().to_string(), outcome });
                None
            }
        }
    }

    /// Returns `"mkl"`, `"nvpl"` or `"fftw"`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.product.name()
    }

    /// Returns the path of the file that was opened.
    #[must_use]
    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns whether the user named the library, rather than that it was found installed. If so,
    /// transforms that it cannot plan are errors.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested
    }

    /// Returns the version, in the library's own words.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let symbol = |name: &str| self.files.iter().find_map(|file| file.symbol(name));
        // SAFETY: the types are those of the products' headers. MKL writes a terminated string
        // within the length given, and FFTW's symbol is one.
        unsafe {
            match self.product {
                Product::Mkl => {
                    type GetMklVersion = unsafe extern "C" fn(*mut c_char, c_int);
                    let mut text = [0u8; 256];
                    let get: GetMklVersion = function_at(symbol("MKL_Get_Version_String")?);
                    get(text.as_mut_ptr().cast(), 255);
                    Some(CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().trim().into())
                }
                Product::Nvpl => {
                    type GetNvplVersion = unsafe extern "C" fn() -> c_int;
                    let get: GetNvplVersion = function_at(symbol("nvpl_fft_get_version")?);
                    let number = get();
                    Some(format!("{}.{}.{}", number / 10000, number / 100 % 100, number % 100))
                }
                Product::Fftw => {
                    let text = std::ptr::with_exposed_provenance(symbol("fftw_version")?);
                    Some(CStr::from_ptr(text).to_string_lossy().into())
                }
            }
        }
    }

    /// Returns the functions of one precision, which the first call looks up.
    pub(super) fn api(&self, precision: Precision) -> Result<FftwApi> {
        let cell = match precision {
            Precision::Single => &self.single,
            _ => &self.double,
        };
        cell.get_or_init(|| FftwApi::load(&self.files, precision)).clone().map_err(|symbol| {
            Error::LibraryNotFound(Box::new(LibraryNotFound {
                library: self.name().into(),
                reason: format!("no {symbol} in {} or beside it", self.path()),
                tried: Vec::new(),
                environment: environment(VARIABLES),
                fix: format!("{}; or set {VARIABLE}=embedded", self.product.fix()),
            }))
        })
    }
}

/// Opens the file and the others of the same library.
fn open_files(product: Product, path: &Path) -> std::result::Result<Vec<DynamicLibrary>, String> {
    if product == Product::Mkl {
        check_mkl(path)?;
    }
    let mut files = vec![open_file(path)?];
    match product {
        Product::Mkl => choose_mkl_threads(path, &files[0]),
        Product::Nvpl => {}
        Product::Fftw => {
            // FFTW has a file of its own for single precision, which may be absent.
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            files.extend(open_file(&path.with_file_name(file.replacen("fftw3", "fftw3f", 1))));
        }
    }
    Ok(files)
}
