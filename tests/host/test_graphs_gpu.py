"""Transforms captured into CUDA graphs, and replayed on other values than those captured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.captures import PAIRS, WAYS, Pair
from tests.helpers.cases import KINDS, Case
from tests.helpers.elements import read, write
from tests.helpers.operands import library
from tests.helpers.processes import assert_quiet, start

pytestmark = pytest.mark.gpu

# A power of 2; a prime, for which cuFFT needs a workspace; axes that no single plan covers; a
# layout that cuFFT does not take, so that the operand is copied.
LAYOUTS = {
    "1024": ((16, 1024), (1,)),
    "prime": ((5, 4099), (1,)),
    "passes": ((6, 5, 32), (0, 2)),
    "copies": ((6, 50, 7), (1,)),
}
PAIRS_THAT_ALLOCATE = [pair for pair in PAIRS if pair.source.library in ("cupy", "torch")]


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Any:
    return LAYOUTS[request.param]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_into_out(pair: Pair, kind: str, layout: Any) -> None:
    case, stream = Case(kind, *layout), pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    with fft.FFT(operand, **case.keywords_in_order) as transform:
        transform.plan()
        with pair.capture(stream) as captured:
            result = transform.execute(stream=pair.argument(stream), out=out)
        assert result is out
        assert np.isnan(read(out)).all(), "the work was not captured, it ran"
        captured.check_replays(case, operand, out)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("asked_by", ["option", "out"])
def test_in_place(pair: Pair, asked_by: str, layout: Any) -> None:
    case, stream = Case("C2C", *layout), pair.stream()
    values = case.values()
    operand = pair.operand(values)
    out = operand if asked_by == "out" else None
    options = {"inplace": asked_by == "option"}
    with fft.FFT(operand, axes=case.axes, options=options) as transform:
        transform.plan()
        if out is not None:
            # The first time makes the plan that works in place.
            transform.execute(out=out)
            write(operand, values)
        with pair.capture(stream) as captured:
            result = transform.execute(stream=pair.argument(stream), out=out)
        assert result is operand
        np.testing.assert_array_equal(read(operand), values, "the work was not captured, it ran")
        captured.check_replays(case, operand, operand)


def current_stream(name: str) -> int:
    if name == "cupy":
        return library("cupy").cuda.get_current_stream().ptr
    return library("torch").cuda.current_stream().cuda_stream


@pytest.mark.parametrize("pair", PAIRS_THAT_ALLOCATE, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_new_results(pair: Pair, kind: str, layout: Any) -> None:
    case, stream = Case(kind, *layout), pair.stream()
    operand = pair.operand(case.values())
    # Another library's pool than the one that captures may have to ask the device for memory.
    relaxed = pair.way != "torch" or pair.source.library != "torch"
    with fft.FFT(operand, **case.keywords) as transform:
        transform.plan()
        with pair.capture(stream, relaxed=relaxed) as captured:
            before = current_stream(pair.source.library)
            result = transform.execute(stream=pair.argument(stream))
            assert current_stream(pair.source.library) == before
        assert type(result) is type(operand)
        assert tuple(result.shape) == case.result_shape
        captured.check_replays(case, operand, result)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_function_whose_plan_is_cached(pair: Pair, kind: str) -> None:
    case, stream = Case(kind, *LAYOUTS["prime"]), pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    case.function(operand, **case.keywords, out=out)
    write(out, case.blank())
    with pair.capture(stream) as captured:
        result = case.function(operand, **case.keywords, stream=pair.argument(stream), out=out)
    assert result is out
    assert np.isnan(read(out)).all(), "the work was not captured, it ran"
    captured.check_replays(case, operand, out)


@pytest.mark.parametrize("pair", PAIRS_THAT_ALLOCATE, ids=str)
@pytest.mark.parametrize("columns", [1024, 1025])
def test_misaligned_real_operands(pair: Pair, columns: int) -> None:
    """Their rows, or some of them, are not aligned like complex numbers: cuFFT gets copies."""
    case, stream = Case("R2C", (8, columns), (1,)), pair.stream()
    base = np.zeros((8, columns + 1), np.float32)
    operand = pair.source.operand(base, (slice(None), slice(1, None)))
    assert core.TensorView(operand).ptr % 8 == 4
    out = pair.operand(case.blank())
    with fft.FFT(operand, **case.keywords) as transform:
        transform.plan()
        with pair.capture(stream) as captured:
            transform.execute(stream=pair.argument(stream), out=out)
        captured.check_replays(case, operand, out)


@pytest.mark.parametrize("pair", WAYS, ids=str)
def test_inverse_and_double_precision(pair: Pair) -> None:
    stream = pair.stream()
    forward = Case("C2C", (3, 1000), (1,), precision=8)
    operand, middle, end = (pair.operand(forward.blank()) for _ in range(3))
    with fft.FFT(operand, axes=[1]) as transform, fft.FFT(middle, axes=[1]) as back:
        transform.plan()
        back.plan(direction="inverse")
        with pair.capture(stream) as captured:
            transform.execute(stream=pair.argument(stream), out=middle)
            back.execute(stream=pair.argument(stream), out=end)
        for _ in range(2):
            values = forward.values()
            write(operand, values)
            captured.replay()
            forward.check(read(middle), values)
            np.testing.assert_allclose(read(end) / 1000, values, rtol=0, atol=1e-13)


@pytest.mark.parametrize("pair", WAYS, ids=str)
def test_the_object_works_on_outside_of_the_graph(pair: Pair) -> None:
    case, stream = Case("C2C", *LAYOUTS["prime"]), pair.stream()
    first, second = (pair.operand(case.values()) for _ in range(2))
    captured_out, out = (pair.operand(case.blank()) for _ in range(2))
    with fft.FFT(first, **case.keywords) as transform:
        transform.plan()
        transform.execute(stream=stream, out=out)
        with pair.capture(stream) as captured:
            transform.execute(stream=pair.argument(stream), out=captured_out)
        for _ in range(2):
            transform.reset_operand(second)
            values = case.values()
            write(second, values)
            transform.execute(stream=stream, out=out)
            case.check(read(out), values)
            captured.check_replays(case, first, captured_out)


def test_graphs_of_one_object_run_at_the_same_time() -> None:
    """Each has a workspace of its own, or they would overwrite each other's."""
    pair = WAYS[-1]
    assert pair.way == "driver"
    case = Case("C2C", (400, 4099), (1,))
    values = [case.values() for _ in range(4)]
    operands = [pair.operand(each) for each in values]
    outs = [pair.operand(case.blank()) for _ in operands]
    graphs = []
    with fft.FFT(operands[0], **case.keywords) as transform:
        transform.plan()
        for operand, out in zip(operands, outs, strict=True):
            transform.reset_operand(operand)
            stream = pair.stream()
            with pair.capture(stream) as captured:
                transform.execute(stream=stream, out=out)
            graphs.append(captured)
    for _ in range(3):
        for graph in graphs:
            assert graph.launch is not None
            graph.launch()
    for each, out in zip(values, outs, strict=True):
        case.check(read(out), each)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_execution_of_a_process(kind: str) -> None:
    """Nothing may be loaded or made at the first execution."""
    assert_quiet(start("graphs_gpu.the_first_execution_of_a_process", kind), "replayed\n")
