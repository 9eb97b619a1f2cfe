"""Time that kernels take to draw random numbers, by gpumath and by nvmath-python.

2^20 threads draw 200 numbers each. `first` is the first launch, compilation included; a second run
finds gpumath's code in its cache.

    python benchmarks/device/random_rates.py                     # gpumath alone
    python benchmarks/device/random_rates.py --peer nvmath       # and nvmath-python
    python benchmarks/device/random_rates.py --generators XORWOW # of one generator
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from gpumath.bench import _report

THREADS, BLOCK = 1 << 20, 256
GENERATORS = ("XORWOW", "MRG32k3a", "Philox4_32_10")


def kernels(random: Any, generator: str, options: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return a kernel for each kind of number; all take the states and an array of sums."""

    def init(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        random.init(1234, i, 0, states[i])
        sums[i] = 0

    def rand(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        total = 0
        for _ in range(200):
            total ^= random.rand(states[i])
        sums[i] = total

    def uniform(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        total = np.float32(0)
        for _ in range(200):
            total += random.uniform(states[i])
        sums[i] = total

    def uniform4(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        total = np.float32(0)
        for _ in range(50):
            four = random.uniform4(states[i])
            total += four.x + four.y + four.z + four.w
        sums[i] = total

    def normal(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        total = np.float32(0)
        for _ in range(200):
            total += random.normal(states[i])
        sums[i] = total

    def normal2_double(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        total = 0.0
        for _ in range(100):
            pair = random.normal2_double(states[i])
            total += pair.x + pair.y
        sums[i] = total

    def poisson_30(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        total = 0
        for _ in range(200):
            total += random.poisson(states[i], 30.0)
        sums[i] = total

    def poisson_1000(states: Any, sums: Any) -> None:
        i = cuda.grid(1)
        total = 0
        for _ in range(200):
            total += random.poisson(states[i], 1000.0)
        sums[i] = total

    bodies = [init, rand, uniform, normal, normal2_double, poisson_30, poisson_1000]
    if generator == "Philox4_32_10":
        bodies.append(uniform4)
    return {body.__name__: cuda.jit(**options)(body) for body in bodies}


def times(package: str, generator: str) -> dict[str, tuple[float, float]]:
    """Return the time of each kernel and of its first launch, in ms."""
    random = importlib.import_module(f"{package}.device.random")
    compiled = random.Compile(cc=None)
    options = {"link": compiled.files, "extensions": compiled.extension}
    sums = cuda.device_array(THREADS, np.float64)
    states = getattr(random, f"States{generator}")(THREADS)
    found = {}
    for name, kernel in kernels(random, generator, options).items():
        launch = kernel[THREADS // BLOCK, BLOCK]
        start = time.perf_counter()
        launch(states, sums)
        cuda.synchronize()
        first = (time.perf_counter() - start) * 1e3
        best = float("inf")
        for _ in range(3):
            before, after = cuda.event(), cuda.event()
            before.record()
            launch(states, sums)
            after.record()
            after.synchronize()
            best = min(best, cuda.event_elapsed_time(before, after))
        found[name] = best, first
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", choices=["nvmath"])
    parser.add_argument("--generators", nargs="+", choices=GENERATORS, default=GENERATORS)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    chosen = parser.parse_args()
    rows: list[tuple[str, dict[str, float]]] = []
    packages = ["gpumath", *([chosen.peer] if chosen.peer else [])]
    for generator in chosen.generators:
        measured = {package: times(package, generator) for package in packages}
        for name in measured["gpumath"]:
            parts = []
            for package in packages:
                best, first = measured[package][name]
                parts.append(f"{package} {best:9.3f} ms, first {first:6.0f} ms")
            rows.append(
                (f"{generator} {name}", {p: found[name][0] for p, found in measured.items()})
            )
            print(f"{generator:14} {name:15} {'   '.join(parts)}")
    if chosen.json:
        title = f"{THREADS} random numbers inside a kernel"
        _report.save(chosen.json, _report.figures(rows, title=title, unit="ms", gpu=True))


if __name__ == "__main__":
    main()
