"""Every way to ask for a transform, captured into a CUDA graph and replayed on other values.

`test_graphs_gpu` captures objects of every kind and layout, and functions that write to `out`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import fft
from tests.helpers.callbacks import require_compilers, require_numba
from tests.helpers.captures import WAYS, Captured, Pair
from tests.helpers.cases import KINDS, Case
from tests.helpers.elements import read, write
from tests.helpers.offset_factors import FACTORS, OffsetFactors
from tests.helpers.references import reference, relative_error, tolerance

pytestmark = pytest.mark.gpu

# A prime length, for which cuFFT needs a workspace, and one of small prime factors.
PRIME = ((5, 4099), (1,))
SMOOTH = ((6, 240), (1,))
WAYS_THAT_ALLOCATE = [pair for pair in WAYS if pair.source.library != "gpumath"]


@pytest.fixture(params=WAYS, ids=str)
def pair(request: pytest.FixtureRequest) -> Pair:
    return request.param


@pytest.mark.parametrize("asked_by", ["option", "out"])
def test_a_function_in_place(pair: Pair, asked_by: str) -> None:
    case, stream = Case("C2C", *PRIME), pair.stream()
    values = case.values()
    operand = pair.operand(values)
    keywords: dict[str, Any] = {"axes": case.axes}
    keywords |= {"out": operand} if asked_by == "out" else {"options": {"inplace": True}}
    fft.fft(operand, **keywords)
    write(operand, values)
    with pair.capture(stream) as captured:
        result = fft.fft(operand, **keywords, stream=pair.argument(stream))
    assert result is operand
    np.testing.assert_array_equal(read(operand), values, "the work was not captured, it ran")
    captured.check_replays(case, operand, operand)


@pytest.mark.parametrize("pair", WAYS_THAT_ALLOCATE, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_result_of_a_function(pair: Pair, kind: str) -> None:
    case, stream = Case(kind, *PRIME), pair.stream()
    operand = pair.operand(case.values())
    case.function(operand, **case.keywords)
    with pair.capture(stream, relaxed=pair.way != "torch") as captured:
        result = case.function(operand, **case.keywords, stream=pair.argument(stream))
    captured.check_replays(case, operand, result)


def test_the_forms_of_numpy(pair: Pair) -> None:
    case, stream = Case("C2C", (6, 5, 32), (1, 2)), pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    fft.fftn(operand, axes=case.axes, out=out)
    write(out, case.blank())
    with pair.capture(stream) as captured:
        fft.fftn(operand, axes=case.axes, out=out, stream=pair.argument(stream))
    assert np.isnan(read(out)).all(), "the work was not captured, it ran"
    captured.check_replays(case, operand, out)


class PlansByKey:
    """A user's own cache: one planned object for all operands of equal keys."""

    def __init__(self) -> None:
        self.plans: dict[fft.FFTKey, fft.FFT] = {}

    def transform(self, case: Case, operand: Any, stream: Any, out: Any) -> Any:
        key = fft.FFT.create_key(operand, **case.keywords)
        if key not in self.plans:
            self.plans[key] = fft.FFT(operand, **case.keywords)
            self.plans[key].plan()
        self.plans[key].reset_operand(operand)
        assert self.plans[key].get_key() == key
        return self.plans[key].execute(stream=stream, out=out)


def test_plans_shared_by_their_keys(pair: Pair) -> None:
    """Several operands and kinds in one graph, which a cache of objects serves while it is made."""
    plans, stream = PlansByKey(), pair.stream()
    cases = [Case(kind, *layout) for kind in KINDS for layout in (PRIME, SMOOTH) for _ in range(2)]
    operands = [pair.operand(case.values()) for case in cases]
    outs = [pair.operand(case.blank()) for case in cases]
    triples = list(zip(cases, operands, outs, strict=True))
    for case, operand, out in triples:
        plans.transform(case, operand, stream, out)
    assert len(plans.plans) == len(cases) / 2
    for case, _, out in triples:
        write(out, case.blank())
    with pair.capture(stream) as captured:
        for case, operand, out in triples:
            assert plans.transform(case, operand, pair.argument(stream), out) is out
    assert len(plans.plans) == len(cases) / 2
    assert all(np.isnan(read(out)).all() for out in outs), "the work was not captured, it ran"
    for transform in plans.plans.values():
        transform.free()
    for _ in range(2):
        fresh = [case.values() for case in cases]
        for values, operand in zip(fresh, operands, strict=True):
            write(operand, values)
        captured.replay()
        for values, (case, _, out) in zip(fresh, triples, strict=True):
            case.check(read(out), values)


@pytest.mark.parametrize("language", ["python", "source"])
@pytest.mark.parametrize("form", ["function", "class"])
@pytest.mark.parametrize("kind", KINDS)
def test_callbacks(pair: Pair, kind: str, form: str, language: str) -> None:
    """A prolog and an epilog; a replay sees their data as they are then."""
    if language == "python":
        require_numba()
    require_compilers()
    case, stream = Case(kind, *SMOOTH), pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    sides = {
        "prolog": OffsetFactors(pair.operand, "prolog", case.values().dtype, language),
        "epilog": OffsetFactors(pair.operand, "epilog", case.result_dtype, language),
    }
    callbacks = {phase: side.callable for phase, side in sides.items()}
    with fft.FFT(operand, **case.keywords) as transform:
        if form == "class":
            transform.plan(**callbacks)
        else:
            case.function(operand, **case.keywords, **callbacks, out=out)
            write(out, case.blank())
        with pair.capture(stream) as captured:
            passed = pair.argument(stream)
            if form == "class":
                transform.execute(stream=passed, out=out)
            else:
                case.function(operand, **case.keywords, **callbacks, stream=passed, out=out)
    assert np.isnan(read(out)).all(), "the work was not captured, it ran"
    for _ in range(2):
        check_replay(case, operand, out, sides, captured)
        for side in sides.values():
            side.factors = np.random.default_rng().uniform(0.5, 2, FACTORS).astype("f4")
            write(side.memory, side.factors)


def check_replay(
    case: Case, operand: Any, out: Any, sides: dict[str, OffsetFactors], captured: Captured
) -> None:
    values = case.values()
    write(operand, values)
    captured.replay()
    double = np.complex128 if values.dtype.kind == "c" else np.float64
    given = sides["prolog"].apply(values.astype(double), operand)
    expected = sides["epilog"].apply(reference(given, case.kind, case.axes), out)
    # The factors round too, and weigh the errors.
    allowed = 2 * tolerance(values.dtype, case.shape[1]) + 2 * float(np.finfo("f4").eps)
    assert relative_error(read(out), expected) <= allowed
    np.testing.assert_array_equal(read(operand), values, "the operand has changed")
