//! Chooses the set: the CUDA major of all libraries, and the origin that is searched first.

use std::path::{Path, PathBuf};

use crate::error::Attempt;
use crate::loader::catalog::{CATALOG, CUDA_MAJORS, LibrarySpec};
use crate::loader::environment::{Environment, ROOT_VARIABLE};
use crate::loader::open;
use crate::loader::origin::{Origin, Step};
use crate::version::Version;

/// The CUDA major and the origin that all libraries are taken from.
#[derive(Clone, Debug)]
pub(super) struct LibrarySet {
    pub(super) cuda_major: u16,
    /// Clause for messages that says why this major: "the driver supports up to CUDA 13.0".
    pub(super) reason: String,
    /// The origin that is searched before all others.
    pub(super) origin: Origin,
}

/// The result of the search for a set.
#[derive(Clone, Debug)]
pub(super) struct LibrarySetChoice {
    /// The set, or why there is none.
    pub(super) set: std::result::Result<LibrarySet, NoLibrarySet>,
    /// Every origin that was considered, and what was found there.
    pub(super) considered: Vec<Attempt>,
}

/// The reason why there is no set.
#[derive(Clone, Debug)]
pub(super) enum NoLibrarySet {
    /// The folder that the user named has no library of a supported CUDA major.
    EmptyRoot(PathBuf),
    /// There are libraries, but only of CUDA majors that may not be chosen. The text says why.
    NoAllowedMajor(String),
    /// There is no library at all.
    NothingFound,
}

/// The CUDA majors that may be chosen, with a clause for messages that says why these.
#[derive(Debug)]
struct AllowedMajors {
    majors: Vec<u16>,
    reason: String,
}

/// Chooses the first origin that has a library of an allowed CUDA major.
pub(super) fn choose(
    environment: &Environment,
    origins: &[Origin],
    driver: Option<Version>,
) -> LibrarySetChoice {
    let allowed = match allowed_majors(environment, origins, driver) {
        Ok(allowed) => allowed,
        Err(no_library_set) => {
            return LibrarySetChoice { set: Err(no_library_set), considered: Vec::new() };
        }
    };
    let of_toolkits = CATALOG.iter().filter(|library| !library.builds.is_empty());
    choose_among(&of_toolkits.collect::<Vec<_>>(), &allowed, origins)
}

fn choose_among(
    libraries: &[&'static LibrarySpec],
    allowed: &AllowedMajors,
    origins: &[Origin],
) -> LibrarySetChoice {
    let mut considered = Vec::new();
    let mut chosen: Option<(u16, &Origin)> = None;
    let mut found = false;
    for origin in origins {
        let majors = origin.cuda_majors();
        found |= !majors.is_empty();
        let searched = chosen.is_none();
        if searched {
            let major = best_major(origin, libraries, &allowed.majors);
            chosen = major.map(|major| (major, origin));
        }
        let outcome = match (chosen, majors.as_slice()) {
            (Some((major, _)), _) if searched => format!("chosen, CUDA {major}"),
            _ if origin.layouts.is_empty() => origin.reason_if_empty.to_owned(),
            (Some(_), _) if origin.step == Step::System => String::from("not searched"),
            (_, []) => String::from("no CUDA library"),
            (_, majors) => format!("has CUDA {}", join_majors(majors, "and")),
        };
        let (step, place) = (origin.step.name(), origin.place.clone());
        considered.push(Attempt { step, place, outcome });
    }
    let set = match chosen {
        Some((cuda_major, origin)) => {
            Ok(LibrarySet { cuda_major, reason: allowed.reason.clone(), origin: origin.clone() })
        }
        None if found => Err(NoLibrarySet::NoAllowedMajor(allowed.reason.clone())),
        None => Err(NoLibrarySet::NothingFound),
    };
    LibrarySetChoice { set, considered }
}

/// Returns the allowed major of which the origin has the most libraries, and of equals the newest.
/// In the system's own search, it is the newest major of which there is any library.
fn best_major(origin: &Origin, libraries: &[&'static LibrarySpec], allowed: &[u16]) -> Option<u16> {
    if origin.step == Step::System && !origin.layouts.is_empty() {
        return allowed.iter().copied().rev().find(|&major| system_has(libraries, major));
    }
    let counts = allowed.iter().map(|&major| (origin.count(libraries, major), major));
    counts.filter(|&(count, _)| count > 0).max().map(|(_, major)| major)
}

/// Returns whether the system's own search finds one of the libraries for a CUDA major. The only
/// way to know is to open it.
fn system_has(libraries: &[&'static LibrarySpec], cuda_major: u16) -> bool {
    libraries.iter().any(|library| {
        let Some(soname) = library.soname(cuda_major) else { return false };
        open::open(library, Path::new(soname), Step::System.name())
            .is_ok_and(|opened| opened.info.cuda_major.is_none_or(|major| major == cuda_major))
    })
}

/// Returns the majors that may be chosen: those in the folder that `GPUMATH_CUDA_PATH` names, else
/// those that the process has mapped, else those of files that variables name, else those that the
/// driver supports.
fn allowed_majors(
    environment: &Environment,
    origins: &[Origin],
    driver: Option<Version>,
) -> Result<AllowedMajors, NoLibrarySet> {
    let majors_at = |step| -> Vec<u16> {
        let at_step = origins.iter().filter(move |origin: &&Origin| origin.step == step);
        at_step.flat_map(Origin::cuda_majors).collect()
    };
    if let Some(root) = environment.path(ROOT_VARIABLE) {
        let majors = majors_at(Step::Explicit);
        if majors.is_empty() {
            return Err(NoLibrarySet::EmptyRoot(root));
        }
        let reason = format!("{ROOT_VARIABLE} has CUDA {}", join_majors(&majors, "and"));
        return Ok(keep_supported(majors, reason, driver));
    }
    let named = CATALOG.iter().filter_map(|library| environment.path(&library.path_variable()));
    for (files, origin) in [
        (environment.loaded.clone(), "the process already holds"),
        (named.collect(), "a GPUMATH_…_PATH setting names"),
    ] {
        let mut majors: Vec<u16> = files.iter().filter_map(|file| major_of_file(file)).collect();
        majors.sort_unstable();
        majors.dedup();
        if !majors.is_empty() {
            let file = files.iter().find(|file| major_of_file(file).is_some());
            let file = file.map(|file| file.display().to_string()).unwrap_or_default();
            let reason = format!("{origin} CUDA {} ({file})", join_majors(&majors, "and"));
            return Ok(keep_supported(majors, reason, driver));
        }
    }
    let Some(driver) = driver else {
        let reason = String::from("there is no driver, so every CUDA version is allowed");
        return Ok(AllowedMajors { majors: CUDA_MAJORS.to_vec(), reason });
    };
    let fits = |&major: &u16| u32::from(major) <= driver.major;
    let majors = CUDA_MAJORS.into_iter().filter(fits).collect();
    Ok(AllowedMajors { majors, reason: format!("the driver supports up to CUDA {driver}") })
}

/// Restricts the majors to those that the driver supports, unless it supports none of them.
fn keep_supported(majors: Vec<u16>, reason: String, driver: Option<Version>) -> AllowedMajors {
    let fits = |major: &u16| driver.is_none_or(|driver| u32::from(*major) <= driver.major);
    let fitting: Vec<u16> = majors.iter().copied().filter(fits).collect();
    AllowedMajors { majors: if fitting.is_empty() { majors } else { fitting }, reason }
}

fn major_of_file(file: &Path) -> Option<u16> {
    let name = file.file_name()?.to_str()?;
    CATALOG.iter().find_map(|library| library.cuda_major_of_file(name))
}

/// Returns the majors as text, such as "12 and 13".
pub(super) fn join_majors(majors: &[u16], word: &str) -> String {
    let majors: Vec<String> = majors.iter().map(ToString::to_string).collect();
    majors.join(&format!(" {word} "))
}
