"""`gpumath.bindings.runtime` on a GPU: devices, memory, streams, events and launches."""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from gpumath.bindings import runtime
from gpumath.bindings.runtime import (
    CUDARuntimeError,
    DeviceAttr,
    Error,
    MemcpyKind,
    MemLocation,
    MemLocationType,
    MemoryType,
    MemPoolAttr,
)
from tests.helpers.compiler import SAXPY, compiled

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng()
TO_DEVICE, TO_HOST = MemcpyKind.HOST_TO_DEVICE, MemcpyKind.DEVICE_TO_HOST


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    runtime.set_device(0)
    yield
    runtime.device_synchronize()
    assert runtime.peek_at_last_error() == runtime.get_last_error() == Error.SUCCESS


@contextmanager
def memory(size: int) -> Iterator[int]:
    address = runtime.malloc(size)
    yield address
    runtime.free(address)


@contextmanager
def stream() -> Iterator[int]:
    handle = runtime.stream_create_with_flags(1)
    yield handle
    runtime.stream_synchronize(handle)
    runtime.stream_destroy(handle)


def dim3(x: int, y: int = 1, z: int = 1) -> bytes:
    return struct.pack("3I", x, y, z)


def properties() -> runtime.DeviceProp | runtime.DevicePropV2:
    if runtime.runtime_get_version() < 13000:
        older = runtime.DevicePropV2()
        runtime.get_device_properties_v2(older, 0)
        return older
    prop = runtime.DeviceProp()
    runtime.get_device_properties(prop, 0)
    return prop


def architecture() -> str:
    prop = properties()
    return f"-arch=sm_{prop.major}{prop.minor}"


@pytest.fixture
def saxpy() -> Iterator[int]:
    """The kernel, loaded from machine code."""
    code = compiled(SAXPY, architecture(), kind="cubin")
    library = runtime.library_load_data(code, [], [], 0, [], [], 0)
    assert runtime.library_get_kernel_count(library) == 1
    kernel = runtime.library_get_kernel(library, "saxpy")
    kernels = array("Q", [0])
    runtime.library_enumerate_kernels(kernels, 1, library)
    assert list(kernels) == [kernel]
    yield kernel
    runtime.library_unload(library)


def saxpy_arguments(n: int, out: int, x: int, y: int) -> tuple[list[int], list[object]]:
    """Return the addresses of the arguments, and what they are the addresses of."""
    values = [ctypes.c_float(2.5), *map(ctypes.c_void_p, (x, y, out)), ctypes.c_size_t(n)]
    return [ctypes.addressof(value) for value in values], [*values]


def test_properties_agree_with_attributes() -> None:
    prop = properties()
    for field, attribute in {
        "major": DeviceAttr.COMPUTE_CAPABILITY_MAJOR,
        "minor": DeviceAttr.COMPUTE_CAPABILITY_MINOR,
        "multi_processor_count": DeviceAttr.MULTI_PROCESSOR_COUNT,
        "warp_size": DeviceAttr.WARP_SIZE,
        "max_threads_per_block": DeviceAttr.MAX_THREADS_PER_BLOCK,
        "regs_per_block": DeviceAttr.MAX_REGISTERS_PER_BLOCK,
        "l2_cache_size": DeviceAttr.L2_CACHE_SIZE,
        "pci_bus_id": DeviceAttr.PCI_BUS_ID,
        "memory_bus_width": DeviceAttr.GLOBAL_MEMORY_BUS_WIDTH,
        "managed_memory": DeviceAttr.MANAGED_MEMORY,
        "shared_mem_per_block_optin": DeviceAttr.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    }.items():
        assert getattr(prop, field) == runtime.device_get_attribute(attribute, 0), field
    assert prop.warp_size == 32
    assert prop.total_global_mem == runtime.mem_get_info()[1]
    assert prop.name.isprintable()
    assert prop.name
    assert 0 <= runtime.choose_device(prop) < runtime.get_device_count()


def test_a_device_is_found_by_its_address() -> None:
    text = bytearray(20)
    runtime.device_get_pci_bus_id(text, len(text), 0)
    address = text.partition(b"\0")[0].decode()
    assert int(address.split(":")[1], 16) == properties().pci_bus_id
    assert runtime.device_get_by_pci_bus_id(address) == 0
    assert runtime.get_device() == 0
    assert runtime.get_device_flags() >= 0


def test_limits_are_read_back() -> None:
    before = runtime.device_get_limit(runtime.Limit.STACK_SIZE)
    runtime.device_set_limit(runtime.Limit.STACK_SIZE, before + 1024)
    assert runtime.device_get_limit(runtime.Limit.STACK_SIZE) >= before + 1024
    runtime.device_set_limit(runtime.Limit.STACK_SIZE, before)
    least, greatest = runtime.device_get_stream_priority_range()
    assert greatest <= least


def test_bytes_come_back() -> None:
    data = RNG.integers(0, 256, 100_003, np.uint8)
    back = np.zeros_like(data)
    with memory(data.nbytes) as first, memory(data.nbytes) as second:
        runtime.memcpy(first, data.ctypes.data, data.nbytes, TO_DEVICE)
        runtime.memcpy(second, first, data.nbytes, MemcpyKind.DEVICE_TO_DEVICE)
        runtime.memset(first, 7, data.nbytes)
        runtime.memcpy(back.ctypes.data, second, data.nbytes, MemcpyKind.DEFAULT)
        np.testing.assert_array_equal(back, data)
        runtime.memcpy(back.ctypes.data, first, data.nbytes, TO_HOST)
        assert (back == 7).all()
        runtime.memcpy_peer(first, 0, second, 0, data.nbytes)
        runtime.memcpy(back.ctypes.data, first, data.nbytes, TO_HOST)
        np.testing.assert_array_equal(back, data)
    assert runtime.device_can_access_peer(0, 0) == 0


def test_rows_come_back() -> None:
    data = RNG.random((37, 53), np.float32)
    back = np.zeros((37, 64), np.float32)
    address, pitch = runtime.malloc_pitch(53 * 4, 37)
    assert pitch >= 53 * 4
    runtime.memset2d(address, pitch, 0, 53 * 4, 37)
    runtime.memcpy2d(address, pitch, data.ctypes.data, 53 * 4, 53 * 4, 37, TO_DEVICE)
    runtime.device_synchronize()  # the copy may still be going on, and the stream waits for nothing
    with stream() as handle:
        runtime.memset2d_async(address, pitch, 0xFF, 4, 1, handle)
        runtime.memcpy2d_async(
            back.ctypes.data, 64 * 4, address, pitch, 53 * 4, 37, TO_HOST, handle
        )
    runtime.free(address)
    data.view(np.uint8)[0, :4] = 0xFF
    np.testing.assert_array_equal(back[:, :53].view(np.uint32), data.view(np.uint32))
    assert not back[:, 53:].any()


def test_blocks_come_back() -> None:
    data = RNG.integers(-(2**31), 2**31, (5, 7, 11), np.int32)
    back = np.zeros_like(data)
    extent = runtime.Extent()
    extent.width, extent.height, extent.depth = 11 * 4, 7, 5
    block = runtime.PitchedPtr()
    runtime.malloc3d(block, extent)
    assert block.pitch >= 44
    runtime.memset3d(block, 1, extent)
    host = runtime.PitchedPtr()
    host.ptr_, host.pitch, host.xsize, host.ysize = data.ctypes.data, 44, 44, 7
    copy = runtime.Memcpy3DParms()
    copy.src_ptr, copy.dst_ptr, copy.extent, copy.kind = host, block, extent, TO_DEVICE
    runtime.memcpy3d(copy)
    runtime.device_synchronize()
    host.ptr_ = back.ctypes.data
    copy.src_ptr, copy.dst_ptr, copy.kind = block, host, TO_HOST
    with stream() as handle:
        runtime.memcpy3d_async(copy, handle)
    runtime.free(block.ptr_)
    np.testing.assert_array_equal(back, data)


def test_pinned_memory_is_known_and_copied() -> None:
    data = RNG.random(5000)
    address = runtime.host_alloc(data.nbytes, 2)
    assert runtime.host_get_flags(address) & 2
    assert runtime.host_get_device_pointer(address, 0)
    attributes = runtime.PointerAttributes()
    runtime.pointer_get_attributes(attributes, address)
    assert (attributes.type, attributes.host_pointer) == (MemoryType.HOST, address)
    ctypes.memmove(address, data.ctypes.data, data.nbytes)
    back = np.zeros_like(data)
    runtime.host_register(back.ctypes.data, back.nbytes, 0)
    with memory(data.nbytes) as inner, stream() as handle:
        runtime.memcpy_async(inner, address, data.nbytes, TO_DEVICE, handle)
        runtime.memcpy_async(back.ctypes.data, inner, data.nbytes, TO_HOST, handle)
        runtime.stream_synchronize(handle)
        runtime.pointer_get_attributes(attributes, inner)
        assert (attributes.type, attributes.device_pointer) == (MemoryType.DEVICE, inner)
        assert attributes.device == 0
    runtime.host_unregister(back.ctypes.data)
    runtime.free_host(address)
    np.testing.assert_array_equal(back, data)
    runtime.free_host(runtime.malloc_host(64))


def test_managed_memory_is_advised_and_moved() -> None:
    if not runtime.device_get_attribute(DeviceAttr.CONCURRENT_MANAGED_ACCESS, 0):
        pytest.skip("the device does not share managed memory with the host while it works")
    data = RNG.random(10_000)
    address = runtime.malloc_managed(data.nbytes, 1)
    place = MemLocation()
    place.type, place.id = MemLocationType.DEVICE, 0
    advice = runtime.MemoryAdvise.SET_PREFERRED_LOCATION
    with stream() as handle:
        if runtime.runtime_get_version() >= 13000:
            runtime.mem_advise(address, data.nbytes, advice, place)
            runtime.mem_prefetch_async(address, data.nbytes, place, 0, handle)
        else:
            runtime.mem_advise_v1(address, data.nbytes, advice, 0)
            runtime.mem_prefetch_async_v1(address, data.nbytes, 0, handle)
        runtime.stream_attach_mem_async(handle, address, 0, 1)
    preferred = array("i", [-5])
    runtime.mem_range_get_attribute(
        preferred, 4, runtime.MemRangeAttribute.PREFERRED_LOCATION, address, data.nbytes
    )
    assert list(preferred) == [0]
    runtime.memcpy(address, data.ctypes.data, data.nbytes, TO_DEVICE)
    back = np.ctypeslib.as_array((ctypes.c_double * data.size).from_address(address)).copy()
    runtime.free(address)
    np.testing.assert_array_equal(back, data)


def test_pools_give_memory_in_stream_order() -> None:
    props = runtime.MemPoolProps()
    props.alloc_type = runtime.MemAllocationType.PINNED
    props.location.type, props.location.id = MemLocationType.DEVICE, 0
    pool = runtime.mem_pool_create(props)
    keep = int(RNG.integers(2**20, 2**30))
    runtime.mem_pool_set_attribute(pool, MemPoolAttr.RELEASE_THRESHOLD, array("Q", [keep]))
    value = array("Q", [0])
    runtime.mem_pool_get_attribute(pool, MemPoolAttr.RELEASE_THRESHOLD, value)
    assert list(value) == [keep]
    data, back = RNG.random(3000), np.zeros(3000)
    with stream() as handle:
        address = runtime.malloc_from_pool_async(data.nbytes, pool, handle)
        runtime.memcpy_async(address, data.ctypes.data, data.nbytes, TO_DEVICE, handle)
        runtime.memcpy_async(back.ctypes.data, address, data.nbytes, TO_HOST, handle)
        runtime.mem_pool_get_attribute(pool, MemPoolAttr.USED_MEM_CURRENT, value)
        assert value[0] >= data.nbytes
        runtime.free_async(address, handle)
    np.testing.assert_array_equal(back, data)
    assert runtime.mem_pool_get_access(pool, props.location) == (
        runtime.MemAccessFlags.PROT_READ_WRITE
    )
    runtime.mem_pool_trim_to(pool, 0)
    default = runtime.device_get_default_mem_pool(0)
    runtime.device_set_mem_pool(0, pool)
    assert runtime.device_get_mem_pool(0) == pool
    runtime.device_set_mem_pool(0, default)
    runtime.mem_pool_destroy(pool)
    with stream() as handle:
        runtime.free_async(runtime.malloc_async(64, handle), handle)


def test_streams_and_events() -> None:
    greatest = runtime.device_get_stream_priority_range()[1]
    first = runtime.stream_create_with_priority(1, greatest)
    assert runtime.stream_get_priority(first) == greatest
    assert runtime.stream_get_flags(first) == 1
    assert runtime.stream_get_id(first) != runtime.stream_get_id(0)
    assert runtime.stream_is_capturing(first) == runtime.StreamCaptureStatus.NONE
    start, end = runtime.event_create(), runtime.event_create_with_flags(0)
    untimed = runtime.event_create_with_flags(2)
    with memory(2**26) as address, stream() as second:
        runtime.event_record(start, first)
        runtime.memset_async(address, 1, 2**26, first)
        runtime.event_record_with_flags(end, first, 0)
        runtime.stream_wait_event(second, end, 0)
        runtime.event_record(untimed, second)
        runtime.event_synchronize(untimed)
        runtime.event_query(end)
        runtime.stream_query(first)
        assert 0 < runtime.event_elapsed_time(start, end) < 10_000
        with pytest.raises(CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
            runtime.event_elapsed_time(start, untimed)
        assert runtime.get_last_error() == Error.INVALID_RESOURCE_HANDLE
    for event in (start, end, untimed):
        runtime.event_destroy(event)
    runtime.stream_destroy(first)


def test_a_stream_calls_a_host_function() -> None:
    seen = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def note(data: int) -> None:
        seen.append(data)

    with stream() as handle:
        runtime.launch_host_func(handle, ctypes.cast(note, ctypes.c_void_p).value, 4321)
        runtime.stream_synchronize(handle)
    assert seen == [4321]


def test_a_kernel_is_launched(saxpy: int) -> None:
    n = 100_001
    x, y = RNG.random((2, n), np.float32)
    out = np.zeros(n, np.float32)
    with memory(x.nbytes) as dx, memory(x.nbytes) as dy, memory(x.nbytes) as dout:
        runtime.memcpy(dx, x.ctypes.data, x.nbytes, TO_DEVICE)
        runtime.memcpy(dy, y.ctypes.data, y.nbytes, TO_DEVICE)
        addresses, _values = saxpy_arguments(n, dout, dx, dy)
        runtime.launch_kernel(saxpy, dim3(-(-n // 256)), dim3(256), addresses, 0, 0)
        runtime.memcpy(out.ctypes.data, dout, out.nbytes, TO_HOST)
        np.testing.assert_allclose(out, 2.5 * x.astype(np.float64) + y, rtol=1e-6)
        runtime.memset(dout, 0, out.nbytes)
        config = runtime.LaunchConfig()
        config.grid_dim_x, config.grid_dim_y, config.grid_dim_z = -(-n // 128), 1, 1
        config.block_dim_x, config.block_dim_y, config.block_dim_z = 128, 1, 1
        runtime.launch_kernel_ex_c(config, saxpy, addresses)
        runtime.memcpy(out.ctypes.data, dout, out.nbytes, TO_HOST)
        np.testing.assert_allclose(out, 2.5 * x.astype(np.float64) + y, rtol=1e-6)


def test_a_kernel_is_described(saxpy: int) -> None:
    assert runtime.func_get_name(saxpy) == "saxpy"
    assert runtime.func_get_param_info(saxpy, 0) == (0, 4)
    assert runtime.func_get_param_info(saxpy, 4) == (32, 8)
    attributes = runtime.FuncAttributes()
    runtime.func_get_attributes(attributes, saxpy)
    prop = properties()
    assert attributes.binary_version == 10 * prop.major + prop.minor
    assert 0 < attributes.num_regs < 256
    runtime.func_set_attribute(saxpy, runtime.FuncAttribute.MAX_DYNAMIC_SHARED_MEMORY_SIZE, 4096)
    runtime.func_get_attributes(attributes, saxpy)
    assert attributes.max_dynamic_shared_size_bytes == 4096
    blocks = runtime.occupancy_max_active_blocks_per_multiprocessor(saxpy, 256, 0)
    assert 1 <= blocks <= prop.max_threads_per_multi_processor // 256
    assert blocks == runtime.occupancy_max_active_blocks_per_multiprocessor_with_flags(
        saxpy, 256, 0, 0
    )
    shared = runtime.occupancy_available_dynamic_smem_per_block(saxpy, 1, 256)
    assert 0 < shared <= prop.shared_mem_per_multiprocessor


def test_failures_are_statuses() -> None:
    with pytest.raises(CUDARuntimeError) as caught:
        runtime.malloc(2**60)
    assert caught.value.status is Error.MEMORY_ALLOCATION
    assert runtime.peek_at_last_error() == Error.MEMORY_ALLOCATION
    assert runtime.get_last_error() == Error.MEMORY_ALLOCATION
    assert runtime.get_last_error() == Error.SUCCESS
    with pytest.raises(CUDARuntimeError, match="cudaSetDevice: cudaErrorInvalidDevice"):
        runtime.set_device(10_000)
    assert runtime.get_last_error() == Error.INVALID_DEVICE
    with memory(8) as address:
        with pytest.raises(CUDARuntimeError, match="cudaErrorInvalidValue"):
            runtime.memcpy(address, 0, 8, TO_DEVICE)
        runtime.get_last_error()


def test_memory_can_be_offered_to_other_processes() -> None:
    handle = runtime.IpcMemHandle()
    with memory(2**21) as address:
        runtime.ipc_get_mem_handle(handle, address)
    assert any(bytes(handle))
