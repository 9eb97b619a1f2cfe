"""Operands in host memory, transformed on the GPU: the sizes at which copies change their way."""

from __future__ import annotations

import threading
from typing import Any, Literal

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core, driver, errors
from tests.helpers.captures import primary_context
from tests.helpers.failing_managers import AsyncManager, fail_everywhere
from tests.helpers.operands import STREAMS, stream_of
from tests.helpers.references import assert_close, random_values

pytestmark = pytest.mark.gpu

MIB = 1 << 20
# Of complex64: 8 bytes around the size from which ordinary memory is staged, and sizes around those
# of the buffers.
SHAPES = [
    (3591, 73),
    (4096, 64),
    (2405, 109),
    (8192, 64),
    (14_337, 64),
    (6141, 683),
    (65_536, 64),
    (133_121, 64),
]
COLUMNS = 64

Memory = Literal["pageable", "pinned", "host"]


def rows_for(count: int) -> np.ndarray:
    """Fresh rows that are cheap to check, with at least this many elements in all."""
    return random_values((-(-count // COLUMNS), COLUMNS), np.complex64)


def placed(values: np.ndarray, where: Memory) -> np.ndarray:
    """Copy of a NumPy array in memory of this kind."""
    if where == "pageable":
        return values.copy()
    own = np.asarray(memory.empty(values.shape, values.dtype, kind=where))
    own[...] = values
    return own


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", ["pageable", "pinned", "host"])
def test_every_size(shape: tuple[int, int], source: Memory) -> None:
    values = random_values(shape, np.complex64)
    operand = placed(values, source)
    for _ in range(2):
        assert_close(fft.fft(operand, axes=[1], execution="cuda"), values, "C2C", (1,))
    np.testing.assert_array_equal(operand, values)


@pytest.mark.parametrize("shift", [0, 1, 511, 4097])
@pytest.mark.parametrize("dtype", ["complex64", "float32"])
def test_starts_anywhere(shift: int, dtype: str) -> None:
    flat = random_values((5 * MIB // 4 + shift,), dtype)
    operand = flat[shift:].reshape(-1, COLUMNS)
    kind = "C2C" if dtype == "complex64" else "R2C"
    function = fft.fft if kind == "C2C" else fft.rfft
    result = function(operand, axes=[1], execution="cuda")
    assert_close(result, operand, kind, (1,))


@pytest.mark.parametrize("source", ["pageable", "pinned"])
@pytest.mark.parametrize("target", ["pageable", "pinned"])
@pytest.mark.parametrize("count", [1000, 5 * MIB])
def test_out(source: Memory, target: Memory, count: int) -> None:
    values = rows_for(count)
    operand, out = placed(values, source), placed(np.zeros_like(values), target)
    with fft.FFT(operand, axes=[1], execution="cuda") as transform:
        transform.plan()
        for direction in ("forward", "inverse"):
            assert transform.execute(out=out, direction=direction) is out
            assert_close(out, values, "C2C", (1,), inverse=direction == "inverse")


@pytest.mark.parametrize("count", [1000, 5 * MIB])
def test_memory_that_is_managed(count: int) -> None:
    values = rows_for(count)
    array = memory.empty(values.shape, "complex64", kind="managed")
    view = np.asarray(array)
    view[...] = values
    result = fft.fft(view, axes=[1], execution="cuda")
    assert_close(result, values, "C2C", (1,))
    fft.fft(view, axes=[1], execution="cuda", out=view)
    core.Device().synchronize()
    assert_close(view, values, "C2C", (1,))


@pytest.mark.parametrize("rows", [7, 30_000])
@pytest.mark.parametrize("inplace", [False, True])
def test_gaps_keep_their_bytes(rows: int, inplace: bool) -> None:
    base = random_values((rows, 2, COLUMNS + 3), np.complex64)
    operand = base[:, 1, 2:-1]
    values, before = operand.copy(), base.copy()
    if inplace:
        target, out = base, operand
    else:
        target = random_values((rows, 3, COLUMNS + 5), np.complex64)
        before, out = target.copy(), target[:, 0, 5:]
    assert fft.fft(operand, axes=[1], execution="cuda", out=out) is out
    assert_close(out, values, "C2C", (1,))
    index = np.s_[:, 1, 2:-1] if inplace else np.s_[:, 0, 5:]
    before[index] = out
    np.testing.assert_array_equal(target, before)


@pytest.mark.parametrize("rows", [7, 10_000])
def test_batches_in_reverse(rows: int) -> None:
    operand = random_values((3, rows, COLUMNS), np.complex64)[::-1]
    result = fft.fft(operand, axes=[2], execution="cuda")
    assert_close(result, operand, "C2C", (2,))
    out = np.empty_like(operand, order="C")[::-1]
    fft.fft(operand, axes=[2], execution="cuda", out=out)
    assert_close(out, operand, "C2C", (2,))


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("count", [1000, 5 * MIB])
def test_streams(stream: str, count: int) -> None:
    given = stream_of(stream)
    values = rows_for(count)
    with fft.FFT(values, axes=[1], execution="cuda") as transform:
        transform.plan(stream=given)
        for _ in range(3):
            assert_close(transform.execute(stream=given), values, "C2C", (1,))


def test_the_default_stream_of_each_thread() -> None:
    # Its handle means another stream on every thread that copies.
    values = rows_for(5 * MIB)
    for _ in range(3):
        result = fft.fft(values, axes=[1], execution="cuda", stream=2)
        assert_close(result, values, "C2C", (1,))


@pytest.mark.parametrize("with_streams", [False, True])
def test_threads_at_once(with_streams: bool) -> None:
    operands = [rows_for(MIB * (1 + index)) for index in range(8)]
    expected = [np.fft.fft(values.astype(np.complex128), axis=1) for values in operands]
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(operands))

    def work(index: int) -> None:
        try:
            stream = core.Stream() if with_streams else None
            barrier.wait()
            for _ in range(4):
                result = fft.fft(operands[index], axes=[1], execution="cuda", stream=stream)
                error = np.linalg.norm(result - expected[index]) / np.linalg.norm(expected[index])
                assert error < 1e-6
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(operands))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("rows", [3, 200])
def test_allocators_that_fail(rows: int) -> None:
    # A prime length, for which cuFFT needs a workspace.
    values = random_values((rows, 4099), np.complex64)
    manager = AsyncManager()

    def run() -> Any:
        return fft.fft(values, axes=[1], execution="cuda", options={"allocator": manager})

    def check(result: Any) -> None:
        assert_close(result, values, "C2C", (1,))

    assert fail_everywhere(manager, run, check, OSError) == 1


def test_no_device_memory_for_the_copy() -> None:
    _, total = core.Device().memory_info()
    # Never touched, so that it takes no host memory. On the device it is there twice.
    operand = np.empty((total // 2 // 8 // COLUMNS, COLUMNS), np.complex64)
    with pytest.raises(errors.OutOfMemoryError):
        fft.fft(operand, axes=[1], execution="cuda")
    values = rows_for(5 * MIB)
    assert_close(fft.fft(values, axes=[1], execution="cuda"), values, "C2C", (1,))


def test_the_current_context_stays() -> None:
    driver.init(0)
    values = rows_for(5 * MIB)
    before = driver.ctx_get_current()
    fft.fft(values, axes=[1], execution="cuda")
    assert driver.ctx_get_current() == before
    with primary_context():
        inside = driver.ctx_get_current()
        result = fft.fft(values, axes=[1], execution="cuda")
        assert driver.ctx_get_current() == inside
    assert_close(result, values, "C2C", (1,))


def test_while_another_thread_captures() -> None:
    values = rows_for(5 * MIB)
    captured, own = core.Stream(), core.Stream()
    results: list[Any] = []

    def work() -> None:
        results.append(fft.fft(values, axes=[1], execution="cuda", stream=own))

    work()  # what cuFFT loads the first time is not what is tested
    results.clear()

    thread = threading.Thread(target=work)
    with primary_context():
        driver.stream_begin_capture(captured.handle, driver.StreamCaptureMode.THREAD_LOCAL)
        thread.start()
        thread.join()
        driver.graph_destroy(driver.stream_end_capture(captured.handle))
    assert_close(results[0], values, "C2C", (1,))


@pytest.mark.parametrize("count", [1000, 5 * MIB])
def test_a_capture_is_refused_and_goes_on(count: int) -> None:
    values = rows_for(count)
    stream = core.Stream()
    with fft.FFT(values, axes=[1], execution="cuda") as transform, primary_context():
        transform.plan()
        driver.stream_begin_capture(stream.handle, driver.StreamCaptureMode.THREAD_LOCAL)
        try:
            with pytest.raises(errors.InvalidStateError, match="host memory"):
                transform.execute(stream=stream)
        finally:
            driver.graph_destroy(driver.stream_end_capture(stream.handle))
        assert_close(transform.execute(stream=stream), values, "C2C", (1,))
