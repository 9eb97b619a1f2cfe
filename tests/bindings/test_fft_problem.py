"""core.FftProblem: what a plan is made for, and the cuFFT plans that it takes, without a GPU."""

from __future__ import annotations

import pickle
from math import prod
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core


def test_what_a_plan_is_made_for() -> None:
    values = np.ones((4, 6, 10), np.complex64).transpose(2, 0, 1)
    for kind, parity in (("C2C", "even"), ("C2R", "even"), ("C2R", "odd")):
        plan = core.FftPlan(values, [0, 2], kind, last_axis_parity=parity)
        view = core.TensorView(values)
        problem = core.FftProblem(
            view.shape, view.dtype, view.strides, [0, -1], kind, last_axis_parity=parity
        )
        assert problem == plan.problem
        assert hash(problem) == hash(plan.problem)
        names = ("kind", "axes", "inplace", "input_shape", "input_strides", "input_dtype")
        names += ("output_shape", "output_strides", "output_dtype")
        for name in names:
            assert getattr(problem, name) == getattr(plan, name), name
        assert pickle.loads(pickle.dumps(problem)) == problem
        assert repr(pickle.loads(pickle.dumps(problem))) == repr(problem)
        assert problem != kind


def elements(embed: tuple[int, ...], stride: int, distance: int, extents: Any, batch: int) -> Any:
    """Offsets that cuFFT's advanced data layout reaches."""
    steps = [stride * prod(embed[axis + 1 :]) for axis in range(len(extents))]
    offsets = np.zeros((1,) * (1 + len(extents)), np.int64)
    for axis, (n, step) in enumerate(zip((batch, *extents), (distance, *steps), strict=True)):
        shape = [1] * (1 + len(extents))
        shape[axis] = n
        offsets = offsets + (np.arange(n) * step).reshape(shape)
    return offsets.ravel()


@pytest.mark.parametrize("axes", [(2,), (0,), (1, 2), (0, 2), (0, 1, 2), (0, 1, 2, 3), (3, 1)])
def test_passes_read_every_element_once(axes: tuple[int, ...]) -> None:
    shape = (3, 4, 2, 5)
    problem = core.FftProblem(shape, "complex64", axes=axes)
    passes = problem.passes()
    transformed = sum(len(one.extents) for one in passes)
    assert transformed == len(axes)
    for one in passes:
        assert prod(one.extents) * one.batch == prod(shape)
        layout = (one.input_embed, one.input_stride, one.input_distance)
        reached = elements(*layout, one.extents, one.batch)
        assert len(np.unique(reached)) == len(reached)
        assert sorted(reached) == list(range(prod(shape)))
    assert problem.workspace_size(1000) == 1000


def test_copies_need_workspace() -> None:
    """cuFFT overwrites the operand of a C2R transform, and refuses real ones that are unaligned."""
    inverse = core.FftProblem((4, 5), "complex128", axes=[1], kind="C2R")
    assert inverse.workspace_size(0) == 4 * 5 * 16
    assert inverse.workspace_size(100) == 256 + 4 * 5 * 16
    forward = core.FftProblem((4, 6), "float32", axes=[1])
    assert forward.workspace_size(0) == 0
    unaligned = core.FftProblem((4, 6), "float32", axes=[1], unaligned=True)
    assert unaligned.workspace_size(0) == 4 * 6 * 4
    assert unaligned != forward
    assert pickle.loads(pickle.dumps(unaligned)) == unaligned


def test_any_layout_is_brought_into_one_that_cufft_takes() -> None:
    columns = core.FftProblem((4, 5), "complex64", axes=[0])
    assert (len(columns.passes()), columns.copies, columns.workspace_size(0)) == (1, 0, 0)
    # The copy is in the memory of the result, unless that is as little use as the operand.
    backwards = core.FftProblem((4, 5), "complex64", (5, -1), axes=[1])
    assert (len(backwards.passes()), backwards.copies, backwards.workspace_size(0)) == (1, 1, 0)
    both = core.FftProblem((4, 5), "complex64", (5, -1), axes=[1], output_strides=(5, -1))
    assert (len(both.passes()), both.copies, both.workspace_size(0)) == (1, 2, 4 * 5 * 8)
    middle = {"shape": (256, 4096, 64), "dtype": "complex64", "axes": [1]}
    optimized = core.FftProblem(**middle)
    assert (optimized.copies, optimized.output_strides) == (1, (4096 * 64, 1, 4096))
    natural = core.FftProblem(**middle, result_layout="natural")
    assert (natural.copies, natural.output_strides) == (2, (4096 * 64, 64, 1))


def test_an_empty_batch_takes_no_plan() -> None:
    problem = core.FftProblem((0, 8), "complex64", axes=[1])
    assert problem.passes() == []
    assert problem.workspace_size(0) == 0


def test_refusals() -> None:
    with pytest.raises(ValueError, match="output_strides has 1 elements, and the shape 2"):
        core.FftProblem((4, 5), "complex64", output_strides=(1,))
    with pytest.raises(ValueError, match=r"result_layout is .best"):
        core.FftProblem((4, 5), "complex64", result_layout="best")
    with pytest.raises(ValueError, match="larger than any memory"):
        core.FftProblem((2**62, 4), "complex64")
    with pytest.raises(ValueError, match="one layout for input and output can work in place"):
        core.FftProblem((4, 5), "complex64", inplace=True, output_strides=(1, 4))


@pytest.mark.gpu
@pytest.mark.parametrize("axes", [(2,), (0, 2), (0, 1, 2, 3), (3, 1)])
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_a_real_plan_makes_as_many_calls(axes: tuple[int, ...], kind: str) -> None:
    dtype = np.float32 if kind == "R2C" else np.complex64
    plan = core.FftPlan(np.ones((3, 4, 2, 5), dtype), axes, kind, execution="cuda")
    passes = plan.problem.passes()
    assert len(passes) == plan.library_calls
    assert plan.problem.workspace_size(0) <= plan.workspace_size
