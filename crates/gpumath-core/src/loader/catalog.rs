//! The CUDA libraries as data: file names, folders in wheels, dependencies, version functions.

use std::path::PathBuf;

use gpumath_sys::generated;
use gpumath_sys::table::Symbol;

use crate::version::Version;

/// The file and the versions of a library in one CUDA major.
#[derive(Debug)]
pub struct Build {
    /// CUDA major that this build belongs to.
    pub cuda_major: u16,
    /// Versioned file name, which is also the ELF soname.
    pub soname: &'static str,
    /// First version (major, minor) of the library in this CUDA major. (0, 0) in every build if the
    /// version does not tell the CUDA major.
    pub first_version: (u32, u32),
}

/// The function that returns a library's version, by its C signature.
///
/// Each returns a status, 0 for success, and needs neither a device nor a driver nor a handle.
#[derive(Clone, Copy, Debug)]
pub enum VersionQuery {
    /// `int f(int which, int *value)`, called once each for major, minor and patch.
    Property(&'static str),
    /// `int f(int *major, int *minor)`.
    Pair(&'static str),
    /// `int f(int *major, int *minor, int *patch)`.
    Triple(&'static str),
    /// `int f(int *version)`, where 13000 means 13.0.
    Thousands(&'static str),
    /// The library has no such function.
    None,
}

/// What the loader knows about one library.
#[derive(Debug)]
pub struct LibrarySpec {
    /// Name of the library and of its main module, such as `"cufft"`.
    pub name: &'static str,
    /// Modules that bind functions of the library.
    pub modules: &'static [&'static str],
    /// One entry for each CUDA major; empty for the driver, which belongs to no toolkit.
    pub builds: &'static [Build],
    /// Names of the libraries to open before this one, from the same folder if they are there.
    pub dependencies: &'static [&'static str],
    /// Component folder in the CUDA 12 wheels: `nvidia/<wheel_component>/lib`.
    pub wheel_component: &'static str,
    /// Names of the wheels that bring the library, one for each entry of `builds`.
    pub pip_packages: &'static [&'static str],
    /// Function that returns the version.
    pub version: VersionQuery,
}

impl LibrarySpec {
    /// Returns the functions that gpumath binds.
    pub fn symbols(&self) -> impl Iterator<Item = &'static Symbol> {
        self.modules.iter().flat_map(|module| symbols_of(module)).copied()
    }

    /// Returns whether this module binds functions of the library.
    #[must_use]
    pub fn has_module(&self, module: &str) -> bool {
        self.modules.contains(&module)
    }

    /// Returns the file name in a CUDA major.
    #[must_use]
    pub fn soname(&self, cuda_major: u16) -> Option<&'static str> {
        self.builds.iter().find(|build| build.cuda_major == cuda_major).map(|build| build.soname)
    }

    /// Returns the CUDA major that a version belongs to, or `None` if the version does not tell.
    ///
    /// The driver's version is that of the newest CUDA release that it supports.
    #[must_use]
    pub fn cuda_major_of_version(&self, version: Version) -> Option<u16> {
        if self.name == DRIVER {
            return u16::try_from(version.major).ok();
        }
        let version = (version.major, version.minor);
        let begun = || self.builds.iter().filter(|build| build.first_version <= version);
        let first_version = begun().map(|build| build.first_version).max()?;
        let mut majors = begun().filter(|build| build.first_version == first_version);
        let major = majors.next()?.cuda_major;
        majors.next().is_none().then_some(major)
    }

    /// Returns the CUDA major that a file name belongs to, or `None` if the name alone does not
    /// tell.
    ///
    /// The name may have more digits than the soname, as in toolkits: `libcufft.so.12.0.0.61`.
    #[must_use]
    pub fn cuda_major_of_file(&self, file_name: &str) -> Option<u16> {
        let mut majors = self.builds.iter().filter(|build| has_soname(file_name, build.soname));
        let major = majors.next()?.cuda_major;
        majors.next().is_none().then_some(major)
    }

    /// Returns whether `file_name` is a name of this library in any CUDA major.
    #[must_use]
    pub fn owns_file(&self, file_name: &str) -> bool {
        self.builds.iter().any(|build| has_soname(file_name, build.soname))
    }

    /// Returns the folders below a `nvidia` package folder where wheels of a CUDA major have the
    /// library.
    #[must_use]
    pub fn wheel_folders(&self, cuda_major: u16) -> Vec<PathBuf> {
        let shared = PathBuf::from(format!("cu{cuda_major}")).join("lib");
        if cuda_major == 12 {
            vec![PathBuf::from(self.wheel_component).join("lib"), shared]
        } else {
            vec![shared]
        }
    }

    /// Returns the name of the wheel that brings the library in a CUDA major.
    #[must_use]
    pub fn pip_package(&self, cuda_major: u16) -> Option<&'static str> {
        let index = self.builds.iter().position(|build| build.cuda_major == cuda_major)?;
        self.pip_packages.get(index).copied()
    }

    /// Returns the name of the environment variable that can name the library's file.
    #[must_use]
    pub fn path_variable(&self) -> String {
        format!("GPUMATH_{}_PATH", self.name.to_ascii_uppercase())
    }
}

/// Returns whether a file name is the soname, or the soname with more digits.
fn has_soname(file_name: &str, soname: &str) -> bool {
    file_name.strip_prefix(soname).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Module name of the driver.
pub const DRIVER: &str = "driver";

/// File name of the driver's library.
#[cfg(not(windows))]
pub const DRIVER_FILE: &str = "libcuda.so.1";
/// File name of the driver's library.
#[cfg(windows)]
pub const DRIVER_FILE: &str = "nvcuda.dll";

/// CUDA majors that gpumath supports, oldest first.
pub const CUDA_MAJORS: [u16; 2] = [12, 13];

/// Returns the library with this name, or the one whose functions the module of this name binds.
#[must_use]
pub fn find(name: &str) -> Option<&'static LibrarySpec> {
    CATALOG.iter().find(|library| library.name == name || library.has_module(name))
}

/// Returns the functions of a module; none if there is no such module.
#[must_use]
pub fn symbols_of(module: &str) -> &'static [&'static Symbol] {
    let mut modules = generated::MODULES.iter();
    modules.find(|(name, _)| *name == module).map_or(&[], |(_, symbols)| symbols)
}

const fn cuda_12(soname: &'static str, first_version: (u32, u32)) -> Build {
    Build { cuda_major: 12, soname, first_version }
}

const fn cuda_13(soname: &'static str, first_version: (u32, u32)) -> Build {
    Build { cuda_major: 13, soname, first_version }
}

/// Every library that the loader knows, each after those that it depends on.
pub static CATALOG: &[LibrarySpec] = &[
    LibrarySpec {
        name: DRIVER,
        modules: &[DRIVER],
        builds: &[],
        dependencies: &[],
        wheel_component: "",
        pip_packages: &[],
        version: VersionQuery::Thousands("cuDriverGetVersion"),
    },
    LibrarySpec {
        name: "runtime",
        modules: &["runtime"],
        builds: &[cuda_12("libcudart.so.12", (12, 0)), cuda_13("libcudart.so.13", (13, 0))],
        dependencies: &[],
        wheel_component: "cuda_runtime",
        pip_packages: &["nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"],
        version: VersionQuery::Thousands("cudaRuntimeGetVersion"),
    },
    LibrarySpec {
        name: "cublasLt",
        modules: &["cublasLt"],
        builds: &[cuda_12("libcublasLt.so.12", (12, 0)), cuda_13("libcublasLt.so.13", (13, 0))],
        dependencies: &[],
        wheel_component: "cublas",
        pip_packages: &["nvidia-cublas-cu12", "nvidia-cublas"],
        version: VersionQuery::Property("cublasLtGetProperty"),
    },
    LibrarySpec {
        name: "cublas",
        modules: &["cublas", "cublasXt"],
        builds: &[cuda_12("libcublas.so.12", (12, 0)), cuda_13("libcublas.so.13", (13, 0))],
        dependencies: &["cublasLt"],
        wheel_component: "cublas",
        pip_packages: &["nvidia-cublas-cu12", "nvidia-cublas"],
        version: VersionQuery::Property("cublasGetProperty"),
    },
    LibrarySpec {
        name: "cufft",
        modules: &["cufft"],
        builds: &[cuda_12("libcufft.so.11", (11, 0)), cuda_13("libcufft.so.12", (12, 0))],
        dependencies: &[],
        wheel_component: "cufft",
        pip_packages: &["nvidia-cufft-cu12", "nvidia-cufft"],
        version: VersionQuery::Property("cufftGetProperty"),
    },
    LibrarySpec {
        name: "curand",
        modules: &["curand"],
        builds: &[cuda_12("libcurand.so.10", (10, 3)), cuda_13("libcurand.so.10", (10, 4))],
        dependencies: &["runtime"],
        wheel_component: "curand",
        pip_packages: &["nvidia-curand-cu12", "nvidia-curand"],
        version: VersionQuery::Property("curandGetProperty"),
    },
    LibrarySpec {
        name: "nvjitlink",
        modules: &["nvjitlink"],
        builds: &[cuda_12("libnvJitLink.so.12", (12, 0)), cuda_13("libnvJitLink.so.13", (13, 0))],
        dependencies: &[],
        wheel_component: "nvjitlink",
        pip_packages: &["nvidia-nvjitlink-cu12", "nvidia-nvjitlink"],
        version: VersionQuery::Pair("nvJitLinkVersion"),
    },
    LibrarySpec {
        name: "cusparse",
        modules: &["cusparse"],
        builds: &[cuda_12("libcusparse.so.12", (12, 0)), cuda_13("libcusparse.so.12", (12, 6))],
        dependencies: &["nvjitlink"],
        wheel_component: "cusparse",
        pip_packages: &["nvidia-cusparse-cu12", "nvidia-cusparse"],
        version: VersionQuery::Property("cusparseGetProperty"),
    },
    LibrarySpec {
        name: "cusolver",
        modules: &["cusolver", "cusolverDn", "cusolverSp", "cusolverRf"],
        builds: &[cuda_12("libcusolver.so.11", (11, 4)), cuda_13("libcusolver.so.12", (12, 0))],
        dependencies: &["nvjitlink", "cusparse", "cublasLt", "cublas"],
        wheel_component: "cusolver",
        pip_packages: &["nvidia-cusolver-cu12", "nvidia-cusolver"],
        version: VersionQuery::Property("cusolverGetProperty"),
    },
    LibrarySpec {
        name: "cusolverMg",
        modules: &["cusolverMg"],
        builds: &[cuda_12("libcusolverMg.so.11", (11, 4)), cuda_13("libcusolverMg.so.12", (12, 0))],
        dependencies: &["nvjitlink", "cusparse", "cublasLt", "cublas"],
        wheel_component: "cusolver",
        pip_packages: &["nvidia-cusolver-cu12", "nvidia-cusolver"],
        version: VersionQuery::None,
    },
    LibrarySpec {
        name: "nvrtc",
        modules: &["nvrtc"],
        builds: &[cuda_12("libnvrtc.so.12", (12, 0)), cuda_13("libnvrtc.so.13", (13, 0))],
        dependencies: &[],
        wheel_component: "cuda_nvrtc",
        pip_packages: &["nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"],
        version: VersionQuery::Pair("nvrtcVersion"),
    },
    LibrarySpec {
        name: "mathdx",
        modules: &["mathdx"],
        // Neither the version nor the file name tells the CUDA major, but the folder does.
        builds: &[cuda_12("libmathdx.so.0", (0, 0)), cuda_13("libmathdx.so.0", (0, 0))],
        dependencies: &["nvrtc"],
        wheel_component: "cu12",
        pip_packages: &["nvidia-libmathdx-cu12", "nvidia-libmathdx-cu13"],
        version: VersionQuery::Triple("mathdxGetVersionEx"),
    },
];
