"""One call that looks into the operand, makes the result and runs it: `FftPlan.run`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from tests.helpers.elements import read
from tests.helpers.operands import Source
from tests.helpers.references import assert_close, random_values


def operands(values: np.ndarray) -> list[Any]:
    own = core.Array(values.shape, values.dtype, kind="host")
    np.asarray(own)[...] = values
    return [values, own, memoryview(values)]


@pytest.mark.parametrize("which", [0, 1, 2], ids=["NumPy", "own", "memoryview"])
def test_new_results_are_of_the_operands_library(which: int) -> None:
    values = random_values((5, 12), np.complex64)
    operand = operands(values)[which]
    plan = core.FftPlan(operand, axes=[1])
    for run in (plan.run, lambda x: core.FftPlan.transform(x, [1])):
        result = run(operand)
        assert type(result) is (np.ndarray if which == 0 else core.Array)
        assert_close(np.asarray(result), values, "C2C", (1,))
    made = plan.empty_result(operand)
    assert type(made) is type(result)
    view = core.TensorView(made)
    assert (view.shape, view.dtype) == ((5, 12), "complex64")


def test_layouts_of_results() -> None:
    values = random_values((4, 6, 10), np.float64).transpose(1, 2, 0)
    plan = core.FftPlan(values, axes=[1])
    result = plan.run(values)
    assert tuple(step // 16 for step in result.strides) == plan.output_strides
    assert_close(result, values, "R2C", (1,))
    assert plan.empty_result(values).strides == result.strides


def test_directions_and_out() -> None:
    values = random_values((3, 8), np.complex128)
    plan = core.FftPlan(values, axes=[1])
    out = np.empty_like(values)
    assert plan.run(values, out, 1) is out
    assert_close(out, values, "C2C", (1,), inverse=True)
    inplace = core.FftPlan(values, axes=[1], out=values)
    assert inplace.inplace
    before = values.copy()
    assert inplace.run(values) is values
    assert_close(values, before, "C2C", (1,))


FACTORS = {
    ("backward", -1): 1,
    ("backward", 1): 1 / 40,
    ("ortho", -1): 1 / np.sqrt(40),
    ("ortho", 1): 1 / np.sqrt(40),
    ("forward", -1): 1 / 40,
    ("forward", 1): 1,
}


@pytest.mark.parametrize(("norm", "direction"), FACTORS)
def test_norm_counts_the_points_along_the_transform_axes(norm: Any, direction: int) -> None:
    factor = FACTORS[norm, direction]
    values = random_values((3, 5, 8), np.complex128)
    plan = core.FftPlan(values, [1, 2])
    plain = plan.run(values, None, direction)
    into = np.empty_like(values)
    plan.execute(values, into, direction=direction, norm=norm)
    for result in (
        into,
        plan.run(values, direction=direction, norm=norm),
        core.FftPlan.transform(values, [1, 2], direction=direction, norm=norm),
    ):
        np.testing.assert_allclose(result, plain * factor, rtol=1e-15)


def test_norm_counts_real_points() -> None:
    values = random_values((3, 9), np.float64)
    half = core.FftPlan.transform(values, [1], norm="forward")
    np.testing.assert_allclose(half, np.fft.rfft(values, axis=1) / 9, rtol=1e-13, atol=1e-14)
    back = core.FftPlan(half, [1], "C2R", last_axis_parity="odd").run(half, None, 1, norm="ortho")
    np.testing.assert_allclose(back, values / 3, rtol=1e-13, atol=1e-14)


def test_other_norms_are_refused() -> None:
    values = np.ones((3, 8), np.complex128)
    plan = core.FftPlan(values)
    kept = values.copy()
    for call in (
        lambda: plan.run(values, norm="both"),  # type: ignore[arg-type]  # what is tested
        lambda: plan.execute(
            *(values, np.empty_like(values)),
            norm="both",  # type: ignore[arg-type]  # what is tested
        ),
    ):
        with pytest.raises(ValueError, match="allowed are backward, ortho, forward"):
            call()
    # It declines what the longer way refuses.
    assert core.FftPlan.transform(values, norm="both") is None  # type: ignore[arg-type]
    np.testing.assert_array_equal(values, kept)


@pytest.mark.parametrize(
    ("kind", "choices"),
    [
        ("C2C", {"result_layout": "natural"}),
        ("C2C", {"inplace": True, "num_threads": 1}),
        ("C2R", {"last_axis_parity": "odd", "execution": "cpu", "num_threads": 3}),
        ("C2R", {"result_layout": "natural", "last_axis_parity": "even"}),
    ],
)
def test_choices_are_those_of_plans(kind: Any, choices: dict[str, Any]) -> None:
    values = random_values((5, 6, 7), np.complex128)
    direction = 1 if kind == "C2R" else -1
    plan = core.FftPlan(values, [1], kind, **choices)
    expected = plan.run(values.copy(), None, direction)
    result = core.FftPlan.transform(values, [1], kind, None, direction, **choices)
    assert (result is values) == choices.get("inplace", False)
    assert result.strides == expected.strides
    np.testing.assert_array_equal(result, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("parity", ["even", "odd"])
def test_an_operand_is_kept_unless_it_may_be_overwritten(library: str, parity: Any) -> None:
    source = Source(library, "cuda")
    for shape, axes in [((7, 65), [1]), ((65, 7), [0]), ((3, 20, 33), [1, 2])]:
        values = random_values(shape, np.complex128)
        kept, lost = (source.operand(values, (...,)) for _ in range(2))
        result = core.FftPlan.transform(kept, axes, "C2R", None, 1, last_axis_parity=parity)
        np.testing.assert_array_equal(read(kept), values)
        other = core.FftPlan.transform(
            lost, axes, "C2R", None, 1, last_axis_parity=parity, may_overwrite=True
        )
        np.testing.assert_allclose(read(other), read(result), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "choices",
    [{"num_threads": 0}, {"execution": "gpu"}, {"last_axis_parity": ""}, {"result_layout": "C"}],
)
def test_choices_that_plans_refuse_are_declined(choices: dict[str, Any]) -> None:
    values = random_values((5, 6), np.complex64)
    with pytest.raises(ValueError, match=next(iter(choices))):
        core.FftPlan(values, **choices)
    assert core.FftPlan.transform(values, **choices) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((3, 7), np.complex128),), r"the operand is of .*shape \(3, 7\).*shape \(3, 8\)"),
        ((np.zeros((3, 8), np.complex64),), "complex64.*made for type complex128"),
        (
            (np.zeros((3, 8), np.complex128), np.zeros((3, 9), np.complex128)),
            r"out is of .*shape \(3, 9\)",
        ),
        ((np.zeros((3, 8), np.complex128), None, 0), "direction is 0"),
    ],
)
def test_what_does_not_fit(arguments: tuple[Any, ...], message: str) -> None:
    plan = core.FftPlan(np.zeros((3, 8), np.complex128), axes=[1])
    with pytest.raises(ValueError, match=message):
        plan.run(*arguments)


def test_overlapping_memory_is_refused() -> None:
    whole = random_values((5, 8), np.complex128)
    plan = core.FftPlan(whole[:4], axes=[1])
    before = whole.copy()
    with pytest.raises(ValueError, match="overlap"):
        plan.run(whole[:4], whole[1:])
    np.testing.assert_array_equal(whole, before)


def test_the_same_question_is_answered_from_the_cache() -> None:
    core.plan_cache_clear()
    values = random_values((3, 24), np.float32)
    for _ in range(5):
        assert_close(core.FftPlan.transform(values, [1]), values, "R2C", (1,))
    info = core.plan_cache_info()
    assert (info.hits, info.misses, info.size) == (4, 1, 1)
    limit = info.limit
    try:
        core.set_plan_cache_limit(0)
        assert core.plan_cache_info().size == 0
        core.FftPlan.transform(values, [1])
        assert core.plan_cache_info().misses == 2
    finally:
        core.set_plan_cache_limit(limit)


def test_plans_in_use_stay_in_the_cache() -> None:
    core.plan_cache_clear()
    limit = core.plan_cache_info().limit
    hot = random_values((5000,), np.complex64)
    core.FftPlan.transform(hot)
    for length in range(2, 3 * limit):
        core.FftPlan.transform(random_values((length,), np.complex64))
        core.FftPlan.transform(hot)
    info = core.plan_cache_info()
    assert info.size == limit
    # Each new length was planned once, and the plan in use never again.
    assert info.misses == 3 * limit - 1


def test_plans_of_the_same_problem_are_equal() -> None:
    first = core.FftPlan(np.zeros((3, 8)), axes=[1], cached=False)
    second = core.FftPlan(np.ones((3, 8)), axes=[-1], cached=False)
    assert first == second
    assert len({first, second, core.FftPlan(np.zeros((3, 9)), axes=[1])}) == 2
    assert first != core.FftPlan(np.zeros((3, 8)), axes=[0])


def test_streams_without_a_gpu() -> None:
    assert core.current_stream(np.zeros(3)) == 0
    with pytest.raises(TypeError, match="stream is a str"):
        core.is_capturing("none")
