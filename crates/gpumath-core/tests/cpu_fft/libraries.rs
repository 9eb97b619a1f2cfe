//! Transforms by libraries with FFTW's interface: the system's FFTW, and the one that
//! `GPUMATH_TEST_CPU_LIBRARY` names.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use gpumath_core::Error;
use gpumath_core::fft::cpu::CpuFft;
use gpumath_core::fft::cpu::CpuLibrary;
use gpumath_core::fft::{FftProblem, Precision};
use gpumath_core::operation::Engine;

use crate::embedded::{BOTH, KINDS, check_spikes, line, random_problem};
use crate::reference::{Random, check};

/// Returns the libraries that can be opened, and prints that FFTW is absent if it is.
fn libraries() -> Vec<Arc<CpuLibrary>> {
    let named = std::env::var("GPUMATH_TEST_CPU_LIBRARY").ok();
    let mut found: Vec<_> = named.iter().map(|name| CpuLibrary::open(name).unwrap()).collect();
    match CpuLibrary::open("fftw") {
        Ok(fftw) => found.push(fftw),
        Err(error) => eprintln!("skipped for FFTW, which is absent: {error}"),
    }
    found
}

fn plan(library: &Arc<CpuLibrary>, threads: usize) -> impl Fn(&FftProblem) -> CpuFft {
    let threads = NonZeroUsize::new(threads).unwrap();
    move |problem| CpuFft::new(problem, threads, Some(Arc::clone(library))).unwrap()
}

#[test]
fn lengths() {
    let mut random = Random::new(11);
    for library in libraries() {
        for points in [1, 2, 3, 4, 5, 8, 15, 16, 31, 64, 97, 100, 127, 256, 509, 1000] {
            for precision in BOTH {
                for kind in KINDS {
                    check(&line(kind, precision, points), &mut random, plan(&library, 1));
                }
            }
        }
    }
}

#[test]
fn random_layouts_axes_and_kinds() {
    for library in libraries() {
        for seed in 1..=3000 {
            let random = &mut Random::new(seed);
            let (problem, threads) = (random_problem(random), 1 + random.below(2));
            assert_eq!(plan(&library, threads)(&problem).name(), library.name());
            check(&problem, random, plan(&library, threads));
        }
    }
}

#[test]
fn long_lines() {
    let mut random = Random::new(12);
    for library in libraries() {
        for points in [1 << 16, 99_991, 100_000] {
            check_spikes(points, Precision::Double, &mut random, plan(&library, 2));
        }
    }
}

#[test]
fn a_library_says_what_it_is() {
    for library in libraries() {
        let version = library.version().unwrap();
        assert!(version.chars().any(|c| c.is_ascii_digit()), "{version}");
        assert!(library.path().contains("fftw") || library.name() != "fftw");
        assert!(library.is_requested());
    }
}

#[test]
fn an_absent_library_is_an_error_that_helps() {
    let error = CpuLibrary::open("/nowhere/libfftw3.so.3").unwrap_err();
    let Error::LibraryNotFound(details) = &error else { panic!("{error:?}") };
    assert_eq!(details.tried.len(), 1);
    assert!(details.tried[0].place.contains("/nowhere"));
    assert!(details.fix.contains("embedded"), "{}", details.fix);
}

#[test]
fn a_file_that_is_no_library_of_this_kind_is_refused() {
    let error = CpuLibrary::open("libc.so.6").unwrap_err();
    assert!(error.to_string().contains("fftw_plan_guru64_dft"), "{error}");
}

#[test]
fn folders_without_a_library_select_the_embedded_engine() {
    if std::env::var_os("GPUMATH_FFT_CPU_LIBRARY").is_none() {
        let empty = [PathBuf::from("/nowhere"), PathBuf::from("/usr/lib/x86_64-linux-gnu")];
        assert!(CpuLibrary::selected(&empty).unwrap().is_none());
    }
}
