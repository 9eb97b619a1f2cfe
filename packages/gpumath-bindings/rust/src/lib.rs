//! The extension module `gpumath.bindings._core`: it converts between Python and `gpumath_core`,
//! and has no logic of its own.

mod api;
mod call;
mod error;
mod generated;
mod gil;
mod integers;
mod interop;
mod once;
mod py_buffer;
mod structs;

/// The Rust side of `gpumath.bindings`; use the modules above it.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;
    use pyo3::types::PyModule;

    /// Devices, memory, operand views and compiled plans.
    #[pymodule]
    mod core {
        #[pymodule_export]
        use crate::api::array::PyArray;
        #[pymodule_export]
        use crate::api::convolution::{convolve, join_pieces, multiply_spectra};
        #[pymodule_export]
        use crate::api::cosine::{cosine_step, cosine_transform};
        #[pymodule_export]
        use crate::api::crop_or_pad::resized;
        #[pymodule_export]
        use crate::api::device::{PyDevice, driver_version};
        #[pymodule_export]
        use crate::api::event::PyEvent;
        #[pymodule_export]
        use crate::api::fft::{
            PyFftExecutor, PyFftPass, PyFftPlan, PyFftProblem, fft_direction, usable_cores,
        };
        #[pymodule_export]
        use crate::api::libraries::{PyLibrary, has, libraries, search_report};
        #[pymodule_export]
        use crate::api::matmul::{PyMatmulExecutor, PyMatmulPlan};
        #[pymodule_export]
        use crate::api::memory::{PyMemoryPointer, allocate, copy};
        #[pymodule_export]
        use crate::api::operation::PyWorkspace;
        #[pymodule_export]
        use crate::api::operation::plan_cache::{
            PyPlanCacheInfo, plan_cache_clear, plan_cache_info, set_plan_cache_limit,
        };
        #[pymodule_export]
        use crate::api::shutdown::_close;
        #[pymodule_export]
        use crate::api::stream::{
            PyStream, current_stream, handle_of, is_capturing, order_streams, synchronize_stream,
        };
        #[pymodule_export]
        use crate::api::structured_matmul::{PyStructuredMatmulExecutor, PyStructuredMatmulPlan};
        #[pymodule_export]
        use crate::api::tensor_view::PyTensorView;
        #[pymodule_export]
        use crate::error::_status_text;
    }

    /// The structs of the C APIs.
    #[pymodule]
    mod pod {
        #[pymodule_export]
        use crate::structs::{PyField, PyStructArray};
    }

    /// Fills the module. Nested modules are entered into `sys.modules`, because an extension's are
    /// not importable otherwise.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        gpumath_core::process::prepare_for_forks();
        crate::once::make_objects_of_pyo3(module.py())?;
        gpumath_core::loader::set_search_hook(crate::api::libraries::search_paths);
        gpumath_core::parallel::set_interrupt_check(crate::api::wait::check_signals);
        let modules = module.py().import("sys")?.getattr("modules")?;
        for name in ["core", "pod"] {
            let nested = module.getattr(name)?;
            let full_name = format!("gpumath.bindings._core.{name}");
            nested.setattr("__name__", &full_name)?;
            modules.set_item(full_name, nested)?;
        }
        module.getattr("core")?.setattr("_C_API", crate::api::c_api::capsule(module.py())?)?;
        crate::call::modules::add_modules(module, crate::generated::LIBRARIES)
    }
}
