"""Measures products on a GPU whose lines gpumath pads for tensor cores, beside PyTorch.

`python -P benchmarks/host/matmul_padded.py` prints microseconds of the GPU's time for a few large
layers, ``x @ weight.T`` without and with a bias, and then for random products of half precision,
bfloat16 and TF32 the ratio to the same product with lines as they are. Every run is timed after the
cache of the GPU was filled with something else.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matmul_grid import Stopwatch, matrix

from gpumath.bench import _report
from gpumath.linalg import advanced
from gpumath.linalg.advanced import tuning
from gpumath.linalg.advanced._algorithm import algorithm_from

# Rows of x, features that go in, and those that come out.
LAYERS = [
    (8192, 768, 50257),
    (8192, 4096, 50257),
    (16384, 2048, 1001),
    (4096, 4096, 4095),
    (4095, 4095, 4095),
    (2047, 2046, 2049),
]
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "tf32": torch.float32}
LAYOUTS = ["C", "F", "C", "F", "C", "F", "gaps", "steps", "batch", "batch last", "broadcast"]
WORK = range(1 << 26, 1 << 36)
TURNS = 5
# cuBLASLt's first algorithm for lines as they are.
AS_THEY_ARE = b"way\0\0\0\0\xff" + np.array([0, 0, 0, 2, 0, 0, 0], np.uint64).tobytes()

Times = dict[str, float]


def options_of(dtype: str) -> dict[str, Any]:
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    fast = advanced.MatmulComputeType.COMPUTE_32F_FAST_TF32
    return {"compute_type": fast} if dtype == "tf32" else {}


def layer(stopwatch: Stopwatch, extents: tuple[int, int, int], dtype: str) -> Times:
    rows, inner, features = extents
    kind, options = DTYPES[dtype], options_of(dtype)
    x = torch.randn(rows, inner, dtype=kind, device="cuda")
    weight = torch.randn(features, inner, dtype=kind, device="cuda")
    bias = torch.randn(features, dtype=kind, device="cuda")
    plain = advanced.Matmul(x, weight.T, options=options)
    plain.plan()
    biased = advanced.Matmul(weight, x.T, options=options)
    biased.plan(epilog=advanced.MatmulEpilog.BIAS, epilog_inputs={"bias": bias})
    subjects = {
        "gpumath": plain.execute,
        "PyTorch": lambda: x @ weight.T,
        "gpumath, bias": biased.execute,
        "PyTorch, bias": lambda: torch.nn.functional.linear(x, weight, bias),
    }
    return stopwatch.times(subjects, TURNS)


def random_product(stopwatch: Stopwatch, choose: random.Random) -> tuple[str, Times]:
    while True:
        rows, columns, depth = (
            -(-extent // 8) * 8 if choose.random() < 0.35 else extent
            for extent in (int(2 ** choose.uniform(0, 13)) for _ in range(3))
        )
        left, right = choose.choices(LAYOUTS, k=2)
        entries = 4 if "batch" in left + right else 1
        if rows * columns * depth * entries in WORK:
            break
    dtype = choose.choice(list(DTYPES))
    options = options_of(dtype)
    a = matrix(rows, depth, DTYPES[dtype], left)
    b = matrix(depth, columns, DTYPES[dtype], right)
    planned = advanced.Matmul(a, b, options=options)
    planned.plan()
    others = advanced.Matmul(a, b, options=options)
    others.plan(algorithms=[algorithm_from((AS_THEY_ARE, 0, 0.0))])
    subjects = {
        "gpumath": planned.execute,
        "lines as they are": others.execute,
        "PyTorch": lambda: torch.matmul(a, b),
    }
    name = f"{dtype}, {rows} x {columns} x {depth}, {left} x {right}"
    return name, stopwatch.times(subjects, TURNS)


def summary(title: str, ratios: list[float]) -> None:
    ratios.sort()
    low, middle, high = (ratios[int(part * (len(ratios) - 1))] for part in (0.1, 0.5, 0.9))
    faster = [ratio for ratio in ratios if ratio < 0.93]
    print(
        f"{title}: {len(ratios)} products; 10 %, 50 % and 90 % below {low:.2f} {middle:.2f} "
        f"{high:.2f}; {len(faster)} below 0.93, their geometric mean "
        f"{statistics.geometric_mean(faster or [1]):.2f}; "
        f"{sum(ratio > 1.07 for ratio in ratios)} above 1.07, {ratios[-1]:.2f} at worst"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="time for random products")
    parser.add_argument("--seed", type=int, default=1, help="which random products")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    tuning.configure(mode="off")
    stopwatch = Stopwatch()
    found: list[tuple[str, Times]] = []
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for extents in LAYERS:
        for dtype in DTYPES:
            times = layer(stopwatch, extents, dtype)
            found.append((f"{dtype}, {' x '.join(map(str, extents))}", times))
            print(found[-1][0], " ".join(f"{name} {one:.0f}" for name, one in times.items()))
    choose, end = random.Random(arguments.seed), time.monotonic() + arguments.seconds
    products: list[tuple[str, Times]] = []
    while time.monotonic() < end:
        products.append(random_product(stopwatch, choose))
    for dtype in DTYPES:
        own = [times for name, times in products if name.startswith(f"{dtype},")]
        for other in ("lines as they are", "PyTorch"):
            summary(f"{dtype}, to {other}", [one["gpumath"] / one[other] for one in own])
    if arguments.json:
        title = "Products with padded lines"
        _report.save(
            arguments.json, _report.figures(found + products, title=title, unit="us", gpu=True)
        )


if __name__ == "__main__":
    main()
