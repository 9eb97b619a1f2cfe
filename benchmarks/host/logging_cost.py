"""Measures the host time of `FFT.execute` with a tiny operand, for several levels of its logger.

Every subject runs in every round, and the medians over the rounds are printed. `off` is a logger
that is disabled. At WARNING, an ordinary call makes no record. At INFO, it makes records, which are
discarded. The difference to `off` is the cost of logging.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import timeit
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from gpumath import fft
from gpumath.bench import _report
from gpumath.bindings import core

SHAPE = (4, 16)
CALLS = 500  # per round; so few that the queue of a GPU does not fill up
ROUNDS = 25


def loggers() -> dict[str, logging.Logger]:
    """Return one logger for each column of the table; all of them discard their records."""
    made = {}
    for name, level in {"off": 0, "WARNING": logging.WARNING, "INFO": logging.INFO}.items():
        logger = logging.getLogger(f"logging_cost.{name}")
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        logger.setLevel(level)
        logger.disabled = name == "off"
        made[name] = logger
    return made


def operands(on_gpu: bool) -> dict[str, Any]:
    """Return one operand of each library that is installed."""
    made: dict[str, Any] = {"NumPy": np.ones(SHAPE, np.complex64)}
    makers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "CuPy": ("cupy", lambda cupy: cupy.ones(SHAPE, "complex64")),
        "PyTorch": ("torch", lambda torch: torch.ones(SHAPE, dtype=torch.complex64, device="cuda")),
    }
    for name, (module, make) in makers.items() if on_gpu else ():
        try:
            made[name] = make(import_module(module))
        except Exception as error:  # not installed, broken, or without a device
            print(f"{name} left out: {str(error).splitlines()[0]}")
    return made


def planned(operand: Any, logger: logging.Logger) -> fft.FFT:
    transform = fft.FFT(operand, axes=[1], options={"logger": logger})
    transform.plan()
    return transform


def medians(subjects: dict[tuple[str, str], fft.FFT], on_gpu: bool) -> dict[tuple[str, str], float]:
    """Return the median of each subject, in nanoseconds per call."""
    times: dict[tuple[str, str], list[float]] = {name: [] for name in subjects}
    for round_ in range(ROUNDS + 2):
        for name, transform in subjects.items():
            if on_gpu:
                core.Device(0).synchronize()
            seconds = timeit.timeit(transform.execute, number=CALLS)
            if round_ >= 2:  # the first two rounds warm up
                times[name].append(1e9 * seconds / CALLS)
    return {name: statistics.median(rounds) for name, rounds in times.items()}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    path = parser.parse_args().json
    on_gpu = core.Device.count() > 0
    if not on_gpu:
        print("CuPy and PyTorch left out: there is no CUDA device")
    kept = loggers()
    subjects = {
        (library, name): planned(operand, logger)
        for library, operand in operands(on_gpu).items()
        for name, logger in kept.items()
    }
    figures = medians(subjects, on_gpu)
    print(f"\nPython {sys.version.split()[0]}, {SHAPE[0]} x {SHAPE[1]} C2C, nanoseconds a call")
    print(f"  {'operand':<12}" + "".join(f"{name:>10}" for name in kept))
    for library in dict.fromkeys(library for library, _ in subjects):
        row = "".join(f"{figures[library, name]:>10.0f}" for name in kept)
        print(f"  {library:<12}{row}")
    if path:
        rows: dict[str, dict[str, float]] = {}
        for (library, name), time in figures.items():
            rows.setdefault(library, {})[f"logger {name}"] = time
        title = "Host time of FFT.execute by the level of its logger"
        _report.save(path, _report.figures(rows.items(), title=title, unit="ns", gpu=on_gpu))


if __name__ == "__main__":
    main()
