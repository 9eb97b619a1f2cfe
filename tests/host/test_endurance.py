"""Many calls, and many threads, on the CPU: the memory stays flat and every result is right."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core, errors
from tests.helpers.mixed_calls import cases, resident_bytes, shuffled

LOOPS = 8_000
THREADS = 16
CALLS = 300
# Less than this many bytes a loop is not told from noise.
LEAST_LEAK = 200


@pytest.fixture
def no_cache() -> Iterator[None]:
    limit = core.plan_cache_info().limit
    core.set_plan_cache_limit(0)
    yield
    core.set_plan_cache_limit(limit)


def live_once(length: int) -> None:
    """Make, use and drop one of everything, failures included."""
    values = np.ones((2, length), np.complex64)
    array = memory.empty((2, length), "complex64", kind="host")
    np.asarray(array)[...] = values
    for operand in (values, array):
        with fft.FFT(operand, axes=[1], execution=fft.ExecutionCPU(num_threads=1)) as transform:
            transform.plan()
            transform.execute()
            transform.reset_operand(operand)
            transform.execute(direction="inverse")
    fft.rfft(values.real)
    np.from_dlpack(array)
    array.__dlpack__()
    for wrong in (fft.FFTDirection.FORWARD, [3], "nothing"):
        with pytest.raises((TypeError, ValueError)):
            fft.irfft(values, axes=wrong)
    with pytest.raises(errors.InvalidStateError):
        transform.execute()


@pytest.mark.usefixtures("no_cache")
def test_memory_stays_flat() -> None:
    # Fresh memory, such as that of the first large arrays, is got while warming up.
    for loop in range(LOOPS // 4):
        live_once(4 + loop % 61)
    gc.collect()
    before = resident_bytes()
    for loop in range(LOOPS):
        live_once(4 + loop % 61)
    gc.collect()
    assert resident_bytes() - before < LEAST_LEAK * LOOPS


def test_the_cache_bounds_the_plans() -> None:
    core.plan_cache_clear()
    for length in range(4, 400):
        fft.fft(np.ones(length, np.complex64))
        assert core.plan_cache_info().size <= core.plan_cache_info().limit
    core.plan_cache_clear()


def operand_makers() -> list[Any]:
    makers: list[Any] = [np.array, memory.from_dlpack]
    try:
        import torch
    except ImportError:
        return makers
    return [*makers, torch.from_numpy]


def test_threads_that_call_everything() -> None:
    problems = [(case, make(case.values)) for case in cases() for make in operand_makers()]
    executions = [fft.ExecutionCPU(num_threads=count) for count in (1, 2)]
    failures: list[object] = []
    start = threading.Barrier(THREADS)

    def work(number: int) -> None:
        try:
            start.wait()
            for count, (case, operand) in enumerate(shuffled(problems, CALLS)):
                as_object = (count + number) % 3 == 0
                result = case.run(operand, as_object, execution=executions[count % 2])
                error = float(np.abs(np.asarray(result) - case.expected).max())
                if not error <= case.limit:
                    failures.append((case.name, case.values.shape, error))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
