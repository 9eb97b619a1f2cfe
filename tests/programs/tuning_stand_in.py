"""The product of tuning_gpu.py on a GPU that is none, where nothing can be measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpumath.linalg.advanced import _matmul_class
from tests.programs import tuning_gpu
from tests.programs.support.entry import main


def run_once(runs: Sequence[Callable[[], Any]], *_: Any) -> list[float]:
    """Run each algorithm; the first one takes the shortest time."""
    for run in runs:
        run()
    return [float(number) for number in range(1, 1 + len(runs))]


def tune(m: int, n: int, k: int) -> dict[str, Any]:
    """Plan, autotune and execute; return what was logged, chosen and computed."""
    _matmul_class.median_times = run_once
    return tuning_gpu.tune(m, n, k)


if __name__ == "__main__":
    main(globals())
