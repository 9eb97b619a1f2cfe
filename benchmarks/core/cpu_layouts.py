"""Measures transforms of many layouts on the CPU, beside scipy.fft and PyTorch with equal threads.

The subjects take turns, and a result is new memory for all of them. The table has the median of the
rounds, in which each subject is called for a while, and the ratio to the faster of the others.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import scipy.fft

from gpumath import fft

ROUND_SECONDS = 0.1
FUNCTIONS = {"C2C": "fftn", "R2C": "rfftn", "C2R": "irfftn"}

Call = Callable[[], object]


class Row(NamedTuple):
    """A transform. The shape is that of the operand."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    kind: str = "C2C"
    dtype: str = "complex64"


ROWS = [
    Row((64, 1024, 64), (1,)),
    Row((8, 128, 128, 16), (1, 2)),
    Row((8, 128, 128, 3), (1, 2)),
    Row((8, 16, 128, 128), (2, 3)),
    Row((64, 64, 1024), (0, 1)),
    Row((1024, 1024, 3), (0, 1)),
    Row((2048, 2048), (0,)),
    Row((2048, 2048), (1,)),
    Row((2048, 2048), (0, 1)),
    Row((1 << 21, 2), (0,)),
    Row((1 << 16, 64), (0,)),
    Row((1000, 4000), (0,)),
    Row((1009, 4000), (0,)),
    Row((100, 250, 160), (1,)),
    Row((128, 128, 128), (0, 2)),
    Row((128, 128, 128), (0, 1, 2)),
    Row((16, 1 << 18), (1,)),
    Row((16, 1024), (1,)),
    Row((4, 7, 9, 11), (1, 2)),
    Row((64, 1024, 64), (1,), "C2C", "complex128"),
    Row((2048, 1024), (0,), "C2C", "complex128"),
    Row((8, 256, 256, 16), (1, 2), "R2C", "float32"),
    Row((2048, 2048), (0,), "R2C", "float32"),
    Row((64, 1024, 64), (1,), "R2C", "float32"),
    Row((2048, 1024), (0,), "R2C", "float64"),
    Row((8, 256, 129, 16), (1, 2), "C2R", "complex64"),
    Row((1025, 2048), (0,), "C2R", "complex64"),
    Row((64, 513, 64), (1,), "C2R", "complex64"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    worst = 0.0
    names = None
    for row in ROWS:
        calls = subjects(row, arguments.threads)
        if names is None:
            names = [*calls]
            print("| operand, axes | " + " | ".join(names) + " | ratio |")
            print("|---" * (len(names) + 2) + "|")
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(arguments.rounds):
            for name, call in calls.items():
                times[name].append(median_ms(call))
        medians = {name: statistics.median(all_) for name, all_ in times.items()}
        ratio = medians["gpumath"] / min(ms for name, ms in medians.items() if name != "gpumath")
        worst = max(worst, ratio)
        shape, axes = "×".join(map(str, row.shape)), ", ".join(map(str, row.axes))
        cells = " | ".join(f"{ms:.4f}" for ms in medians.values())
        print(f"| {row.kind} {shape} {row.dtype}, ({axes}) | {cells} | {ratio:.2f} |", flush=True)
    print(f"\nworst ratio: {worst:.2f}, with {arguments.threads} threads; times in ms")


def subjects(row: Row, threads: int) -> dict[str, Call]:
    random = np.random.default_rng()
    operand = random.standard_normal(row.shape)
    if row.kind != "R2C":
        operand = operand + 1j * random.standard_normal(row.shape)
    operand = operand.astype(row.dtype)
    name, norm = FUNCTIONS[row.kind], "forward" if row.kind == "C2R" else "backward"
    ours = getattr(fft, name.removesuffix("n"))
    theirs = getattr(scipy.fft, name)
    execution = {"name": "cpu", "num_threads": threads}
    calls: dict[str, Call] = {
        "gpumath": lambda: ours(operand, axes=row.axes, execution=execution),
        "SciPy": lambda: theirs(operand, axes=row.axes, norm=norm, workers=threads),
    }
    if find_spec("torch"):
        torch = import_module("torch")
        torch.set_num_threads(threads)
        tensor, function = torch.from_numpy(operand), getattr(torch.fft, name)
        calls["PyTorch"] = lambda: function(tensor, dim=row.axes, norm=norm)
    return calls


def median_ms(call: Call) -> float:
    """Return the median time, in milliseconds, of the calls that fit into one round."""
    times: list[float] = []
    call()
    end = time.perf_counter() + ROUND_SECONDS
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


if __name__ == "__main__":
    main()
