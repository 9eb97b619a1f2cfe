"""Kernels that fail, waits that are interrupted, and memory that runs out."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpumath import fft, memory
from gpumath.bindings import core, driver, errors, runtime
from tests.helpers.device_uses import DeviceObjects, cpu_error, heard
from tests.helpers.hard_kernels import Kernels
from tests.helpers.references import assert_close, random_values
from tests.programs.support.entry import main

kernels = Kernels()
stream = core.Stream()

# What hears of an error first.
FIRST: dict[str, Callable[[core.Event], object]] = {
    "stream": lambda event: stream.synchronize(),
    "stream, come what may": lambda event: core.synchronize_stream(stream, interruptible=False),
    "event": lambda event: event.synchronize(),
    "device": lambda event: core.Device(0).synchronize(),
    "driver": lambda event: driver.ctx_synchronize(),
    "runtime": lambda event: runtime.device_synchronize(),
}


def after_a_kernel_that_failed(kernel: str, first: str) -> Any:
    """Return what hears of the failure first, what later uses hear, and the error on the CPU."""
    objects = DeviceObjects()
    core.Device(0).synchronize()
    kernels.fail(kernel, stream)
    event = stream.record()
    answer = heard(lambda: FIRST[first](event))
    later = {name: heard(use) for name, use in objects.uses().items()}
    error = cpu_error()
    vars(objects).clear()
    gc.collect()
    core.plan_cache_clear()
    return answer, later, error


def other_libraries_do_not_hide_it() -> None:
    import torch

    operand = torch.ones(8, 16, dtype=torch.complex64, device="cuda")
    transform = fft.FFT(operand, axes=[1])
    transform.plan()
    transform.execute()
    kernels.fail("unmapped", stream)
    first = heard(stream.synchronize)
    print(json.dumps([first, heard(lambda: fft.FFT(operand, axes=[0])), heard(transform.free)]))
    sys.stdout.flush()
    os._exit(0)  # PyTorch's own destructors may complain


class Interrupted:
    """Three more seconds of work on the stream, and Ctrl-C, which comes once a wait has begun."""

    def __init__(self) -> None:
        self.values = random_values((16, 1000), np.complex64)
        self.operand = memory.empty((16, 1000), "complex64", stream=stream)
        values = self.values
        core.copy(self.operand.ptr, values.ctypes.data, values.nbytes, stream=stream)
        self.managed = memory.empty((16, 1000), "complex64", kind="managed", stream=stream)
        fft.fft(self.operand, axes=[1], stream=stream)
        stream.synchronize()
        kernels.spin(stream, 3)
        self.event = stream.record()
        # A process in the background ignores Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()


WAITS: dict[str, Callable[[Interrupted], object]] = {
    "stream": lambda work: stream.synchronize(),
    "handle": lambda work: core.synchronize_stream(stream.handle),
    "event": lambda work: work.event.synchronize(),
    "device": lambda work: core.Device(0).synchronize(),
    "managed array": lambda work: np.from_dlpack(work.managed, device="cpu"),
    "blocking": lambda work: fft.fft(
        work.operand, axes=[1], stream=stream, options={"blocking": True}
    ),
    # What must not be left: somebody frees memory next that the work uses.
    "asked for": lambda work: core.synchronize_stream(stream, interruptible=False),
    "transfer": lambda work: fft.fft(work.values, axes=[1], execution="cuda", stream=stream),
}


def ctrl_c_ends_a_wait(wait: str) -> None:
    work = Interrupted()
    try:
        WAITS[wait](work)
    except KeyboardInterrupt:
        assert not work.event.query()
    else:
        raise AssertionError("not interrupted")
    WAITS[wait](work)
    assert work.event.query()
    assert np.asarray(kernels.array)[0] == 1
    result = fft.fft(work.operand, axes=[1], stream=stream)
    back = np.empty((16, 1000), np.complex64)
    core.copy(back.ctypes.data, result.ptr, back.nbytes, stream=stream)
    stream.synchronize()
    assert_close(back, work.values, "C2C", (1,))


def ctrl_c_waits_for_the_work(wait: str) -> None:
    work = Interrupted()
    try:
        WAITS[wait](work)
        for _ in range(1000):
            pass  # here the interpreter looks for signals
    except KeyboardInterrupt:
        assert work.event.query()
    else:
        raise AssertionError("not interrupted")
    stream.synchronize()
    assert_close(fft.fft(work.values, axes=[1], execution="cuda"), work.values, "C2C", (1,))


# The device's memory, all of it.
blocks: list[int] = []


def fill() -> None:
    for size in (1 << 30, 1 << 26, 1 << 22, 1 << 20, 1 << 12):
        try:
            while True:
                blocks.append(driver.mem_alloc(size))
        except errors.CUDAError as error:
            assert error.status is driver.Result.OUT_OF_MEMORY


def empty() -> None:
    while blocks:
        driver.mem_free(blocks.pop())


def check(length: int) -> None:
    values = random_values((4, length), np.complex64)
    assert_close(fft.fft(values, axes=[1], execution="cuda"), values, "C2C", (1,))


def no_memory_for_a_plan() -> None:
    check(1000)
    kept = core.FftPlan(np.ones((4, 512), np.complex64), axes=[1], execution="cuda", cached=False)
    data = core.allocate(kept.workspace_size + 2 * 4 * 512 * 8 + 1024)
    output = data.device_ptr + 4 * 512 * 8
    workspace = (output + 4 * 512 * 8 + 255) // 256 * 256
    kept.execute(data.device_ptr, output, workspace=workspace)
    core.synchronize_stream(0)
    fill()
    # For some of these, primes among them, cuFFT keeps tables on the device.
    lengths = [16_777_259, 1 << 24, 10_000_019, 3**14, 1_000_003]
    refused = []
    for length in lengths:
        for cached in (True, False):
            try:
                core.FftPlan(np.ones(length, np.complex64), execution="cuda", cached=cached)
            except errors.OutOfMemoryError as error:
                assert isinstance(error, MemoryError)
                assert core.plan_cache_info().size == 0
                refused.append(length)
    assert refused, "every plan found memory: choose other lengths"
    kept.execute(data.device_ptr, output, workspace=workspace)
    core.synchronize_stream(0)
    empty()
    for length in lengths:
        core.FftPlan(np.ones(length, np.complex64), execution="cuda")
    check(1000)
    check(4099)


def no_memory_for_the_first_plan_of_a_process() -> None:
    core.Device(0).synchronize()
    fill()
    for length in (4099, 1000):
        with contextlib.suppress(errors.OutOfMemoryError):
            core.FftPlan(np.ones(length, np.complex64), execution="cuda")
    empty()
    check(1000)
    check(4099)


def no_memory_for_a_result_or_a_workspace() -> None:
    check(1000)
    operand = memory.empty((16, 1 << 20), "complex64")
    core.Device(0).synchronize()
    small = random_values((16, 1 << 20), np.complex64)
    core.copy(operand.ptr, small.ctypes.data, small.nbytes)
    transform = fft.FFT(operand, axes=[1])
    transform.plan()
    host = fft.FFT(small, axes=[1], execution="cuda")
    host.plan()
    fill()
    for _ in range(2):
        for run in (transform.execute, host.execute, lambda: fft.fft(operand, axes=[1])):
            try:
                run()
            except errors.OutOfMemoryError as error:
                assert "memory left" in str(error)
            else:
                raise AssertionError("there was memory")
    empty()
    assert_close(host.execute(), small, "C2C", (1,))
    result = transform.execute()
    back = np.empty_like(small)
    core.copy(back.ctypes.data, result.ptr, back.nbytes)
    core.synchronize_stream(0)
    assert_close(back, small, "C2C", (1,))


if __name__ == "__main__":
    main(globals())
