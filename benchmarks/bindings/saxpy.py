"""Compares a whole program, `examples/bindings/03_saxpy.py`, with the same program in C++.

The programs take turns, in fresh processes. The medians of the times that they print are compared,
and the time of the whole process, which includes the interpreter's start and all imports.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpumath.bench import _report
from gpumath.bindings import core

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "bindings"


def build(folder: Path) -> Path | None:
    """Compile the C++ program; None, with a message, if that is not possible."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    if compiler is None or not Path(home, "include", "nvrtc.h").exists():
        print(f"C++ left out: it needs a compiler and the CUDA toolkit, looked for in {home}")
        return None
    # Use the same NVRTC as Python, because versions differ in how long they compile.
    nvrtc = next(library.path for library in core.libraries() if library.name == "nvrtc")
    driver = next(library.path for library in core.libraries() if library.name == "driver")
    program = folder / "saxpy"
    command = [compiler, "-O2", "-std=c++17", str(EXAMPLES / "saxpy.cpp"), "-o", str(program)]
    command += [f"-I{home}/include", nvrtc, driver, f"-Wl,-rpath,{Path(nvrtc).parent}"]
    subprocess.run(command, check=True)
    return program


def run(command: list[str]) -> dict[str, float]:
    """Run a program; return µs of the kernel, and ms of the application and of the process."""
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    process = 1e3 * (time.perf_counter() - start)
    found = dict(re.findall(r"^(kernel|application): +([\d.]+)", done.stdout, re.MULTILINE))
    return {**{name: float(text) for name, text in found.items()}, "process": process}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    if core.Device.count() == 0:
        print("nothing measured, since there is no CUDA device")
        return
    with tempfile.TemporaryDirectory() as folder:
        # Without -P, because the example imports a helper module from its own folder.
        commands = {"gpumath": [sys.executable, str(EXAMPLES / "03_saxpy.py")]}
        if program := build(Path(folder)):
            commands = {"C++": [str(program)], **commands}
        figures: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        for round_ in range(arguments.rounds + 1):
            for name, command in commands.items():
                figure = run(command)
                if round_ > 0:  # the first round fills the file cache
                    figures[name].append(figure)
    medians = {
        name: {key: statistics.median(f[key] for f in found) for key in found[0]}
        for name, found in figures.items()
    }
    print(f"{'':10}{'kernel':>12}{'application':>16}{'process':>14}")
    for name, median in medians.items():
        print(
            f"{name:10}{median['kernel']:9.1f} µs{median['application']:13.1f} ms"
            f"{median['process']:11.1f} ms"
        )
    if arguments.json:
        rows = [
            (part, {name: scale * found[part] for name, found in medians.items()})
            for part, scale in (("kernel", 1e-3), ("application", 1), ("process", 1))
        ]
        title = "A whole program, beside the same program in C++"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="ms", gpu=True))


if __name__ == "__main__":
    main()
