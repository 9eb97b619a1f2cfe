"""Measures the host time to read an operand's metadata and to allocate a result.

This is done for every array library that is installed. Every subject runs in every round, and the
medians over the rounds are printed, without the time of the empty loop.
"""

from __future__ import annotations

import argparse
import array
import os
import statistics
import sys
import timeit
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gpumath import memory
from gpumath.bench import _report
from gpumath.bindings import core

SHAPE = (16, 1024)
CALLS = 20_000
ROUNDS = 9
# By default, JAX would allocate three quarters of the device's memory at its start.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def operands(on_gpu: bool) -> dict[str, Any]:
    """Return one operand of each installed class, in host memory and, with a GPU, on the device."""
    values = np.ones(SHAPE, np.complex64)
    made: dict[str, Any] = {
        "NumPy": values,
        "memoryview": memoryview(values),
        "array.array": array.array("d", range(100)),
        "gpumath, host": memory.empty(SHAPE, "complex64", kind="host"),
    }
    makers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "PyTorch, host": ("torch", lambda torch: torch.ones(SHAPE, dtype=torch.complex64)),
        "JAX": ("jax", lambda jax: jax.numpy.ones(SHAPE, "complex64")),
    }
    if on_gpu:
        made["gpumath, device"] = memory.empty(SHAPE, "complex64")
        makers |= {
            "CuPy": ("cupy", lambda cupy: cupy.ones(SHAPE, "complex64")),
            "PyTorch, device, real": ("torch", lambda torch: torch.ones(SHAPE, device="cuda")),
            "PyTorch, device": (
                "torch",
                lambda torch: torch.ones(SHAPE, dtype=torch.complex64, device="cuda"),
            ),
            "Numba": ("numba.cuda", lambda cuda: cuda.to_device(values)),
        }
    for name, (module, make) in makers.items():
        try:
            made[name] = make(import_module(module))
        except Exception as error:  # not installed, broken, or without a device
            print(f"{name} left out: {str(error).splitlines()[0]}")
    return made


def medians(subjects: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median of each subject, in nanoseconds per call."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(ROUNDS):
        floor = timeit.timeit(lambda: None, number=CALLS)
        for name, subject in subjects.items():
            times[name].append((timeit.timeit(subject, number=CALLS) - floor) / CALLS * 1e9)
    return {name: statistics.median(rounds) for name, rounds in times.items()}


def allocations(made: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return how gpumath allocates results, each paired with the library's own function."""
    subjects: dict[str, Callable[[], Any]] = {}
    own: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "NumPy": ("numpy", lambda x: np.empty(SHAPE, x.dtype)),
        "CuPy": ("cupy", lambda x: sys.modules["cupy"].empty(SHAPE, x.dtype)),
        "PyTorch, device": (
            "torch",
            lambda x: sys.modules["torch"].empty(SHAPE, dtype=x.dtype, device=x.device),
        ),
    }
    for name, (module, empty) in own.items():
        if name in made:
            operand = made[name]
            plan = core.FftPlan(operand, axes=[1])
            subjects[f"result for {name}"] = lambda plan=plan, x=operand: plan.empty_result(x)
            subjects[f"{module}.empty"] = lambda empty=empty, x=operand: empty(x)
    for kind in ("host", "device"):
        if f"gpumath, {kind}" in made:
            subjects[f"gpumath.memory.empty, {kind}"] = lambda kind=kind: memory.empty(
                SHAPE, "complex64", kind=kind
            )
    return subjects


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    path = parser.parse_args().json
    made = operands(core.Device.count() > 0)
    views = {
        name: (lambda operand=operand: core.TensorView(operand)) for name, operand in made.items()
    }
    print(f"Python {sys.version.split()[0]}, nanoseconds a call")
    rows: list[tuple[str, dict[str, float]]] = []
    for title, subjects in (("view of an operand", views), ("allocation", allocations(made))):
        print(f"\n{title}")
        for name, nanoseconds in medians(subjects).items():
            print(f"  {name:<34} {nanoseconds:8.0f}")
            rows.append((f"{title}, {name}", {"host time": nanoseconds}))
    if path:
        on_gpu = core.Device.count() > 0
        title = "Host time of views and allocations"
        _report.save(path, _report.figures(rows, title=title, unit="ns", gpu=on_gpu))


if __name__ == "__main__":
    main()
