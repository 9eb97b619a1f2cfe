//! The library with the interface of BLAS that takes the place of the `gemm` crate, if the user
//! names or has installed one.
//!
//! It multiplies blocks, each on the thread that has claimed it: its own threads are not used. So
//! the number of threads is that of the call, whatever the library. Small products, and those with
//! vectors or few columns, stay with the kernels of this crate.

use super::library_api::BlasApi;
use crate::error::Result;
use crate::loader::cpu_library::{CpuLibraries, MKL, Product, cpu_library_folders, open_product};
use crate::process::SetOnce;

/// The folders of wheels below `site-packages`.
const FOLDERS: [&str; 3] = ["nvpl/lib", "scipy_openblas32/lib", "scipy_openblas64/lib"];

const LIBRARIES: CpuLibraries<BlasLibrary> = CpuLibraries {
    products: &PRODUCTS,
    other: "blas",
    variables: ["GPUMATH_BLAS_CPU_LIBRARY", "NVMATH_BLAS_CPU_LIBRARY"],
    open: |name, path| Ok(BlasLibrary { name, api: BlasApi::of(&open_product(name, path)?)? }),
};

const PRODUCTS: [Product; 3] = [
    MKL,
    Product {
        name: "nvpl",
        files: &["libnvpl_blas_lp64_seq.so.0", "libnvpl_blas_ilp64_seq.so.0"],
        fix: "pip install nvpl-blas",
        is_automatic: || true,
    },
    Product {
        name: "openblas",
        files: if cfg!(windows) {
            &["libscipy_openblas.dll", "libscipy_openblas64_.dll", "libopenblas.dll"]
        } else {
            &[
                "libscipy_openblas.so",
                "libscipy_openblas64_.so",
                "libopenblas.so.0",
                "libopenblas64.so.0",
            ]
        },
        fix: "pip install scipy-openblas32, or apt-get install libopenblas0",
        is_automatic: || false,
    },
];

/// An opened library.
#[derive(Debug)]
pub(super) struct BlasLibrary {
    pub(super) name: &'static str,
    pub(super) api: BlasApi,
}

/// Returns the library to multiply with; `None` for the `gemm` crate. The first call that finds no
/// fault settles it for the process.
pub(super) fn library() -> Result<Option<&'static BlasLibrary>> {
    static CHOSEN: SetOnce<Option<BlasLibrary>> = SetOnce::new();
    if let Some(chosen) = CHOSEN.get() {
        return Ok(chosen.as_ref());
    }
    let chosen = LIBRARIES.selected(&cpu_library_folders(&FOLDERS))?;
    Ok(CHOSEN.get_or_init(|| chosen).as_ref())
}

/// Returns the name of what multiplies.
pub(crate) fn engine_name() -> &'static str {
    library().ok().flatten().map_or("embedded", |library| library.name)
}
