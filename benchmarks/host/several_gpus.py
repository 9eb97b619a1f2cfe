"""Measures large transforms on one GPU and on several, with operands in host and device memory.

Every number of GPUs is measured in every round, and the medians over the rounds are printed. A time
ends when the result is there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpumath import fft, memory
from gpumath.bench import _report
from gpumath.bindings import core

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    # shape, transform axes
    "64 x 2^20 (a batch)": ((64, 1 << 20), (1,)),
    "256 x 2^20 (a batch)": ((256, 1 << 20), (1,)),
    "1024 x 1024 x 1024": ((1024, 1024, 1024), (0, 1, 2)),
    "16384 x 16384": ((16384, 16384), (0, 1)),
    "2^28": ((1 << 28,), (0,)),
}


def on_host(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return an operand and a result in pinned host memory."""
    operand, result = (
        np.asarray(memory.empty(shape, "complex64", kind="pinned")) for _ in range(2)
    )
    operand[...] = 1
    return operand, result


def of_gpumath(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return an operand and a result in gpumath's own memory on the first GPU."""
    ones = np.ones(shape, np.complex64)
    operand, result = (memory.empty(shape, "complex64", kind="device") for _ in range(2))
    core.copy(operand.ptr, ones.ctypes.data, ones.nbytes)
    core.synchronize_stream(0)
    return operand, result


def of_cupy(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return an operand and a result in CuPy's memory on the first GPU."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    return cupy.ones(shape, "complex64"), cupy.empty(shape, "complex64")


def of_numpy(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return an operand and a result in ordinary, pageable host memory."""
    return np.ones(shape, np.complex64), np.ones(shape, np.complex64)


PLACES = {
    "pinned host memory": on_host,
    "ordinary host memory": of_numpy,
    "gpumath, GPU 0": of_gpumath,
    "CuPy, GPU 0": of_cupy,
}


def planned(operand: Any, axes: tuple[int, ...], gpus: int) -> fft.FFT:
    execution: Any = "cuda" if gpus == 1 else fft.ExecutionCUDA(device_ids=range(gpus))
    transform = fft.FFT(operand, axes=axes, execution=execution, options={"blocking": True})
    transform.plan()
    return transform


def milliseconds(
    operand: Any, result: Any, axes: tuple[int, ...], numbers: list[int], rounds: int
) -> list[float]:
    """Return the median time of an execution, in milliseconds, for each number of GPUs."""
    transforms = [planned(operand, axes, gpus) for gpus in numbers]
    times: list[list[float]] = [[] for _ in numbers]
    for round_ in range(rounds + 2):
        for transform, own in zip(transforms, times, strict=True):
            start = time.perf_counter()
            transform.execute(out=result)
            if round_ >= 2:  # the first two rounds warm up
                own.append(1e3 * (time.perf_counter() - start))
    for transform in transforms:
        transform.free()
    core.plan_cache_clear()
    return [statistics.median(own) for own in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    try:
        count = core.Device.count()
    except Exception as error:
        print(f"nothing measured, since there is no CUDA device: {error}")
        return
    if count < 2:
        print("nothing measured, since there are no two CUDA devices")
        return
    numbers = [gpus for gpus in (1, 2, 4, 8, 16) if gpus <= count]
    print(f"{count} of {core.Device(0).name}, Python {sys.version.split()[0]}")
    print(f"ms a transform, complex64, by {', '.join(map(str, numbers))} GPUs")
    rows: list[tuple[str, dict[str, float]]] = []
    for place, make in PLACES.items():
        print(f"\n{place}")
        for name, (shape, axes) in CASES.items():
            try:
                operand, result = make(shape)
            except ImportError as error:
                print(f"  left out: {error}")
                break
            times = milliseconds(operand, result, axes, numbers, arguments.rounds)
            print(f"  {name:<22}" + "".join(f"{time_:10.2f}" for time_ in times), flush=True)
            named = {f"{gpus} GPUs": time for gpus, time in zip(numbers, times, strict=True)}
            rows.append((f"{name}, {place}", named))
            del operand, result
    if arguments.json:
        title = "Large transforms on several GPUs"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="ms", gpu=True))


if __name__ == "__main__":
    main()
