//! Tests that each origin is found, and which of two origins comes first.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::{env, fs};

use gpumath_core::loader::{Environment, Resolver, SearchPaths};

use crate::fake::{
    compile, cufft, cufft_12_wheel, cufft_13_wheel, environment, isolated, property, thousands,
};

/// Checks that the search finds this file for cuFFT, and returns the name of the step that did.
fn step(environment: &Environment, file: &Path) -> &'static str {
    let mut resolver = Resolver::new();
    let info = resolver.library("cufft", environment).unwrap();
    assert_eq!(info.path, file);
    info.origin
}

#[test]
fn wheels_are_found_on_every_package_folder() {
    isolated(|folder| {
        let (empty, full) = (folder.join("empty"), folder.join("only on PYTHONPATH"));
        fs::create_dir_all(empty.join("nvidia")).unwrap();
        let file = cufft_13_wheel(&full);
        assert_eq!(step(&environment(&[], &[&empty, &full]), &file), "wheel");
    });
}

#[test]
fn the_first_package_folder_wins() {
    isolated(|folder| {
        let (first, second) = (folder.join("first"), folder.join("second"));
        let file = cufft_12_wheel(&first);
        cufft_12_wheel(&second);
        assert_eq!(step(&environment(&[], &[&first, &second]), &file), "wheel");
    });
}

#[test]
fn conda_is_found_by_variable_and_by_prefix() {
    isolated(|folder| {
        let file = cufft(&folder.join("lib/libcufft.so.12"), [12, 0, 0]);
        assert_eq!(step(&environment(&[("CONDA_PREFIX", folder)], &[]), &file), "conda");
        let mut by_prefix = environment(&[], &[]);
        by_prefix.paths = SearchPaths { package_folders: vec![], prefix: Some(folder.into()) };
        assert!(Resolver::new().library("cufft", &by_prefix).is_err(), "not a conda prefix yet");
        fs::create_dir(folder.join("conda-meta")).unwrap();
        assert_eq!(step(&by_prefix, &file), "conda");
    });
}

#[test]
fn a_toolkit_is_found_by_cuda_path_before_cuda_home() {
    isolated(|folder| {
        let (path, home) = (folder.join("path"), folder.join("home"));
        let file = cufft(&path.join("lib64/libcufft.so.12"), [12, 0, 0]);
        let other = cufft(&home.join("lib/libcufft.so.12"), [12, 0, 0]);
        let both = environment(&[("CUDA_PATH", &path), ("CUDA_HOME", &home)], &[]);
        assert_eq!(step(&both, &file), "cuda-path");
        assert_eq!(step(&environment(&[("CUDA_HOME", &home)], &[]), &other), "cuda-path");
    });
}

#[test]
fn the_system_search_gives_the_real_path() {
    isolated(|folder| {
        let system = folder.join("system");
        let real = cufft(&system.join("libcufft.so.12"), [12, 0, 0]);
        let full_name = system.join("libcufft.so.12.0.0.61");
        fs::rename(&real, &full_name).unwrap();
        symlink(&full_name, &real).unwrap();
        let mut environment = environment(&[], &[]);
        environment.search_system = true;
        assert_eq!(step(&environment, &full_name), "system");
    });
}

#[test]
fn an_explicit_root_wins_over_everything() {
    isolated(|folder| {
        let (root, packages) = (folder.join("root"), folder.join("packages"));
        let file = cufft(&root.join("libcufft.so.11"), [11, 0, 2]);
        cufft_13_wheel(&packages);
        let environment = environment(&[("GPUMATH_CUDA_PATH", &root)], &[&packages]);
        assert_eq!(step(&environment, &file), "explicit");
    });
}

#[test]
fn an_explicit_file_wins_over_an_explicit_root() {
    isolated(|folder| {
        let file = cufft(&folder.join("mine.so"), [12, 3, 4]);
        let root = folder.join("root");
        cufft(&root.join("libcufft.so.11"), [11, 0, 2]);
        let variables = [("GPUMATH_CUDA_PATH", root.as_path()), ("GPUMATH_CUFFT_PATH", &file)];
        assert_eq!(step(&environment(&variables, &[]), &file), "explicit");
    });
}

#[test]
fn a_relative_explicit_file_is_made_absolute() {
    isolated(|folder| {
        let file = cufft(&folder.join("libcufft.so.12"), [12, 3, 4]);
        env::set_current_dir(folder).unwrap();
        let relative = Path::new("libcufft.so.12");
        assert_eq!(step(&environment(&[("GPUMATH_CUFFT_PATH", relative)], &[]), &file), "explicit");
    });
}

#[test]
fn siblings_of_a_loaded_library_come_first() {
    isolated(|folder| {
        let (torch, packages) = (folder.join("torch/nvidia"), folder.join("packages"));
        let runtime = thousands(
            &torch.join("cuda_runtime/lib/libcudart.so.12"),
            "cudaRuntimeGetVersion",
            12040,
            0,
        );
        let sibling = cufft_12_wheel(&folder.join("torch"));
        cufft_12_wheel(&packages);
        let mut environment = environment(&[], &[&packages]);
        environment.loaded = vec![runtime];
        assert_eq!(step(&environment, &sibling), "loaded");
    });
}

#[test]
fn what_the_process_holds_is_seen() {
    isolated(|folder| {
        let file = cufft(&folder.join("libcufft.so.12"), [12, 0, 0]);
        assert!(Environment::of_process(SearchPaths::default()).loaded.is_empty());
        // SAFETY: the fake library has no constructors.
        unsafe { gpumath_sys::dynlib::DynamicLibrary::open(&file) }.unwrap();
        let environment = Environment::of_process(SearchPaths::default());
        assert_eq!(environment.loaded, std::slice::from_ref(&file));
        assert_eq!(step(&environment, &file), "loaded");
    });
}

#[test]
fn a_library_that_the_chosen_origin_lacks_comes_from_the_next_of_the_same_major() {
    isolated(|folder| {
        let (packages, conda) = (folder.join("packages"), folder.join("conda"));
        cufft_13_wheel(&packages);
        let curand = |file: &Path, version| {
            compile(file, &property("curandGetProperty", version), &[]);
        };
        curand(&conda.join("lib/libcurand.so.10"), [10, 3, 10]);
        let toolkit = folder.join("toolkit");
        curand(&toolkit.join("lib64/libcurand.so.10"), [10, 4, 0]);
        let variables = [("CONDA_PREFIX", conda.as_path()), ("CUDA_PATH", &toolkit)];
        let environment = environment(&variables, &[&packages]);
        let mut resolver = Resolver::new();
        assert_eq!(resolver.library("cufft", &environment).unwrap().origin, "wheel");
        let curand = resolver.library("curand", &environment).unwrap();
        assert_eq!((curand.origin, curand.cuda_major), ("cuda-path", Some(13)));
    });
}

#[test]
fn dependencies_are_opened_first_and_from_the_same_folder() {
    isolated(|folder| {
        let root = folder.join("lib");
        let lt = property("cublasLtGetProperty", [13, 1, 0]) + "int ltAnswer(void) { return 42; }";
        let lt = compile(&root.join("libcublasLt.so.13"), &lt, &[]);
        let source = property("cublasGetProperty", [13, 1, 0])
            + "int ltAnswer(void); int cublasAnswer(void) { return ltAnswer(); }";
        // No run path: only a cublasLt that is open already can satisfy it.
        let cublas = compile(&root.join("libcublas.so.13"), &source, &[lt.clone().into()]);
        let environment = environment(&[("GPUMATH_CUBLAS_PATH", &cublas)], &[]);
        let mut resolver = Resolver::new();
        assert_eq!(resolver.library("cublas", &environment).unwrap().path, cublas);
        let opened: Vec<_> = resolver.opened().map(|info| info.path.clone()).collect();
        assert_eq!(opened, [lt, cublas]);
    });
}
