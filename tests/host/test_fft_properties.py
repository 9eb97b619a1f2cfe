"""What holds for every transform, on random ones: kinds, shapes, axes, layouts, lengths, targets.

A failure says its seed; with that in GPUMATH_TEST_SEED, the test runs this one transform again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.cases import noted
from tests.helpers.elements import gaps_of, memory_of, read, write
from tests.helpers.random_transforms import RandomTransform, seeds
from tests.helpers.spaces import (
    ON_CPU,
    ON_GPU,
    OWN_ON_CPU,
    OWN_ON_GPU,
    TO_CPU,
    TO_GPU,
    Space,
    parameters,
)

# Together about 5 s on two cores.
TRIALS = 200


@pytest.fixture(params=parameters(ON_CPU, OWN_ON_CPU, ON_GPU, OWN_ON_GPU, TO_GPU, TO_CPU))
def anywhere(request: pytest.FixtureRequest) -> Space:
    request.param.skip_if_absent()
    return request.param


def test_random_transforms(anywhere: Space) -> None:
    for seed in seeds(TRIALS):
        trial = RandomTransform(
            seed,
            backwards=anywhere.library in ("numpy", "cupy"),
            resizes=anywhere.library != "gpumath",
        )
        with noted(trial):
            try_out(trial, anywhere)


def test_layouts_are_refused_for_a_reason() -> None:
    """Whether cuFFT covers a layout is known without a GPU."""
    for seed in seeds(10 * TRIALS):
        trial = RandomTransform(seed, backwards=seed % 2 == 0, resizes=False)
        out = trial.blank_out() if trial.target == "out" else None
        size = trial.dtype.itemsize
        problem = core.FftProblem(
            trial.shape,
            trial.dtype.name,
            [stride // size for stride in trial.template.strides],
            trial.axes,
            trial.kind,
            inplace=trial.target in ("operand", "inplace"),
            last_axis_parity="odd" if trial.is_odd else "even",
            output_strides=None if out is None else [s // out.itemsize for s in out.strides],
            unaligned=trial.kind == "R2C" and trial.lead == 1,
        )
        with noted(trial):
            assert problem.passes() or 0 in trial.used_shape


def try_out(trial: RandomTransform, space: Space) -> None:
    """Run one transform twice, on different values, and check all that it may change."""
    operand = space.array(trial.template, trial.lead)
    out = operand if trial.target == "operand" else None
    if trial.target == "out" and trial.form != "class":
        out = space.array(trial.blank_out(), trial.lead)
    first = trial.values()
    write(operand, first)
    execution: dict[str, Any] = {} if space.is_direct else {"execution": space.execution}
    if trial.form != "class":
        call = partial(trial.call, operand, out=out, **execution)
        check_twice(trial, space, operand, out, call, first)
        return
    with fft.FFT(operand, axes=trial.axes, options=trial.options, **execution) as transform:
        transform.plan(direction="inverse" if trial.inverse else "forward")
        if trial.target == "out":  # an object's results have the layout that it says
            out = space.array(trial.laid_out(transform.get_output_layout()[1]))
        check_twice(trial, space, operand, out, partial(transform.execute, out=out), first)


def check_twice(
    trial: RandomTransform,
    space: Space,
    operand: Any,
    out: Any,
    call: Callable[[], Any],
    first: np.ndarray,
) -> None:
    for values in (first, trial.values()):
        write(operand, values)
        before = memory_of(operand)
        gaps = [gaps_of(array) for array in (operand, out) if array is not None]
        result = call()
        if trial.target == "new":
            space.assert_is_alike(result)
        else:
            assert result is (operand if trial.target == "inplace" else out)
        trial.check(read(result), values)
        if trial.target in ("new", "out"):
            np.testing.assert_array_equal(memory_of(operand), before, "the operand has changed")
        after = [gaps_of(array) for array in (operand, out) if array is not None]
        np.testing.assert_equal(after, gaps, "memory between the elements has changed")
