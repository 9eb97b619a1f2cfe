"""Helpers of the examples: they choose the device, print errors and times, and save plots."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from gpumath.bindings import core

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Execution: TypeAlias = Literal["cuda", "cpu"]

DATA = Path(__file__).resolve().parents[2] / "data"


def choose_execution() -> Execution:
    """Choose the GPU if there is one and cuFFT is installed, else the CPU."""
    if core.Device.count() == 0:
        return "cpu"
    if not core.has("cufft.exec_c2c"):
        print("There is a GPU, but no cuFFT: see python -m gpumath.bindings")
        return "cpu"
    return "cuda"


def skip(reason: str) -> NoReturn:
    """Print why an example cannot run on this machine, and end the program."""
    print(f"skipped  : {reason}")
    sys.exit()


def print_machine(execution: Execution, operand: npt.NDArray[Any]) -> None:
    """Print the versions, the device, and the engine that transforms `operand`."""
    packages = ("gpumath-host", "gpumath-bindings", "numpy")
    print("packages :", ", ".join(f"{name} {version(name)}" for name in packages))
    plan = core.FftPlan(operand, execution=execution)
    if execution == "cuda":
        device = core.Device(0)
        major, minor = device.compute_capability
        print(f"device   : {device.name}, compute capability {major}.{minor}")
        print(f"driver   : CUDA {core.driver_version()}")
    else:
        print(f"device   : CPU, {plan.num_threads} threads")
    print(f"engine   : {plan.engine}")
    for library in core.libraries():
        print(f"library  : {library.name} {library.version} ({library.origin}) {library.path}")


def print_comparison(
    name: str,
    ours: Callable[[], npt.NDArray[Any]],
    numpys: Callable[[], npt.NDArray[Any]],
) -> None:
    """Print the error against NumPy's float64 transform, and both times."""
    result, expected = ours(), numpys()
    error = np.linalg.norm(result - expected) / np.linalg.norm(expected)
    print(
        f"{name}: relative error {error:.1e}, "
        f"gpumath {best_time(ours) * 1e6:.0f} µs, NumPy {best_time(numpys) * 1e6:.0f} µs"
    )
    if not error < 1e-13:
        sys.exit(f"{name}: the error against NumPy is too large")


def best_time(function: Callable[[], object], repeats: int = 30) -> float:
    """Return the shortest time of several runs, in seconds."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def save_plot(figure: Figure, name: str) -> None:
    """Save a plot in the folder that the first argument names, or in the current folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name, dpi=120)
    print(f"plot     : {os.path.relpath(folder / name)}")
