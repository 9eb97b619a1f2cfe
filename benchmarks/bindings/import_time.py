"""Measures the time to import each module of gpumath.bindings, in fresh processes."""

from __future__ import annotations

import argparse
import pkgutil
import statistics
import subprocess
import sys
from pathlib import Path

import gpumath.bindings
from gpumath.bench import _report

PROBE = """
import sys
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start, sum(name.startswith("gpumath.") for name in sys.modules))
"""


def modules() -> list[str]:
    """Return the public modules. The first is the empty package, whose time is in all others'."""
    found = sorted(module.name for module in pkgutil.iter_modules(gpumath.bindings.__path__))
    return ["gpumath.bindings", *(f"gpumath.bindings.{n}" for n in found if n[0] != "_")]


def import_time(module: str) -> tuple[float, int]:
    """Return the milliseconds of an import, and how many modules of gpumath it loaded."""
    command = [sys.executable, "-P", "-c", PROBE.format(module=module)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, count = output.split()
    return 1e3 * float(seconds), int(count)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    # The first import fills the file cache and writes byte code.
    counts = {module: import_time(module)[1] for module in modules()}
    times: dict[str, list[float]] = {module: [] for module in counts}
    for _ in range(arguments.rounds):
        for module, values in times.items():
            values.append(import_time(module)[0])
    medians = {module: statistics.median(values) for module, values in times.items()}
    for module, median in medians.items():
        print(f"import {module:<28} {median:6.1f} ms   {counts[module]:2} modules of gpumath")
    if arguments.json:
        rows = [(module, {"import": median}) for module, median in medians.items()]
        title = "Time to import each module of the bindings"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="ms", gpu=False))


if __name__ == "__main__":
    main()
