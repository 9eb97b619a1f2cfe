"""Memory by the raw driver on a GPU: fills, copies, pools, mappings and their properties."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

import numpy as np
import pytest

from gpumath.bindings import driver
from tests.helpers.gpu_driver import Gpu, fetched

pytestmark = pytest.mark.gpu

MEMSETS = {
    8: (driver.memset_d8, driver.memset_d8_async, driver.memset_d2d8, driver.memset_d2d8_async),
    16: (
        driver.memset_d16, driver.memset_d16_async,
        driver.memset_d2d16, driver.memset_d2d16_async,
    ),
    32: (
        driver.memset_d32, driver.memset_d32_async,
        driver.memset_d2d32, driver.memset_d2d32_async,
    ),
}  # fmt: skip


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    gpu = Gpu()
    yield gpu
    gpu.close()


def random_bytes(size: int) -> np.ndarray:
    return np.random.default_rng().integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("bits", MEMSETS)
def test_memset_fills_what_it_should_and_no_more(gpu: Gpu, bits: int) -> None:
    stream = gpu.stream()
    dtype = np.dtype(f"u{bits // 8}")
    value, other = (0x9A, 0x8123, 0xFEDCBA98)[(8, 16, 32).index(bits)], 3
    expected = np.arange(100).astype(dtype)
    address = gpu.copied(expected)
    fill, fill_async, fill_2d, fill_2d_async = MEMSETS[bits]
    fill(address + 10 * dtype.itemsize, value, 20)
    driver.ctx_synchronize()
    fill_async(address + 50 * dtype.itemsize, other, 5, stream)
    driver.stream_synchronize(stream)
    expected[10:30], expected[50:55] = value, other
    np.testing.assert_array_equal(fetched(address, 100, dtype), expected)

    rows, columns = 6, 33
    block, pitch = driver.mem_alloc_pitch(columns * dtype.itemsize, rows, 4)
    assert pitch >= columns * dtype.itemsize
    assert pitch % dtype.itemsize == 0
    try:
        driver.memset_d8(block, 0, pitch * rows)
        fill_2d(block + pitch, pitch, value, columns, 2)
        driver.ctx_synchronize()
        fill_2d_async(block + 4 * pitch, pitch, other, 7, 2, stream)
        driver.stream_synchronize(stream)
        found = fetched(block, (rows, pitch // dtype.itemsize), dtype)
    finally:
        driver.mem_free(block)
    plane = np.zeros_like(found)
    plane[1:3, :columns], plane[4:6, :7] = value, other
    np.testing.assert_array_equal(found, plane)
    with pytest.raises(OverflowError, match=f"unsigned {bits}-bit"):
        fill(address, 1 << bits, 1)


def test_copies_between_any_addresses(gpu: Gpu) -> None:
    stream, values = gpu.stream(), random_bytes(1000)
    source, target = gpu.copied(values), gpu.alloc(1000)
    driver.memset_d8(target, 0, 1000)
    driver.memcpy(target + 1, source, 300)
    driver.memcpy_peer(target + 400, gpu.context, source + 400, gpu.context, 100)
    driver.memcpy_peer_async(target + 600, gpu.context, source + 600, gpu.context, 50, stream)
    driver.memcpy_async(target + 700, source + 700, 80, stream)
    driver.stream_synchronize(stream)
    driver.ctx_synchronize()
    expected = np.zeros(1000, np.uint8)
    expected[1:301] = values[:300]
    for start, size in [(400, 100), (600, 50), (700, 80)]:
        expected[start : start + size] = values[start : start + size]
    np.testing.assert_array_equal(fetched(target, 1000, np.uint8), expected)


def test_a_batch_of_copies(gpu: Gpu) -> None:
    if driver.driver_get_version() < 13000:
        pytest.skip("the driver is older than CUDA 13.0")
    stream, values = gpu.stream(), random_bytes(4096)
    source, target = gpu.copied(values), gpu.alloc(4096)
    driver.memset_d8(target, 0, 4096)
    driver.ctx_synchronize()
    attributes = driver.MemcpyAttributes()
    attributes.src_access_order = driver.MemcpySrcAccessOrder.STREAM
    starts, sizes = [0, 1000, 3000], [100, 500, 1096]
    driver.memcpy_batch_async(
        [target + start for start in starts],
        [source + start for start in starts],
        sizes, 3, attributes, [0], 1, stream,
    )  # fmt: skip
    driver.stream_synchronize(stream)
    expected = np.zeros_like(values)
    for start, size in zip(starts, sizes, strict=True):
        expected[start : start + size] = values[start : start + size]
    np.testing.assert_array_equal(fetched(target, 4096, np.uint8), expected)
    with pytest.raises(ValueError, match="has 1 elements, but the call reads 2"):
        driver.memcpy_batch_async([target], [source, source], [1, 1], 2, attributes, [0], 1, stream)


def test_pinned_memory_has_an_address_on_the_device(gpu: Gpu) -> None:
    values = random_bytes(512)
    host = driver.mem_host_alloc(512, 2)  # mapped
    try:
        assert driver.mem_host_get_flags(host) & 2
        mapped = driver.mem_host_get_device_pointer(host, 0)
        ctypes.memmove(host, values.ctypes.data, 512)
        target = gpu.alloc(512)
        driver.memcpy_dtod(target, mapped, 512)
        np.testing.assert_array_equal(fetched(target, 512, np.uint8), values)
    finally:
        driver.mem_free_host(host)


def test_managed_memory_moves_and_takes_advice(gpu: Gpu) -> None:
    if not gpu.attribute("CONCURRENT_MANAGED_ACCESS"):
        pytest.skip("host and device cannot use managed memory at the same time")
    size, stream = 1 << 16, gpu.stream()
    values = random_bytes(size)
    address = driver.mem_alloc_managed(size, driver.MemAttachFlags.GLOBAL)
    try:
        ctypes.memmove(address, values.ctypes.data, size)
        place = driver.MemLocation()
        place.type, place.id = driver.MemLocationType.DEVICE, gpu.device
        driver.mem_prefetch_async(address, size, place, 0, stream)
        driver.memset_d8_async(address, 1, size // 2, stream)
        driver.mem_prefetch_async_v1(address, size, -1, stream)  # to the host
        driver.stream_synchronize(stream)
        expected = np.concatenate([np.ones(size // 2, np.uint8), values[size // 2 :]])
        found = np.frombuffer((ctypes.c_ubyte * size).from_address(address), np.uint8)
        np.testing.assert_array_equal(found, expected)

        driver.mem_advise(address, size, driver.MemAdvise.SET_PREFERRED_LOCATION, bytes(place))
        driver.mem_advise_v1(address, size, driver.MemAdvise.SET_READ_MOSTLY, gpu.device)
        mostly, preferred, last = ctypes.c_int(), ctypes.c_int(-7), ctypes.c_int(-7)
        attribute = driver.MemRangeAttribute
        driver.mem_range_get_attribute(
            ctypes.addressof(mostly), 4, attribute.READ_MOSTLY, address, size
        )
        driver.mem_range_get_attributes(
            [ctypes.addressof(preferred), ctypes.addressof(last)], [4, 4],
            [attribute.PREFERRED_LOCATION, attribute.LAST_PREFETCH_LOCATION], 2, address, size,
        )  # fmt: skip
        assert (mostly.value, preferred.value, last.value) == (1, gpu.device, -1)
        driver.stream_attach_mem_async(stream, address, 0, driver.MemAttachFlags.SINGLE)
        driver.stream_synchronize(stream)
    finally:
        driver.mem_free(address)


def test_properties_of_an_address(gpu: Gpu) -> None:
    address = gpu.alloc(1 << 20)
    base, size = driver.mem_get_address_range(address + 12345)
    assert base <= address + 12345 < base + size
    assert size >= 1 << 20
    kind, device, start = ctypes.c_uint(), ctypes.c_int(-1), ctypes.c_uint64()
    attribute = driver.PointerAttribute
    driver.pointer_get_attribute(ctypes.addressof(kind), attribute.MEMORY_TYPE, address)
    driver.pointer_get_attributes(
        2, [attribute.DEVICE_ORDINAL, attribute.RANGE_START_ADDR],
        [ctypes.addressof(device), ctypes.addressof(start)], address + 99,
    )  # fmt: skip
    assert kind.value == driver.MemoryType.DEVICE
    assert (device.value, start.value) == (gpu.device, base)
    flag = ctypes.c_uint(1)
    driver.pointer_set_attribute(ctypes.addressof(flag), attribute.SYNC_MEMOPS, address)
    flag.value = 0
    driver.pointer_get_attribute(ctypes.addressof(flag), attribute.SYNC_MEMOPS, address)
    assert flag.value == 1


def test_a_pool_of_its_own(gpu: Gpu) -> None:
    stream = gpu.stream()
    properties = driver.MemPoolProps()
    properties.alloc_type = driver.MemAllocationType.PINNED
    properties.location.type = driver.MemLocationType.DEVICE
    properties.location.id = gpu.device
    pool = driver.mem_pool_create(properties)
    try:
        keep, used = ctypes.c_uint64(1 << 30), ctypes.c_uint64()
        attribute = driver.MemPoolAttribute
        driver.mem_pool_set_attribute(pool, attribute.RELEASE_THRESHOLD, ctypes.addressof(keep))
        keep.value = 0
        driver.mem_pool_get_attribute(pool, attribute.RELEASE_THRESHOLD, ctypes.addressof(keep))
        assert keep.value == 1 << 30
        address = driver.mem_alloc_from_pool_async(1 << 20, pool, stream)
        driver.mem_pool_get_attribute(pool, attribute.USED_MEM_CURRENT, ctypes.addressof(used))
        assert used.value >= 1 << 20
        driver.mem_free_async(address, stream)
        driver.stream_synchronize(stream)
        driver.mem_pool_get_attribute(pool, attribute.USED_MEM_CURRENT, ctypes.addressof(used))
        assert used.value == 0
        driver.mem_pool_trim_to(pool, 0)
        access = driver.mem_pool_get_access(pool, properties.location)
        assert access == driver.MemAccessFlags.READWRITE

        default = driver.device_get_default_mem_pool(gpu.device)
        before = driver.device_get_mem_pool(gpu.device)
        assert default != pool
        driver.device_set_mem_pool(gpu.device, pool)
        try:
            assert driver.device_get_mem_pool(gpu.device) == pool
        finally:
            driver.device_set_mem_pool(gpu.device, before)
    finally:
        driver.mem_pool_destroy(pool)


def test_memory_is_mapped_to_addresses_twice(gpu: Gpu) -> None:
    properties = driver.MemAllocationProp()
    properties.type = driver.MemAllocationType.PINNED
    properties.location.type = driver.MemLocationType.DEVICE
    properties.location.id = gpu.device
    properties.requested_handle_types = driver.MemAllocationHandleType.POSIX_FILE_DESCRIPTOR
    size = driver.mem_get_allocation_granularity(
        properties, driver.MemAllocationGranularityFlags.MINIMUM
    )
    assert size % 4096 == 0
    access = driver.MemAccessDesc()
    access.location.type, access.location.id = driver.MemLocationType.DEVICE, gpu.device
    access.flags = driver.MemAccessFlags.READWRITE
    handle = driver.mem_create(size, properties, 0)
    start = driver.mem_address_reserve(2 * size, 0, 0, 0)
    kind = driver.MemAllocationHandleType.POSIX_FILE_DESCRIPTOR
    file = ctypes.c_int(-1)
    driver.mem_export_to_shareable_handle(ctypes.addressof(file), handle, kind, 0)
    imported = driver.mem_import_from_shareable_handle(file.value, kind)
    os.close(file.value)
    driver.mem_map(start, size, 0, handle, 0)
    driver.mem_map(start + size, size, 0, imported, 0)
    try:
        driver.mem_set_access(start, 2 * size, access, 1)
        assert driver.mem_get_access(access.location, start) == driver.MemAccessFlags.READWRITE
        driver.memset_d16(start, 0xBEEF, size // 2)
        driver.ctx_synchronize()
        assert (fetched(start + size, size // 2, np.uint16) == 0xBEEF).all()
        again = driver.mem_retain_allocation_handle(start)
        found = driver.MemAllocationProp()
        driver.mem_get_allocation_properties_from_handle(found, again)
        assert found.location.id == gpu.device
        assert found.type == driver.MemAllocationType.PINNED
        driver.mem_release(again)
    finally:
        driver.mem_unmap(start, size)
        driver.mem_unmap(start + size, size)
        driver.mem_release(handle)
        driver.mem_release(imported)
        driver.mem_address_free(start, 2 * size)


def test_handles_for_another_process(gpu: Gpu) -> None:
    memory, event = driver.IpcMemHandle(), driver.IpcEventHandle()
    driver.ipc_get_mem_handle(memory, gpu.alloc(1 << 20))
    flags = driver.EventFlags.INTERPROCESS | driver.EventFlags.DISABLE_TIMING
    shared = driver.event_create(flags)
    try:
        driver.ipc_get_event_handle(event, shared)
        # The process that made it cannot open it.
        with pytest.raises(driver.CUDAError, match="cuIpcOpenMemHandle"):
            driver.ipc_open_mem_handle(memory, driver.IpcMemFlags.LAZY_ENABLE_PEER_ACCESS)
    finally:
        driver.event_destroy(shared)
    assert len(bytes(memory)) == len(bytes(event)) == 64
    assert bytes(memory) != bytes(64) != bytes(event)
    with pytest.raises(ValueError, match="63 bytes, but the C struct has 64"):
        driver.ipc_open_event_handle(bytes(63))
