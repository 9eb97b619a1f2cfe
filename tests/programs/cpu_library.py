"""A transform on the CPU, by the library that the environment chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath.bindings import core
from tests.programs.support.entry import main


def operand() -> Any:
    rng = np.random.default_rng()
    return rng.standard_normal((30, 101)) + 1j * rng.standard_normal((30, 101))


def transform() -> Any:
    """Return the engine, and the largest relative error."""
    a = operand()
    plan = core.FftPlan(a, num_threads=2)
    b = np.empty(plan.output_shape, plan.output_dtype)
    plan.execute(a, b)
    wanted = np.fft.fftn(a)
    return plan.engine, float(abs(b - wanted).max() / abs(wanted).max())


def refusal() -> Any:
    """Return class and text of what making a plan raises."""
    try:
        core.FftPlan(operand())
    except Exception as error:
        return type(error).__name__, str(error)
    return "no error", ""


if __name__ == "__main__":
    main(globals())
