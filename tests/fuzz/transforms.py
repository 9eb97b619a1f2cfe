"""Random transforms on the CPU between guard pages, against NumPy in a higher precision.

Operands, layouts, options and the life of an object are random; operands that are only read are
write-protected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath import fft
from gpumath.bindings import core, errors
from tests.helpers.cases import noted
from tests.helpers.guard_pages import guarded
from tests.helpers.random_transforms import EXTENTS, RandomTransform

# One line of many points is cut into several; these are around where that begins.
LONG = (1 << 14, 1 << 15, 3 << 14, 16411, 32749, 2 * 16411, 5 * 9973, 36 * 1009, 1 << 16, 65537)


def attempt(seed: int) -> None:
    """Make one transform in one of the ways to ask for it, twice."""
    rng = np.random.default_rng(seed)
    long = rng.random() < 0.15
    # Which way is taken depends on a length's prime factors, so any length may come.
    others = LONG if long else (int(extent) for extent in rng.integers(64, 6000, size=10))
    trial = RandomTransform(
        seed,
        backwards=True,
        extents=(*EXTENTS, *others),
        most_elements=140_000 if long else 6000,
    )
    if rng.random() < 0.02:
        core.plan_cache_clear()
    side = str(rng.choice(["start", "end"]))
    threads = int(rng.integers(1, 5))
    with noted(trial, f"{threads} threads, guard page at the {side}"):
        if trial.form == "class":
            live(trial, rng, side, threads)
        else:
            call(trial, side, threads)


def operand_of(trial: RandomTransform, values: np.ndarray, side: str) -> np.ndarray:
    """Operand with these values, write-protected if it is only read."""
    readonly = trial.target in ("new", "out")
    return guarded(values, like=trial.template, side=side, readonly=readonly)


def call(trial: RandomTransform, side: str, threads: int) -> None:
    """Call a function."""
    for _ in range(2):
        values = trial.values()
        operand = operand_of(trial, values, side)
        out: Any = None
        if trial.target == "operand":
            out = operand
        elif trial.target == "out":
            out = guarded(trial.blank_out(), side=side)
        execution = fft.ExecutionCPU(num_threads=threads)
        result = trial.call(operand, out=out, execution=execution)
        if trial.target != "new":
            assert result is (operand if trial.target == "inplace" else out)
        trial.check(result, values)


def live(trial: RandomTransform, rng: np.random.Generator, side: str, threads: int) -> None:
    """Take an object through a random life."""
    values = trial.values()
    operand = operand_of(trial, values, side)
    execution = fft.ExecutionCPU(num_threads=threads)
    transform: Any = fft.FFT(operand, axes=trial.axes, options=trial.options, execution=execution)
    direction = "inverse" if trial.inverse else "forward"
    is_planned, is_fresh = False, True
    for step in rng.choice(["plan", "execute", "reset", "clear", "collect"], size=8):
        if step == "plan":
            transform.plan(direction=direction)
            is_planned = True
        elif step == "execute" and is_planned:
            if trial.target == "inplace" and not is_fresh:
                continue
            result = transform.execute(direction=direction)
            trial.check(result, values)
            is_fresh = False
        elif step == "execute":
            with_error(lambda: transform.execute(direction=direction))
        elif step == "reset":
            values = trial.values()
            operand = operand_of(trial, values, side)
            transform.reset_operand(operand)
            is_fresh = True
        elif step == "clear":
            core.plan_cache_clear()
    transform.free()
    with_error(lambda: transform.execute(direction=direction))


def with_error(use: Any) -> None:
    """Use an object that is not ready."""
    try:
        use()
    except errors.InvalidStateError:
        return
    raise AssertionError("an object that is not ready was executed")
