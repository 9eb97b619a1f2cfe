//! The tests that need a driver, on one that is none.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn products_and_refusals() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let helpers = source.join("../../tests/helpers");
    if !helpers.exists() {
        eprintln!("skipped: the stand-in's source is not on this machine");
        return;
    }
    let folder = env::temp_dir().join(format!("gpumath cudarc {}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libcuda.so.1");
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-I"]).arg(helpers);
    cc.arg("-o").arg(&library).arg(source.join("tests/cudarc/stand_in.c"));
    assert!(cc.status().expect("a C compiler, cc or $CC, builds the stand-in").success());
    // The name by which cudarc looks for it.
    symlink(&library, folder.join("libcuda.so")).unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["products::", "refusals::", "--ignored", "--test-threads=1"])
        // The stand-in makes no other contexts.
        .args(["--skip", "contexts_that_are_not_primary"])
        .env("LD_LIBRARY_PATH", &folder)
        .env("GPUMATH_DRIVER_PATH", &library)
        .env("GPUMATH_CUBLASLT_PATH", &library)
        .output()
        .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("8 passed; 0 failed"), "{text}");
}
