//! Fake CUDA libraries, and a fresh process with a fresh folder for each test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use gpumath_core::error::{Error, LibraryNotFound};
use gpumath_core::loader::{Environment, SearchPaths};

const TEST: &str = "GPUMATH_LOADER_TEST";
const FOLDER: &str = "GPUMATH_LOADER_TEST_FOLDER";

/// Runs `body` in a process of its own, because opened libraries stay open.
///
/// `body` gets a new folder, whose name has spaces and brackets to reveal careless path handling.
/// `LD_LIBRARY_PATH` is its subfolder `system`.
pub(crate) fn isolated(body: impl FnOnce(&Path)) {
    isolated_with(&[], body);
}

/// Like [`isolated`], with environment variables that name subfolders of the new folder.
pub(crate) fn isolated_with<F: FnOnce(&Path)>(variables: &[(&str, &str)], body: F) {
    let name = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    let name = name.split_once("::").unwrap().1;
    if env::var(TEST).as_deref() == Ok(name) {
        return body(Path::new(&env::var_os(FOLDER).unwrap()));
    }
    let label = name.replace("::", " ");
    let folder = env::temp_dir().join(format!("gpumath [{}] {label}", std::process::id()));
    fs::create_dir_all(folder.join("system")).unwrap();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([name, "--exact", "--nocapture"]).env(TEST, name).env(FOLDER, &folder);
    for variable in ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"] {
        child.env_remove(variable);
    }
    child.env("LD_LIBRARY_PATH", folder.join("system"));
    child.envs(variables.iter().map(|(name, place)| (name, folder.join(place))));
    let output = child.output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compiles C into a shared library and returns its path.
pub(crate) fn compile(file: &Path, source: &str, flags: &[OsString]) -> PathBuf {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let soname = file.file_name().unwrap().to_str().unwrap();
    let c_file = file.with_extension("c");
    fs::write(&c_file, source).unwrap();
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-shared", "-fPIC", "-o"]).arg(file).arg(&c_file);
    cc.arg(format!("-Wl,-soname,{soname}")).args(flags);
    let output = cc.output().expect("a C compiler, cc or $CC, builds the fake libraries");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_file(c_file).unwrap();
    file.to_path_buf()
}

/// Returns the C source of `int NAME(int which, int *value)` for a version.
pub(crate) fn property(name: &str, [major, minor, patch]: [u32; 3]) -> String {
    format!(
        "int {name}(int which, int *value) {{\
           static const int numbers[] = {{{major}, {minor}, {patch}}};\
           *value = numbers[which]; return 0; }}\n"
    )
}

/// Compiles a cuFFT with one function, `cufftExecC2C`, which returns its major version.
pub(crate) fn cufft(file: &Path, version: [u32; 3]) -> PathBuf {
    let [major, ..] = version;
    let source = property("cufftGetProperty", version);
    compile(file, &format!("{source} int cufftExecC2C(void) {{ return {major}; }}"), &[])
}

/// Compiles CUDA 12's cuFFT where the CUDA 12 wheels have it.
pub(crate) fn cufft_12_wheel(packages: &Path) -> PathBuf {
    cufft(&packages.join("nvidia/cufft/lib/libcufft.so.11"), [11, 4, 1])
}

/// Compiles CUDA 13's cuFFT where the CUDA 13 wheels have it.
pub(crate) fn cufft_13_wheel(packages: &Path) -> PathBuf {
    cufft(&packages.join("nvidia/cu13/lib/libcufft.so.12"), [12, 5, 0])
}

/// Compiles a library whose version function has the driver's form: 12040 means 12.4.
pub(crate) fn thousands(file: &Path, function: &str, version: u32, status: u32) -> PathBuf {
    let source =
        format!("int {function}(int *version) {{ *version = {version}; return {status}; }}");
    compile(file, &source, &[])
}

/// Compiles a driver that supports CUDA up to `version`.
pub(crate) fn driver(folder: &Path, version: u32) -> PathBuf {
    thousands(&folder.join("libcuda.so.1"), "cuDriverGetVersion", version, 0)
}

/// Creates an environment of only these variables and package folders.
pub(crate) fn environment(variables: &[(&str, &Path)], package_folders: &[&Path]) -> Environment {
    let variables = variables.iter().map(|(name, path)| ((*name).to_owned(), (*path).into()));
    let package_folders = package_folders.iter().map(|folder| folder.to_path_buf()).collect();
    Environment {
        variables: variables.collect(),
        paths: SearchPaths { package_folders, prefix: None },
        loaded: Vec::new(),
        search_system: false,
    }
}

/// Returns details and text of an error that must be `LibraryNotFound`.
pub(crate) fn not_found<T: std::fmt::Debug>(
    result: gpumath_core::Result<T>,
) -> (Box<LibraryNotFound>, String) {
    let error = result.expect_err("no library can be found here");
    let text = error.to_string();
    match error {
        Error::LibraryNotFound(details) => (details, text),
        other => panic!("{other:?}"),
    }
}
