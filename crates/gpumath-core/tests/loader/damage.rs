//! Tests with files that would end or block the process if the dynamic loader opened them.

use std::fs;
use std::path::Path;
use std::process::Command;

use gpumath_core::fft::cpu::CpuLibrary;
use gpumath_core::loader::{self, Resolver};

use crate::fake::{
    compile, cufft, cufft_13_wheel, driver, environment, isolated, isolated_with, not_found,
    property, thousands,
};

/// Bytes of data that make a fake library larger than the headers and the code.
const PAYLOAD: &str = "char payload[1 << 20] = {1}; ";

/// Compiles a cuFFT, and cuts it in the middle.
fn cut_cufft(file: &Path) {
    let source = property("cufftGetProperty", [12, 5, 0]);
    compile(file, &format!("{PAYLOAD}{source}"), &[]);
    cut(file);
}

fn cut(file: &Path) {
    let size = fs::metadata(file).unwrap().len();
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(size / 2).unwrap();
}

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_cut_file_is_named_and_the_next_origin_serves() {
    isolated(|folder| {
        let packages = folder.join("packages");
        let file = packages.join("nvidia/cu13/lib/libcufft.so.12");
        cut_cufft(&file);
        let (error, text) =
            not_found(Resolver::new().library("cufft", &environment(&[], &[&packages])));
        let attempt = error.tried.iter().find(|a| Path::new(&a.place) == file).unwrap();
        assert!(attempt.outcome.contains("is cut off"), "{text}");
        assert_eq!(error.fix, "pip install --force-reinstall nvidia-cufft", "{text}");

        let good = cufft(&folder.join("toolkit/lib64/libcufft.so.12"), [12, 0, 0]);
        let both = environment(&[("CUDA_PATH", &folder.join("toolkit"))], &[&packages]);
        assert_eq!(Resolver::new().library("cufft", &both).unwrap().path, good);
    });
}

#[test]
fn a_file_may_be_cut_anywhere() {
    isolated(|folder| {
        let whole = cufft(&folder.join("whole/libcufft.so.12"), [12, 0, 0]);
        let whole = fs::read(whole).unwrap();
        let file = folder.join("libcufft.so.12");
        let environment = environment(&[("GPUMATH_CUFFT_PATH", &file)], &[]);
        for length in (0..whole.len()).step_by(97) {
            // A new file each time: the dynamic loader knows those that it has open.
            let _ = fs::remove_file(&file);
            fs::write(&file, &whole[..length]).unwrap();
            // Behind what is mapped there are only tables that no one needs here.
            if Resolver::new().library("cufft", &environment).is_ok() {
                assert!(length > whole.len() / 2);
            }
        }
    });
}

#[test]
fn a_cut_file_that_another_needs_is_named() {
    isolated(|folder| {
        let lt = property("cublasLtGetProperty", [13, 1, 0]) + "int ltAnswer(void) { return 42; }";
        let lt = compile(&folder.join("libcublasLt.so.13"), &format!("{PAYLOAD}{lt}"), &[]);
        let source = property("cublasGetProperty", [13, 1, 0])
            + "int ltAnswer(void); int cublasAnswer(void) { return ltAnswer(); }";
        for (name, flag) in [("runpath", "--enable-new-dtags"), ("rpath", "--disable-new-dtags")] {
            let root = folder.join(name);
            let flags =
                [lt.clone().into(), "-Wl,-rpath,$ORIGIN".into(), format!("-Wl,{flag}").into()];
            let cublas = compile(&root.join("libcublas.so.13"), &source, &flags);
            fs::copy(&lt, root.join("libcublasLt.so.13")).unwrap();
            cut(&root.join("libcublasLt.so.13"));
            let environment = environment(&[("GPUMATH_CUBLAS_PATH", &cublas)], &[]);
            let (_, text) = not_found(Resolver::new().library("cublas", &environment));
            let expected = format!("needs {}", root.join("libcublasLt.so.13").display());
            assert!(text.contains(&expected) && text.contains("is cut off"), "{text}");
        }
    });
}

#[test]
fn the_part_that_nvrtc_opens_later_is_looked_at() {
    isolated(|folder| {
        let source = "int nvrtcVersion(int *major, int *minor) \
                      { *major = 13; *minor = 5; return 0; }";
        compile(&folder.join("libnvrtc.so.13"), source, &[]);
        let builtins = compile(&folder.join("libnvrtc-builtins.so.13.5"), PAYLOAD, &[]);
        let whole = fs::read(&builtins).unwrap();
        cut(&builtins);
        let environment = environment(&[("GPUMATH_CUDA_PATH", folder)], &[]);
        let (_, text) = not_found(Resolver::new().library("nvrtc", &environment));
        assert!(text.contains("libnvrtc-builtins") && text.contains("is cut off"), "{text}");
        fs::remove_file(&builtins).unwrap();
        fs::write(&builtins, whole).unwrap();
        assert!(Resolver::new().library("nvrtc", &environment).is_ok());
    });
}

#[test]
fn what_the_systems_search_would_find_is_looked_at() {
    isolated(|folder| {
        let file = folder.join("system/libcufft.so.12");
        cut_cufft(&file);
        fifo(&folder.join("system/libcuda.so.1"));
        let mut environment = environment(&[], &[]);
        environment.search_system = true;
        let (_, text) = not_found(Resolver::new().library("driver", &environment));
        assert!(text.contains("is not a regular file"), "{text}");
        assert!(Resolver::new().library("cufft", &environment).is_err());
    });
}

#[test]
fn a_fifo_is_never_opened() {
    isolated_with(&[("GPUMATH_CUDA_PATH", "root")], |folder| {
        let pipe = folder.join("pipe/libcufft.so.12");
        fifo(&pipe);
        let by_file = environment(&[("GPUMATH_CUFFT_PATH", &pipe)], &[]);
        let (error, text) = not_found(Resolver::new().library("cufft", &by_file));
        assert_eq!(error.tried[0].outcome, "is not a regular file", "{text}");

        let packages = folder.join("packages");
        fifo(&packages.join("nvidia/cu13/lib/libcufft.so.12"));
        let by_wheel = environment(&[], &[&packages]);
        not_found(Resolver::new().library("cufft", &by_wheel));

        fifo(&folder.join("root/libcufft.so.12"));
        driver(&folder.join("system"), 13000);
        assert!(!loader::has("cufft").unwrap());

        let fftw = folder.join("libfftw3.so.3");
        fifo(&fftw);
        let (error, text) = not_found(CpuLibrary::open(fftw.to_str().unwrap()));
        assert_eq!(error.tried[0].outcome, "is not a regular file", "{text}");
    });
}

#[test]
fn a_file_that_says_it_has_more_than_memory_is_refused() {
    isolated(|folder| {
        let file = cufft_13_wheel(folder);
        let whole = fs::read(&file).unwrap();
        // Offsets in the program headers: the offset and the size in the file of each range.
        let headers = u64::from_le_bytes(whole[32..40].try_into().unwrap()) as usize;
        let count = u16::from_le_bytes(whole[56..58].try_into().unwrap()) as usize;
        let environment = environment(&[("GPUMATH_CUFFT_PATH", &file)], &[]);
        for header in 0..count {
            if whole[headers + 56 * header] != 1 {
                continue;
            }
            for field in [8, 32] {
                let mut bytes = whole.clone();
                let place = headers + 56 * header + field;
                bytes[place..place + 8].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
                fs::remove_file(&file).unwrap();
                fs::write(&file, bytes).unwrap();
                let (_, text) = not_found(Resolver::new().library("cufft", &environment));
                assert!(text.contains("is cut off"), "{text}");
            }
        }
    });
}

#[test]
fn a_cut_part_of_mkl_is_named() {
    isolated(|folder| {
        let mkl =
            compile(&folder.join("libmkl_rt.so.2"), "void fftw_plan_guru64_dft(void) {}", &[]);
        let core = compile(&folder.join("libmkl_core.so.2"), PAYLOAD, &[]);
        cut(&core);
        let (_, text) = not_found(CpuLibrary::open(mkl.to_str().unwrap()));
        assert!(text.contains("libmkl_core.so.2") && text.contains("is cut off"), "{text}");
    });
}

#[test]
fn relative_package_folders_are_left_out() {
    isolated(|folder| {
        cufft_13_wheel(folder);
        thousands(&folder.join("libcudart.so.13"), "cudaRuntimeGetVersion", 13000, 0);
        std::env::set_current_dir(folder).unwrap();
        loader::set_search_hook(|| loader::SearchPaths {
            package_folders: ["", ".", "nvidia/.."].map(Into::into).to_vec(),
            prefix: Some("prefix".into()),
        });
        let paths = loader::search_paths();
        assert!(paths.package_folders.is_empty() && paths.prefix.is_none(), "{paths:?}");
        assert!(!loader::has("cufft").unwrap());
    });
}
