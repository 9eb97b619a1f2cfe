//! CUDA driver: one row a function, with its exact C type.

use crate::table::{Function, Release, Symbol};

/// `cuCtxGetCurrent`, in CUDA 12.0 to 13.5.
pub static CTX_GET_CURRENT: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "ctx_get_current",
        "cuCtxGetCurrent",
        "cuCtxGetCurrent",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuCtxGetDevice`, in CUDA 12.0 to 13.5.
pub static CTX_GET_DEVICE: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "ctx_get_device",
        "cuCtxGetDevice",
        "cuCtxGetDevice",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuCtxPopCurrent`, in CUDA 12.0 to 13.5.
pub static CTX_POP_CURRENT: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "ctx_pop_current",
        "cuCtxPopCurrent",
        "cuCtxPopCurrent_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuCtxPushCurrent`, in CUDA 12.0 to 13.5.
pub static CTX_PUSH_CURRENT: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "ctx_push_current",
        "cuCtxPushCurrent",
        "cuCtxPushCurrent_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuCtxSetCurrent`, in CUDA 12.0 to 13.5.
pub static CTX_SET_CURRENT: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "ctx_set_current",
        "cuCtxSetCurrent",
        "cuCtxSetCurrent",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuCtxSynchronize`, in CUDA 12.0 to 13.5.
pub static CTX_SYNCHRONIZE: Function<unsafe extern "C" fn() -> i32> = Function::new(Symbol::new(
    "driver",
    "ctx_synchronize",
    "cuCtxSynchronize",
    "cuCtxSynchronize",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuDeviceCanAccessPeer`, in CUDA 12.0 to 13.5.
pub static DEVICE_CAN_ACCESS_PEER: Function<unsafe extern "C" fn(usize, i32, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_can_access_peer",
        "cuDeviceCanAccessPeer",
        "cuDeviceCanAccessPeer",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGet`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET: Function<unsafe extern "C" fn(usize, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get",
        "cuDeviceGet",
        "cuDeviceGet",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGetAttribute`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET_ATTRIBUTE: Function<unsafe extern "C" fn(usize, i32, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get_attribute",
        "cuDeviceGetAttribute",
        "cuDeviceGetAttribute",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGetCount`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET_COUNT: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get_count",
        "cuDeviceGetCount",
        "cuDeviceGetCount",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGetDefaultMemPool`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET_DEFAULT_MEM_POOL: Function<unsafe extern "C" fn(usize, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get_default_mem_pool",
        "cuDeviceGetDefaultMemPool",
        "cuDeviceGetDefaultMemPool",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGetMemPool`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET_MEM_POOL: Function<unsafe extern "C" fn(usize, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get_mem_pool",
        "cuDeviceGetMemPool",
        "cuDeviceGetMemPool",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGetName`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET_NAME: Function<unsafe extern "C" fn(usize, i32, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get_name",
        "cuDeviceGetName",
        "cuDeviceGetName",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGetPCIBusId`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET_PCI_BUS_ID: Function<unsafe extern "C" fn(usize, i32, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get_pci_bus_id",
        "cuDeviceGetPCIBusId",
        "cuDeviceGetPCIBusId",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceGetUuid`, in CUDA 12.0 to 13.5.
pub static DEVICE_GET_UUID: Function<unsafe extern "C" fn(usize, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_get_uuid",
        "cuDeviceGetUuid",
        "cuDeviceGetUuid_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDevicePrimaryCtxGetState`, in CUDA 12.0 to 13.5.
pub static DEVICE_PRIMARY_CTX_GET_STATE: Function<unsafe extern "C" fn(i32, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_primary_ctx_get_state",
        "cuDevicePrimaryCtxGetState",
        "cuDevicePrimaryCtxGetState",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDevicePrimaryCtxRelease`, in CUDA 12.0 to 13.5.
pub static DEVICE_PRIMARY_CTX_RELEASE: Function<unsafe extern "C" fn(i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_primary_ctx_release",
        "cuDevicePrimaryCtxRelease",
        "cuDevicePrimaryCtxRelease_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDevicePrimaryCtxRetain`, in CUDA 12.0 to 13.5.
pub static DEVICE_PRIMARY_CTX_RETAIN: Function<unsafe extern "C" fn(usize, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_primary_ctx_retain",
        "cuDevicePrimaryCtxRetain",
        "cuDevicePrimaryCtxRetain",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDeviceTotalMem`, in CUDA 12.0 to 13.5.
pub static DEVICE_TOTAL_MEM: Function<unsafe extern "C" fn(usize, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "device_total_mem",
        "cuDeviceTotalMem",
        "cuDeviceTotalMem_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuDriverGetVersion`, in CUDA 12.0 to 13.5.
pub static DRIVER_GET_VERSION: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "driver_get_version",
        "cuDriverGetVersion",
        "cuDriverGetVersion",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuEventCreate`, in CUDA 12.0 to 13.5.
pub static EVENT_CREATE: Function<unsafe extern "C" fn(usize, u32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "event_create",
        "cuEventCreate",
        "cuEventCreate",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuEventDestroy`, in CUDA 12.0 to 13.5.
pub static EVENT_DESTROY: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "event_destroy",
        "cuEventDestroy",
        "cuEventDestroy_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuEventElapsedTime`, in CUDA 12.0 to 13.5.
pub static EVENT_ELAPSED_TIME: Function<unsafe extern "C" fn(usize, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "event_elapsed_time",
        "cuEventElapsedTime",
        "cuEventElapsedTime",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuEventQuery`, in CUDA 12.0 to 13.5.
pub static EVENT_QUERY: Function<unsafe extern "C" fn(usize) -> i32> = Function::new(Symbol::new(
    "driver",
    "event_query",
    "cuEventQuery",
    "cuEventQuery",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuEventRecord`, in CUDA 12.0 to 13.5.
pub static EVENT_RECORD: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "event_record",
        "cuEventRecord",
        "cuEventRecord",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuEventSynchronize`, in CUDA 12.0 to 13.5.
pub static EVENT_SYNCHRONIZE: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "event_synchronize",
        "cuEventSynchronize",
        "cuEventSynchronize",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuGetErrorName`, in CUDA 12.0 to 13.5.
pub static GET_ERROR_NAME: Function<unsafe extern "C" fn(i32, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "get_error_name",
        "cuGetErrorName",
        "cuGetErrorName",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuGetErrorString`, in CUDA 12.0 to 13.5.
pub static GET_ERROR_STRING: Function<unsafe extern "C" fn(i32, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "get_error_string",
        "cuGetErrorString",
        "cuGetErrorString",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuGraphDestroy`, in CUDA 12.0 to 13.5.
pub static GRAPH_DESTROY: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "graph_destroy",
        "cuGraphDestroy",
        "cuGraphDestroy",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuGraphExecDestroy`, in CUDA 12.0 to 13.5.
pub static GRAPH_EXEC_DESTROY: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "graph_exec_destroy",
        "cuGraphExecDestroy",
        "cuGraphExecDestroy",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuGraphInstantiateWithFlags`, in CUDA 12.0 to 13.5.
pub static GRAPH_INSTANTIATE_WITH_FLAGS: Function<unsafe extern "C" fn(usize, usize, u64) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "graph_instantiate_with_flags",
        "cuGraphInstantiateWithFlags",
        "cuGraphInstantiateWithFlags",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuGraphLaunch`, in CUDA 12.0 to 13.5.
pub static GRAPH_LAUNCH: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "graph_launch",
        "cuGraphLaunch",
        "cuGraphLaunch",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuInit`, in CUDA 12.0 to 13.5.
pub static INIT: Function<unsafe extern "C" fn(u32) -> i32> = Function::new(Symbol::new(
    "driver",
    "init",
    "cuInit",
    "cuInit",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuLaunchKernel`, in CUDA 12.0 to 13.5.
pub static LAUNCH_KERNEL: Function<
    unsafe extern "C" fn(usize, u32, u32, u32, u32, u32, u32, u32, usize, usize, usize) -> i32,
> = Function::new(Symbol::new(
    "driver",
    "launch_kernel",
    "cuLaunchKernel",
    "cuLaunchKernel",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuMemAlloc`, in CUDA 12.0 to 13.5.
pub static MEM_ALLOC: Function<unsafe extern "C" fn(usize, u64) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_alloc",
        "cuMemAlloc",
        "cuMemAlloc_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemAllocAsync`, in CUDA 12.0 to 13.5.
pub static MEM_ALLOC_ASYNC: Function<unsafe extern "C" fn(usize, u64, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_alloc_async",
        "cuMemAllocAsync",
        "cuMemAllocAsync",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemAllocFromPoolAsync`, in CUDA 12.0 to 13.5.
pub static MEM_ALLOC_FROM_POOL_ASYNC: Function<
    unsafe extern "C" fn(usize, u64, usize, usize) -> i32,
> = Function::new(Symbol::new(
    "driver",
    "mem_alloc_from_pool_async",
    "cuMemAllocFromPoolAsync",
    "cuMemAllocFromPoolAsync",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuMemAllocHost`, in CUDA 12.0 to 13.5.
pub static MEM_ALLOC_HOST: Function<unsafe extern "C" fn(usize, u64) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_alloc_host",
        "cuMemAllocHost",
        "cuMemAllocHost_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemFree`, in CUDA 12.0 to 13.5.
pub static MEM_FREE: Function<unsafe extern "C" fn(usize) -> i32> = Function::new(Symbol::new(
    "driver",
    "mem_free",
    "cuMemFree",
    "cuMemFree_v2",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuMemFreeAsync`, in CUDA 12.0 to 13.5.
pub static MEM_FREE_ASYNC: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_free_async",
        "cuMemFreeAsync",
        "cuMemFreeAsync",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemFreeHost`, in CUDA 12.0 to 13.5.
pub static MEM_FREE_HOST: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_free_host",
        "cuMemFreeHost",
        "cuMemFreeHost",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemGetInfo`, in CUDA 12.0 to 13.5.
pub static MEM_GET_INFO: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_get_info",
        "cuMemGetInfo",
        "cuMemGetInfo_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemHostRegister`, in CUDA 12.0 to 13.5.
pub static MEM_HOST_REGISTER: Function<unsafe extern "C" fn(usize, u64, u32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_host_register",
        "cuMemHostRegister",
        "cuMemHostRegister_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemHostUnregister`, in CUDA 12.0 to 13.5.
pub static MEM_HOST_UNREGISTER: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_host_unregister",
        "cuMemHostUnregister",
        "cuMemHostUnregister",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemPoolCreate`, in CUDA 12.0 to 13.5.
pub static MEM_POOL_CREATE: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_pool_create",
        "cuMemPoolCreate",
        "cuMemPoolCreate",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemPoolDestroy`, in CUDA 12.0 to 13.5.
pub static MEM_POOL_DESTROY: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_pool_destroy",
        "cuMemPoolDestroy",
        "cuMemPoolDestroy",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemPoolGetAttribute`, in CUDA 12.0 to 13.5.
pub static MEM_POOL_GET_ATTRIBUTE: Function<unsafe extern "C" fn(usize, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_pool_get_attribute",
        "cuMemPoolGetAttribute",
        "cuMemPoolGetAttribute",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemPoolSetAttribute`, in CUDA 12.0 to 13.5.
pub static MEM_POOL_SET_ATTRIBUTE: Function<unsafe extern "C" fn(usize, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_pool_set_attribute",
        "cuMemPoolSetAttribute",
        "cuMemPoolSetAttribute",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemPoolTrimTo`, in CUDA 12.0 to 13.5.
pub static MEM_POOL_TRIM_TO: Function<unsafe extern "C" fn(usize, u64) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "mem_pool_trim_to",
        "cuMemPoolTrimTo",
        "cuMemPoolTrimTo",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyAsync`, in CUDA 12.0 to 13.5.
pub static MEMCPY_ASYNC: Function<unsafe extern "C" fn(usize, usize, u64, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memcpy_async",
        "cuMemcpyAsync",
        "cuMemcpyAsync",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyDtoD`, in CUDA 12.0 to 13.5.
pub static MEMCPY_DTOD: Function<unsafe extern "C" fn(usize, usize, u64) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memcpy_dtod",
        "cuMemcpyDtoD",
        "cuMemcpyDtoD_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyDtoDAsync`, in CUDA 12.0 to 13.5.
pub static MEMCPY_DTOD_ASYNC: Function<unsafe extern "C" fn(usize, usize, u64, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memcpy_dtod_async",
        "cuMemcpyDtoDAsync",
        "cuMemcpyDtoDAsync_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyDtoH`, in CUDA 12.0 to 13.5.
pub static MEMCPY_DTOH: Function<unsafe extern "C" fn(usize, usize, u64) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memcpy_dtoh",
        "cuMemcpyDtoH",
        "cuMemcpyDtoH_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyDtoHAsync`, in CUDA 12.0 to 13.5.
pub static MEMCPY_DTOH_ASYNC: Function<unsafe extern "C" fn(usize, usize, u64, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memcpy_dtoh_async",
        "cuMemcpyDtoHAsync",
        "cuMemcpyDtoHAsync_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyHtoD`, in CUDA 12.0 to 13.5.
pub static MEMCPY_HTOD: Function<unsafe extern "C" fn(usize, usize, u64) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memcpy_htod",
        "cuMemcpyHtoD",
        "cuMemcpyHtoD_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyHtoDAsync`, in CUDA 12.0 to 13.5.
pub static MEMCPY_HTOD_ASYNC: Function<unsafe extern "C" fn(usize, usize, u64, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memcpy_htod_async",
        "cuMemcpyHtoDAsync",
        "cuMemcpyHtoDAsync_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuMemcpyPeerAsync`, in CUDA 12.0 to 13.5.
pub static MEMCPY_PEER_ASYNC: Function<
    unsafe extern "C" fn(usize, usize, usize, usize, u64, usize) -> i32,
> = Function::new(Symbol::new(
    "driver",
    "memcpy_peer_async",
    "cuMemcpyPeerAsync",
    "cuMemcpyPeerAsync",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuMemsetD8Async`, in CUDA 12.0 to 13.5.
pub static MEMSET_D8_ASYNC: Function<unsafe extern "C" fn(usize, u8, u64, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "memset_d8_async",
        "cuMemsetD8Async",
        "cuMemsetD8Async",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuModuleGetFunction`, in CUDA 12.0 to 13.5.
pub static MODULE_GET_FUNCTION: Function<unsafe extern "C" fn(usize, usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "module_get_function",
        "cuModuleGetFunction",
        "cuModuleGetFunction",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuModuleLoadData`, in CUDA 12.0 to 13.5.
pub static MODULE_LOAD_DATA: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "module_load_data",
        "cuModuleLoadData",
        "cuModuleLoadData",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuModuleUnload`, in CUDA 12.0 to 13.5.
pub static MODULE_UNLOAD: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "module_unload",
        "cuModuleUnload",
        "cuModuleUnload",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuPointerGetAttribute`, in CUDA 12.0 to 13.5.
pub static POINTER_GET_ATTRIBUTE: Function<unsafe extern "C" fn(usize, i32, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "pointer_get_attribute",
        "cuPointerGetAttribute",
        "cuPointerGetAttribute",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamBeginCapture`, in CUDA 12.0 to 13.5.
pub static STREAM_BEGIN_CAPTURE: Function<unsafe extern "C" fn(usize, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_begin_capture",
        "cuStreamBeginCapture",
        "cuStreamBeginCapture_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamCreate`, in CUDA 12.0 to 13.5.
pub static STREAM_CREATE: Function<unsafe extern "C" fn(usize, u32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_create",
        "cuStreamCreate",
        "cuStreamCreate",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamCreateWithPriority`, in CUDA 12.0 to 13.5.
pub static STREAM_CREATE_WITH_PRIORITY: Function<unsafe extern "C" fn(usize, u32, i32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_create_with_priority",
        "cuStreamCreateWithPriority",
        "cuStreamCreateWithPriority",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamDestroy`, in CUDA 12.0 to 13.5.
pub static STREAM_DESTROY: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_destroy",
        "cuStreamDestroy",
        "cuStreamDestroy_v2",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamEndCapture`, in CUDA 12.0 to 13.5.
pub static STREAM_END_CAPTURE: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_end_capture",
        "cuStreamEndCapture",
        "cuStreamEndCapture",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamGetCtx`, in CUDA 12.0 to 13.5.
pub static STREAM_GET_CTX: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_get_ctx",
        "cuStreamGetCtx",
        "cuStreamGetCtx",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamIsCapturing`, in CUDA 12.0 to 13.5.
pub static STREAM_IS_CAPTURING: Function<unsafe extern "C" fn(usize, usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_is_capturing",
        "cuStreamIsCapturing",
        "cuStreamIsCapturing",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamQuery`, in CUDA 12.0 to 13.5.
pub static STREAM_QUERY: Function<unsafe extern "C" fn(usize) -> i32> = Function::new(Symbol::new(
    "driver",
    "stream_query",
    "cuStreamQuery",
    "cuStreamQuery",
    Release { major: 12, minor: 0 },
    Release { major: 13, minor: 5 },
));

/// `cuStreamSynchronize`, in CUDA 12.0 to 13.5.
pub static STREAM_SYNCHRONIZE: Function<unsafe extern "C" fn(usize) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_synchronize",
        "cuStreamSynchronize",
        "cuStreamSynchronize",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// `cuStreamWaitEvent`, in CUDA 12.0 to 13.5.
pub static STREAM_WAIT_EVENT: Function<unsafe extern "C" fn(usize, usize, u32) -> i32> =
    Function::new(Symbol::new(
        "driver",
        "stream_wait_event",
        "cuStreamWaitEvent",
        "cuStreamWaitEvent",
        Release { major: 12, minor: 0 },
        Release { major: 13, minor: 5 },
    ));

/// Every row.
pub static SYMBOLS: &[&Symbol] = &[
    CTX_GET_CURRENT.symbol(),
    CTX_GET_DEVICE.symbol(),
    CTX_POP_CURRENT.symbol(),
    CTX_PUSH_CURRENT.symbol(),
    CTX_SET_CURRENT.symbol(),
    CTX_SYNCHRONIZE.symbol(),
    DEVICE_CAN_ACCESS_PEER.symbol(),
    DEVICE_GET.symbol(),
    DEVICE_GET_ATTRIBUTE.symbol(),
    DEVICE_GET_COUNT.symbol(),
    DEVICE_GET_DEFAULT_MEM_POOL.symbol(),
    DEVICE_GET_MEM_POOL.symbol(),
    DEVICE_GET_NAME.symbol(),
    DEVICE_GET_PCI_BUS_ID.symbol(),
    DEVICE_GET_UUID.symbol(),
    DEVICE_PRIMARY_CTX_GET_STATE.symbol(),
    DEVICE_PRIMARY_CTX_RELEASE.symbol(),
    DEVICE_PRIMARY_CTX_RETAIN.symbol(),
    DEVICE_TOTAL_MEM.symbol(),
    DRIVER_GET_VERSION.symbol(),
    EVENT_CREATE.symbol(),
    EVENT_DESTROY.symbol(),
    EVENT_ELAPSED_TIME.symbol(),
    EVENT_QUERY.symbol(),
    EVENT_RECORD.symbol(),
    EVENT_SYNCHRONIZE.symbol(),
    GET_ERROR_NAME.symbol(),
    GET_ERROR_STRING.symbol(),
    GRAPH_DESTROY.symbol(),
    GRAPH_EXEC_DESTROY.symbol(),
    GRAPH_INSTANTIATE_WITH_FLAGS.symbol(),
    GRAPH_LAUNCH.symbol(),
    INIT.symbol(),
    LAUNCH_KERNEL.symbol(),
    MEM_ALLOC.symbol(),
    MEM_ALLOC_ASYNC.symbol(),
    MEM_ALLOC_FROM_POOL_ASYNC.symbol(),
    MEM_ALLOC_HOST.symbol(),
    MEM_FREE.symbol(),
    MEM_FREE_ASYNC.symbol(),
    MEM_FREE_HOST.symbol(),
    MEM_GET_INFO.symbol(),
    MEM_HOST_REGISTER.symbol(),
    MEM_HOST_UNREGISTER.symbol(),
    MEM_POOL_CREATE.symbol(),
    MEM_POOL_DESTROY.symbol(),
    MEM_POOL_GET_ATTRIBUTE.symbol(),
    MEM_POOL_SET_ATTRIBUTE.symbol(),
    MEM_POOL_TRIM_TO.symbol(),
    MEMCPY_ASYNC.symbol(),
    MEMCPY_DTOD.symbol(),
    MEMCPY_DTOD_ASYNC.symbol(),
    MEMCPY_DTOH.symbol(),
    MEMCPY_DTOH_ASYNC.symbol(),
    MEMCPY_HTOD.symbol(),
    MEMCPY_HTOD_ASYNC.symbol(),
    MEMCPY_PEER_ASYNC.symbol(),
    MEMSET_D8_ASYNC.symbol(),
    MODULE_GET_FUNCTION.symbol(),
    MODULE_LOAD_DATA.symbol(),
    MODULE_UNLOAD.symbol(),
    POINTER_GET_ATTRIBUTE.symbol(),
    STREAM_BEGIN_CAPTURE.symbol(),
    STREAM_CREATE.symbol(),
    STREAM_CREATE_WITH_PRIORITY.symbol(),
    STREAM_DESTROY.symbol(),
    STREAM_END_CAPTURE.symbol(),
    STREAM_GET_CTX.symbol(),
    STREAM_IS_CAPTURING.symbol(),
    STREAM_QUERY.symbol(),
    STREAM_SYNCHRONIZE.symbol(),
    STREAM_WAIT_EVENT.symbol(),
];

/// Names of the statuses, as in the Python enum.
pub static STATUS_NAMES: &[(i32, &str)] = &[
    (0, "SUCCESS"),
    (1, "ERROR_INVALID_VALUE"),
    (2, "ERROR_OUT_OF_MEMORY"),
    (3, "ERROR_NOT_INITIALIZED"),
    (4, "ERROR_DEINITIALIZED"),
    (5, "ERROR_PROFILER_DISABLED"),
    (6, "ERROR_PROFILER_NOT_INITIALIZED"),
    (7, "ERROR_PROFILER_ALREADY_STARTED"),
    (8, "ERROR_PROFILER_ALREADY_STOPPED"),
    (34, "ERROR_STUB_LIBRARY"),
    (46, "ERROR_DEVICE_UNAVAILABLE"),
    (100, "ERROR_NO_DEVICE"),
    (101, "ERROR_INVALID_DEVICE"),
    (102, "ERROR_DEVICE_NOT_LICENSED"),
    (200, "ERROR_INVALID_IMAGE"),
    (201, "ERROR_INVALID_CONTEXT"),
    (202, "ERROR_CONTEXT_ALREADY_CURRENT"),
    (205, "ERROR_MAP_FAILED"),
    (206, "ERROR_UNMAP_FAILED"),
    (207, "ERROR_ARRAY_IS_MAPPED"),
    (208, "ERROR_ALREADY_MAPPED"),
    (209, "ERROR_NO_BINARY_FOR_GPU"),
    (210, "ERROR_ALREADY_ACQUIRED"),
    (211, "ERROR_NOT_MAPPED"),
    (212, "ERROR_NOT_MAPPED_AS_ARRAY"),
    (213, "ERROR_NOT_MAPPED_AS_POINTER"),
    (214, "ERROR_ECC_UNCORRECTABLE"),
    (215, "ERROR_UNSUPPORTED_LIMIT"),
    (216, "ERROR_CONTEXT_ALREADY_IN_USE"),
    (217, "ERROR_PEER_ACCESS_UNSUPPORTED"),
    (218, "ERROR_INVALID_PTX"),
    (219, "ERROR_INVALID_GRAPHICS_CONTEXT"),
    (220, "ERROR_NVLINK_UNCORRECTABLE"),
    (221, "ERROR_JIT_COMPILER_NOT_FOUND"),
    (222, "ERROR_UNSUPPORTED_PTX_VERSION"),
    (223, "ERROR_JIT_COMPILATION_DISABLED"),
    (224, "ERROR_UNSUPPORTED_EXEC_AFFINITY"),
    (300, "ERROR_INVALID_SOURCE"),
    (301, "ERROR_FILE_NOT_FOUND"),
    (302, "ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"),
    (303, "ERROR_SHARED_OBJECT_INIT_FAILED"),
    (304, "ERROR_OPERATING_SYSTEM"),
    (400, "ERROR_INVALID_HANDLE"),
    (401, "ERROR_ILLEGAL_STATE"),
    (500, "ERROR_NOT_FOUND"),
    (600, "ERROR_NOT_READY"),
    (700, "ERROR_ILLEGAL_ADDRESS"),
    (701, "ERROR_LAUNCH_OUT_OF_RESOURCES"),
    (702, "ERROR_LAUNCH_TIMEOUT"),
    (703, "ERROR_LAUNCH_INCOMPATIBLE_TEXTURING"),
    (704, "ERROR_PEER_ACCESS_ALREADY_ENABLED"),
    (705, "ERROR_PEER_ACCESS_NOT_ENABLED"),
    (708, "ERROR_PRIMARY_CONTEXT_ACTIVE"),
    (709, "ERROR_CONTEXT_IS_DESTROYED"),
    (710, "ERROR_ASSERT"),
    (711, "ERROR_TOO_MANY_PEERS"),
    (712, "ERROR_HOST_MEMORY_ALREADY_REGISTERED"),
    (713, "ERROR_HOST_MEMORY_NOT_REGISTERED"),
    (714, "ERROR_HARDWARE_STACK_ERROR"),
    (715, "ERROR_ILLEGAL_INSTRUCTION"),
    (716, "ERROR_MISALIGNED_ADDRESS"),
    (717, "ERROR_INVALID_ADDRESS_SPACE"),
    (718, "ERROR_INVALID_PC"),
    (719, "ERROR_LAUNCH_FAILED"),
    (720, "ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"),
    (800, "ERROR_NOT_PERMITTED"),
    (801, "ERROR_NOT_SUPPORTED"),
    (802, "ERROR_SYSTEM_NOT_READY"),
    (803, "ERROR_SYSTEM_DRIVER_MISMATCH"),
    (804, "ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    (805, "ERROR_MPS_CONNECTION_FAILED"),
    (806, "ERROR_MPS_RPC_FAILURE"),
    (807, "ERROR_MPS_SERVER_NOT_READY"),
    (808, "ERROR_MPS_MAX_CLIENTS_REACHED"),
    (809, "ERROR_MPS_MAX_CONNECTIONS_REACHED"),
    (810, "ERROR_MPS_CLIENT_TERMINATED"),
    (811, "ERROR_CDP_NOT_SUPPORTED"),
    (812, "ERROR_CDP_VERSION_MISMATCH"),
    (900, "ERROR_STREAM_CAPTURE_UNSUPPORTED"),
    (901, "ERROR_STREAM_CAPTURE_INVALIDATED"),
    (902, "ERROR_STREAM_CAPTURE_MERGE"),
    (903, "ERROR_STREAM_CAPTURE_UNMATCHED"),
    (904, "ERROR_STREAM_CAPTURE_UNJOINED"),
    (905, "ERROR_STREAM_CAPTURE_ISOLATION"),
    (906, "ERROR_STREAM_CAPTURE_IMPLICIT"),
    (907, "ERROR_CAPTURED_EVENT"),
    (908, "ERROR_STREAM_CAPTURE_WRONG_THREAD"),
    (909, "ERROR_TIMEOUT"),
    (910, "ERROR_GRAPH_EXEC_UPDATE_FAILURE"),
    (911, "ERROR_EXTERNAL_DEVICE"),
    (912, "ERROR_INVALID_CLUSTER_SIZE"),
    (999, "ERROR_UNKNOWN"),
    (225, "ERROR_UNSUPPORTED_DEVSIDE_SYNC"),
    (402, "ERROR_LOSSY_QUERY"),
    (913, "ERROR_FUNCTION_NOT_LOADED"),
    (914, "ERROR_INVALID_RESOURCE_TYPE"),
    (915, "ERROR_INVALID_RESOURCE_CONFIGURATION"),
    (226, "ERROR_CONTAINED"),
    (721, "ERROR_TENSOR_MEMORY_LEAK"),
    (916, "ERROR_KEY_ROTATION"),
    (36, "ERROR_CALL_REQUIRES_NEWER_DRIVER"),
    (917, "ERROR_STREAM_DETACHED"),
    (47, "ERROR_MULTICAST_RESOURCE_FULL"),
    (227, "ERROR_INSUFFICIENT_LOADER_VERSION"),
    (918, "ERROR_GRAPH_RECAPTURE_FAILURE"),
    (919, "ERROR_FABRIC_NOT_READY"),
];
