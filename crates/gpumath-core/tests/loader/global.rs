//! Tests of the functions that share one resolver in the process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpumath_core::Error;
use gpumath_core::loader::{self, SearchPaths};

use crate::fake::{cufft, cufft_13_wheel, driver, isolated, isolated_with};

#[test]
fn names_that_do_not_exist_are_invalid_values() {
    for name in ["cuftt", "cufft.no_such_function", "", "."] {
        let result = loader::has(name);
        assert!(matches!(result, Err(Error::InvalidValue(_))), "{name}: {result:?}");
    }
}

#[test]
fn an_explicit_root_is_seen_in_the_environment() {
    isolated_with(&[("GPUMATH_CUDA_PATH", "root")], |folder| {
        assert!(!loader::has("cufft").unwrap(), "the root is not there yet");
        let file = cufft(&folder.join("root/libcufft.so.12"), [12, 0, 0]);
        driver(&folder.join("system"), 13000);
        assert!(loader::has("cufft").unwrap());
        let found: Vec<_> = loader::libraries().into_iter().map(|l| (l.name, l.origin)).collect();
        assert_eq!(found, [("driver", "system"), ("cufft", "explicit")]);
        assert_eq!(loader::library("cufft").unwrap().path, file);
        let report = loader::report();
        assert_eq!((report.cuda_major, report.origin), (Some(13), Some("explicit")));
        let missing: Vec<_> = report.missing.iter().map(|error| error.library.as_str()).collect();
        assert!(missing.contains(&"cublas") && !missing.contains(&"cufft"), "{missing:?}");
    });
}

#[test]
fn the_hook_is_called_at_use_and_supplies_folders() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    isolated(|folder| {
        let file = cufft_13_wheel(folder);
        loader::set_search_hook(|| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            let folder = std::env::var_os("GPUMATH_LOADER_TEST_FOLDER").map(PathBuf::from);
            SearchPaths { package_folders: folder.into_iter().collect(), prefix: None }
        });
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
        assert_eq!(loader::library("cufft").unwrap().path, file);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn many_threads_find_one_library() {
    isolated_with(&[("GPUMATH_CUDA_PATH", "root")], |folder| {
        let file = cufft(&folder.join("root/libcufft.so.12"), [12, 0, 0]);
        std::thread::scope(|scope| {
            let find = || scope.spawn(|| loader::library("cufft").unwrap().path);
            let threads: Vec<_> = (0..16).map(|_| find()).collect();
            for thread in threads {
                assert_eq!(thread.join().unwrap(), file);
            }
        });
    });
}

#[test]
fn has_tells_functions_that_this_version_lacks() {
    isolated_with(&[("GPUMATH_CUDA_PATH", "root")], |folder| {
        cufft(&folder.join("root/libcufft.so.12"), [12, 0, 0]);
        assert!(loader::has("cufft.exec_c2c").unwrap());
        assert!(!loader::has("cufft.xt_exec").unwrap(), "the fake library has one function");
        let error = loader::address(gpumath_sys::generated::cufft::XT_EXEC.symbol()).unwrap_err();
        assert!(error.to_string().contains("cufftXtExec"), "{error}");
    });
}
