"""`gpumath.bindings.driver` without a GPU: names, errors, and the enums' values."""

from __future__ import annotations

import ctypes
import inspect

import pytest

from gpumath.bindings import driver, errors
from tests.helpers.cuda_wheels import driver_cuda_major


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (driver.init, ["flags"]),
        (driver.device_get_count, []),
        (driver.mem_alloc, ["bytesize"]),
        (driver.stream_create, ["flags"]),
        (driver.event_elapsed_time, ["h_start", "h_end"]),
        (driver.device_get_attribute, ["attrib", "dev"]),
        (driver.pointer_get_attribute, ["data", "attribute", "ptr"]),
    ],
)
def test_outputs_are_no_parameters(function: object, parameters: list[str]) -> None:
    signature = inspect.signature(function)  # type: ignore[arg-type]  # a builtin
    assert list(signature.parameters) == parameters


def test_statuses_have_the_numbers_of_cuda() -> None:
    # From the driver's documentation; the generator read them from cuda.h.
    expected = {
        "SUCCESS": 0,
        "INVALID_VALUE": 1,
        "OUT_OF_MEMORY": 2,
        "NOT_INITIALIZED": 3,
        "NO_DEVICE": 100,
        "INVALID_CONTEXT": 201,
        "INVALID_HANDLE": 400,
        "NOT_READY": 600,
        "ILLEGAL_ADDRESS": 700,
        "UNKNOWN": 999,
    }
    assert {name: driver.Result[name] for name in expected} == expected
    assert driver.DeviceAttribute.COMPUTE_CAPABILITY_MAJOR == 75
    assert driver.MemPoolAttribute.RELEASE_THRESHOLD == 4
    assert driver.StreamFlags.NON_BLOCKING == 1
    assert driver.EventFlags.BLOCKING_SYNC | driver.EventFlags.DISABLE_TIMING == 3


def test_no_driver_is_a_clear_error() -> None:
    if driver_cuda_major() is not None:
        pytest.skip("libcuda.so.1 is here")
    with pytest.raises(errors.LibraryNotFoundError, match="driver") as caught:
        driver.init(0)
    assert caught.value.library == "driver"
    assert caught.value.fix


def test_version_is_that_of_the_driver() -> None:
    if driver_cuda_major() is None:
        pytest.skip("there is no libcuda.so.1")
    cell = ctypes.c_int(0)
    assert ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(cell)) == 0
    assert driver.driver_get_version() == cell.value
    assert driver.get_error_name(2) == "CUDA_ERROR_OUT_OF_MEMORY"


def test_check_status() -> None:
    assert driver.check_status(0) is None
    with pytest.raises(errors.CUDAError, match="OUT_OF_MEMORY") as caught:
        driver.check_status(2)
    assert caught.value.status is driver.Result.OUT_OF_MEMORY


@pytest.mark.gpu
def test_memory_streams_and_events_work_together() -> None:
    driver.init(0)
    device = driver.device_get(0)
    context = driver.device_primary_ctx_retain(device)
    driver.ctx_push_current(context)
    try:
        free, total = driver.mem_get_info()
        assert 0 < free <= total
        stream = driver.stream_create(driver.StreamFlags.NON_BLOCKING)
        start, end = driver.event_create(0), driver.event_create(0)
        size = 1 << 20
        address = driver.mem_alloc_async(size, stream)
        host = (ctypes.c_ubyte * size)()
        driver.event_record(start, stream)
        driver.memset_d8_async(address, 0xA5, size, stream)
        driver.event_record(end, stream)
        driver.memcpy_dtoh_async(ctypes.addressof(host), address, size, stream)
        driver.mem_free_async(address, stream)
        driver.stream_synchronize(stream)
        assert bytes(host) == b"\xa5" * size
        assert driver.event_elapsed_time(start, end) > 0
        name = (ctypes.c_char * 100)()
        driver.device_get_name(ctypes.addressof(name), 100, device)
        assert name.value
        with pytest.raises(errors.CUDAError) as caught:
            driver.device_get(10_000)
        assert caught.value.status is driver.Result.INVALID_DEVICE
        driver.event_destroy(start)
        driver.event_destroy(end)
        driver.stream_destroy(stream)
    finally:
        assert driver.ctx_pop_current() == context
        driver.device_primary_ctx_release(device)
