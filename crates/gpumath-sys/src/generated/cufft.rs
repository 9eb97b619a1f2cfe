//! cuFFT: one row a function, with its exact C type.

use crate::table::{Function, Release, Symbol};

/// `cufftCreate`, in CUDA 12.0 to 13.5.
pub static CREATE: Function<unsafe extern "C" fn(usize) -> i32> = Function::new(Symbol::new(
    "cufft",
    "create",
    "cufftCreate",
    "cufftCreate",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftDestroy`, in CUDA 12.0 to 13.5.
pub static DESTROY: Function<unsafe extern "C" fn(i32) -> i32> = Function::new(Symbol::new(
    "cufft",
    "destroy",
    "cufftDestroy",
    "cufftDestroy",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftEstimate1d`, in CUDA 12.0 to 13.5.
pub static ESTIMATE1D: Function<unsafe extern "C" fn(i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "estimate1d",
        "cufftEstimate1d",
        "cufftEstimate1d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftEstimate2d`, in CUDA 12.0 to 13.5.
pub static ESTIMATE2D: Function<unsafe extern "C" fn(i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "estimate2d",
        "cufftEstimate2d",
        "cufftEstimate2d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftEstimate3d`, in CUDA 12.0 to 13.5.
pub static ESTIMATE3D: Function<unsafe extern "C" fn(i32, i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "estimate3d",
        "cufftEstimate3d",
        "cufftEstimate3d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftEstimateMany`, in CUDA 12.0 to 13.5.
pub static ESTIMATE_MANY: Function<
    unsafe extern "C" fn(i32, usize, usize, i32, i32, usize, i32, i32, i32, i32, usize) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "estimate_many",
    "cufftEstimateMany",
    "cufftEstimateMany",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftExecC2C`, in CUDA 12.0 to 13.5.
pub static EXEC_C2C: Function<unsafe extern "C" fn(i32, usize, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "exec_c2c",
        "cufftExecC2C",
        "cufftExecC2C",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftExecC2R`, in CUDA 12.0 to 13.5.
pub static EXEC_C2R: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "exec_c2r",
        "cufftExecC2R",
        "cufftExecC2R",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftExecD2Z`, in CUDA 12.0 to 13.5.
pub static EXEC_D2Z: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "exec_d2z",
        "cufftExecD2Z",
        "cufftExecD2Z",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftExecR2C`, in CUDA 12.0 to 13.5.
pub static EXEC_R2C: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "exec_r2c",
        "cufftExecR2C",
        "cufftExecR2C",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftExecZ2D`, in CUDA 12.0 to 13.5.
pub static EXEC_Z2D: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "exec_z2d",
        "cufftExecZ2D",
        "cufftExecZ2D",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftExecZ2Z`, in CUDA 12.0 to 13.5.
pub static EXEC_Z2Z: Function<unsafe extern "C" fn(i32, usize, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "exec_z2z",
        "cufftExecZ2Z",
        "cufftExecZ2Z",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftGetPlanPropertyInt64`, in CUDA 12.4 to 13.5.
pub static GET_PLAN_PROPERTY_INT64: Function<unsafe extern "C" fn(i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "get_plan_property_int64",
        "cufftGetPlanPropertyInt64",
        "cufftGetPlanPropertyInt64",
        Release { major: 12, minor: 4 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftGetProperty`, in CUDA 12.0 to 13.5.
pub static GET_PROPERTY: Function<unsafe extern "C" fn(i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "get_property",
        "cufftGetProperty",
        "cufftGetProperty",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftGetSize`, in CUDA 12.0 to 13.5.
pub static GET_SIZE: Function<unsafe extern "C" fn(i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "get_size",
        "cufftGetSize",
        "cufftGetSize",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftGetSize1d`, in CUDA 12.0 to 13.5.
pub static GET_SIZE1D: Function<unsafe extern "C" fn(i32, i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "get_size1d",
        "cufftGetSize1d",
        "cufftGetSize1d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftGetSize2d`, in CUDA 12.0 to 13.5.
pub static GET_SIZE2D: Function<unsafe extern "C" fn(i32, i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "get_size2d",
        "cufftGetSize2d",
        "cufftGetSize2d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftGetSize3d`, in CUDA 12.0 to 13.5.
pub static GET_SIZE3D: Function<unsafe extern "C" fn(i32, i32, i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "get_size3d",
        "cufftGetSize3d",
        "cufftGetSize3d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftGetSizeMany`, in CUDA 12.0 to 13.5.
pub static GET_SIZE_MANY: Function<
    unsafe extern "C" fn(i32, i32, usize, usize, i32, i32, usize, i32, i32, i32, i32, usize) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "get_size_many",
    "cufftGetSizeMany",
    "cufftGetSizeMany",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftGetSizeMany64`, in CUDA 12.0 to 13.5.
pub static GET_SIZE_MANY64: Function<
    unsafe extern "C" fn(i32, i32, usize, usize, i64, i64, usize, i64, i64, i32, i64, usize) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "get_size_many64",
    "cufftGetSizeMany64",
    "cufftGetSizeMany64",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftGetVersion`, in CUDA 12.0 to 13.5.
pub static GET_VERSION: Function<unsafe extern "C" fn(usize) -> i32> = Function::new(Symbol::new(
    "cufft",
    "get_version",
    "cufftGetVersion",
    "cufftGetVersion",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftMakePlan1d`, in CUDA 12.0 to 13.5.
pub static MAKE_PLAN1D: Function<unsafe extern "C" fn(i32, i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "make_plan1d",
        "cufftMakePlan1d",
        "cufftMakePlan1d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftMakePlan2d`, in CUDA 12.0 to 13.5.
pub static MAKE_PLAN2D: Function<unsafe extern "C" fn(i32, i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "make_plan2d",
        "cufftMakePlan2d",
        "cufftMakePlan2d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftMakePlan3d`, in CUDA 12.0 to 13.5.
pub static MAKE_PLAN3D: Function<unsafe extern "C" fn(i32, i32, i32, i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "make_plan3d",
        "cufftMakePlan3d",
        "cufftMakePlan3d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftMakePlanMany`, in CUDA 12.0 to 13.5.
pub static MAKE_PLAN_MANY: Function<
    unsafe extern "C" fn(i32, i32, usize, usize, i32, i32, usize, i32, i32, i32, i32, usize) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "make_plan_many",
    "cufftMakePlanMany",
    "cufftMakePlanMany",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftMakePlanMany64`, in CUDA 12.0 to 13.5.
pub static MAKE_PLAN_MANY64: Function<
    unsafe extern "C" fn(i32, i32, usize, usize, i64, i64, usize, i64, i64, i32, i64, usize) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "make_plan_many64",
    "cufftMakePlanMany64",
    "cufftMakePlanMany64",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftPlan1d`, in CUDA 12.0 to 13.5.
pub static PLAN1D: Function<unsafe extern "C" fn(usize, i32, i32, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "plan1d",
        "cufftPlan1d",
        "cufftPlan1d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftPlan2d`, in CUDA 12.0 to 13.5.
pub static PLAN2D: Function<unsafe extern "C" fn(usize, i32, i32, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "plan2d",
        "cufftPlan2d",
        "cufftPlan2d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftPlan3d`, in CUDA 12.0 to 13.5.
pub static PLAN3D: Function<unsafe extern "C" fn(usize, i32, i32, i32, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "plan3d",
        "cufftPlan3d",
        "cufftPlan3d",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftPlanMany`, in CUDA 12.0 to 13.5.
pub static PLAN_MANY: Function<
    unsafe extern "C" fn(usize, i32, usize, usize, i32, i32, usize, i32, i32, i32, i32) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "plan_many",
    "cufftPlanMany",
    "cufftPlanMany",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftResetPlanProperty`, in CUDA 12.4 to 13.5.
pub static RESET_PLAN_PROPERTY: Function<unsafe extern "C" fn(i32, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "reset_plan_property",
        "cufftResetPlanProperty",
        "cufftResetPlanProperty",
        Release { major: 12, minor: 4 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftSetAutoAllocation`, in CUDA 12.0 to 13.5.
pub static SET_AUTO_ALLOCATION: Function<unsafe extern "C" fn(i32, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "set_auto_allocation",
        "cufftSetAutoAllocation",
        "cufftSetAutoAllocation",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftSetPlanPropertyInt64`, in CUDA 12.4 to 13.5.
pub static SET_PLAN_PROPERTY_INT64: Function<unsafe extern "C" fn(i32, i32, i64) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "set_plan_property_int64",
        "cufftSetPlanPropertyInt64",
        "cufftSetPlanPropertyInt64",
        Release { major: 12, minor: 4 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftSetStream`, in CUDA 12.0 to 13.5.
pub static SET_STREAM: Function<unsafe extern "C" fn(i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "set_stream",
        "cufftSetStream",
        "cufftSetStream",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftSetWorkArea`, in CUDA 12.0 to 13.5.
pub static SET_WORK_AREA: Function<unsafe extern "C" fn(i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "set_work_area",
        "cufftSetWorkArea",
        "cufftSetWorkArea",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtClearCallback`, in CUDA 12.0 to 13.5.
pub static XT_CLEAR_CALLBACK: Function<unsafe extern "C" fn(i32, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_clear_callback",
        "cufftXtClearCallback",
        "cufftXtClearCallback",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExec`, in CUDA 12.0 to 13.5.
pub static XT_EXEC: Function<unsafe extern "C" fn(i32, usize, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec",
        "cufftXtExec",
        "cufftXtExec",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExecDescriptor`, in CUDA 12.0 to 13.5.
pub static XT_EXEC_DESCRIPTOR: Function<unsafe extern "C" fn(i32, usize, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec_descriptor",
        "cufftXtExecDescriptor",
        "cufftXtExecDescriptor",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExecDescriptorC2C`, in CUDA 12.0 to 13.5.
pub static XT_EXEC_DESCRIPTOR_C2C: Function<unsafe extern "C" fn(i32, usize, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec_descriptor_c2c",
        "cufftXtExecDescriptorC2C",
        "cufftXtExecDescriptorC2C",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExecDescriptorC2R`, in CUDA 12.0 to 13.5.
pub static XT_EXEC_DESCRIPTOR_C2R: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec_descriptor_c2r",
        "cufftXtExecDescriptorC2R",
        "cufftXtExecDescriptorC2R",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExecDescriptorD2Z`, in CUDA 12.0 to 13.5.
pub static XT_EXEC_DESCRIPTOR_D2Z: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec_descriptor_d2z",
        "cufftXtExecDescriptorD2Z",
        "cufftXtExecDescriptorD2Z",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExecDescriptorR2C`, in CUDA 12.0 to 13.5.
pub static XT_EXEC_DESCRIPTOR_R2C: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec_descriptor_r2c",
        "cufftXtExecDescriptorR2C",
        "cufftXtExecDescriptorR2C",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExecDescriptorZ2D`, in CUDA 12.0 to 13.5.
pub static XT_EXEC_DESCRIPTOR_Z2D: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec_descriptor_z2d",
        "cufftXtExecDescriptorZ2D",
        "cufftXtExecDescriptorZ2D",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtExecDescriptorZ2Z`, in CUDA 12.0 to 13.5.
pub static XT_EXEC_DESCRIPTOR_Z2Z: Function<unsafe extern "C" fn(i32, usize, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_exec_descriptor_z2z",
        "cufftXtExecDescriptorZ2Z",
        "cufftXtExecDescriptorZ2Z",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtFree`, in CUDA 12.0 to 13.5.
pub static XT_FREE: Function<unsafe extern "C" fn(usize) -> i32> = Function::new(Symbol::new(
    "cufft",
    "xt_free",
    "cufftXtFree",
    "cufftXtFree",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftXtGetSizeMany`, in CUDA 12.0 to 13.5.
pub static XT_GET_SIZE_MANY: Function<
    unsafe extern "C" fn(
        i32,
        i32,
        usize,
        usize,
        i64,
        i64,
        i32,
        usize,
        i64,
        i64,
        i32,
        i64,
        usize,
        i32,
    ) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "xt_get_size_many",
    "cufftXtGetSizeMany",
    "cufftXtGetSizeMany",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftXtMakePlanMany`, in CUDA 12.0 to 13.5.
pub static XT_MAKE_PLAN_MANY: Function<
    unsafe extern "C" fn(
        i32,
        i32,
        usize,
        usize,
        i64,
        i64,
        i32,
        usize,
        i64,
        i64,
        i32,
        i64,
        usize,
        i32,
    ) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "xt_make_plan_many",
    "cufftXtMakePlanMany",
    "cufftXtMakePlanMany",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cufftXtMalloc`, in CUDA 12.0 to 13.5.
pub static XT_MALLOC: Function<unsafe extern "C" fn(i32, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_malloc",
        "cufftXtMalloc",
        "cufftXtMalloc",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtMemcpy`, in CUDA 12.0 to 13.5.
pub static XT_MEMCPY: Function<unsafe extern "C" fn(i32, usize, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_memcpy",
        "cufftXtMemcpy",
        "cufftXtMemcpy",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtQueryPlan`, in CUDA 12.0 to 13.5.
pub static XT_QUERY_PLAN: Function<unsafe extern "C" fn(i32, usize, i32) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_query_plan",
        "cufftXtQueryPlan",
        "cufftXtQueryPlan",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtSetCallbackSharedSize`, in CUDA 12.0 to 13.5.
pub static XT_SET_CALLBACK_SHARED_SIZE: Function<unsafe extern "C" fn(i32, i32, u64) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_set_callback_shared_size",
        "cufftXtSetCallbackSharedSize",
        "cufftXtSetCallbackSharedSize",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtSetDistribution`, in CUDA 12.0 to 12.0.
pub static XT_SET_DISTRIBUTION: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_set_distribution",
        "cufftXtSetDistribution",
        "cufftXtSetDistribution",
        Release { major: 12, minor: 0 },
        Release { major: 12, minor: 0 },
    ));

/// `cufftXtSetGPUs`, in CUDA 12.0 to 13.5.
pub static XT_SET_GPUS: Function<unsafe extern "C" fn(i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_set_gpus",
        "cufftXtSetGPUs",
        "cufftXtSetGPUs",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtSetJITCallback`, in CUDA 13.0 to 13.5.
pub static XT_SET_JIT_CALLBACK: Function<
    unsafe extern "C" fn(i32, usize, usize, u64, i32, usize) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "_xt_set_jit_callback",
    "cufftXtSetJITCallback",
    "cufftXtSetJITCallback",
    Release { major: 13, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `__cufftXtSetJITCallback_12_7`, in CUDA 12.9 to 12.9.
pub static XT_SET_JIT_CALLBACK_12_7: Function<
    unsafe extern "C" fn(i32, usize, usize, u64, i32, usize) -> i32,
> = Function::new(Symbol::new(
    "cufft",
    "_xt_set_jit_callback_12_7",
    "__cufftXtSetJITCallback_12_7",
    "__cufftXtSetJITCallback_12_7",
    Release { major: 12, minor: 9 },
    Release { major: 12, minor: 9 },
));

/// `cufftXtSetWorkArea`, in CUDA 12.0 to 13.5.
pub static XT_SET_WORK_AREA: Function<unsafe extern "C" fn(i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_set_work_area",
        "cufftXtSetWorkArea",
        "cufftXtSetWorkArea",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cufftXtSetWorkAreaPolicy`, in CUDA 12.0 to 13.5.
pub static XT_SET_WORK_AREA_POLICY: Function<unsafe extern "C" fn(i32, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "cufft",
        "xt_set_work_area_policy",
        "cufftXtSetWorkAreaPolicy",
        "cufftXtSetWorkAreaPolicy",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// Every row.
pub static SYMBOLS: &[&Symbol] = &[
    CREATE.symbol(),
    DESTROY.symbol(),
    ESTIMATE1D.symbol(),
    ESTIMATE2D.symbol(),
    ESTIMATE3D.symbol(),
    ESTIMATE_MANY.symbol(),
    EXEC_C2C.symbol(),
    EXEC_C2R.symbol(),
    EXEC_D2Z.symbol(),
    EXEC_R2C.symbol(),
    EXEC_Z2D.symbol(),
    EXEC_Z2Z.symbol(),
    GET_PLAN_PROPERTY_INT64.symbol(),
    GET_PROPERTY.symbol(),
    GET_SIZE.symbol(),
    GET_SIZE1D.symbol(),
    GET_SIZE2D.symbol(),
    GET_SIZE3D.symbol(),
    GET_SIZE_MANY.symbol(),
    GET_SIZE_MANY64.symbol(),
    GET_VERSION.symbol(),
    MAKE_PLAN1D.symbol(),
    MAKE_PLAN2D.symbol(),
    MAKE_PLAN3D.symbol(),
    MAKE_PLAN_MANY.symbol(),
    MAKE_PLAN_MANY64.symbol(),
    PLAN1D.symbol(),
    PLAN2D.symbol(),
    PLAN3D.symbol(),
    PLAN_MANY.symbol(),
    RESET_PLAN_PROPERTY.symbol(),
    SET_AUTO_ALLOCATION.symbol(),
    SET_PLAN_PROPERTY_INT64.symbol(),
    SET_STREAM.symbol(),
    SET_WORK_AREA.symbol(),
    XT_CLEAR_CALLBACK.symbol(),
    XT_EXEC.symbol(),
    XT_EXEC_DESCRIPTOR.symbol(),
    XT_EXEC_DESCRIPTOR_C2C.symbol(),
    XT_EXEC_DESCRIPTOR_C2R.symbol(),
    XT_EXEC_DESCRIPTOR_D2Z.symbol(),
    XT_EXEC_DESCRIPTOR_R2C.symbol(),
    XT_EXEC_DESCRIPTOR_Z2D.symbol(),
    XT_EXEC_DESCRIPTOR_Z2Z.symbol(),
    XT_FREE.symbol(),
    XT_GET_SIZE_MANY.symbol(),
    XT_MAKE_PLAN_MANY.symbol(),
    XT_MALLOC.symbol(),
    XT_MEMCPY.symbol(),
    XT_QUERY_PLAN.symbol(),
    XT_SET_CALLBACK_SHARED_SIZE.symbol(),
    XT_SET_DISTRIBUTION.symbol(),
    XT_SET_GPUS.symbol(),
    XT_SET_JIT_CALLBACK.symbol(),
    XT_SET_JIT_CALLBACK_12_7.symbol(),
    XT_SET_WORK_AREA.symbol(),
    XT_SET_WORK_AREA_POLICY.symbol(),
];

/// Names of the statuses, as in the Python enum.
pub static STATUS_NAMES: &[(i32, &str)] = &[
    (0, "SUCCESS"),
    (1, "INVALID_PLAN"),
    (2, "ALLOC_FAILED"),
    (3, "INVALID_TYPE"),
    (4, "INVALID_VALUE"),
    (5, "INTERNAL_ERROR"),
    (6, "EXEC_FAILED"),
    (7, "SETUP_FAILED"),
    (8, "INVALID_SIZE"),
    (9, "UNALIGNED_DATA"),
    (10, "INCOMPLETE_PARAMETER_LIST"),
    (11, "INVALID_DEVICE"),
    (12, "PARSE_ERROR"),
    (13, "NO_WORKSPACE"),
    (14, "NOT_IMPLEMENTED"),
    (15, "LICENSE_ERROR"),
    (16, "NOT_SUPPORTED"),
    (17, "MISSING_DEPENDENCY"),
    (18, "NVRTC_FAILURE"),
    (19, "NVJITLINK_FAILURE"),
    (20, "NVSHMEM_FAILURE"),
];
