//! Opens a library by its name: its dependencies first, then the best file that can be opened.

use std::path::{Path, PathBuf};

use gpumath_sys::dynlib::kind_that_is_no_library;
use gpumath_sys::table::Symbol;

use crate::error::{Attempt, Result};
use crate::loader::catalog::{self, CUDA_MAJORS, DRIVER, DRIVER_FILE, LibrarySpec};
use crate::loader::environment::Environment;
use crate::loader::library_set::{self, LibrarySet, NoLibrarySet};
use crate::loader::messages;
use crate::loader::open::{self, LibraryInfo, OpenLibrary};
use crate::loader::origin::{self, FolderLayout, Origin, Step};
use crate::version::Version;

/// The libraries opened so far, and the set that they come from.
///
/// Libraries stay open, also after the resolver is dropped. Failures are not stored, so the next
/// call searches again.
#[derive(Debug, Default)]
pub struct Resolver {
    opened: Vec<OpenLibrary>,
    set: Option<LibrarySet>,
    considered: Vec<Attempt>,
}

impl Resolver {
    /// Creates a resolver that has opened nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the open libraries in the order in which they were opened.
    pub fn opened(&self) -> impl Iterator<Item = &LibraryInfo> {
        self.opened.iter().map(|opened| &opened.info)
    }

    /// Returns the chosen set; `None` until a library of it is open.
    pub(super) fn set(&self) -> Option<&LibrarySet> {
        self.set.as_ref()
    }

    /// Returns every origin that the last search for a set considered, in order.
    #[must_use]
    pub fn considered(&self) -> &[Attempt] {
        &self.considered
    }

    /// Opens a library, its dependencies first, unless it is open.
    ///
    /// `name` is the name of the library or of a module that binds functions of it.
    pub fn library(&mut self, name: &str, environment: &Environment) -> Result<&LibraryInfo> {
        let library = catalog::find(name).ok_or_else(|| messages::unknown_library(name))?;
        self.open_library(library, environment, None).map(|opened| &opened.info)
    }

    /// Returns the address of a function. Opens its library first unless it is open.
    pub fn address(&mut self, symbol: &Symbol, environment: &Environment) -> Result<usize> {
        let library = catalog::find(symbol.library)
            .ok_or_else(|| messages::unknown_library(symbol.library))?;
        self.open_library(library, environment, None)?.address(symbol)
    }

    /// Returns the address of a function, or `None` if its library is not open.
    pub(super) fn address_if_open(&self, symbol: &Symbol) -> Option<Result<usize>> {
        let opened = self.opened.iter().find(|opened| opened.library.has_module(symbol.library))?;
        Some(opened.address(symbol))
    }

    /// Returns what is known of a library, or `None` if it is not open.
    pub(super) fn library_if_open(&self, name: &str) -> Option<&LibraryInfo> {
        self.opened().find(|info| info.name == name)
    }

    fn position(&self, library: &LibrarySpec) -> Option<usize> {
        self.opened.iter().position(|opened| opened.library.name == library.name)
    }

    fn open_library(
        &mut self,
        library: &'static LibrarySpec,
        environment: &Environment,
        dependent: Option<&Dependent<'_>>,
    ) -> Result<&OpenLibrary> {
        let position = if let Some(position) = self.position(library) {
            position
        } else {
            let opened = if library.name == DRIVER {
                open_driver(environment)?
            } else {
                self.open_toolkit_library(library, environment, dependent)?
            };
            self.opened.push(opened);
            self.opened.len() - 1
        };
        Ok(&self.opened[position])
    }

    fn open_toolkit_library(
        &mut self,
        library: &'static LibrarySpec,
        environment: &Environment,
        dependent: Option<&Dependent<'_>>,
    ) -> Result<OpenLibrary> {
        let driver = self.driver_version(environment);
        let errors = messages::ErrorContext { library, environment, driver };
        if let Some(file) = environment.path(&library.path_variable()) {
            let own_major = file.file_name().and_then(|name| name.to_str());
            let own_major = own_major.and_then(|name| library.cuda_major_of_file(name));
            let opened = self.open_file(library, &file, Step::Explicit, own_major, environment);
            return opened.map_err(|outcome| errors.explicit_file(&file, outcome));
        }
        // If the process has mapped a file of this library, the dynamic loader gives that one to
        // the dependent. Opening a neighbour would only add a second copy.
        let neighbours =
            dependent.filter(|_| loaded_files_of(library, environment).next().is_none());
        for (step, file, major) in neighbours.map_or_else(Vec::new, |d| d.neighbours(library)) {
            if let Ok(opened) = self.open_file(library, &file, step, Some(major), environment) {
                return Ok(opened);
            }
        }
        let origins = origin::origins(environment);
        let set = match self.choose(environment, &origins, driver) {
            Ok(set) => set,
            Err(no_library_set) => {
                return Err(errors.no_library_set(&no_library_set, &self.considered));
            }
        };
        let mut tried = Vec::new();
        for (step, file) in candidates(library, &set, &origins, environment) {
            match self.open_file(library, &file, step, Some(set.cuda_major), environment) {
                Ok(opened) => {
                    self.set.get_or_insert(set);
                    return Ok(opened);
                }
                Err(outcome) => tried.push(Attempt {
                    step: step.name(),
                    place: file.display().to_string(),
                    outcome,
                }),
            }
        }
        Err(errors.missing(&set, &origins, &tried))
    }

    /// Returns the chosen set, or the one that would be chosen now. It is stored only when a
    /// library of it is open.
    fn choose(
        &mut self,
        environment: &Environment,
        origins: &[Origin],
        driver: Option<Version>,
    ) -> std::result::Result<LibrarySet, NoLibrarySet> {
        if let Some(set) = &self.set {
            return Ok(set.clone());
        }
        let choice = library_set::choose(environment, origins, driver);
        self.considered = choice.considered;
        choice.set
    }

    fn driver_version(&mut self, environment: &Environment) -> Option<Version> {
        self.library(DRIVER, environment).ok().and_then(|driver| driver.version)
    }

    /// Adds to a message about an undefined symbol which versions the open dependencies have.
    fn with_dependency_versions(&self, library: &LibrarySpec, text: String) -> String {
        if !text.contains("undefined symbol") {
            return text;
        }
        let needed = self.opened().filter(|info| library.dependencies.contains(&info.name));
        needed.fold(text, |text, LibraryInfo { name, version, path, .. }| {
            let version = messages::version_text(*version);
            format!("{text}; {name} here is version {version}, {}", path.display())
        })
    }

    /// Opens one file after the libraries that it needs. The error is one line for a message.
    ///
    /// A library of another CUDA major than `cuda_major` is an error; `None` allows all.
    fn open_file(
        &mut self,
        library: &'static LibrarySpec,
        file: &Path,
        step: Step,
        cuda_major: Option<u16>,
        environment: &Environment,
    ) -> std::result::Result<OpenLibrary, String> {
        if file.is_absolute() && !file.is_file() {
            return Err(kind_that_is_no_library(file).unwrap_or(messages::ABSENT).to_owned());
        }
        let dependent = Dependent { file, step, cuda_major };
        for dependency in library.dependencies.iter().filter_map(|name| catalog::find(name)) {
            // An error is ignored: if this file cannot do without the dependency, the dynamic
            // loader says so below.
            let _ = self.open_library(dependency, environment, Some(&dependent));
        }
        let mut opened = open::open(library, file, step.name())
            .map_err(|text| self.with_dependency_versions(library, text))?;
        if let (Some(found), Some(wanted)) = (opened.info.cuda_major, cuda_major)
            && found != wanted
        {
            let version = messages::version_text(opened.info.version);
            return Err(format!(
                "version {version} is of CUDA {found}, but CUDA {wanted} is needed"
            ));
        }
        opened.info.cuda_major = opened.info.cuda_major.or(cuda_major);
        Ok(opened)
    }
}

/// A file that is about to be opened but needs other libraries first.
struct Dependent<'a> {
    file: &'a Path,
    step: Step,
    cuda_major: Option<u16>,
}

impl Dependent<'_> {
    /// Returns the files of a library beside this one. A bare file name has no neighbours.
    fn neighbours(&self, library: &LibrarySpec) -> Vec<(Step, PathBuf, u16)> {
        let Some(folder) = self.file.parent().filter(|folder| folder.is_absolute()) else {
            return Vec::new();
        };
        let layout = FolderLayout::containing(folder);
        let majors =
            CUDA_MAJORS.into_iter().filter(|&m| self.cuda_major.is_none_or(|own| own == m));
        let files = |major| layout.files(library, major).into_iter().map(move |file| (file, major));
        majors.flat_map(files).map(|(file, major)| (self.step, file, major)).collect()
    }
}

/// Returns the files of a library that the process had mapped before the search, with their names.
fn loaded_files_of<'a>(
    library: &LibrarySpec,
    environment: &'a Environment,
) -> impl Iterator<Item = (&'a PathBuf, &'a str)> {
    let named =
        environment.loaded.iter().filter_map(|file| Some((file, file.file_name()?.to_str()?)));
    named.filter(|(_, name)| library.owns_file(name))
}

/// Returns the files to try, best first: those that the process has mapped, those of the set's
/// origin, and those of every other origin. All are of the set's CUDA major as far as names tell.
fn candidates(
    library: &LibrarySpec,
    set: &LibrarySet,
    origins: &[Origin],
    environment: &Environment,
) -> Vec<(Step, PathBuf)> {
    let mut files: Vec<(Step, PathBuf)> = Vec::new();
    let mut add = |step: Step, file: PathBuf| {
        if !files.iter().any(|(_, known)| *known == file) {
            files.push((step, file));
        }
    };
    for (file, name) in loaded_files_of(library, environment) {
        if library.cuda_major_of_file(name).is_none_or(|major| major == set.cuda_major) {
            add(Step::Loaded, file.clone());
        }
    }
    for origin in std::iter::once(&set.origin).chain(origins) {
        for file in origin.files(library, set.cuda_major) {
            add(origin.step, file);
        }
        if origin.layouts.contains(&FolderLayout::System)
            && let Some(soname) = library.soname(set.cuda_major)
        {
            add(Step::System, PathBuf::from(soname));
        }
    }
    files
}

/// Opens the driver's library: the file that `GPUMATH_DRIVER_PATH` names, else the system's.
/// Origins are not searched, because the driver belongs to no wheel and no toolkit.
fn open_driver(environment: &Environment) -> Result<OpenLibrary> {
    let library = catalog::find(DRIVER).ok_or_else(|| messages::unknown_library(DRIVER))?;
    let mut attempts = Vec::new();
    let explicit = environment.path(&library.path_variable());
    if let Some(file) = &explicit {
        attempts.push((Step::Explicit, file.clone()));
    } else if environment.search_system {
        attempts.push((Step::System, PathBuf::from(DRIVER_FILE)));
    }
    let mut tried = Vec::new();
    for (step, file) in attempts {
        match open::open(library, &file, step.name()) {
            Ok(opened) => return Ok(opened),
            Err(outcome) => tried.push(Attempt {
                step: step.name(),
                place: file.display().to_string(),
                outcome,
            }),
        }
    }
    Err(messages::no_driver(environment, tried))
}
