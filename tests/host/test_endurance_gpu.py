"""Many calls, and many threads, on the GPU: memory stays flat and every result is right."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.mixed_calls import Case, cases, resident_bytes, shuffled
from tests.helpers.operands import Source, library
from tests.helpers.workers import WORKERS, new_stream

pytestmark = pytest.mark.gpu

LOOPS = {"cupy": 100_000, "torch": 20_000, "gpumath": 20_000}
# Smooth lengths, and a prime one, which needs a workspace.
LENGTHS = [2**i * 3**j for i in range(2, 8) for j in range(4)] + [211]
THREADS = 16
CALLS = 10_000
# Problems of most threads: as many as their plan caches hold. The other threads make plans anew.
FEW = 12
DEVICE_NOISE = 64 << 20  # bytes: what libraries load late
HOST_NOISE = 32 << 20

SOURCES = {
    "cupy": Source("cupy", "cuda"),
    "torch": Source("torch", "cuda"),
    "gpumath": Source("gpumath", "device"),
}


@pytest.fixture
def no_cache() -> Iterator[None]:
    limit = core.plan_cache_info().limit
    core.set_plan_cache_limit(0)
    yield
    core.set_plan_cache_limit(limit)


def memory_in_use() -> tuple[int, int]:
    """Bytes of device and of host memory, once all work is done."""
    gc.collect()
    core.Device().synchronize()
    free, total = core.Device().memory_info()
    return total - free, resident_bytes()


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("name", LOOPS)
def test_memory_stays_flat(name: str) -> None:
    whole = (...,)
    operands = [
        SOURCES[name].operand(np.ones((2, length), np.complex64), whole) for length in LENGTHS
    ]

    def live_once(loop: int) -> None:
        with fft.FFT(operands[loop % len(operands)], axes=[1]) as transform:
            transform.plan()
            transform.execute()

    for loop in range(max(1000, LOOPS[name] // 20)):
        live_once(loop)
    before = memory_in_use()
    for loop in range(LOOPS[name]):
        live_once(loop)
    after = memory_in_use()
    assert after[0] - before[0] < DEVICE_NOISE
    assert after[1] - before[1] < HOST_NOISE


@pytest.mark.usefixtures("no_cache")
def test_streams_events_and_arrays_come_and_go() -> None:
    def live_once() -> None:
        stream = core.Stream()
        arrays = [core.Array(1000, "complex64", stream=stream) for _ in range(2)]
        result = fft.fft(arrays[0], stream=stream)
        event = stream.record()
        other = core.Stream()
        other.wait(event)
        core.order_streams(other, stream)
        result.__dlpack__(stream=other.handle)

    for _ in range(500):
        live_once()
    before = memory_in_use()
    for _ in range(10_000):
        live_once()
    after = memory_in_use()
    assert after[0] - before[0] < DEVICE_NOISE
    assert after[1] - before[1] < HOST_NOISE


@dataclass(frozen=True)
class Problem:
    """A case, and its operand and expected result on the device."""

    case: Case
    operand: Any
    expected: Any


def problems_of(name: str, made: list[Case]) -> list[Problem]:
    judge = "cupy" if name == "gpumath" else name
    whole = (...,)
    return [
        Problem(
            case,
            SOURCES[name].operand(case.values, whole),
            SOURCES[judge].operand(case.expected, whole),
        )
        for case in made
    ]


def test_threads_that_call_everything() -> None:
    for name in ("cupy", "torch"):
        library(name)
    made = cases()
    problems = {name: problems_of(name, made) for name in WORKERS}
    shared = {name: new_stream(name) for name in WORKERS}
    core.Device().synchronize()
    failures: list[object] = []
    start = threading.Barrier(THREADS)

    def work(number: int) -> None:
        try:
            name = list(WORKERS)[number % 3]
            stream = [new_stream(name), shared[name], None][number // 3 % 3]
            worker = WORKERS[name](stream)
            mine = problems[name]
            if number % 8:
                mine = random.sample(mine, FEW)
            start.wait()
            for count, problem in enumerate(shuffled(mine, CALLS)):
                named = name == "gpumath" or count % 2 == 0
                keywords = {"stream": worker.stream} if named else {}
                result = problem.case.run(problem.operand, count % 3 == 0, **keywords)
                worker.judge(result, problem.expected, problem.case.limit)
            worst = worker.worst_error()
            if not worst <= 1:
                failures.append((number, name, worst))
        except BaseException as error:
            start.abort()
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    core.Device().synchronize()
