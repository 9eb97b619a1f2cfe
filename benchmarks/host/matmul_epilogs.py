"""Measures the GPU time of products with epilogs, of random extents, layouts and element types.

Each cell is compared with cuBLASLt's first algorithm for the product with its epilog, and with the
product alone, by gpumath, followed by what the epilog does in PyTorch; the derivatives of functions
are compared with cuBLASLt alone. Every run is timed after the cache of the GPU was filled with
something else; in a turn, each subject runs once, in random order. A subject's time is the mean of
the middle half of its runs.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from matmul_grid import Stopwatch, matrix

from gpumath.bench import _report
from gpumath.linalg import advanced
from gpumath.linalg.advanced import tuning

DTYPES = ["float16", "bfloat16", "tf32", "float32", "float64"]
EPILOGS = [epilog.name for epilog in advanced.MatmulEpilog if epilog.name != "DEFAULT"]
LAYOUTS = ["C", "F", "C", "F", "gaps", "steps", "batch", "batch last", "broadcast"]
MOST_EXTENT = 12.5  # as a power of two
WORK = range(1 << 8, 1 << 35)
TURNS = 5

Times = dict[str, float]


def cell_of(choose: random.Random) -> tuple[str, str, tuple[int, int, int], tuple[str, str]]:
    """Return an element type, an epilog, the extents of a product, and the layouts of factors."""
    while True:
        rows, columns, depth = (
            -(-extent // 8) * 8 if choose.random() < 0.5 else extent
            for extent in (int(2 ** choose.uniform(0, MOST_EXTENT)) for _ in range(3))
        )
        if rows * columns * depth in WORK:
            left, right = choose.choices(LAYOUTS, k=2)
            dtype, epilog = choose.choice(DTYPES), choose.choice(EPILOGS)
            return dtype, epilog, (rows, columns, depth), (left, right)


def inputs_of(epilog: str, batch: tuple[int, ...], rows: int, columns: int, kind: Any) -> Any:
    """Return the bias or the matrix that an epilog reads, by name."""
    if "BIAS" in epilog:
        return {"bias": torch.randn(rows, device="cuda").to(kind)}
    if epilog.startswith("DRELU"):
        shape = (*batch, columns, -(-rows // 128) * 16)
        return {"relu_aux": torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda").mT}
    if epilog.startswith("DGELU"):
        shape = (*batch, columns, -(-rows // 8) * 8)
        return {"gelu_aux": torch.randn(shape, device="cuda").to(kind).mT}
    return {}


def after(epilog: str, product: Callable[[], Any], a: Any, b: Any, inputs: Any) -> Any:
    """Return a call of a product followed by an epilog in PyTorch; None for derivatives."""
    if epilog.startswith("D"):
        return None

    def call() -> object:
        result = product()
        if "BIAS" in epilog:
            result += inputs["bias"][:, None]
        argument = result
        if "RELU" in epilog:
            return torch.relu(result), argument > 0 if "AUX" in epilog else None
        if "GELU" in epilog:
            return torch.nn.functional.gelu(result, approximate="tanh"), argument
        if epilog.startswith("BGRAD"):
            return result, a.sum(-1) if epilog == "BGRADA" else b.sum(-2)
        return result

    return call


def measure(choose: random.Random, stopwatch: Stopwatch) -> tuple[str, Times]:
    dtype, epilog, extents, layouts = cell_of(choose)
    rows, columns, depth = extents
    kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    options: dict[str, Any] = {}
    if dtype == "tf32":
        options["compute_type"] = advanced.MatmulComputeType.COMPUTE_32F_FAST_TF32
    a, b = matrix(rows, depth, kind, layouts[0]), matrix(depth, columns, kind, layouts[1])
    batch = (4,) if any(layout.startswith("batch") for layout in layouts) else ()
    inputs = inputs_of(epilog, batch, rows, columns, kind)
    chosen: dict[str, Any] = {"epilog": advanced.MatmulEpilog[epilog]}
    if inputs:
        chosen["epilog_inputs"] = inputs

    def planned(**keywords: Any) -> advanced.Matmul:
        product = advanced.Matmul(a, b, options=options)
        product.plan(**keywords)
        return product

    own = planned(preferences={"limit": 4}, **chosen)
    subjects: dict[str, Callable[[], Any]] = {"gpumath": own.execute}
    for algorithm in own.algorithms:
        if not (algorithm.has_separate_epilog or algorithm.is_own_kernel):
            subjects["cuBLASLt"] = planned(algorithms=[algorithm], **chosen).execute
            break
    if (unfused := after(epilog, planned().execute, a, b, inputs)) is not None:
        subjects["product, then PyTorch"] = unfused
    title = f"{dtype}, {epilog}, {' x '.join(map(str, extents))}, {' x '.join(layouts)}"
    how = "two steps" if own.algorithms[0].has_separate_epilog else "one"
    return f"{title}, {how}", stopwatch.times(subjects, TURNS)


def report(rows: list[tuple[str, Times]], other: str) -> None:
    """Print how the ratios to another subject are spread, and the worst cells."""
    ratios = sorted(
        (times["gpumath"] / times[other], title) for title, times in rows if other in times
    )
    for way in ("one", "two steps"):
        found = [ratio for ratio, title in ratios if title.endswith(way)]
        if found:
            shares = " ".join(f"{found[int(q * (len(found) - 1))]:.2f}" for q in (0.1, 0.5, 0.9, 1))
            above = sum(ratio > 1.05 for ratio in found)
            print(
                f"to {other}, {way}: {len(found)} cells, 10 %, 50 %, 90 % and all below {shares}; "
                f"{above} above 1.05"
            )
    for ratio, title in ratios[-10:]:
        print(f"  {ratio:.2f} {title}")


def main() -> None:
    """Measure random cells, and print the worst ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=15, help="which cells are measured")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    # What is tuned for one cell is not to be found for another.
    tuning.configure(mode="off")
    choose, stopwatch = random.Random(arguments.seed), Stopwatch()
    rows: list[tuple[str, Times]] = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < arguments.seconds:
        rows.append(measure(choose, stopwatch))
    for other in ("cuBLASLt", "product, then PyTorch"):
        report(rows, other)
    if arguments.json:
        title = f"GPU time of products with epilogs, seed {arguments.seed}"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="µs", gpu=True))


if __name__ == "__main__":
    main()
