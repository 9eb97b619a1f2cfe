//! Finds and opens the library with FFTW's interface that takes the place of the embedded engine.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpumath_sys::dynlib::DynamicLibrary;

use super::api::FftwApi;
use crate::error::Result;
use crate::fft::Precision;
use crate::loader::cpu_library::{
    CpuLibraries, MKL, Product, function_at, is_intel, open_file, open_product, set_variable,
};
use crate::process::SetOnce;

/// The environment variable that names the library to use: a path, `mkl`, `nvpl`, `fftw` or
/// `embedded`.
pub(super) const VARIABLE: &str = "GPUMATH_FFT_CPU_LIBRARY";

const LIBRARIES: CpuLibraries<CpuLibrary> = CpuLibraries {
    // On other processors it was measured slower than the embedded engine.
    products: &[Product { is_automatic: is_intel, ..MKL }, NVPL, FFTW],
    other: FFTW.name,
    variables: [VARIABLE, "NVMATH_FFT_CPU_LIBRARY"],
    open: CpuLibrary::at,
};

const NVPL: Product = Product {
    name: "nvpl",
    files: &["libnvpl_fftw.so.0"],
    fix: "pip install nvpl-fft",
    is_automatic: || true,
};

const FFTW: Product = Product {
    name: "fftw",
    files: if cfg!(windows) { &["libfftw3-3.dll"] } else { &["libfftw3.so.3"] },
    fix: "apt-get install libfftw3-double3 libfftw3-single3, or give the path of libfftw3.so.3",
    is_automatic: || false,
};

/// An opened library with FFTW's interface.
#[derive(Debug)]
pub struct CpuLibrary {
    name: &'static str,
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
        let library = LIBRARIES.requested(path_or_name, &[])?;
        Ok(Arc::new(Self { requested: true, ..library }))
    }

    /// Returns the library to use, or `None` for the embedded engine.
    ///
    /// The environment variable `GPUMATH_FFT_CPU_LIBRARY` decides: a path, or `mkl`, `nvpl`, `fftw`
    /// (looked for in the folders `search`, then by the system), or `embedded`. If it is not set or
    /// empty, nvmath-python's variable `NVMATH_FFT_CPU_LIBRARY` decides, and if that is not set
    /// either, MKL on Intel's processors, or NVPL, in one of these folders is used.
    pub fn selected(search: &[PathBuf]) -> Result<Option<Arc<Self>>> {
        let requested = set_variable(LIBRARIES.variables).is_some();
        let found = LIBRARIES.selected(search)?;
        Ok(found.map(|library| Arc::new(Self { requested, ..library })))
    }

    /// Opens a file if it has FFTW's interface.
    fn at(name: &'static str, path: &Path) -> std::result::Result<Self, String> {
        let mut files = vec![open_product(name, path)?];
        if name == FFTW.name {
            // FFTW has a file of its own for single precision, which may be absent.
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            files.extend(open_file(&path.with_file_name(file.replacen("fftw3", "fftw3f", 1))));
        }
        let symbol = "fftw_plan_guru64_dft";
        if !files.iter().any(|file| file.symbol(symbol).is_some()) {
            return Err(format!("has no {symbol}"));
        }
        let (single, double) = (SetOnce::new(), SetOnce::new());
        Ok(Self { name, path: path.into(), requested: false, files, single, double })
    }

    /// Returns `"mkl"`, `"nvpl"` or `"fftw"`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
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
            match self.name {
                "mkl" => {
                    type GetMklVersion = unsafe extern "C" fn(*mut c_char, c_int);
                    let mut text = [0u8; 256];
                    let get: GetMklVersion = function_at(symbol("MKL_Get_Version_String")?);
                    get(text.as_mut_ptr().cast(), 255);
                    Some(CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().trim().into())
                }
                "nvpl" => {
                    type GetNvplVersion = unsafe extern "C" fn() -> c_int;
                    let get: GetNvplVersion = function_at(symbol("nvpl_fft_get_version")?);
                    let number = get();
                    Some(format!("{}.{}.{}", number / 10000, number / 100 % 100, number % 100))
                }
                _ => {
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
            let reason = format!("no {symbol} in {} or beside it", self.path());
            LIBRARIES.not_found(self.name, reason, Vec::new())
        })
    }
}
