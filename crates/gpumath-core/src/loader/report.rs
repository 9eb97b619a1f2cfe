//! What was found where, for people who look for the cause of a problem.

use crate::error::{Attempt, Error, LibraryNotFound};
use crate::loader::catalog::CATALOG;
use crate::loader::open::LibraryInfo;
use crate::loader::{environment::Environment, messages, resolver::Resolver};

/// The state of the search.
#[derive(Clone, Debug)]
pub struct Report {
    /// CUDA major of the chosen set.
    pub cuda_major: Option<u16>,
    /// Why this major.
    pub reason: Option<String>,
    /// Search step of the chosen set.
    pub origin: Option<&'static str>,
    /// The libraries that are there.
    pub libraries: Vec<LibraryInfo>,
    /// Every origin that was considered, in order.
    pub considered: Vec<Attempt>,
    /// The libraries that gpumath binds and that are not there.
    pub missing: Vec<LibraryNotFound>,
    /// The settings that had a say.
    pub environment: Vec<(String, String)>,
}

impl Report {
    /// The report of one resolver.
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
