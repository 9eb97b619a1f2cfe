//! The inputs of a search: environment variables, package folders and libraries already mapped.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::loader::catalog::CATALOG;
use crate::loader::mapped_files;

/// Folders where the language that embeds this crate keeps its packages.
#[derive(Clone, Debug, Default)]
pub struct SearchPaths {
    /// Absolute folders from which packages are imported (Python: `sys.path`).
    pub package_folders: Vec<PathBuf>,
    /// Root folder of the installation (Python: `sys.prefix`).
    pub prefix: Option<PathBuf>,
}

/// The inputs of one search.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The environment variables that matter and are set, by name.
    pub variables: BTreeMap<String, OsString>,
    /// Package folders and prefix of the embedding language.
    pub paths: SearchPaths,
    /// Files of CUDA libraries that the process has mapped already.
    pub loaded: Vec<PathBuf>,
    /// Whether the dynamic loader's own search (`ld.so.cache`, `LD_LIBRARY_PATH`) is used too.
    pub search_system: bool,
}

/// Variable that names the folder to search first.
pub(super) const ROOT_VARIABLE: &str = "GPUMATH_CUDA_PATH";

/// Variables of the search as a whole. The dynamic loader reads `LD_LIBRARY_PATH` itself, so that
/// one is here for messages only.
const VARIABLES: [&str; 5] =
    [ROOT_VARIABLE, "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH"];

impl Environment {
    /// Takes the environment of this process, as it is now.
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
            search_system: true,
        }
    }

    /// Returns the value of a variable, or `None` if it is not set or empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Returns a variable's value as an absolute path, or `None` if it is not set or empty.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(|value| absolute(Path::new(value)))
    }
}

/// Returns the path made absolute, without a look at the file system.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
