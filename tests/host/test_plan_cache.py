"""Functions in many threads, each on a stream of its own, and what the plan cache says then."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.mixed_calls import Case, cases, shuffled
from tests.helpers.operands import Source
from tests.helpers.workers import WORKERS, NumpyWorker, new_stream

THREADS = 8
PROBLEMS = 6
CALLS = 500
SOURCES = [
    pytest.param(Source("numpy", "cpu"), id="numpy"),
    pytest.param(Source("cupy", "cuda"), id="cupy", marks=pytest.mark.gpu),
    pytest.param(Source("torch", "cuda"), id="torch", marks=pytest.mark.gpu),
    pytest.param(Source("gpumath", "device"), id="gpumath", marks=pytest.mark.gpu),
]


@dataclass(frozen=True)
class Problem:
    """A case, and its operand and expected result where it is computed."""

    case: Case
    operand: Any
    expected: Any


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> Source:
    return request.param


@pytest.fixture
def limit() -> Iterator[int]:
    core.plan_cache_clear()
    before = core.plan_cache_info().limit
    yield before
    core.set_plan_cache_limit(before)


def some_problems(source: Source) -> list[Problem]:
    """So many that no two have the same plan, which the inverse of another one would."""
    chosen = random.sample([case for case in cases() if case.name != "ifft"], PROBLEMS)
    judged_in = Source("cupy", "cuda") if source.library == "gpumath" else source
    whole = (...,)
    problems = [
        Problem(case, source.operand(case.values, whole), judged_in.operand(case.expected, whole))
        for case in chosen
    ]
    if source.is_on_gpu:
        core.Device(0).synchronize()
    return problems


def run_threads(source: Source, problems: list[Problem], calls: int) -> core.PlanCacheInfo:
    """Call the functions in any order in many threads; return what the cache says then."""
    failures: list[object] = []
    start = threading.Barrier(THREADS)
    on_gpu = source.is_on_gpu

    def work(number: int) -> None:
        try:
            worker = (
                WORKERS[source.library](new_stream(source.library)) if on_gpu else NumpyWorker(0)
            )
            start.wait()
            for count, problem in enumerate(shuffled(problems, calls)):
                named = source.library == "gpumath" or count % 2 == 0
                keywords = {"stream": worker.stream} if named else {}
                result = problem.case.run(problem.operand, as_object=False, **keywords)
                worker.judge(result, problem.expected, problem.case.limit)
            if not worker.worst_error() <= 1:
                failures.append((number, worker.worst_error()))
        except BaseException as error:
            start.abort()
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return core.plan_cache_info()


def test_threads_share_the_plans(source: Source, limit: int) -> None:
    problems = some_problems(source)
    info = run_threads(source, problems, CALLS)
    # Threads that want the same plan at once may each make it.
    assert PROBLEMS <= info.misses <= PROBLEMS * THREADS
    assert info.misses + info.hits == CALLS * THREADS
    assert (info.size, info.limit) == (PROBLEMS, limit)
    assert run_threads(source, problems, CALLS).misses == info.misses


def test_fewer_plans_than_problems(source: Source, limit: int) -> None:
    assert limit > 2
    problems = some_problems(source)
    core.set_plan_cache_limit(2)
    info = run_threads(source, problems, CALLS // 10)
    assert (info.size, info.limit) == (2, 2)
    assert info.misses > 2
    assert info.misses + info.hits == CALLS // 10 * THREADS


def test_no_cache(source: Source, limit: int) -> None:
    """A limit of 0 means a plan for each call."""
    problems = some_problems(source)
    core.set_plan_cache_limit(0)
    info = run_threads(source, problems, CALLS // 10)
    assert (info.misses, info.hits) == (CALLS // 10 * THREADS, 0)
    assert (info.size, info.limit) == (0, 0)
    core.set_plan_cache_limit(limit)
    assert run_threads(source, problems, CALLS // 10).size == PROBLEMS


@pytest.mark.gpu
def test_plans_of_hundreds_of_megabytes_are_kept_together() -> None:
    """A length with a large prime factor, there and back: two plans, in turns."""
    operand = Source("cupy", "cuda").operand(np.ones(4_194_301), (...,))
    core.plan_cache_clear()
    for _ in range(3):
        spectrum = fft.rfft(operand)
        fft.irfft(spectrum, options={"last_axis_parity": "odd"})
    info = core.plan_cache_info()
    core.plan_cache_clear()
    assert info.device_memory > 256 << 20
    assert (info.misses, info.size) == (2, 2)
