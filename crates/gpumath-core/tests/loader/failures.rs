//! Tests of the errors for libraries that are missing, broken or too old.

use std::fs;
use std::path::Path;

use gpumath_core::error::Error;
use gpumath_core::loader::Resolver;
use gpumath_sys::table::{Release, Symbol};

use crate::fake::{
    compile, cufft, cufft_12_wheel, cufft_13_wheel, driver, environment, isolated, not_found,
    property, thousands,
};

const CUDA_12: Release = Release::new(12, 0, 0);
const CUDA_13: Release = Release::new(13, 0, 0);
const NEWEST: Release = Release::new(13, 5, 0);

#[test]
fn absent_everywhere_lists_every_step_in_order() {
    isolated(|folder| {
        let (error, text) =
            not_found(Resolver::new().library("cufft", &environment(&[], &[folder])));
        let steps: Vec<&str> = error.tried.iter().map(|attempt| attempt.step).collect();
        let expected = ["explicit", "loaded", "wheel", "conda", "system", "cuda-path"];
        assert_eq!(steps, expected, "{text}");
        assert!(error.fix.starts_with("pip install "), "{text}");
        assert_eq!(error.environment, [("driver".to_owned(), "none".to_owned())]);
    });
}

#[test]
fn two_variables_of_one_folder_are_one_origin() {
    isolated(|folder| {
        let toolkit = folder.join("toolkit");
        let variables = [("CUDA_PATH", toolkit.as_path()), ("CUDA_HOME", &toolkit)];
        let (error, text) =
            not_found(Resolver::new().library("cufft", &environment(&variables, &[])));
        let places = error.tried.iter().filter(|attempt| attempt.step == "cuda-path");
        assert_eq!(places.count(), 1, "{text}");
        assert!(error.environment.iter().any(|(name, _)| name == "CUDA_HOME"), "{text}");
    });
}

#[test]
fn found_only_with_the_wrong_major() {
    isolated(|folder| {
        let (root, packages) = (folder.join("root"), folder.join("packages"));
        thousands(&root.join("libcudart.so.12"), "cudaRuntimeGetVersion", 12040, 0);
        cufft_13_wheel(&packages);
        let environment = environment(&[("GPUMATH_CUDA_PATH", &root)], &[&packages]);
        let (error, text) = not_found(Resolver::new().library("cufft", &environment));
        let wheel = error.tried.iter().find(|attempt| attempt.step == "wheel").unwrap();
        assert_eq!(wheel.outcome, "wrong major: CUDA 13, but the set is CUDA 12", "{text}");
        assert!(error.fix.contains("cu12"), "{text}");
    });
}

#[test]
fn a_file_of_the_right_name_but_the_wrong_version_is_refused() {
    isolated(|folder| {
        let file = cufft(&folder.join("lib/libcufft.so.12"), [11, 4, 1]);
        let environment = environment(&[("CUDA_PATH", folder)], &[]);
        let (error, text) = not_found(Resolver::new().library("cufft", &environment));
        let attempt = error.tried.iter().find(|a| Path::new(&a.place) == file).unwrap();
        assert_eq!(
            attempt.outcome, "version 11.4.1 is of CUDA 12, but CUDA 13 is needed",
            "{text}"
        );
    });
}

#[test]
fn a_corrupt_file_is_named_and_the_next_origin_serves() {
    isolated(|folder| {
        let packages = folder.join("packages");
        let file = packages.join("nvidia/cu13/lib/libcufft.so.12");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "not a library").unwrap();
        let alone = environment(&[], &[&packages]);
        let (error, text) = not_found(Resolver::new().library("cufft", &alone));
        let attempt = error.tried.iter().find(|a| Path::new(&a.place) == file).unwrap();
        assert!(attempt.outcome.contains("file too short"), "{text}");
        assert_eq!(error.fix, "pip install --force-reinstall nvidia-cufft", "{text}");

        let toolkit = folder.join("toolkit");
        let good = cufft(&toolkit.join("lib64/libcufft.so.12"), [12, 0, 0]);
        let both = environment(&[("CUDA_PATH", &toolkit)], &[&packages]);
        assert_eq!(Resolver::new().library("cufft", &both).unwrap().path, good);
    });
}

#[test]
fn a_missing_dependency_is_named() {
    isolated(|folder| {
        let lt = property("cublasLtGetProperty", [13, 1, 0]) + "int ltAnswer(void) { return 42; }";
        let lt = compile(&folder.join("libcublasLt.so.13"), &lt, &[]);
        let source = property("cublasGetProperty", [13, 1, 0])
            + "int ltAnswer(void); int cublasAnswer(void) { return ltAnswer(); }";
        compile(&folder.join("libcublas.so.13"), &source, &[lt.clone().into()]);
        fs::remove_file(lt).unwrap();
        let environment = environment(&[("GPUMATH_CUDA_PATH", folder)], &[]);
        let (_, text) = not_found(Resolver::new().library("cublas", &environment));
        assert!(text.contains("needs libcublasLt.so.13, which was not found"), "{text}");
    });
}

#[test]
fn a_dependency_that_is_too_old_is_named_with_its_version() {
    isolated(|folder| {
        let lt = property("cublasLtGetProperty", [13, 0, 0]);
        let new = lt.clone() + "int ltAnswer(void) { return 42; }";
        let new = compile(&folder.join("libcublasLt.so.13"), &new, &[]);
        let source = property("cublasGetProperty", [13, 1, 0])
            + "int ltAnswer(void); int cublasAnswer(void) { return ltAnswer(); }";
        compile(&folder.join("libcublas.so.13"), &source, &[new.into()]);
        let old = compile(&folder.join("libcublasLt.so.13"), &lt, &[]);
        let environment = environment(&[("GPUMATH_CUDA_PATH", folder)], &[]);
        let (_, text) = not_found(Resolver::new().library("cublas", &environment));
        let old = format!("cublasLt here is version 13.0.0, {}", old.display());
        assert!(text.contains("undefined symbol: ltAnswer") && text.contains(&old), "{text}");
    });
}

#[test]
fn a_wrong_explicit_setting_is_not_passed_over() {
    isolated(|folder| {
        let packages = folder.join("packages");
        cufft_13_wheel(&packages);
        let nowhere = folder.join("nowhere.so");
        let by_file = environment(&[("GPUMATH_CUFFT_PATH", &nowhere)], &[&packages]);
        let (error, text) = not_found(Resolver::new().library("cufft", &by_file));
        assert_eq!(error.tried[0].outcome, "absent", "{text}");
        assert_eq!(error.fix, "correct GPUMATH_CUFFT_PATH or unset it");
        let a_folder = environment(&[("GPUMATH_CUFFT_PATH", folder)], &[&packages]);
        let (error, text) = not_found(Resolver::new().library("cufft", &a_folder));
        assert_eq!(error.tried[0].outcome, "is a folder, not a file", "{text}");
        let by_root = environment(&[("GPUMATH_CUDA_PATH", folder)], &[&packages]);
        let (error, text) = not_found(Resolver::new().library("cufft", &by_root));
        assert!(error.reason.contains("holds no library of CUDA 12 or 13"), "{text}");
        assert_eq!(error.fix, "correct GPUMATH_CUDA_PATH or unset it");
    });
}

#[test]
fn a_failure_is_not_remembered() {
    isolated(|folder| {
        let environment = environment(&[], &[folder]);
        let mut resolver = Resolver::new();
        assert!(resolver.library("cufft", &environment).is_err());
        let file = cufft_13_wheel(folder);
        assert_eq!(resolver.library("cufft", &environment).unwrap().path, file);
    });
}

#[test]
fn a_missing_function_names_symbol_path_and_version() {
    isolated(|folder| {
        let file = cufft_12_wheel(folder);
        let environment = environment(&[], &[folder]);
        let mut resolver = Resolver::new();
        let there =
            Symbol::new("cufft", "exec_c2c", "cufftExecC2C", "cufftExecC2C", CUDA_12, NEWEST);
        assert_ne!(resolver.address(&there, &environment).unwrap(), 0);
        let gone = Symbol::new("cufft", "x", "cufftX", "cufftX_v2", CUDA_13, NEWEST);
        let error = resolver.address(&gone, &environment).unwrap_err();
        let text = error.to_string();
        let Error::FunctionNotFound(details) = error else { panic!("{text}") };
        assert_eq!(details.symbol, "cufftX_v2");
        assert_eq!(details.path, file.to_str().unwrap());
        assert_eq!(details.version, "11.4.1");
        for part in ["cufft.x", "cufftX_v2", "11.4.1", "13.0 to 13.5"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    });
}

#[test]
fn a_function_of_a_later_major_is_absent_even_if_its_name_is_exported() {
    isolated(|folder| {
        cufft_12_wheel(folder);
        let later =
            Symbol::new("cufft", "exec_c2c", "cufftExecC2C", "cufftExecC2C", CUDA_13, NEWEST);
        let result = Resolver::new().address(&later, &environment(&[], &[folder]));
        assert!(matches!(result, Err(Error::FunctionNotFound(_))), "{result:?}");
    });
}

#[test]
fn no_driver_says_what_to_do() {
    isolated(|_| {
        let (error, text) = not_found(Resolver::new().library("driver", &environment(&[], &[])));
        assert!(text.contains("libcuda.so.1"), "{text}");
        assert!(error.fix.contains("install the NVIDIA driver"), "{text}");
    });
}

#[test]
fn a_stub_driver_is_refused() {
    isolated(|folder| {
        let stub = thousands(&folder.join("libcuda.so.1"), "cuDriverGetVersion", 0, 34);
        let environment = environment(&[("GPUMATH_DRIVER_PATH", &stub)], &[]);
        let (error, text) = not_found(Resolver::new().library("driver", &environment));
        assert!(error.tried[0].outcome.contains("stub"), "{text}");
    });
}

#[test]
fn a_driver_that_is_found_but_unusable_is_not_called_absent() {
    isolated(|folder| {
        thousands(&folder.join("system/libcuda.so.1"), "cuDriverGetVersion", 0, 34);
        let mut environment = environment(&[], &[]);
        environment.search_system = true;
        let (error, text) = not_found(Resolver::new().library("driver", &environment));
        assert_eq!(error.reason, "the libcuda.so.1 that was found cannot be used", "{text}");
        assert!(error.tried[0].outcome.contains("stub"), "{text}");
    });
}

#[test]
fn an_ancient_driver_must_be_updated() {
    isolated(|folder| {
        cufft_12_wheel(folder);
        let driver = driver(&folder.join("driver"), 11080);
        let environment = environment(&[("GPUMATH_DRIVER_PATH", &driver)], &[folder]);
        let (error, text) = not_found(Resolver::new().library("cufft", &environment));
        assert!(error.fix.starts_with("update the NVIDIA driver"), "{text}");
    });
}

#[test]
fn an_unknown_library_is_an_invalid_value() {
    let error = Resolver::new().library("cuftt", &environment(&[], &[])).unwrap_err();
    assert!(matches!(&error, Error::InvalidValue(text) if text.contains("cufft")), "{error}");
}
