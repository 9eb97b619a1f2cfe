"""Time that kernels take to draw random numbers, by gpumath and by nvmath-python.

2^20 threads draw 200 numbers each. `first` is the first launch, compilation included; a second run
finds gpumath's code in its cache. `local` is what a thread has in local memory. The peer's kernels
have the code of cuRAND's headers, as kernels of CUDA C++ have it.

    python benchmarks/device/random_rates.py                     # gpumath alone
    python benchmarks/device/random_rates.py --peer nvmath       # and nvmath-python
    python benchmarks/device/random_rates.py --generators XORWOW # of one generator
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from functools import partial
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


def prepared(package: str, generator: str) -> dict[str, tuple[Callable[[], Any], dict[str, Any]]]:
    """Return what launches each kernel, and its first time in ms and its local memory."""
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
        local = max(kernel.get_local_mem_per_thread().values())
        found[name] = partial(launch, states, sums), {"first_ms": first, "local_bytes": local}
    return found


def milliseconds(launch: Callable[[], Any]) -> float:
    """Return the time of one launch on the GPU."""
    before, after = cuda.event(), cuda.event()
    before.record()
    launch()
    after.record()
    after.synchronize()
    return float(cuda.event_elapsed_time(before, after))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", choices=["nvmath"])
    parser.add_argument("--generators", nargs="+", choices=GENERATORS, default=GENERATORS)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    chosen = parser.parse_args()
    packages = ["gpumath", *([chosen.peer] if chosen.peer else [])]
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for generator in chosen.generators:
        ready = {package: prepared(package, generator) for package in packages}
        for name in ready["gpumath"]:
            best = dict.fromkeys(packages, float("inf"))
            for _ in range(5):
                for package in packages:
                    best[package] = min(best[package], milliseconds(ready[package][name][0]))
            title = f"{generator} {name}"
            results[title] = {p: {"ms": best[p], **ready[p][name][1]} for p in packages}
            parts = [
                f"{p} {r['ms']:9.3f} ms, first {r['first_ms']:6.0f} ms, local {r['local_bytes']:4}"
                for p, r in results[title].items()
            ]
            rate = best[packages[-1]] / best["gpumath"]
            print(f"{title:30} {'   '.join(parts)}" + f"   rate {rate:5.2f}" * (len(packages) > 1))
    if chosen.peer:
        rates = {t: found["nvmath"]["ms"] / found["gpumath"]["ms"] for t, found in results.items()}
        worst = min(rates, key=lambda title: rates[title])
        print(f"gpumath's rate / nvmath's: worst {rates[worst]:.3f} ({worst})")
    if chosen.json:
        title = f"{THREADS} random numbers inside a kernel"
        names = {"gpumath": "gpumath", "nvmath": "nvmath-python"}
        rows = [(t, {names[p]: r["ms"] for p, r in found.items()}) for t, found in results.items()]
        _report.save(chosen.json, _report.figures(rows, title=title, unit="ms", gpu=True))


if __name__ == "__main__":
    main()
