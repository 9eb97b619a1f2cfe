"""Random transforms with a prolog, an epilog or both, written in Python.

Each element has a factor by its offset, so that a wrong offset is a wrong result. See
`test_fft_properties` for what holds without callbacks, and for trying a failure again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.callbacks import require_numba
from tests.helpers.cases import noted
from tests.helpers.elements import memory_of, read, write
from tests.helpers.offset_factors import OffsetFactors
from tests.helpers.random_transforms import SMOOTH_EXTENTS, RandomTransform, seeds
from tests.helpers.references import relative_error, tolerance

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

pytestmark = pytest.mark.gpu

# For each of them cuFFT compiles kernels.
TRIALS = 40


def test_random_transforms(gpu_space: Space) -> None:
    require_numba()
    accepted = 0
    for seed in seeds(TRIALS):
        trial = RandomTransform(seed, resizes=False, extents=SMOOTH_EXTENTS)
        with noted(trial):
            accepted += try_out(trial, gpu_space)
    assert accepted > 0


def try_out(trial: RandomTransform, space: Space) -> bool:
    """Run one transform twice, on different values; say whether cuFFT covers it."""
    operand = space.array(trial.template, trial.lead)
    out = operand if trial.target == "operand" else None
    if trial.target == "out" and trial.form != "class":
        out = space.array(trial.blank_out(), trial.lead)
    sides = random_sides(trial, space)
    callbacks = {phase: side.callable for phase, side in sides.items()}
    try:
        if trial.form != "class":
            call = partial(trial.call, operand, out=out, **callbacks)
            check_twice(trial, operand, sides, call)
            return True
        with fft.FFT(operand, axes=trial.axes, options=trial.options) as transform:
            transform.plan(direction="inverse" if trial.inverse else "forward", **callbacks)
            if trial.target == "out":
                out = space.array(trial.laid_out(transform.get_output_layout()[1]))
            check_twice(trial, operand, sides, partial(transform.execute, out=out))
    except fft.UnsupportedLayoutError:
        # Callbacks count offsets in the user's layouts, so copies to others are no help.
        outs = [None, out] if trial.form == "class" else [out]
        assert any(has_copies_without(trial, operand, given) for given in outs)
        return False
    return True


def random_sides(trial: RandomTransform, space: Space) -> dict[str, OffsetFactors]:
    """A prolog, an epilog or both."""
    sides = {}
    which = trial.rng.choice(["prolog", "epilog", "both"])
    # A prolog may leave no Hermitian array of what was one, unless there is a single axis.
    if which != "epilog" and (trial.kind != "C2R" or len(trial.axes) == 1):
        sides["prolog"] = OffsetFactors(space.array, "prolog", trial.dtype)
    if which != "prolog" or not sides:
        sides["epilog"] = OffsetFactors(space.array, "epilog", trial.result_dtype)
    return sides


def has_copies_without(trial: RandomTransform, operand: Any, out: Any) -> bool:
    """Whether the transform without callbacks works on copies in other layouts."""
    options = {"kind": trial.kind, **trial.options}
    options.pop("fft_type", None)
    return core.FftPlan(operand, axes=trial.axes, out=out, **options).problem.copies > 0


def check_twice(
    trial: RandomTransform, operand: Any, sides: dict[str, OffsetFactors], call: Any
) -> None:
    for _ in range(2):
        values = trial.values()
        write(operand, values)
        before = memory_of(operand)
        result = call()
        given = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
        if "prolog" in sides:
            given = sides["prolog"].apply(given, operand)
        expected = trial.expected(given)
        if "epilog" in sides:
            expected = sides["epilog"].apply(expected, result)
        # The factors round too, and weigh the errors.
        allowed = 2 * tolerance(trial.dtype, trial.points) + 2 * float(np.finfo(trial.dtype).eps)
        found = read(result)
        assert (found.shape, found.dtype) == (trial.result_shape, trial.result_dtype)
        assert relative_error(found, expected) <= allowed
        if trial.target in ("new", "out"):
            np.testing.assert_array_equal(memory_of(operand), before, "the operand has changed")
