"""Measures the GPU time of transforms of many layouts, beside nvmath-python, CuPy and PyTorch.

Each row is one operand and its transform axes. gpumath is measured with the optimized and with the
natural layout of the result; the others choose the layout themselves. Every subject runs in every
round, and the medians over the rounds are printed, with the ratio to the fastest of the others. A
library that refuses a row has a dash there.

The bound of a natural result is the fastest of the others and one pass over the result at 80 % of
the bandwidth that a copy of the same run has.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import NamedTuple

import cupy as cp
import torch

from gpumath import fft
from gpumath.bindings import core

Call = Callable[[], object]


class Row(NamedTuple):
    """A transform. The shape is that of the operand."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    kind: str = "C2C"
    dtype: str = "complex64"
    view: str = ""  # "slice": every second element along the last axis


ROWS = [
    Row((256, 4096, 64), (1,)),
    Row((32, 512, 512, 16), (1, 2)),
    Row((32, 512, 512, 3), (1, 2)),
    Row((32, 16, 512, 512), (2, 3)),
    Row((128, 128, 4096), (0, 1)),
    Row((4096, 4096, 3), (0, 1)),
    Row((8192, 8192), (0,)),
    Row((8192, 8192), (1,)),
    Row((8192, 8192), (0, 1)),
    Row((1 << 24, 2), (0,)),
    Row((1 << 20, 64), (0,)),
    Row((4096, 16), (0,)),
    Row((64, 1 << 19), (0,)),
    Row((1000, 60000), (0,)),
    Row((1009, 60000), (0,)),
    Row((300, 500, 400), (1,)),
    Row((256, 256, 256), (0, 2)),
    Row((256, 256, 256), (0, 1)),
    Row((256, 256, 256), (1,)),
    Row((512, 512, 512), (0, 1, 2)),
    Row((16, 64, 64, 64, 4), (1, 2, 3)),
    Row((24, 24, 24, 24, 24), (1, 2, 3, 4)),
    Row((64, 1 << 20), (1,)),
    Row((16, 1000003), (1,)),
    Row((16, 1024), (1,)),
    Row((4, 7, 9, 11), (1, 2)),
    Row((2048, 8192), (1,), view="slice"),
    Row((8192, 4096), (0,), view="slice"),
    Row((256, 4096, 64), (1,), "C2C", "complex128"),
    Row((8192, 4096), (0,), "C2C", "complex128"),
    Row((128, 128, 2048), (0, 1), "C2C", "complex128"),
    Row((256, 4096, 64), (1,), "C2C", "complex32"),
    Row((8192, 8192), (0,), "C2C", "complex32"),
    Row((32, 512, 512, 16), (1, 2), "R2C", "float32"),
    Row((8192, 8192), (0,), "R2C", "float32"),
    Row((64, 1 << 20), (1,), "R2C", "float32"),
    Row((256, 4096, 64), (1,), "R2C", "float32"),
    Row((1001, 30000), (0,), "R2C", "float32"),
    Row((8192, 4096), (0,), "R2C", "float64"),
    Row((256, 4096, 64), (1,), "R2C", "float16"),
    Row((32, 512, 257, 16), (1, 2), "C2R", "complex64"),
    Row((4097, 8192), (0,), "C2R", "complex64"),
    Row((64, (1 << 19) + 1), (1,), "C2R", "complex64"),
    Row((256, 2049, 64), (1,), "C2R", "complex64"),
    Row((32, 512, 257), (1, 2), "C2R", "complex128"),
]

FUNCTIONS = {"C2C": "fft", "R2C": "rfft", "C2R": "irfft"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of rows")
    parser.add_argument("--json", type=Path, help="file for all figures")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    bandwidth = copy_bandwidth()
    print(f"a copy moves {bandwidth / 1e9:.0f} GB/s; times in ms\n")
    print("| operand, axes | " + " | ".join(SUBJECTS) + " | optimized | natural, of its bound |")
    print("|---" * (len(SUBJECTS) + 3) + "|")
    worst = [0.0, 0.0]
    figures = []
    for number, row in enumerate(ROWS):
        if arguments.only and number not in arguments.only:
            continue
        times = measured(row, arguments.rounds)
        peers = [time for name, time in times.items() if name not in OURS and time]
        best = min(peers) if peers else float("nan")
        result = result_bytes(row)
        bound = 1.05 * best + 1e3 * 2 * result / (0.8 * bandwidth)
        optimized, natural = times["optimized"] or 0.0, times["natural"] or 0.0
        ratios = (optimized / best, natural / bound)
        worst = [max(a, b) for a, b in zip(worst, ratios, strict=True)]
        cells = [f"{times[name]:.4f}" if times[name] else "–" for name in SUBJECTS]
        last = f"{ratios[0]:.2f} | {ratios[1]:.2f} |"
        print(f"| {describe(row)} | {' | '.join(cells)} | {last}", flush=True)
        figures.append({"row": describe(row), "ms": times, "ratios": ratios})
    print(
        f"\nworst: optimized {worst[0]:.2f} x the fastest other, natural {worst[1]:.2f} x its bound"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


def describe(row: Row) -> str:
    shape = "×".join(map(str, row.shape))
    kind = "" if row.kind == "C2C" else f"{row.kind} "
    dtype = "" if row.dtype in ("complex64", "float32") else f" {row.dtype}"
    axes = ", ".join(map(str, row.axes)) + ("," if len(row.axes) == 1 else "")
    return f"{kind}{shape}{dtype}{' every second' if row.view else ''}, ({axes})"


def result_bytes(row: Row) -> int:
    last = row.shape[row.axes[-1]]
    points = {"C2C": last, "R2C": last // 2 + 1, "C2R": 2 * (last - 1)}[row.kind]
    size = torch.empty((), dtype=getattr(torch, row.dtype)).element_size()
    size = {"C2C": size, "R2C": 2 * size, "C2R": size // 2}[row.kind]
    return prod(row.shape) // last * points * size


def operand(row: Row) -> torch.Tensor:
    real = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
    shape = (*row.shape[:-1], row.shape[-1] * 2) if row.view else row.shape
    dtype = real.get(row.dtype, row.dtype)
    extra = (2,) if row.dtype in real else ()
    values = torch.rand((*shape, *extra), dtype=getattr(torch, dtype), device="cuda")
    if extra:
        values = torch.view_as_complex(values)
    return values[..., ::2] if row.view else values


def with_gpumath(layout: str) -> Callable[[Row, torch.Tensor], Call]:
    def subject(row: Row, x: torch.Tensor) -> Call:
        options = {"fft_type": row.kind, "result_layout": layout}
        transform = fft.FFT(x, axes=row.axes, options=options)
        transform.plan()
        direction = "inverse" if row.kind == "C2R" else "forward"
        return lambda: transform.execute(direction=direction)

    return subject


def with_nvmath(row: Row, x: torch.Tensor) -> Call:
    from nvmath.fft import FFT

    transform = FFT(x, axes=row.axes, options={"fft_type": row.kind})
    transform.plan()
    direction = "inverse" if row.kind == "C2R" else "forward"

    def call() -> object:
        if row.kind == "C2R":  # which has to be given its operand again
            transform.reset_operand(x)
        return transform.execute(direction=direction)

    return call


def with_cupy(row: Row, x: torch.Tensor) -> Call:
    a = cp.from_dlpack(x)
    function = getattr(cp.fft, FUNCTIONS[row.kind] + "n")
    return lambda: function(a, axes=row.axes, norm="backward" if row.kind != "C2R" else "forward")


def with_torch(row: Row, x: torch.Tensor) -> Call:
    function = getattr(torch.fft, FUNCTIONS[row.kind] + "n")
    return lambda: function(x, dim=row.axes, norm="backward" if row.kind != "C2R" else "forward")


OURS = {"optimized": with_gpumath("optimized"), "natural": with_gpumath("natural")}
SUBJECTS: dict[str, Callable[[Row, torch.Tensor], Call]] = {
    **OURS,
    **({"nvmath-python": with_nvmath} if find_spec("nvmath") else {}),
    "CuPy": with_cupy,
    "PyTorch": with_torch,
}


def measured(row: Row, rounds: int) -> dict[str, float | None]:
    """Return the median milliseconds of each subject; None where it refuses the row."""
    x = operand(row)
    calls: dict[str, Call | None] = {}
    for name, subject in SUBJECTS.items():
        try:
            calls[name] = subject(row, x)
            calls[name]()  # type: ignore[misc]  # it was just set
        except Exception:
            # What a library refuses, and how, is its own affair.
            calls[name] = None
            if name in OURS:
                raise
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            if call is not None:
                times[name].append(time_of(call))
    del calls, x
    cp.fft.config.get_plan_cache().clear()
    torch.backends.cuda.cufft_plan_cache.clear()
    core.plan_cache_clear()
    cp.get_default_memory_pool().free_all_blocks()
    torch.cuda.empty_cache()
    return {name: statistics.median(all_[1:]) if all_ else None for name, all_ in times.items()}


def time_of(call: Call) -> float:
    """Return the milliseconds of GPU time of one call, of as many as take a while."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    count = 3
    for _ in range(2):
        call()  # The GPU is busy with this call while the others are submitted.
        start.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        elapsed = start.elapsed_time(end) / count
        if elapsed > 0.5:
            break
        count = 20
    return elapsed


def copy_bandwidth() -> float:
    """Return the bytes that a copy in device memory reads and writes in a second."""
    x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    y = torch.empty_like(x)
    return 2 * x.numel() / (time_of(lambda: y.copy_(x)) / 1e3)


if __name__ == "__main__":
    main()
