"""A graph runs on when what it was captured from is gone, and uses no memory of others.

Where it did, a replay could also end in an illegal address, after which no test of the process
works any more: run this file alone to find the first that fails.
"""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.captures import PAIRS, Captured, Pair
from tests.helpers.cases import Case
from tests.helpers.elements import read
from tests.helpers.managers import AsyncManager
from tests.helpers.memory_canaries import memory_canaries

pytestmark = pytest.mark.gpu

# Those that need a workspace, or tables of the plan: a prime length, a long one, copies for C2R.
CASES = [
    Case("C2C", (5, 4099), (1,)),
    Case("C2C", (1 << 20,), (0,)),
    Case("R2C", (5, 4099), (1,)),
    Case("C2R", (16, 1024), (1,)),
    Case("C2R", (6, 5, 32), (0, 2)),
]


@pytest.fixture(params=PAIRS, ids=str)
def pair(request: pytest.FixtureRequest) -> Pair:
    return request.param


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def workspace_size(operand: Any, case: Case) -> int:
    parity = "odd" if "last_axis_parity" in case.options else "even"
    choices = {"kind": case.kind, "last_axis_parity": parity, "result_layout": "natural"}
    return core.FftPlan(operand, axes=case.axes, **choices).workspace_size


@pytest.mark.parametrize("runs_before", [0, 1])
def test_the_object_and_its_plan_are_gone(pair: Pair, case: Case, runs_before: int) -> None:
    stream = pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    transform = fft.FFT(operand, **case.keywords_in_order)
    size = workspace_size(operand, case)
    transform.plan()
    for _ in range(runs_before):
        # This workspace is kept for the next run; the graph may not use it.
        transform.execute(stream=stream, out=out)
    with pair.capture(stream) as captured:
        transform.execute(stream=pair.argument(stream), out=out)
    transform.free()
    del transform
    core.plan_cache_clear()
    gc.collect()
    with memory_canaries(size, stream):
        captured.check_replays(case, operand, out)


def test_the_thread_that_captured_has_ended(pair: Pair, case: Case) -> None:
    stream = pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    size = workspace_size(operand, case)

    def capture() -> Captured:
        transform = fft.FFT(operand, **case.keywords_in_order)
        transform.plan()
        with pair.capture(stream) as captured:
            transform.execute(stream=pair.argument(stream), out=out)
        return captured

    with ThreadPoolExecutor(1) as executor:
        captured = executor.submit(capture).result()
    gc.collect()
    with memory_canaries(size, stream):
        captured.check_replays(case, operand, out)


def test_a_function_leaves_nothing_behind(pair: Pair) -> None:
    case, stream = CASES[0], pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    case.function(operand, **case.keywords, out=out)
    with pair.capture(stream) as captured:
        case.function(operand, **case.keywords, stream=pair.argument(stream), out=out)
    core.plan_cache_clear()
    gc.collect()
    with memory_canaries(workspace_size(operand, case), stream):
        captured.check_replays(case, operand, out)


def test_a_manager_is_asked_for_the_captured_call_alone(pair: Pair) -> None:
    case, stream, manager = CASES[0], pair.stream(), AsyncManager()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    size = workspace_size(operand, case)
    options = {**case.options, "allocator": manager}
    transform = fft.FFT(operand, axes=case.axes, options=options)
    transform.plan()
    transform.execute(stream=stream, out=out)
    assert (len(manager.requests), manager.in_use) == (1, 1)
    with pair.capture(stream) as captured:
        transform.execute(stream=pair.argument(stream), out=out)
        # Given back already, in the order of the captured stream.
        assert (len(manager.requests), manager.in_use) == (2, 1)
    assert int(manager.streams[-1]) == core.stream_handle(stream)
    transform.execute(stream=stream, out=out)
    assert (len(manager.requests), manager.in_use) == (2, 1)
    transform.free()
    assert manager.in_use == 0
    with memory_canaries(size, stream):
        captured.check_replays(case, operand, out)


def test_operands_that_the_object_forgot(pair: Pair) -> None:
    """The graph keeps the addresses of the operand that there was, and only those."""
    case, stream = CASES[3], pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    other_values = case.values()
    other = pair.operand(other_values)
    with fft.FFT(operand, **case.keywords) as transform:
        transform.plan()
        with pair.capture(stream) as captured:
            transform.execute(stream=pair.argument(stream), out=out)
        transform.reset_operand(other)
        captured.check_replays(case, operand, out)
        transform.release_operand()
        captured.check_replays(case, operand, out)
    np.testing.assert_array_equal(read(other), other_values)


@pytest.mark.parametrize("by", ["free", "release_workspace"])
def test_a_kept_workspace_is_given_back_while_its_stream_is_captured(pair: Pair, by: str) -> None:
    """If the graph freed memory that it did not allocate, it could be run only once."""
    case, stream = CASES[0], pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    size = workspace_size(operand, case)
    transform = fft.FFT(operand, **case.keywords)
    transform.plan()
    transform.execute(stream=stream, out=out)
    release = by == "release_workspace"
    with pair.capture(stream) as captured:
        transform.execute(stream=pair.argument(stream), out=out, release_workspace=release)
        if by == "free":
            transform.free()
    with memory_canaries(size, stream):
        captured.check_replays(case, operand, out)
    transform.free()


def test_an_object_that_lives_in_the_capture_alone(pair: Pair) -> None:
    """Its plan is in the cache, so that nothing has to be made."""
    case, stream = CASES[0], pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    with fft.FFT(operand, **case.keywords) as transform:
        transform.plan()
    with pair.capture(stream) as captured:
        passed = pair.argument(stream)
        with fft.FFT(operand, **case.keywords, stream=passed) as transform:
            transform.plan(stream=passed)
            transform.execute(stream=passed, out=out)
    with memory_canaries(workspace_size(operand, case), stream):
        captured.check_replays(case, operand, out)
