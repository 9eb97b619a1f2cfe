"""Devices, contexts, streams, events and host functions, by the raw driver on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

from gpumath.bindings import driver
from tests.helpers.gpu_driver import Gpu, address_of, fetched

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    gpu = Gpu()
    yield gpu
    gpu.close()


def test_a_device_is_found_again_by_its_bus_id(gpu: Gpu) -> None:
    text = bytearray(32)
    driver.device_get_pci_bus_id(text, len(text), gpu.device)
    assert driver.device_get_by_pci_bus_id(text.split(b"\0")[0].decode()) == gpu.device
    with pytest.raises(ValueError, match="has 16 bytes, but the call writes 32"):
        driver.device_get_pci_bus_id(bytearray(16), 32, gpu.device)


def test_two_ways_to_a_property_agree(gpu: Gpu) -> None:
    properties = driver.DevProp()
    driver.device_get_properties(properties, gpu.device)
    assert properties.max_threads_per_block == gpu.attribute("MAX_THREADS_PER_BLOCK")
    assert list(properties.max_threads_dim) == [
        gpu.attribute(f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ"
    ]
    assert driver.device_compute_capability(gpu.device) == (
        gpu.attribute("COMPUTE_CAPABILITY_MAJOR"),
        gpu.attribute("COMPUTE_CAPABILITY_MINOR"),
    )
    _, total = driver.mem_get_info()
    assert total <= driver.device_total_mem(gpu.device)


def test_uuid_and_name_and_limits_of_textures(gpu: Gpu) -> None:
    uuid, same = driver.Uuid(), driver.Uuid()
    driver.device_get_uuid(uuid, gpu.device)
    driver.device_get_uuid_v2(same, gpu.device)
    assert bytes(uuid) == bytes(same) != bytes(16)
    elements = driver.device_get_texture1d_linear_max_width(driver.ArrayFormat.FLOAT, 1, gpu.device)
    assert elements > 2**20


def test_driver_functions_have_addresses() -> None:
    address, status = driver.get_proc_address("cuMemAlloc", 12000, 0)
    assert address > 2**16
    assert status == driver.DriverProcAddressQueryResult.SUCCESS


def test_contexts_of_their_own(gpu: Gpu) -> None:
    flags = driver.CtxFlags.SCHED_YIELD
    contexts = [
        driver.ctx_create(0, flags, gpu.device),
        driver.ctx_create_v2(flags, gpu.device),
        driver.ctx_create_v3(0, 0, flags, gpu.device),
    ]
    try:
        assert driver.ctx_get_current() == contexts[2]
        assert driver.ctx_get_device() == gpu.device
        assert driver.ctx_get_flags() & driver.CtxFlags.SCHED_MASK == flags
        assert driver.ctx_get_api_version(contexts[2]) > 3000
        assert len({driver.ctx_get_id(c) for c in [gpu.context, *contexts]}) == 4
        old = driver.ctx_get_limit(driver.Limit.PRINTF_FIFO_SIZE)
        driver.ctx_set_limit(driver.Limit.PRINTF_FIFO_SIZE, 2 * old)
        assert driver.ctx_get_limit(driver.Limit.PRINTF_FIFO_SIZE) >= 2 * old
        driver.ctx_set_cache_config(driver.FuncCache.PREFER_L1)
        assert driver.ctx_get_cache_config() in list(driver.FuncCache)
        with pytest.raises(driver.CUDAError) as caught:
            driver.ctx_set_limit(1000, 1)
        assert caught.value.status in (
            driver.Result.UNSUPPORTED_LIMIT,
            driver.Result.INVALID_VALUE,
        )
        driver.ctx_reset_persisting_l2_cache()
    finally:
        for context in reversed(contexts):
            driver.ctx_destroy(context)
    assert driver.ctx_get_current() == gpu.context


def test_streams_remember_how_they_were_made(gpu: Gpu) -> None:
    least, greatest = driver.ctx_get_stream_priority_range()
    assert greatest <= least
    flags = driver.StreamFlags.NON_BLOCKING
    stream, other = driver.stream_create_with_priority(flags, greatest), gpu.stream()
    try:
        assert driver.stream_get_priority(stream) == greatest
        assert driver.stream_get_flags(stream) == flags
        assert driver.stream_get_ctx(stream) == gpu.context
        assert driver.stream_get_id(stream) != driver.stream_get_id(other)
        value, copy = driver.LaunchAttributeValue(), driver.LaunchAttributeValue()
        attribute = driver.StreamAttrID.SYNCHRONIZATION_POLICY
        value.sync_policy = driver.SynchronizationPolicy.BLOCKING_SYNC
        driver.stream_set_attribute(stream, attribute, value)
        driver.stream_copy_attributes(other, stream)
        driver.stream_get_attribute(other, attribute, copy)
        assert copy.sync_policy == driver.SynchronizationPolicy.BLOCKING_SYNC
    finally:
        driver.stream_destroy(stream)


def test_what_newer_drivers_say_about_a_stream(gpu: Gpu) -> None:
    if driver.driver_get_version() < 12080:
        pytest.skip("the driver is older than CUDA 12.8")
    stream = gpu.stream()
    assert driver.stream_get_device(stream) == gpu.device
    context, green = driver.stream_get_ctx_v2(stream)
    assert (context, green) == (gpu.context, 0)


def test_a_stream_waits_for_a_value_that_another_writes(gpu: Gpu) -> None:
    waiting, writing = gpu.stream(), gpu.stream()
    flag, result = gpu.copied(np.zeros(2, np.uint64)), gpu.copied(np.zeros(4, np.uint32))
    done = driver.event_create(driver.EventFlags.DISABLE_TIMING)
    try:
        driver.stream_wait_value32(waiting, flag, 5, driver.StreamWaitValueFlags.GEQ)
        driver.memset_d32_async(result, 0xDEADBEEF, 4, waiting)
        driver.stream_wait_value64(waiting, flag + 8, 2**40, driver.StreamWaitValueFlags.EQ)
        driver.event_record(done, waiting)
        for query, handle in [(driver.event_query, done), (driver.stream_query, waiting)]:
            with pytest.raises(driver.CUDAError) as caught:
                query(handle)
            assert caught.value.status is driver.Result.NOT_READY
    finally:  # or else the stream waits for ever
        driver.stream_write_value32(writing, flag, 6, driver.StreamWriteValueFlags.DEFAULT)
        driver.stream_write_value64(writing, flag + 8, 2**40, 0)
        driver.event_synchronize(done)
        driver.event_query(done)
        driver.event_destroy(done)
    assert fetched(result, 4, np.uint32).tolist() == [0xDEADBEEF] * 4


def test_several_memory_operations_at_once(gpu: Gpu) -> None:
    stream, target = gpu.stream(), gpu.copied(np.zeros(3, np.uint32))
    operations = driver.StreamBatchMemOpParams(2)
    for index, value in enumerate([11, 22]):
        operations[index].operation = driver.StreamBatchMemOpType.WRITE_VALUE_32
        operations[index].write_value_address = target + 8 * index
        operations[index].write_value_value = value
    driver.stream_batch_mem_op(stream, 2, operations, 0)
    driver.stream_synchronize(stream)
    assert fetched(target, 3, np.uint32).tolist() == [11, 0, 22]


def test_events_order_streams_and_measure(gpu: Gpu) -> None:
    first, second = gpu.stream(), gpu.stream()
    start, end = driver.event_create(0), driver.event_create(driver.EventFlags.BLOCKING_SYNC)
    size = 1 << 24
    source, target = gpu.alloc(size), gpu.alloc(size)
    driver.memset_d8(target, 0, size)
    driver.event_record_with_flags(start, first, driver.EventRecordFlags.DEFAULT)
    driver.memset_d8_async(source, 0x3C, size, first)
    driver.event_record(end, first)
    driver.stream_wait_event(second, end, driver.EventWaitFlags.DEFAULT)
    driver.memcpy_dtod_async(target, source, size, second)
    driver.stream_synchronize(second)
    assert (fetched(target, size, np.uint8) == 0x3C).all()
    elapsed = driver.event_elapsed_time(start, end)
    assert elapsed > 0
    if driver.driver_get_version() >= 12080:
        assert driver.event_elapsed_time_v2(start, end) == pytest.approx(elapsed, abs=0.01)
    driver.event_destroy(start)
    driver.event_destroy(end)


def test_host_functions_run_in_stream_order(gpu: Gpu) -> None:
    stream = gpu.stream()
    host = np.zeros(256, np.uint8)
    address = gpu.alloc(host.nbytes)
    driver.mem_host_register(host.ctypes.data, host.nbytes, 0)
    seen: list[tuple[str, int, int]] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def function(data: int) -> None:
        seen.append(("function", data, int(host[-1])))

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    def callback(queue: int, status: int, data: int) -> None:
        seen.append(("callback", data, status + int(host[-1])))

    try:
        driver.launch_host_func(stream, address_of(function), 1)
        driver.memset_d8_async(address, 9, host.nbytes, stream)
        driver.memcpy_dtoh_async(host.ctypes.data, address, host.nbytes, stream)
        driver.launch_host_func(stream, address_of(function), 2)
        driver.stream_add_callback(stream, address_of(callback), 3, 0)
        driver.stream_synchronize(stream)
        assert seen == [("function", 1, 0), ("function", 2, 9), ("callback", 3, 9)]
    finally:
        driver.mem_host_unregister(host.ctypes.data)


def test_capture_mode_of_a_thread_is_exchanged() -> None:
    driver.init(0)
    mode = ctypes.c_int(driver.StreamCaptureMode.RELAXED)
    driver.thread_exchange_stream_capture_mode(mode)
    before = mode.value
    driver.thread_exchange_stream_capture_mode(mode)
    assert mode.value == driver.StreamCaptureMode.RELAXED
    assert before == driver.StreamCaptureMode.GLOBAL


def test_a_part_of_the_multiprocessors(gpu: Gpu) -> None:
    if driver.driver_get_version() < 12050:
        pytest.skip("the driver is older than CUDA 12.5")
    whole, part, rest = driver.DevResource(), driver.DevResource(), driver.DevResource()
    driver.device_get_dev_resource(gpu.device, whole, driver.DevResourceType.SM)
    assert whole.type == driver.DevResourceType.SM
    assert whole.sm.sm_count == gpu.attribute("MULTIPROCESSOR_COUNT")
    count = ctypes.c_uint(1)
    driver.dev_sm_resource_split_by_count(part, count, whole, rest, 0, 8)
    assert count.value == 1
    assert 8 <= part.sm.sm_count < whole.sm.sm_count
    assert part.sm.sm_count + rest.sm.sm_count <= whole.sm.sm_count
    description = driver.dev_resource_generate_desc(part, 1)
    flags = driver.GreenCtxCreateFlags.DEFAULT_STREAM
    green = driver.green_ctx_create(description, gpu.device, flags)
    try:
        found = driver.DevResource()
        driver.green_ctx_get_dev_resource(green, found, driver.DevResourceType.SM)
        assert found.sm.sm_count == part.sm.sm_count
        stream = driver.green_ctx_stream_create(green, driver.StreamFlags.NON_BLOCKING, 0)
        assert driver.stream_get_green_ctx(stream) == green
        driver.stream_destroy(stream)
        assert driver.ctx_from_green_ctx(green) != gpu.context
    finally:
        driver.green_ctx_destroy(green)


def test_the_log_of_the_driver(gpu: Gpu) -> None:
    if driver.driver_get_version() < 12090:
        pytest.skip("the driver is older than CUDA 12.9")
    position = ctypes.c_uint(driver.logs_current(0))
    text, size = ctypes.create_string_buffer(b"\1" * 1024), ctypes.c_size_t(1024)
    with pytest.raises(driver.CUDAError):
        driver.module_load_data(b"neither PTX nor a cubin")
    driver.logs_dump_to_memory(position, text, size, 0)
    assert size.value <= 1024
    assert b"\1" not in text.raw[: size.value]
