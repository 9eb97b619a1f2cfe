"""Compares the time of `import gpumath.fft` with that of `import numpy`, in fresh processes."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from gpumath.bench import _report

PROBE = """
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start)
"""
MODULES = ("numpy", "gpumath.fft", "gpumath.bindings.core")


def import_seconds(module: str) -> float:
    command = [sys.executable, "-P", "-c", PROBE.format(module=module)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    import_seconds("gpumath.fft")  # fills the file cache and writes byte code
    for _ in range(arguments.rounds):
        for module in MODULES:
            times[module].append(import_seconds(module))
    medians = {module: 1e3 * statistics.median(values) for module, values in times.items()}
    for module, median in medians.items():
        print(f"import {module:<24} {median:7.1f} ms   {median - medians['numpy']:+7.1f} ms")
    if arguments.json:
        rows = [(module, {"import": median}) for module, median in medians.items()]
        title = "Time to import gpumath and NumPy"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="ms", gpu=False))


if __name__ == "__main__":
    main()
