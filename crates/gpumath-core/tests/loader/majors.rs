//! Tests of the choice between CUDA 12 and CUDA 13.

use gpumath_core::loader::{Environment, Resolver, catalog};
use gpumath_core::version::Version;

use crate::fake::{
    compile, cufft, cufft_12_wheel, cufft_13_wheel, driver, environment, isolated, not_found,
    property, thousands,
};

fn major(environment: &Environment) -> Option<u16> {
    Resolver::new().library("cufft", environment).unwrap().cuda_major
}

#[test]
fn without_a_driver_the_newest_is_taken() {
    isolated(|folder| {
        cufft_12_wheel(folder);
        cufft_13_wheel(folder);
        assert_eq!(major(&environment(&[], &[folder])), Some(13));
    });
}

#[test]
fn the_driver_limits_the_choice() {
    isolated(|folder| {
        cufft_12_wheel(folder);
        cufft_13_wheel(folder);
        let driver = driver(&folder.join("driver"), 12040);
        assert_eq!(major(&environment(&[("GPUMATH_DRIVER_PATH", &driver)], &[folder])), Some(12));
    });
}

#[test]
fn a_newer_driver_takes_the_newest_that_is_known() {
    isolated(|folder| {
        cufft_12_wheel(folder);
        cufft_13_wheel(folder);
        let driver = driver(&folder.join("driver"), 14010);
        assert_eq!(major(&environment(&[("GPUMATH_DRIVER_PATH", &driver)], &[folder])), Some(13));
    });
}

#[test]
fn libraries_that_need_a_newer_driver_are_refused_with_the_right_command() {
    isolated(|folder| {
        cufft_13_wheel(folder);
        let driver = driver(&folder.join("driver"), 12020);
        let environment = environment(&[("GPUMATH_DRIVER_PATH", &driver)], &[folder]);
        let (error, text) = not_found(Resolver::new().library("cufft", &environment));
        assert!(error.reason.contains("driver supports up to CUDA 12.2"), "{text}");
        assert!(error.fix.contains("cu12"), "{text}");
        assert!(text.contains("has CUDA 13"), "{text}");
    });
}

#[test]
fn the_major_in_the_process_wins_over_a_newer_one() {
    isolated(|folder| {
        cufft_12_wheel(folder);
        cufft_13_wheel(folder);
        let elsewhere = folder.join("app/libcudart.so.12");
        let mut environment = environment(&[], &[folder]);
        environment.loaded = vec![thousands(&elsewhere, "cudaRuntimeGetVersion", 12090, 0)];
        assert_eq!(major(&environment), Some(12));
    });
}

#[test]
fn another_major_never_fills_a_gap() {
    isolated(|folder| {
        cufft_13_wheel(folder);
        let elsewhere = folder.join("app/libcudart.so.12");
        let mut environment = environment(&[], &[folder]);
        environment.loaded = vec![thousands(&elsewhere, "cudaRuntimeGetVersion", 12090, 0)];
        let (error, text) = not_found(Resolver::new().library("cufft", &environment));
        assert!(error.reason.contains("the process already holds CUDA 12"), "{text}");
        assert!(error.fix.contains("cu12"), "{text}");
    });
}

#[test]
fn an_explicit_file_may_mix_majors() {
    isolated(|folder| {
        cufft_13_wheel(folder);
        let file = cufft(&folder.join("libcufft.so.11"), [11, 0, 2]);
        let elsewhere = folder.join("app/libcudart.so.13");
        let mut environment = environment(&[("GPUMATH_CUFFT_PATH", &file)], &[folder]);
        environment.loaded = vec![thousands(&elsewhere, "cudaRuntimeGetVersion", 13000, 0)];
        assert_eq!(major(&environment), Some(12));
    });
}

#[test]
fn a_file_name_of_both_majors_goes_with_its_neighbours() {
    isolated(|folder| {
        let root = folder.join("lib");
        thousands(&root.join("libcudart.so.12"), "cudaRuntimeGetVersion", 12040, 0);
        let curand = property("curandGetProperty", [10, 3, 5]);
        compile(&root.join("libcurand.so.10"), &curand, &[]);
        let environment = environment(&[("CONDA_PREFIX", folder)], &[]);
        let mut resolver = Resolver::new();
        assert_eq!(resolver.library("curand", &environment).unwrap().cuda_major, Some(12));
    });
}

#[test]
fn a_version_tells_the_major_where_the_file_name_does_not() {
    for (name, version, major) in [
        ("cufft", Version::new(11, 4), Some(12)),
        ("cufft", Version::new(12, 0), Some(13)),
        ("curand", Version::new(10, 3), Some(12)),
        ("curand", Version::new(10, 4), Some(13)),
        ("cusparse", Version::new(12, 5), Some(12)),
        ("cusparse", Version::new(12, 6), Some(13)),
        ("cusolver", Version::new(11, 7), Some(12)),
        ("cublas", Version::new(13, 10), Some(13)),
        ("mathdx", Version::new(0, 4), None),
        ("cufft", Version::new(10, 9), None),
    ] {
        let library = catalog::find(name).unwrap();
        assert_eq!(library.cuda_major_of_version(version), major, "{name} {version}");
    }
    let major_of = |name: &str, file| catalog::find(name).unwrap().cuda_major_of_file(file);
    assert_eq!(major_of("cufft", "libcufft.so.12.0.0.61"), Some(13));
    assert_eq!(major_of("cufft", "libcufft.so.120"), None);
    assert_eq!(major_of("curand", "libcurand.so.10"), None);
}

#[test]
fn every_dependency_is_in_the_catalogue_before_its_dependent() {
    for (position, library) in catalog::CATALOG.iter().enumerate() {
        for dependency in library.dependencies {
            let place = catalog::CATALOG.iter().position(|other| other.name == *dependency);
            assert!(place.unwrap() < position, "{} needs {dependency}", library.name);
        }
    }
}
