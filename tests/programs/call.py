"""Calls of the bindings, where the recorder is cuFFT and the driver."""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import sys
import threading
from typing import Any

import numpy

from gpumath.bindings import cufft, driver, errors
from tests.programs.support.entry import main
from tests.programs.support.recording import record, recorder

c_array = (ctypes.c_int * 2)(300, 4)
c_text = ctypes.create_string_buffer(b"scale")
buffer = bytearray(b"\0\xff")
address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))


class Has:
    def __int__(self) -> int:
        return 41


class Bad:
    def __index__(self) -> int:
        return 1 // 0


# What the calls of the tests may name.
NAMES = {
    "array": array,
    "ctypes": ctypes,
    "numpy": numpy,
    "cufft": cufft,
    "driver": driver,
    "record": record,
    "c_array": c_array,
    "c_text": c_text,
    "buffer": buffer,
    "address": address,
    "Has": Has,
    "Bad": Bad,
}


def recorded(call: str) -> Any:
    """Return what C saw and what is returned; `call` is a function and its arguments."""
    return eval(f"record({call})", NAMES)


def refused(call: str) -> Any:
    """Return class and text of what a call raises, and what C saw of it."""
    try:
        eval(call, NAMES)
    except Exception as error:
        return type(error).__name__, str(error), recorder.recorder_text().decode()


def keywords_in_any_order() -> Any:
    calls = [
        lambda: driver.memset_d8_async(1, 2, 3, 4),
        lambda: driver.memset_d8_async(1, 2, h_stream=4, n=3),
        lambda: driver.memset_d8_async(n=3, h_stream=4, uc=2, dst_device=1),
    ]
    return [record(call)[0] for call in calls]


def results() -> Any:
    return [
        driver.mem_get_info(),
        driver.device_get_count(),
        driver.mem_alloc(8),
        driver.event_elapsed_time(0, 12),
        driver.get_error_name(driver.Result.OUT_OF_MEMORY),
        driver.mem_free(2**64 - 1),
        cufft.get_plan_property_int64(1, 2),
    ]


def text_and_data() -> Any:
    data = b".version 9.0"
    calls = [
        (driver.module_load_data, data),
        (driver.module_load_data, bytearray(data)),
        (driver.module_load_data, memoryview(b"x" + data)[1:]),
        (driver.module_load_data, ctypes.cast(data, ctypes.c_void_p).value),
        (driver.module_get_function, 9, "kernel_\u00b5"),
    ]
    return [record(*call) for call in calls]


def other_threads_run_during_a_call() -> Any:
    status = []

    def execute() -> None:
        try:
            cufft.exec_c2c(1, 0, 0, -1)
            status.append(0)
        except cufft.cuFFTError as error:
            status.append(int(error.status))

    cufft.get_version()
    thread = threading.Thread(target=execute)
    thread.start()
    recorder.recorder_release()
    thread.join()
    return status


def a_status_that_no_table_knows() -> Any:
    try:
        cufft.set_stream(1, 1000)
    except cufft.cuFFTError as error:
        result = [error.status, error.function, str(error)]
    return result


def an_absent_function_of_a_present_library() -> Any:
    try:
        cufft.destroy(1)
    except errors.FunctionNotFoundError as error:
        result = [error.function, error.symbol, error.path, error.since]
    return result


def nothing_is_leaked() -> Any:
    data, n, name = bytes(1000), [3, 4], "kernel"
    big = 2**70

    def work() -> None:
        cufft.estimate_many(2, n, 0, 1, 16, 0, 1, 16, 41, 3)
        driver.module_load_data(bytearray(b"x"))
        driver.module_load_data(data)
        driver.module_get_function(0, name=name)
        driver.mem_get_info()
        for bad in (
            lambda: driver.mem_free(big),
            lambda: cufft.set_stream(1, 7),
            lambda: cufft.xt_set_gpus(1, 2, n[:1]),
            lambda: driver.mem_free(name),
        ):
            with contextlib.suppress(Exception):
                bad()

    for _ in range(100):
        work()
    gc.collect()
    before = sys.getallocatedblocks(), [sys.getrefcount(x) for x in (data, n, name, big, None)]
    for _ in range(2000):
        work()
    gc.collect()
    after = sys.getallocatedblocks(), [sys.getrefcount(x) for x in (data, n, name, big, None)]
    return [after[0] - before[0], [a - b for a, b in zip(after[1], before[1], strict=True)]]


if __name__ == "__main__":
    main(globals())
