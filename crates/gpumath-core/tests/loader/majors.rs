//! CUDA 12 or CUDA 13.

use gpumath_core::loader::{Environment, Resolver};

use crate::fake::{
    cufft, cufft_12_wheel, cufft_13_wheel, driver, environment, isolated, not_found, thousands,
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
