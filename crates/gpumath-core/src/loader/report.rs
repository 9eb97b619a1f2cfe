//! The report of a search: what was found where, for users who look for the cause of a problem.

use crate::error::{Attempt, Error, LibraryNotFound};
use crate::loader::catalog::CATALOG;
use crate::loader::open::LibraryInfo;
use crate::loader::{environment::Environment, messages, resolver::Resolver};

/// What a search for all libraries found, and where it looked.
#[derive(Clone, Debug)]
pub struct Report {
    /// CUDA major of the chosen set; `None` if there is no set.
    pub cuda_major: Option<u16>,
    /// Clause that says why this major was chosen.
    pub reason: Option<String>,
    /// Name of the search step that the set comes from.
    pub origin: Option<&'static str>,
    /// The libraries that were opened.
    pub libraries: Vec<LibraryInfo>,
    /// Every origin that was considered for the set, in the order of the search.
    pub considered: Vec<Attempt>,
    /// The libraries that gpumath binds but that could not be opened, each with a fix.
    pub missing: Vec<LibraryNotFound>,
    /// Names and values of the settings that the search depends on.
    pub environment: Vec<(String, String)>,
}

impl Report {
    /// Opens every library with a resolver, and reports the result.
    pub fn of(resolver: &mut Resolver, environment: &Environment) -> Self {
        let mut libraries = Vec::new();
        let mut missing = Vec::new();
        for library in CATALOG {
            match resolver.library(library.name, environment) {
                Ok(info) => libraries.push(info.clone()),
                Err(Error::LibraryNotFound(error)) => missing.push(*error),
                Err(_) => {}
            }
        }
        let set = resolver.set();
        Self {
            cuda_major: set.map(|set| set.cuda_major),
            reason: set.map(|set| set.reason.clone()),
            origin: set.map(|set| set.origin.step.name()),
            libraries,
            considered: resolver.considered().to_vec(),
            missing,
            environment: messages::settings(environment),
        }
    }
}
