//! The places that can have CUDA libraries, in the order of the search.

use std::path::{Path, PathBuf};

use crate::loader::catalog::{CATALOG, CUDA_MAJORS, LibrarySpec};
use crate::loader::environment::{Environment, ROOT_VARIABLE};

/// One step of the search. The variants are in the order of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The folder or file that a `GPUMATH_…` variable names.
    Explicit,
    /// Libraries that the process has mapped already, and the files beside them.
    Loaded,
    /// NVIDIA's pip wheels.
    Wheel,
    /// A conda environment.
    Conda,
    /// The dynamic loader's own search.
    System,
    /// A toolkit that `CUDA_PATH` or `CUDA_HOME` names.
    CudaPath,
}

impl Step {
    /// Returns the name of the step in messages and in Python.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Loaded => "loaded",
            Self::Wheel => "wheel",
            Self::Conda => "conda",
            Self::System => "system",
            Self::CudaPath => "cuda-path",
        }
    }
}

/// A folder with libraries, by how they are arranged in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FolderLayout {
    /// A folder that has all files itself.
    Folder(PathBuf),
    /// A `nvidia` package folder, which has one folder for each component (CUDA 12) or one for all
    /// (CUDA 13).
    Wheels(PathBuf),
    /// Whichever folders the dynamic loader searches.
    System,
}

/// A step of the search with its folders, in the order in which they are searched.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) step: Step,
    /// Text for messages: the variable with its value, or the folders.
    pub(super) place: String,
    /// Text for messages that says why there is no folder, if `layouts` is empty.
    pub(super) reason_if_empty: &'static str,
    pub(super) layouts: Vec<FolderLayout>,
}

impl Origin {
    /// Returns the files of a library for one CUDA major, best first. The dynamic loader's own
    /// search is left out.
    pub(super) fn files(&self, library: &LibrarySpec, cuda_major: u16) -> Vec<PathBuf> {
        self.layouts.iter().flat_map(|layout| layout.files(library, cuda_major)).collect()
    }

    /// Returns how many of these libraries the origin has for one CUDA major.
    pub(super) fn count(&self, libraries: &[&LibrarySpec], cuda_major: u16) -> usize {
        libraries.iter().filter(|library| !self.files(library, cuda_major).is_empty()).count()
    }

    /// Returns the CUDA majors of which the origin has any library.
    pub(super) fn cuda_majors(&self) -> Vec<u16> {
        let all: Vec<&LibrarySpec> = CATALOG.iter().collect();
        CUDA_MAJORS.into_iter().filter(|&major| self.count(&all, major) > 0).collect()
    }
}

impl FolderLayout {
    /// Returns the files of a library for one CUDA major; none for [`Self::System`].
    pub(super) fn files(&self, library: &LibrarySpec, cuda_major: u16) -> Vec<PathBuf> {
        let Some(soname) = library.soname(cuda_major) else { return Vec::new() };
        let files = match self {
            Self::Wheels(nvidia) => {
                let folders = library.wheel_folders(cuda_major).into_iter();
                folders.map(|folder| nvidia.join(folder).join(soname)).collect()
            }
            Self::Folder(folder) if may_be_of_major(folder, library, soname, cuda_major) => {
                vec![folder.join(soname)]
            }
            Self::Folder(_) | Self::System => Vec::new(),
        };
        files.into_iter().filter(|file| file.is_file()).collect()
    }

    /// Returns the layout that contains this folder of libraries: the `nvidia` package folder
    /// around `nvidia/<component>/lib`, else the folder itself.
    pub(super) fn containing(folder: &Path) -> Self {
        let package = folder.parent().and_then(Path::parent);
        match package.filter(|package| folder.ends_with("lib") && package.ends_with("nvidia")) {
            Some(nvidia) => Self::Wheels(nvidia.to_path_buf()),
            None => Self::Folder(folder.to_path_buf()),
        }
    }
}

/// Returns whether a file in `folder` may be of this CUDA major. The answer is no if its name fits
/// several CUDA majors and its neighbours are all of another one.
fn may_be_of_major(folder: &Path, library: &LibrarySpec, soname: &str, cuda_major: u16) -> bool {
    if library.cuda_major_of_file(soname).is_some() {
        return true;
    }
    let mut neighbours = CATALOG.iter().flat_map(|other| {
        let telling = other.builds.iter().filter(|b| other.cuda_major_of_file(b.soname).is_some());
        telling.filter(|build| folder.join(build.soname).is_file()).map(|build| build.cuda_major)
    });
    let Some(first) = neighbours.next() else { return true };
    first == cuda_major || neighbours.any(|major| major == cuda_major)
}

/// Returns every origin in the order of the search. The file that a variable names for one library
/// is not among them.
pub(super) fn origins(environment: &Environment) -> Vec<Origin> {
    let mut origins = vec![
        explicit(environment),
        loaded(environment),
        wheels(environment),
        conda(environment),
        system(environment),
        cuda_path("CUDA_PATH", environment),
    ];
    if environment.path("CUDA_HOME") != environment.path("CUDA_PATH") {
        origins.push(cuda_path("CUDA_HOME", environment));
    }
    origins
}

fn explicit(environment: &Environment) -> Origin {
    let root = environment.path(ROOT_VARIABLE);
    let layouts = root.as_ref().map_or_else(Vec::new, |root| {
        let mut layouts = vec![FolderLayout::Folder(root.clone())];
        layouts.extend(toolkit_folders(root));
        layouts.push(FolderLayout::Wheels(root.join("nvidia")));
        layouts
    });
    Origin {
        step: Step::Explicit,
        place: variable_and_root(ROOT_VARIABLE, root),
        reason_if_empty: UNSET,
        layouts,
    }
}

fn loaded(environment: &Environment) -> Origin {
    let mut layouts = Vec::new();
    for folder in environment.loaded.iter().filter_map(|file| file.parent()) {
        let layout = FolderLayout::containing(folder);
        if !layouts.contains(&layout) {
            layouts.push(layout);
        }
    }
    let place = String::from("this process");
    Origin {
        step: Step::Loaded,
        place: folder_list_or(place, &layouts),
        reason_if_empty: NONE_HELD,
        layouts,
    }
}

/// Collects `nvidia` from all package folders, because it is a namespace package: each can have a
/// part of it.
fn wheels(environment: &Environment) -> Origin {
    let mut layouts = Vec::new();
    for folder in &environment.paths.package_folders {
        let nvidia = folder.join("nvidia");
        let layout = FolderLayout::Wheels(nvidia.clone());
        if nvidia.is_dir() && !layouts.contains(&layout) {
            layouts.push(layout);
        }
    }
    let place = format!("{} package folders", environment.paths.package_folders.len());
    let reason_if_empty = "no nvidia folder in them";
    Origin { step: Step::Wheel, place: folder_list_or(place, &layouts), reason_if_empty, layouts }
}

fn conda(environment: &Environment) -> Origin {
    // Python can run from a conda environment that is not activated, so CONDA_PREFIX is not set.
    let is_conda = |prefix: &PathBuf| prefix.join("conda-meta").is_dir();
    let own = || environment.paths.prefix.clone().filter(is_conda);
    let prefix = environment.path("CONDA_PREFIX").or_else(own);
    let layouts = prefix.as_deref().map(toolkit_folders).unwrap_or_default();
    let place = variable_and_root("CONDA_PREFIX", prefix);
    Origin { step: Step::Conda, place, reason_if_empty: UNSET, layouts }
}

fn system(environment: &Environment) -> Origin {
    let layouts = if environment.search_system { vec![FolderLayout::System] } else { Vec::new() };
    let place = String::from("ld.so cache and LD_LIBRARY_PATH");
    Origin { step: Step::System, place, reason_if_empty: "not searched", layouts }
}

fn cuda_path(variable: &'static str, environment: &Environment) -> Origin {
    let root = environment.path(variable);
    let layouts = root.as_deref().map(toolkit_folders).unwrap_or_default();
    Origin {
        step: Step::CudaPath,
        place: variable_and_root(variable, root),
        reason_if_empty: UNSET,
        layouts,
    }
}

const UNSET: &str = "not set";
const NONE_HELD: &str = "holds no CUDA library";

/// Returns the text `CUDA_PATH /usr/local/cuda`, or the variable alone if there is no root.
fn variable_and_root(variable: &str, root: Option<PathBuf>) -> String {
    root.map_or_else(|| variable.to_owned(), |root| format!("{variable} {}", root.display()))
}

/// Returns the list of folders as text, or `name` if there are none.
fn folder_list_or(name: String, layouts: &[FolderLayout]) -> String {
    let folders = layouts.iter().filter_map(|layout| match layout {
        FolderLayout::Folder(folder) | FolderLayout::Wheels(folder) => {
            Some(folder.display().to_string())
        }
        FolderLayout::System => None,
    });
    let folders: Vec<String> = folders.collect();
    if folders.is_empty() { name } else { folders.join(", ") }
}

/// Returns the folders of libraries below the root of a CUDA toolkit or a conda environment.
fn toolkit_folders(root: &Path) -> Vec<FolderLayout> {
    let targets: &[&str] = if cfg!(target_arch = "aarch64") {
        &["sbsa-linux", "aarch64-linux"]
    } else {
        &["x86_64-linux"]
    };
    let mut folders = vec![root.join("lib64"), root.join("lib")];
    folders.extend(targets.iter().map(|target| root.join("targets").join(target).join("lib")));
    folders.into_iter().map(FolderLayout::Folder).collect()
}
