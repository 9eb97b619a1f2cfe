"""Several GPUs: plans follow their operand, and the current device stays what it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core, driver, errors
from tests.helpers.operands import library, numpy_of
from tests.helpers.processes import assert_quiet, start
from tests.helpers.references import assert_close, random_values

pytestmark = pytest.mark.gpu

# A prime length, for which cuFFT needs a workspace.
SHAPE = (8, 4099)
LIBRARIES = ["cupy", "torch", "gpumath"]


@pytest.fixture(autouse=True)
def two_devices() -> None:
    if core.Device.count() < 2:
        pytest.skip("there is only one CUDA device")


def operand_on(name: str, values: np.ndarray, device_id: int) -> Any:
    if name == "cupy":
        cupy = library("cupy")
        with cupy.cuda.Device(device_id):
            return cupy.asarray(values)
    if name == "torch":
        return library("torch").from_numpy(values).to(f"cuda:{device_id}")
    array = core.Array(values.shape, values.dtype, device_id=device_id)
    core.copy(array.ptr, values.ctypes.data, values.nbytes, device_id=device_id)
    core.synchronize_stream(0, device_id=device_id)
    return array


def on_host(result: Any) -> np.ndarray:
    for ordinal in range(core.Device.count()):
        core.Device(ordinal).synchronize()
    if isinstance(result, memory.Array):
        values = np.empty(result.shape, result.dtype)
        device_id = result.device_id or 0
        core.copy(values.ctypes.data, result.ptr, values.nbytes, device_id=device_id)
        core.synchronize_stream(0, device_id=device_id)
        return values
    return numpy_of(result)


def current(name: str) -> tuple[Any, ...]:
    """Return the thread's driver context, and the library's current device."""
    devices: list[Any] = [driver.ctx_get_current()]
    if name == "cupy":
        devices.append(library("cupy").cuda.runtime.getDevice())
    if name == "torch":
        devices.append(library("torch").cuda.current_device())
    return tuple(devices)


@contextmanager
def current_device(name: str, device_id: int) -> Iterator[None]:
    """Make a device the library's current one; for gpumath, its context the driver's."""
    if name == "cupy":
        with library("cupy").cuda.Device(device_id):
            library("cupy").zeros(1)  # from now on the driver's context is this device's too
            yield
    elif name == "torch":
        with library("torch").cuda.device(device_id):
            library("torch").zeros(1, device="cuda")
            yield
    else:
        handle = driver.device_get(device_id)
        driver.ctx_push_current(driver.device_primary_ctx_retain(handle))
        try:
            yield
        finally:
            driver.ctx_pop_current()
            driver.device_primary_ctx_release(handle)


def stream_on(name: str, device_id: int) -> Any:
    if name == "cupy":
        cupy = library("cupy")
        with cupy.cuda.Device(device_id):
            return cupy.cuda.Stream(non_blocking=True)
    if name == "torch":
        return library("torch").cuda.Stream(device=device_id)
    return core.Stream(device_id)


def by_object(operand: Any, **keywords: Any) -> Any:
    stream = keywords.pop("stream", None)
    with fft.FFT(operand, axes=[1], **keywords) as transform:
        transform.plan()
        transform.execute(stream=stream)
        transform.reset_operand(operand)
        return transform.execute(stream=stream)


def by_function(operand: Any, **keywords: Any) -> Any:
    return fft.fft(operand, axes=[1], **keywords)


FORMS = {"function": by_function, "object": by_object}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("name", LIBRARIES)
def test_plans_follow_the_operand(name: str, form: Callable[..., Any]) -> None:
    values = [random_values(SHAPE, np.complex64) for _ in range(2)]
    operands = [operand_on(name, values[device_id], device_id) for device_id in range(2)]
    streams = [stream_on(name, device_id) for device_id in range(2)]
    for current_id in (0, 1):
        with current_device(name, current_id):
            before = current(name)
            for device_id in (0, 1, 1, 0):
                for stream in (None, streams[device_id]):
                    result = form(operands[device_id], stream=stream)
                    assert current(name) == before
                    assert core.TensorView(result).device_id == device_id
                    got = on_host(result)
                    assert_close(got, values[device_id], "C2C", (1,))
                    assert current(name) == before


class Refusing:
    """A memory manager without memory."""

    def memalloc(self, size: int) -> Any:
        msg = f"no {size} bytes"
        raise MemoryError(msg)


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_current_device_is_the_same_after_an_error(name: str) -> None:
    values = random_values(SHAPE, np.complex64)
    operand = operand_on(name, values, 1)
    failures: list[tuple[Any, Callable[[], object]]] = [
        (MemoryError, lambda: by_function(operand, options={"allocator": Refusing()})),
        (MemoryError, lambda: by_object(operand, options={"allocator": Refusing()})),
        (ValueError, lambda: fft.fft(operand, axes=[5])),
        (RuntimeError, lambda: fft.rfft(operand)),
        (errors.NoDeviceError, lambda: core.Stream(core.Device.count())),
        (errors.OutOfMemoryError, lambda: core.allocate(1 << 50, device_id=1)),
        (
            errors.OutOfMemoryError,
            lambda: core.Array(1 << 50, "uint8", device_id=1, kind="managed"),
        ),
    ]
    for current_id in (0, 1):
        with current_device(name, current_id):
            before = current(name)
            for error, fail in failures:
                with pytest.raises(error):
                    fail()
                assert current(name) == before
            assert_close(on_host(by_function(operand)), values, "C2C", (1,))
            assert current(name) == before


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_thread_without_a_context(name: str, form: Callable[..., Any]) -> None:
    values = random_values(SHAPE, np.complex64)
    operand = operand_on(name, values, 1)
    seen: list[Any] = []

    def work() -> None:
        contexts = [driver.ctx_get_current()]
        result = form(operand)
        contexts.append(driver.ctx_get_current())
        seen.extend([contexts, core.TensorView(result).device_id, on_host(result)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    contexts, device_id, got = seen
    assert contexts[0] == 0
    # PyTorch and CuPy may make a context current where they allocate; gpumath makes none.
    if name == "gpumath":
        assert contexts[1] == 0
    assert device_id == 1
    assert_close(got, values, "C2C", (1,))


@pytest.mark.parametrize("name", LIBRARIES)
def test_threads_on_both_devices(name: str) -> None:
    values = [random_values(SHAPE, np.complex64) for _ in range(2)]
    operands = [operand_on(name, values[device_id], device_id) for device_id in range(2)]
    failures: list[object] = []

    def work(number: int) -> None:
        try:
            manager = nullcontext() if name == "gpumath" else current_device(name, number % 2)
            with manager:
                for count in range(200):
                    device_id = (number + count // 5) % 2
                    form = FORMS["object" if count % 3 == 0 else "function"]
                    result = form(operands[device_id])
                    assert core.TensorView(result).device_id == device_id
                    if count % 20 == 0:
                        assert_close(on_host(result), values[device_id], "C2C", (1,))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_no_context_is_made_on_other_devices() -> None:
    assert_quiet(start("several_devices_gpu.no_context_is_made_on_other_devices"), "0 0\n")


def test_host_operands_on_each_device_and_host_threads() -> None:
    values = random_values(SHAPE, np.complex64)
    before = driver.ctx_get_current()
    for device_id in (0, 1, 0):
        execution = fft.ExecutionCUDA(device_id=device_id)
        assert_close(by_function(values, execution=execution), values, "C2C", (1,))
        assert_close(by_object(values, execution=execution), values, "C2C", (1,))
        assert driver.ctx_get_current() == before
