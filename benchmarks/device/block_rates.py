"""Rates of FFTs and matrix products that blocks compute, and what their kernels take of the GPU.

The same transform or product is in three kernels: of Numba with gpumath, of Numba with
nvmath-python, and of CUDA C++ with gpumath's LTO-IR. Each is compiled in a process of its own,
several at once. Then one process launches them in many turns, because the GPU's clock drifts. Rates
are medians over the turns, of repetitions in all blocks that fit on the GPU at a time; the GPU's
memory has no part in them. A ratio is the median over the turns, too, with half the distance of the
quartiles.

    python benchmarks/device/block_rates.py                      # gpumath and C++
    python benchmarks/device/block_rates.py --peer FOLDER        # and nvmath-python, from a folder

A folder is put first on PYTHONPATH, and its libraries on LD_LIBRARY_PATH. With `--kernels FOLDER`
the kernels are kept there, and found there by the next run.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import _kernels

from gpumath.bench import _report
from gpumath.bindings import core, driver
from gpumath.bindings.driver import DeviceAttribute, FunctionAttribute

FFT_SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
PRODUCT_SIZES = (16, 32, 64, 96)
TARGET_SECONDS = 2e-3  # of a launch


class Launchable:
    """A loaded kernel, launched with as many blocks as the GPU holds at a time."""

    def __init__(self, kernel: _kernels.Kernel, gpu: int, out: int) -> None:
        module = driver.module_load_data(kernel.cubin)
        functions = array("Q", [0])
        driver.module_enumerate_functions(functions, 1, module)
        self.function, self.block, self.dynamic = functions[0], kernel.block, kernel.dynamic
        largest = FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.func_set_attribute(self.function, largest, self.dynamic)
        threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        each = driver.occupancy_max_active_blocks_per_multiprocessor(
            self.function, threads, self.dynamic
        )
        processors = driver.device_get_attribute(DeviceAttribute.MULTIPROCESSOR_COUNT, gpu)
        self.blocks = each * processors
        self.work = kernel.work * self.blocks
        attribute = driver.func_get_attribute
        self.registers = attribute(FunctionAttribute.NUM_REGS, self.function)
        self.local_bytes = attribute(FunctionAttribute.LOCAL_SIZE_BYTES, self.function)
        self.out = out
        self.marks = [driver.event_create(0), driver.event_create(0)]
        self.seconds(1)
        self.repetitions = max(8, int(TARGET_SECONDS / (self.seconds(8) / 8)))
        self.rates: list[float] = []

    def seconds(self, repetitions: int) -> float:
        """Return the time of one launch."""
        arguments = ((self.out, repetitions, 0), (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64))
        driver.event_record(self.marks[0], 0)
        grid = (self.blocks, 1, 1)
        driver.launch_kernel(self.function, *grid, *self.block, self.dynamic, 0, arguments)
        driver.event_record(self.marks[1], 0)
        driver.event_synchronize(self.marks[1])
        return driver.event_elapsed_time(*self.marks) / 1e3

    def measure(self) -> None:
        """Launch with many and with few repetitions, and keep the rate of those between."""
        few = self.repetitions // 4
        more = self.seconds(few + self.repetitions) - self.seconds(few)
        self.rates.append(self.work * self.repetitions / more)

    def result(self) -> dict[str, Any]:
        """Return the rate, and what the kernel takes of the GPU."""
        return {
            "rate": statistics.median(self.rates),
            "rates": self.rates,
            "blocks": self.blocks,
            "registers": self.registers,
            "local_bytes": self.local_bytes,
        }


def compile_here(subject: str, title: str, file: Path) -> None:
    """Write a kernel, or the error, to a file."""
    warnings.simplefilter("ignore")
    capability = core.Device(0).compute_capability if core.Device.count() else (9, 0)
    try:
        made: Any = _kernels.make(subject, title, capability)
    except Exception as error:
        traceback.print_exc()
        made = f"{type(error).__name__}: {error}"[:300]
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as whole:
        pickle.dump(made, whole)
    Path(whole.name).rename(file)


def compiled(subject: str, title: str, kernels: Path, peer: str | None, end: float) -> Any:
    """Compile in a process of its own until a time, or take what an earlier run has compiled."""
    file = kernels / f"{subject} {title}.kernel"
    if not file.exists():
        environment = dict(os.environ)
        if subject == "nvmath":
            environment["PYTHONPATH"] = f"{peer}:{environment.get('PYTHONPATH', '')}"
            libraries = Path(str(peer)) / "nvidia/cu13/lib"
            environment["LD_LIBRARY_PATH"] = f"{libraries}:{environment.get('LD_LIBRARY_PATH', '')}"
        command = [sys.executable, __file__, "--compile", subject, title, str(file)]
        left = max(end - time.monotonic(), 0)
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=left
            )
        except subprocess.TimeoutExpired:
            return "not compiled in the time"
        if not file.exists():
            return done.stderr[-300:]
    made = pickle.loads(file.read_bytes())
    if isinstance(made, str):
        file.unlink()  # the next run tries again
    return made


def measure(made: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Measure the kernels of one title in turns."""
    gpu = driver.device_get(0)
    out = driver.mem_alloc(1 << 20)
    driver.memset_d8(out, 0, 1 << 20)
    found, running = {}, {}
    for subject, kernel in made.items():
        if isinstance(kernel, str):
            found[subject] = {"error": kernel}
            continue
        try:
            running[subject] = Launchable(kernel, gpu, out)
        except Exception as error:
            found[subject] = {"error": f"{type(error).__name__}: {error}"}
    for _ in range(rounds):
        for launchable in running.values():
            launchable.measure()
    driver.mem_free(out)
    return found | {subject: launchable.result() for subject, launchable in running.items()}


def ratio(found: dict[str, Any], other: str) -> tuple[float, float] | None:
    """Return gpumath's rate divided by another one, turn by turn: the median and the spread."""
    if "rates" not in found["gpumath"] or "rates" not in found[other]:
        return None
    pairs = zip(found["gpumath"]["rates"], found[other]["rates"], strict=True)
    ratios = [own / rate for own, rate in pairs]
    if len(ratios) == 1:
        return ratios[0], 0.0
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, (high - low) / 2


def row(title: str, found: dict[str, Any], subjects: list[str]) -> str:
    """Return one line of the table: rates, ratios of gpumath's to the others, local memory."""
    cells = [f"{title:20}"]
    cells += [f"{found[s]['rate']:12.4g}" if "rate" in found[s] else f"{'-':>12}" for s in subjects]
    for other in subjects[1:]:
        compared = ratio(found, other)
        cells.append(f"{compared[0]:8.3f} ±{compared[1]:.3f}" if compared else f"{'-':>15}")
    taken = [
        f"{found[s].get('registers', '-')}/{found[s].get('local_bytes', '-')}" for s in subjects
    ]
    cells.append("  " + " ".join(f"{cell:>8}" for cell in taken))
    errors = [f" {s}: {found[s]['error']}" for s in subjects if "error" in found[s]]
    return "".join(cells + errors)


def report(results: dict[str, dict[str, Any]], subjects: list[str]) -> None:
    """Print the worst ratio to each of the others."""
    for other in subjects[1:]:
        compared = {title: ratio(found, other) for title, found in results.items()}
        ratios = {title: found[0] for title, found in compared.items() if found}
        if ratios:
            worst = min(ratios, key=lambda title: ratios[title])
            print(
                f"gpumath / {other}: worst {ratios[worst]:.3f} ({worst}), "
                f"{sum(ratio >= 0.98 for ratio in ratios.values())} of {len(ratios)} >= 0.98"
            )


def save(path: Path, results: dict[str, dict[str, Any]], command: str) -> None:
    """Write the times of one transform or product of all that the GPU computes at once."""
    names = {"gpumath": "gpumath", "C++": "CUDA C++", "nvmath": "nvmath-python"}
    rows = []
    for title, found in results.items():
        kind, size, _ = title.split()
        one = 1 if kind == "FFT" else 2 * int(size) ** 3
        times = {names[s]: 1e9 * one / f["rate"] for s, f in found.items() if "rate" in f}
        rows.append((title, times))
    title = "Transforms and products of blocks, inside kernels"
    _report.save(path, _report.figures(rows, title=title, unit="ns", gpu=True, command=command))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="folder with nvmath-python and its libmathdx")
    parser.add_argument("--only", choices=("FFT", "product"))
    parser.add_argument("--kernels", type=Path, help="folder that keeps the kernels")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=3600, help="seconds for all compilations")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("titles", nargs="*", help="such as 'FFT 128 float32'; all by default")
    parser.add_argument("--compile", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.compile:
        subject, title, file = arguments.compile
        compile_here(subject, title, Path(file))
        return
    cases = [("FFT", FFT_SIZES), ("product", PRODUCT_SIZES)]
    titles = arguments.titles or [
        f"{kind} {size} {name}"
        for kind, sizes in cases
        for name in _kernels.PRECISIONS
        for size in sizes
        if arguments.only in (None, kind)
    ]
    subjects = ["gpumath", "C++", *(["nvmath"] if arguments.peer else [])]
    with tempfile.TemporaryDirectory() as temporary:
        kernels = arguments.kernels or Path(temporary)
        kernels.mkdir(parents=True, exist_ok=True)
        end = time.monotonic() + arguments.limit
        with ThreadPoolExecutor(arguments.processes) as pool:
            # The two that share their LTO-IR are far apart, so that neither waits for the other.
            # Products take longest, so they come first.
            jobs = {
                (subject, title): pool.submit(
                    compiled, subject, title, kernels, arguments.peer, end
                )
                for subject in sorted(subjects, reverse=True)
                for title in reversed(titles)
            }
            made = {key: job.result() for key, job in jobs.items()}
    if not core.Device.count():
        print("there is no GPU, so the kernels do not run")
        for (subject, title), kernel in made.items():
            print(f"{subject} {title}: {kernel if isinstance(kernel, str) else 'compiled'}")
        return
    driver.ctx_push_current(driver.device_primary_ctx_retain(driver.device_get(0)))
    print(f"{core.Device(0).name}; rates per second; ratios of gpumath's; registers/local bytes")
    print(f"{'':20}" + "".join(f"{s:>12}" for s in subjects))
    results: dict[str, dict[str, Any]] = {}
    for title in titles:
        results[title] = measure(
            {subject: made[subject, title] for subject in subjects}, arguments.rounds
        )
        print(row(title, results[title], subjects), flush=True)
    report(results, subjects)
    if arguments.json:
        command = "python benchmarks/device/block_rates.py" + " --peer FOLDER" * bool(
            arguments.peer
        )
        save(arguments.json, results, command)


if __name__ == "__main__":
    main()
