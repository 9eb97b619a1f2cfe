"""One transform, or a batch of them, on several GPUs together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core, driver, errors
from tests.helpers.operands import library, numpy_of
from tests.helpers.processes import assert_quiet, start
from tests.helpers.references import assert_close, hermitian_values, random_values

pytestmark = pytest.mark.gpu

BOTH = fft.ExecutionCUDA(device_ids=[0, 1])
FUNCTIONS = {"C2C": fft.fft, "R2C": fft.rfft, "C2R": fft.irfft}
# Points that do not divide by two, prime ones too, where cuFFT spreads them.
ALONE = {1: (1 << 12,), 2: (75, 96), 3: (37, 45, 50)}
ODD = {1: (1 << 12,), 2: (96, 75), 3: (50, 37, 45)}
BATCHES = {1: (5, 101), 2: (3, 20, 33), 3: (2, 2, 6, 7, 9)}
PLACES = [
    ("numpy", None),
    ("torch", None),
    *((name, device) for name in ("cupy", "torch", "gpumath") for device in (0, 1)),
]


@pytest.fixture(autouse=True)
def two_devices() -> None:
    if core.Device.count() < 2:
        pytest.skip("there is only one CUDA device")


def operand_of(values: np.ndarray, name: str, device_id: int | None) -> Any:
    if name == "numpy":
        return values
    if name == "torch":
        tensor = library("torch").from_numpy(values)
        return tensor if device_id is None else tensor.to(f"cuda:{device_id}")
    if name == "cupy":
        cupy = library("cupy")
        with cupy.cuda.Device(device_id):
            return cupy.asarray(values)
    array = core.Array(values.shape, values.dtype, device_id=device_id)
    core.copy(array.ptr, values.ctypes.data, values.nbytes, device_id=device_id)
    core.synchronize_stream(0, device_id=device_id)
    return array


def on_host(result: Any) -> np.ndarray:
    """Copy of a result, which is complete: nothing is waited for."""
    if not isinstance(result, memory.Array):
        return numpy_of(result)
    values = np.empty(result.shape, result.dtype)
    device_id = result.device_id or 0
    core.copy(values.ctypes.data, result.ptr, values.nbytes, device_id=device_id)
    core.synchronize_stream(0, device_id=device_id)
    return values


def operand_values(
    kind: str, points: tuple[int, ...], axes: tuple[int, ...], double: bool
) -> tuple[np.ndarray, bool]:
    """Operand of a transform of these points, and whether the last axis of a C2R one is odd."""
    complex_type = np.complex128 if double else np.complex64
    if kind == "C2C":
        return random_values(points, complex_type), False
    if kind == "R2C":
        return random_values(points, np.float64 if double else np.float32), False
    odd = points[-1] % 2 == 1
    half = (*points[:-1], points[-1] // 2 + 1)
    return hermitian_values(half, axes, complex_type, odd), odd


def by_function(
    operand: Any, kind: str, axes: tuple[int, ...], odd: bool, execution: fft.ExecutionCUDA
) -> Any:
    options = {"last_axis_parity": "odd" if odd else "even"}
    return FUNCTIONS[kind](operand, axes=axes, options=options, execution=execution)


def by_object(
    operand: Any, kind: str, axes: tuple[int, ...], odd: bool, execution: fft.ExecutionCUDA
) -> Any:
    options = {"fft_type": kind, "last_axis_parity": "odd" if odd else "even"}
    with fft.FFT(operand, axes=axes, options=options, execution=execution) as transform:
        transform.plan()
        transform.execute()
        transform.reset_operand(operand)
        return transform.execute()


FORMS = {"function": by_function, "object": by_object}


def check(
    form: Callable[..., Any],
    kind: str,
    points: tuple[int, ...],
    rank: int,
    double: bool,
    place: Any,
    execution: fft.ExecutionCUDA = BOTH,
) -> None:
    axes = tuple(range(len(points) - rank, len(points)))
    values, odd = operand_values(kind, points, axes, double)
    operand = operand_of(values, *place)
    before = core.TensorView(operand)
    kept = values.copy()
    for _ in range(2):
        result = form(operand, kind, axes, odd, execution)
        assert type(result) is type(operand)
        assert core.TensorView(result).device_id == before.device_id == place[1]
        assert_close(on_host(result), values, kind, axes, odd=odd)
        assert np.array_equal(on_host(operand), kept)


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_alone(kind: str, rank: int, double: bool, place: Any) -> None:
    if kind != "C2C" and rank == 1:
        with pytest.raises(ValueError, match="complex numbers to complex numbers only"):
            check(by_function, kind, ALONE[rank], rank, double, place)
        return
    for form in FORMS.values():
        check(form, kind, ALONE[rank], rank, double, place)
        check(form, kind, ODD[rank], rank, double, place)


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_batches(kind: str, rank: int, double: bool, place: Any) -> None:
    for form in FORMS.values():
        check(form, kind, BATCHES[rank], rank, double, place)


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("points", [(1 << 10,), (40, 64), (64, 32, 35), (7, 11)], ids=str)
def test_back_in_place_and_out(points: tuple[int, ...], place: Any) -> None:
    axes = (1,) if points == (7, 11) else tuple(range(len(points)))
    values = random_values(points, np.complex64)
    operand = operand_of(values.copy(), *place)
    target = operand_of(np.zeros_like(values), *place)
    assert fft.ifft(operand, axes=axes, execution=BOTH, out=target) is target
    assert_close(on_host(target), values, "C2C", axes, inverse=True)
    assert fft.fft(operand, axes=axes, execution=BOTH, options={"inplace": True}) is operand
    assert_close(on_host(operand), values, "C2C", axes)


@pytest.mark.parametrize("ordinals", [(2, 0), (0, 1, 2), (3, 1, 2, 0)], ids=str)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_other_devices(kind: str, rank: int, ordinals: tuple[int, ...]) -> None:
    if (count := core.Device.count()) <= max(ordinals):
        pytest.skip(f"there are only {count} CUDA devices")
    execution = fft.ExecutionCUDA(device_ids=ordinals)
    first, last = ordinals[0], ordinals[-1]
    # The second batch has fewer transforms than there are devices.
    few = BATCHES[rank][-rank:]
    for place in (("numpy", None), ("torch", last), ("cupy", first), ("gpumath", last)):
        for form in FORMS.values():
            for points in (BATCHES[rank], (2, *few), (8, *few)):
                check(form, kind, points, rank, True, place, execution)
            if rank == 1 and (kind != "C2C" or len(ordinals) == 3):
                with pytest.raises(ValueError, match=r"complex numbers only|2, 4, 8 or 16 devices"):
                    check(form, kind, ALONE[rank], rank, False, place, execution)
                continue
            check(form, kind, ALONE[rank], rank, False, place, execution)
            check(form, kind, ODD[rank], rank, True, place, execution)


def test_the_order_of_the_devices() -> None:
    values = random_values((33, 40, 34), np.complex64)
    for devices in ([1, 0], [0, 1]):
        result = fft.fft(values, execution=fft.ExecutionCUDA(device_ids=devices))
        assert_close(result, values, "C2C", (0, 1, 2))


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_the_stream_is_waited_for(name: str) -> None:
    module = library(name)
    values = random_values((256, 256, 64), np.complex64)
    for device_id in (0, 1):
        operand = operand_of(values, name, device_id)
        for _ in range(5):
            if name == "cupy":
                with module.cuda.Device(device_id):
                    stream = module.cuda.Stream(non_blocking=True)
                    with stream:
                        made = operand * 1
                        for _ in range(50):
                            made = made * 1
                        by_current = fft.fft(made, execution=BOTH)
                        made *= 0
            else:
                stream = module.cuda.Stream(device=device_id)
                stream.wait_stream(module.cuda.current_stream(device_id))
                with module.cuda.stream(stream):
                    made = operand * 1
                    for _ in range(50):
                        made = made * 1
                    by_current = fft.fft(made, execution=BOTH)
                    made *= 0
            assert_close(on_host(by_current), values, "C2C", (0, 1, 2))
        result = fft.fft(operand, execution=BOTH, stream=stream)
        assert_close(on_host(result), values, "C2C", (0, 1, 2))


@pytest.mark.parametrize("current_id", [None, 0, 1])
def test_the_current_device_stays(current_id: int | None) -> None:
    cupy = library("cupy")
    alone, batch = random_values((40, 64), np.complex64), random_values((4, 30), np.complex64)
    if current_id is not None:
        driver.ctx_push_current(driver.device_primary_ctx_retain(driver.device_get(current_id)))
    try:
        before = driver.ctx_get_current(), cupy.cuda.runtime.getDevice()
        for values, axes in ((alone, (0, 1)), (batch, (1,))):
            core.plan_cache_clear()
            for _ in range(2):
                assert_close(fft.fft(values, axes=axes, execution=BOTH), values, "C2C", axes)
                assert (driver.ctx_get_current(), cupy.cuda.runtime.getDevice()) == before
            with pytest.raises(ValueError, match="device_ids"):
                fft.fft(alone[:31], execution=BOTH)
            assert (driver.ctx_get_current(), cupy.cuda.runtime.getDevice()) == before
        core.plan_cache_clear()
        assert (driver.ctx_get_current(), cupy.cuda.runtime.getDevice()) == before
    finally:
        if current_id is not None:
            driver.ctx_pop_current()
            driver.device_primary_ctx_release(driver.device_get(current_id))


def free_memory() -> np.ndarray:
    for device_id in range(2):
        core.Device(device_id).synchronize()
    return np.array([core.Device(device_id).memory_info()[0] for device_id in range(2)])


@pytest.mark.parametrize("planned", ["once", "each time"])
def test_memory_of_both_devices_stays(planned: str) -> None:
    # 64 MiB each, so that a leak of one execution is seen.
    cases = [((1 << 23,), (0,)), ((128, 256, 256), (0, 1, 2)), ((4, 1 << 21), (1,))]
    operands = [(random_values(points, np.complex64), axes) for points, axes in cases]

    def run() -> None:
        for values, axes in operands:
            fft.fft(values, axes=axes, execution=BOTH)
        if planned == "each time":
            core.plan_cache_clear()

    for _ in range(3):
        run()
    before = free_memory()
    for _ in range(50):
        run()
    assert (free_memory() >= before - (32 << 20)).all()


def test_errors_leave_nothing_behind() -> None:
    values = random_values((64, 64, 64), np.complex64)
    fft.fft(values, execution=BOTH)
    before = free_memory()
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (values[:31], {}),
        (values[:, :, :20], {}),
        (values.T, {}),
        (values, {"axes": [0, 1]}),
        (random_values((100,), np.complex64), {}),
        (random_values((32, 8209), np.complex64), {}),
        (values, {"options": {"memory_limit": 1000}}),
        (values, {"out": np.empty((64, 64, 65), np.complex64)}),
    ]
    for operand, keywords in wrong:
        for _ in range(10):
            with pytest.raises((ValueError, errors.OutOfMemoryError)):
                fft.fft(operand, execution=BOTH, **keywords)
    assert (free_memory() >= before - (4 << 20)).all()
    assert_close(fft.fft(values, execution=BOTH), values, "C2C", (0, 1, 2))


def test_devices_that_are_not_there() -> None:
    count = core.Device.count()
    with pytest.raises(errors.NoDeviceError, match=f"sees {count} CUDA devices"):
        fft.fft(
            np.ones((64, 64), np.complex64), execution={"name": "cuda", "device_ids": [0, count]}
        )


def test_a_captured_stream_is_refused() -> None:
    cupy = library("cupy")
    operand = operand_of(random_values((64, 64), np.complex64), "cupy", 0)
    fft.fft(operand, execution=BOTH)
    with cupy.cuda.Device(0):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            try:
                with pytest.raises(errors.InvalidStateError, match="captured"):
                    fft.fft(operand, execution=BOTH)
            finally:
                stream.end_capture()


def test_threads() -> None:
    """Each thread has its own plans, which are destroyed when it ends, while others transform."""
    assert_quiet(start("several_devices_gpu.threads"), "630 True\n")


def test_exit_with_a_plan_and_an_object() -> None:
    assert_quiet(start("several_devices_gpu.exit_with_a_plan_and_an_object"), "(4096+0j)\n")
