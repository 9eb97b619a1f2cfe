//! Everything outside the process' own state that decides where libraries are looked for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::loader::catalog::CATALOG;
use crate::loader::mapped_files;

/// Where an embedding language keeps its packages.
#[derive(Clone, Debug, Default)]
pub struct SearchPaths {
    /// Folders that packages are imported from (Python: `sys.path`).
    pub package_folders: Vec<PathBuf>,
    /// Root of the installation (Python: `sys.prefix`).
    pub prefix: Option<PathBuf>,
}

/// What the search depends on, taken once for each search.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Environment variables by name.
    pub variables: BTreeMap<String, OsString>,
    /// Package folders and prefix of the embedding language.
    pub paths: SearchPaths,
    /// CUDA libraries that the process already holds.
    pub loaded: Vec<PathBuf>,
    /// Whether the system's own search (`ld.so.cache`, `LD_LIBRARY_PATH`) is asked.
    pub ask_system: bool,
}

/// Folder that holds the settings of every CUDA library.
pub(super) const ROOT_VARIABLE: &str = "GPUMATH_CUDA_PATH";

const VARIABLES: [&str; 5] =
    [ROOT_VARIABLE, "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH"];

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub fn of_process(paths: SearchPaths) -> Self {
        let names = VARIABLES.iter().map(ToString::to_string);
        let names = names.chain(CATALOG.iter().map(super::catalog::LibrarySpec::path_variable));
        let is_cuda = |file: &str| CATALOG.iter().any(|library| library.owns_file(file));
        Self {
            variables: names
                .filter_map(|name| Some((name.clone(), std::env::var_os(name)?)))
                .collect(),
            paths,
            loaded: mapped_files::matching(is_cuda),
            ask_system: true,
        }
    }

    /// The value of a variable that is set and not empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A variable's value as an absolute path.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(|value| absolute(Path::new(value)))
    }
}

/// The path made absolute without touching the file system.
pub(super) fn absolute(path: &Path) -> PathBuf {
    // Python writes the current folder as an empty string.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
