"""Measures the GPU time of products over a grid of extents, layouts and element types.

Each cell is compared with cuBLASLt as PyTorch and CuPy call it. The worst cells are printed. The
times are medians of runs in turns, each after the cache of the GPU was filled with something else.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable
from typing import Any

import torch

from gpumath.bindings import core, driver
from gpumath.linalg import advanced

EXTENTS = [1, 8, 64, 1000, 4096, 8192]
LAYOUTS = ["C", "F", "gaps", "steps", "batch", "batch last", "broadcast"]
DTYPES = ["bfloat16", "float16", "tf32", "float32", "float64", "complex64", "int8", "float8"]
MOST_BYTES = 4 << 30
MOST_WORK = 2 << 38


def matrix(rows: int, columns: int, dtype: Any, layout: str) -> Any:
    def new(*shape: int) -> Any:
        if dtype == torch.int8:
            return torch.randint(-100, 100, shape, dtype=dtype, device="cuda")
        if dtype == torch.float8_e4m3fn:
            return torch.rand(shape, device="cuda").to(dtype)
        return torch.randn(shape, dtype=dtype, device="cuda")

    if layout == "F":
        return new(columns, rows).T
    if layout == "gaps":
        return new(rows, columns + 16)[:, :columns]
    if layout == "steps":
        return new(2 * rows, 2 * columns)[::2, ::2]
    if layout == "batch":
        return new(4, rows, columns)
    if layout == "batch last":
        return new(rows, columns, 4).movedim(2, 0)
    if layout == "broadcast":
        return new(1, columns).expand(rows, columns)
    return new(rows, columns)


def subjects_of(a: Any, b: Any, dtype: str, is_tuned: bool) -> dict[str, Callable[[], Any]]:
    options: dict[str, Any] = {}
    scales = None
    if dtype == "tf32":
        options["compute_type"] = advanced.MatmulComputeType.COMPUTE_32F_FAST_TF32
    if dtype == "float8":
        options["result_type"] = "bfloat16"
        scales = {"a": torch.ones(1, device="cuda"), "b": torch.ones(1, device="cuda")}
    ours = advanced.Matmul(a, b, options=options, quantization_scales=scales)
    ours.plan()
    subjects: dict[str, Callable[[], Any]] = {"gpumath": ours.execute}
    if is_tuned:
        tuned = advanced.Matmul(a, b, options=options, quantization_scales=scales)
        tuned.plan(preferences={"limit": 16})
        tuned.autotune(iterations=5)
        subjects["gpumath tuned"] = tuned.execute
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    if dtype == "float8":
        one = torch.ones((), device="cuda")
        subjects["torch"] = lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16)
    elif dtype == "int8":
        subjects["torch"] = lambda: torch._int_mm(a, b)
    else:
        subjects["torch"] = lambda: torch.matmul(a, b)
        if dtype not in ("bfloat16", "tf32"):
            import cupy

            left, right = cupy.from_dlpack(a), cupy.from_dlpack(b)
            subjects["cupy"] = lambda: cupy.matmul(left, right)
    return subjects


def times_of(subjects: dict[str, Callable[[], Any]], rounds: int, filler: Any) -> dict[str, float]:
    """Return the median time of each subject on the GPU, in microseconds."""
    start, end = (core.Event(0, timing=True) for _ in range(2))
    found: dict[str, list[float]] = {}
    for name, call in list(subjects.items()):
        try:
            call()
        except Exception:  # what another library does not do
            if name.startswith("gpumath"):
                raise
            del subjects[name]
    names = list(subjects)
    for _ in range(rounds):
        for name in random.sample(names, len(names)):
            driver.memset_d8_async(filler.device_ptr, 0, filler.size, 0)
            start.record(0)
            subjects[name]()
            end.record(0)
            end.synchronize()
            found.setdefault(name, []).append(1e3 * start.elapsed_ms(end))
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> None:
    """Measure random cells, and print the worst ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--worst", type=int, default=25)
    parser.add_argument("--tuned", action="store_true", help="also after autotuning")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    arguments = parser.parse_args()
    filler = core.allocate(256 << 20)
    cells: list[tuple[float, str]] = []
    import time

    start = time.perf_counter()
    for _ in range(arguments.cells):
        if time.perf_counter() - start > arguments.seconds:
            break
        rows, columns, depth = random.choices(EXTENTS, k=3)
        left, right, dtype = *random.choices(LAYOUTS, k=2), random.choice(DTYPES)
        kind = {"tf32": torch.float32, "float8": torch.float8_e4m3fn}.get(dtype)
        kind = kind or getattr(torch, dtype)
        if rows * columns * depth > MOST_WORK:
            continue
        a, b = matrix(rows, depth, kind, left), matrix(depth, columns, kind, right)
        cell = f"{dtype:9} {rows:5} {columns:5} {depth:5} {left:>10} x {right:10}"
        try:
            times = times_of(subjects_of(a, b, dtype, arguments.tuned), arguments.rounds, filler)
        except Exception as error:
            print(f"{cell}: {type(error).__name__}: {str(error)[:200]}")
            continue
        others = [times[name] for name in ("torch", "cupy") if name in times]
        ours = times["gpumath"]
        ratio = ours / min(others) if others else 0.0
        text = ", ".join(f"{name} {value:.1f}" for name, value in times.items())
        cells.append((ratio, f"{ratio:6.2f} x  {cell}  {text}"))
    ratios = sorted(ratio for ratio, _ in cells if ratio)
    print(f"{core.Device(0).name}: {len(cells)} cells, {len(ratios)} of them compared")
    print("ratio to the better one of torch and cupy: ", end="")
    for share in (0.1, 0.5, 0.9, 0.99):
        print(f"{share:.0%} {ratios[int(share * (len(ratios) - 1))]:.2f} ", end="")
    print(f"\nworst cells, GPU time in us, of {sum(ratio > 1.03 for ratio in ratios)} above 1.03:")
    for _, text in sorted(cells, reverse=True)[: arguments.worst]:
        print(text)


if __name__ == "__main__":
    main()
