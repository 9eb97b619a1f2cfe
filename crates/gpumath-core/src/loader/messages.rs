//! The texts of the loader's errors: what was tried, what was there, and what to do.

use std::path::Path;

use crate::error::{Attempt, Error, LibraryNotFound};
use crate::loader::catalog::{CATALOG, CUDA_MAJORS, DRIVER, DRIVER_FILE, LibrarySpec};
use crate::loader::environment::{Environment, ROOT_VARIABLE};
use crate::loader::library_set::{LibrarySet, NoLibrarySet, join_majors};
use crate::loader::origin::{FolderLayout, Origin, Step};
use crate::version::Version;

/// What an [`Attempt`] found if there is no such file.
pub(super) const ABSENT: &str = "absent";

/// Facts that every error about one library reports.
pub(super) struct ErrorContext<'a> {
    pub(super) library: &'static LibrarySpec,
    pub(super) environment: &'a Environment,
    pub(super) driver: Option<Version>,
}

impl ErrorContext<'_> {
    /// Returns the error for a file that the user named but that cannot be used. The loader tries
    /// no other file then.
    pub(super) fn explicit_file(&self, file: &Path, outcome: String) -> Error {
        let variable = self.library.path_variable();
        let reason = format!("{variable} names a file that cannot be used");
        let place = file.display().to_string();
        let tried = vec![Attempt { step: Step::Explicit.name(), place, outcome }];
        self.error(reason, tried, format!("correct {variable} or unset it"))
    }

    /// Returns the error for a search that found no set.
    pub(super) fn no_library_set(
        &self,
        no_library_set: &NoLibrarySet,
        considered: &[Attempt],
    ) -> Error {
        let majors = join_majors(&CUDA_MAJORS, "or");
        let reason = match no_library_set {
            NoLibrarySet::EmptyRoot(root) => {
                let root = root.display();
                let reason =
                    format!("{ROOT_VARIABLE} is {root}, which holds no library of CUDA {majors}");
                let fix = format!("correct {ROOT_VARIABLE} or unset it");
                return self.error(reason, considered.to_vec(), fix);
            }
            NoLibrarySet::NoAllowedMajor(limit) => {
                format!("the CUDA libraries here cannot be used: {limit}")
            }
            NoLibrarySet::NothingFound => format!("no library of CUDA {majors} is installed here"),
        };
        self.error(reason, considered.to_vec(), self.how_to_install(None))
    }

    /// Returns the error for a library of which no file of the set's CUDA major can be opened.
    ///
    /// `failed` has the files that were tried. An origin without such a file gets a line that says
    /// what is there instead.
    pub(super) fn missing(
        &self,
        set: &LibrarySet,
        origins: &[Origin],
        failed: &[Attempt],
    ) -> Error {
        let reason = format!("no usable file for CUDA {} ({})", set.cuda_major, set.reason);
        let broken_wheel = failed.iter().any(|attempt| attempt.step == Step::Wheel.name());
        let fix = match self.library.pip_package(set.cuda_major) {
            Some(package) if broken_wheel => format!("pip install --force-reinstall {package}"),
            _ => self.how_to_install(Some(set.cuda_major)),
        };
        let mut tried = Vec::new();
        for origin in origins {
            let mut failures = failed.iter().filter(|a| a.step == origin.step.name()).peekable();
            if failures.peek().is_none() {
                tried.extend(self.why_absent(origin, set.cuda_major));
            }
            for failure in failures {
                if !tried.contains(failure) {
                    tried.push(failure.clone());
                }
            }
        }
        self.error(reason, tried, fix)
    }

    fn error(&self, reason: String, tried: Vec<Attempt>, fix: String) -> Error {
        let mut environment = settings(self.environment);
        let driver = self.driver.map_or_else(|| "none".to_owned(), |v| format!("CUDA {v}"));
        environment.push((String::from("driver"), driver));
        Error::LibraryNotFound(Box::new(LibraryNotFound {
            library: self.library.name.to_owned(),
            reason,
            tried,
            environment,
            fix,
        }))
    }

    /// Says what is in an origin that has no file of this library for the set's CUDA major.
    fn why_absent(&self, origin: &Origin, cuda_major: u16) -> Vec<Attempt> {
        let step = origin.step.name();
        if origin.layouts.is_empty() {
            let outcome = origin.reason_if_empty.to_owned();
            return vec![Attempt { step, place: origin.place.clone(), outcome }];
        }
        let soname = self.library.soname(cuda_major).unwrap_or_default();
        let others = |layout: &FolderLayout| -> Vec<u16> {
            let holds = |major: &u16| !layout.files(self.library, *major).is_empty();
            CUDA_MAJORS.into_iter().filter(|major| *major != cuda_major && holds(major)).collect()
        };
        let outcome = |layouts: &[FolderLayout]| {
            let majors: Vec<u16> = layouts.iter().flat_map(others).collect();
            match majors.first() {
                Some(other) => {
                    format!("wrong major: CUDA {other}, but the set is CUDA {cuda_major}")
                }
                None => format!("{soname} {ABSENT}"),
            }
        };
        let places = origin.layouts.iter().filter_map(|layout| match layout {
            FolderLayout::Wheels(folder) => Some((folder, layout)),
            FolderLayout::Folder(folder) if origin.step == Step::Loaded => Some((folder, layout)),
            FolderLayout::Folder(_) | FolderLayout::System => None,
        });
        if matches!(origin.step, Step::Wheel | Step::Loaded) {
            let attempt = |(folder, layout): (&std::path::PathBuf, &FolderLayout)| Attempt {
                step,
                place: folder.display().to_string(),
                outcome: outcome(std::slice::from_ref(layout)),
            };
            return places.map(attempt).collect();
        }
        vec![Attempt { step, place: origin.place.clone(), outcome: outcome(&origin.layouts) }]
    }

    /// Returns the command that installs the library for a CUDA major. Without one, it is for the
    /// driver's major, or for the newest that gpumath supports. If the driver supports none of
    /// them, the text says to update it.
    fn how_to_install(&self, cuda_major: Option<u16>) -> String {
        let [oldest, .., newest] = CUDA_MAJORS;
        let by_driver = self.driver.and_then(|driver| u16::try_from(driver.major).ok());
        if by_driver.is_some_and(|major| major < oldest) {
            return format!("update the NVIDIA driver to one that supports CUDA {oldest} or newer");
        }
        let major = cuda_major.or(by_driver).unwrap_or(newest).clamp(oldest, newest);
        self.library
            .pip_package(major)
            .map_or_else(String::new, |name| format!("pip install {name}"))
    }
}

/// Returns the error for a driver that cannot be opened.
pub(super) fn no_driver(environment: &Environment, tried: Vec<Attempt>) -> Error {
    let variable = "GPUMATH_DRIVER_PATH";
    let (reason, fix) = if environment.variable(variable).is_some() {
        (
            format!("{variable} names a file that cannot be used"),
            format!("correct {variable} or unset it"),
        )
    } else {
        let reason = if tried.iter().all(|attempt| attempt.outcome == ABSENT) {
            format!("there is no {DRIVER_FILE}, so no NVIDIA driver")
        } else {
            format!("the {DRIVER_FILE} that was found cannot be used")
        };
        let fix = "install the NVIDIA driver; in a container, start it with --gpus all";
        (reason, fix.to_owned())
    };
    Error::LibraryNotFound(Box::new(LibraryNotFound {
        library: DRIVER.to_owned(),
        reason,
        tried,
        environment: settings(environment),
        fix,
    }))
}

/// Returns the error for a name that is neither a library nor a module.
pub(super) fn unknown_library(name: &str) -> Error {
    let known: Vec<&str> = CATALOG.iter().map(|library| library.name).collect();
    Error::InvalidValue(format!("unknown library '{name}'; known are {}", known.join(", ")))
}

/// Returns a version as text; "unknown" if there is none.
pub(super) fn version_text(version: Option<Version>) -> String {
    version.map_or_else(|| String::from("unknown"), |version| version.to_string())
}

/// Returns names and values of the settings that the search depends on: the variables that are set,
/// and the prefix.
pub(super) fn settings(environment: &Environment) -> Vec<(String, String)> {
    let set = environment.variables.iter().filter(|(_, value)| !value.is_empty());
    let mut settings: Vec<(String, String)> =
        set.map(|(name, value)| (name.clone(), value.to_string_lossy().into_owned())).collect();
    if let Some(prefix) = &environment.paths.prefix {
        settings.push((String::from("prefix"), prefix.display().to_string()));
    }
    settings
}
