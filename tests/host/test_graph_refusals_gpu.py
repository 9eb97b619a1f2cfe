"""What cannot be captured is refused before the capture breaks: it goes on, and replays rightly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core, errors
from tests.helpers.captures import PAIRS, WAYS, Pair
from tests.helpers.cases import Case
from tests.helpers.elements import read, write
from tests.helpers.managers import Manager
from tests.helpers.references import random_values

pytestmark = pytest.mark.gpu

CASE = Case("C2C", (5, 4099), (1,))


@pytest.fixture(params=WAYS, ids=str)
def pair(request: pytest.FixtureRequest) -> Pair:
    return request.param


@contextmanager
def intact_capture(pair: Pair) -> Iterator[Any]:
    """Capture a transform before and another one behind the test's own part; both have to replay.

    It gives the captured stream.
    """
    stream, operand = pair.stream(), pair.operand(CASE.values())
    outs = [pair.operand(CASE.blank()) for _ in range(2)]
    with fft.FFT(operand, **CASE.keywords) as transform:
        transform.plan()
        with pair.capture(stream) as captured:
            transform.execute(stream=pair.argument(stream), out=outs[0])
            yield stream
            transform.execute(stream=pair.argument(stream), out=outs[1])
        for _ in range(2):
            values = CASE.values()
            write(operand, values)
            captured.replay()
            for out in outs:
                CASE.check(read(out), values)


def assert_refused(call: Callable[[], object], word: str) -> None:
    """Check that the error speaks of the capture and names what cannot be captured."""
    with pytest.raises(errors.InvalidStateError, match="captured") as caught:
        call()
    assert word.lower() in str(caught.value).lower()


@pytest.mark.parametrize("form", ["function", "class"])
def test_a_plan_that_is_not_cached(pair: Pair, form: str) -> None:
    case = Case("C2C", (3, 999), (1,))
    values = case.values()
    operand, out = pair.operand(values), pair.operand(case.blank())
    core.plan_cache_clear()
    with intact_capture(pair) as stream:
        before = core.plan_cache_info().size
        passed = pair.argument(stream)
        if form == "function":
            assert_refused(lambda: fft.fft(operand, axes=[1], stream=passed, out=out), "plan")
        else:
            assert_refused(lambda: fft.FFT(operand, axes=[1], stream=passed), "plan")
        assert core.plan_cache_info().size == before
    assert np.isnan(read(out)).all()
    fft.fft(operand, axes=[1], out=out)
    case.check(read(out), values)


def test_the_first_execution_to_the_operand(pair: Pair) -> None:
    case = Case("C2C", (3, 997), (1,))
    values = case.values()
    operand = pair.operand(values)
    with fft.FFT(operand, axes=[1]) as transform:
        transform.plan()
        core.plan_cache_clear()
        with intact_capture(pair) as stream:
            passed = pair.argument(stream)
            assert_refused(lambda: transform.execute(stream=passed, out=operand), "plan")
        np.testing.assert_array_equal(read(operand), values)
        transform.execute(out=operand)
        case.check(read(operand), values)


@pytest.mark.parametrize("form", ["function", "class"])
def test_operands_in_host_memory(pair: Pair, form: str) -> None:
    values = CASE.values()
    out = np.full_like(values, np.nan)
    with fft.FFT(values, axes=[1], execution="cuda") as transform:
        transform.plan()
        fft.fft(values, axes=[1], execution="cuda")
        with intact_capture(pair) as stream:
            if form == "class":
                assert_refused(lambda: transform.execute(stream=stream, out=out), "host memory")
            else:
                keywords: dict[str, Any] = {"axes": [1], "execution": "cuda", "stream": stream}
                assert_refused(lambda: fft.fft(values, **keywords), "host memory")
                assert_refused(lambda: fft.fft(values, **keywords, out=out), "host memory")
        assert np.isnan(out).all()
        CASE.check(transform.execute(), values)


def test_the_cpu_for_operands_on_the_device(pair: Pair) -> None:
    values = CASE.values()
    operand, out = pair.operand(values), pair.operand(CASE.blank())
    with fft.FFT(operand, axes=[1], execution="cpu") as transform:
        transform.plan()
        with intact_capture(pair) as stream:
            passed = pair.argument(stream)
            assert_refused(lambda: transform.execute(stream=passed, out=out), "cpu")
            assert_refused(
                lambda: fft.fft(operand, axes=[1], execution="cpu", stream=passed, out=out), "cpu"
            )
        assert np.isnan(read(out)).all()
        CASE.check(read(transform.execute(out=out)), values)


def test_waiting_for_the_result(pair: Pair) -> None:
    values = CASE.values()
    operand, out = pair.operand(values), pair.operand(CASE.blank())
    with fft.FFT(operand, axes=[1], options={"blocking": True}) as transform:
        transform.plan()
        with intact_capture(pair) as stream:
            passed = pair.argument(stream)
            assert_refused(lambda: transform.execute(stream=passed, out=out), "blocking")
        assert np.isnan(read(out)).all()
        CASE.check(read(transform.execute(out=out)), values)


def test_a_manager_that_knows_no_streams(pair: Pair) -> None:
    values, manager = CASE.values(), Manager()
    operand, out = pair.operand(values), pair.operand(CASE.blank())
    with fft.FFT(operand, axes=[1], options={"allocator": manager}) as transform:
        transform.plan()
        with intact_capture(pair) as stream:
            passed = pair.argument(stream)
            assert_refused(lambda: transform.execute(stream=passed, out=out), "memalloc")
        assert manager.requests == []
        assert np.isnan(read(out)).all()
        CASE.check(read(transform.execute(out=out)), values)


@pytest.mark.parametrize(
    "pair", [pair for pair in PAIRS if pair.source.library not in ("cupy", "torch")], ids=str
)
def test_new_results_that_no_library_of_their_own_keeps(pair: Pair) -> None:
    values = CASE.values()
    operand = pair.operand(values)
    with fft.FFT(operand, axes=[1]) as transform:
        transform.plan()
        fft.fft(operand, axes=[1])
        with intact_capture(pair) as stream:
            assert_refused(lambda: transform.execute(stream=stream), "out=")
            assert_refused(lambda: fft.fft(operand, axes=[1], stream=stream), "out=")
        CASE.check(read(transform.execute()), values)


@pytest.mark.parametrize("pair", [pair for pair in WAYS if pair.current_is_captured], ids=str)
def test_another_stream_than_the_captured_current_one(pair: Pair) -> None:
    values, other = CASE.values(), pair.stream()
    operand, out = pair.operand(values), pair.operand(CASE.blank())
    with fft.FFT(operand, axes=[1]) as transform:
        transform.plan()
        with intact_capture(pair):
            assert_refused(lambda: transform.execute(stream=other, out=out), "stream")
        assert np.isnan(read(out)).all()
        CASE.check(read(transform.execute(stream=other, out=out)), values)


def test_wrong_arguments(pair: Pair) -> None:
    """They raise what they always raise."""
    operand = pair.operand(CASE.values())
    small = pair.operand(np.zeros((5, 4098), np.complex64))
    with fft.FFT(operand, axes=[1]) as transform:
        transform.plan()
        with intact_capture(pair) as stream:
            passed = pair.argument(stream)
            with pytest.raises(ValueError, match="out"):
                transform.execute(stream=passed, out=small)
            with pytest.raises(ValueError, match="direction is 'sideways'"):
                transform.execute("sideways", stream=passed, out=operand)
            transform.release_operand()
            with pytest.raises(fft.InvalidFFTState, match="no operand"):
                transform.execute(stream=passed, out=operand)


def test_transforms_on_the_cpu_go_on_meanwhile(pair: Pair) -> None:
    values = random_values((4, 60), np.complex64)
    case = Case("C2C", (4, 60), (1,))
    with intact_capture(pair):
        case.check(fft.fft(values, axes=[1]), values)
