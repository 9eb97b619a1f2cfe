"""Measures the host time of a call of a small transform, and of planning it, and of the C calls.

Every subject runs in every round, and the medians over the rounds are printed. A package that is
not installed is left out, with a message.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpumath import fft
from gpumath.bench import _report
from gpumath.bindings import core, cufft

SMALL = (16, 1024)
CALLS = 200  # per round; so few that the queue of the GPU does not fill up

C_LOOP = """
#include <time.h>
typedef int (*exec_t)(int, void *, void *, int);
double loop(exec_t exec, int plan, void *in, void *out, int calls)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < calls; ++i)
        exec(plan, in, out, -1);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
}
"""

Timer = Callable[[], float]


def repeated(call: Callable[[], object]) -> Timer:
    """Return a timer of CALLS calls, in seconds, without waiting for the GPU."""

    def timer() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        return time.perf_counter() - start

    return timer


def c_loop(handle: int, source: int, target: int) -> Timer | str:
    """Return a timer of cufftExecC2C in a C loop, or the reason why there is none."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return "no C compiler"
    with tempfile.TemporaryDirectory() as folder:
        code, built = Path(folder) / "loop.c", Path(folder) / "loop.so"
        code.write_text(C_LOOP)
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", built, code], check=True)
        loop = ctypes.CDLL(str(built)).loop
    loop.restype = ctypes.c_double
    pointer, number = ctypes.c_void_p, ctypes.c_int
    loop.argtypes = [pointer, number, pointer, pointer, number]
    path = next(library.path for library in core.libraries() if library.name == "cufft")
    function = ctypes.cast(ctypes.CDLL(path).cufftExecC2C, ctypes.c_void_p)
    return lambda: float(loop(function, handle, source, target, CALLS))


class Raw:
    """A plan of batched 1-D C2C transforms, made by the bindings, and device memory for it."""

    def __init__(self, shape: tuple[int, int]) -> None:
        batch, length = shape
        self.handle = cufft.create()
        cufft.make_plan1d(self.handle, length, cufft.Type.C2C, batch)
        size = 8 * batch * length
        self.blocks = core.allocate(size), core.allocate(size)
        self.source, self.target = (block.device_ptr for block in self.blocks)

    def run(self) -> None:
        cufft.exec_c2c(self.handle, self.source, self.target, -1)

    def free(self) -> None:
        cufft.destroy(self.handle)


def operand(library: str, shape: tuple[int, int]) -> Any:
    if library == "cupy":
        import cupy

        return cupy.ones(shape, cupy.complex64)
    import torch

    return torch.ones(shape, dtype=torch.complex64, device="cuda")


def peer_call(library: str, x: Any) -> Callable[[], object]:
    if library == "cupy":
        import cupy

        return lambda: cupy.fft.fft(x)
    import torch

    return lambda: torch.fft.fft(x)


def planned(x: Any, **options: Any) -> fft.FFT:
    transform = fft.FFT(x, axes=[1], options=options or None)
    transform.plan()
    return transform


def small_subjects(libraries: list[str], raw: Raw) -> dict[str, Timer]:
    subjects = {"cufft.exec_c2c": repeated(raw.run)}
    loop = c_loop(raw.handle, raw.source, raw.target)
    if isinstance(loop, str):
        print(f"C loop left out: {loop}")
    else:
        subjects = {"cufftExecC2C in C": loop, **subjects}
    for library in libraries:
        x = operand(library, SMALL)
        new, inplace = planned(x), planned(x, inplace=True)

        def reset_and_execute(new: fft.FFT = new, x: Any = x) -> None:
            new.reset_operand(x)
            new.execute()

        plan = core.FftPlan(x, [1])

        def by_hand(plan: core.FftPlan = plan, x: Any = x) -> object:
            """Do only what every execution with a new result must do."""
            raw.run()
            return plan.empty_result(x)

        subjects[f"FFT.execute in place, {library}"] = repeated(inplace.execute)
        subjects[f"FFT.execute new output, {library}"] = repeated(new.execute)
        subjects[f"cufft.exec_c2c + empty_result, {library}"] = repeated(by_hand)
        subjects[f"reset_operand + execute, {library}"] = repeated(reset_and_execute)
        subjects[f"fft.fft, {library}"] = repeated(lambda x=x: fft.fft(x, axes=(1,)))
        subjects[f"{library}.fft.fft"] = repeated(peer_call(library, x))
        if find_spec("nvmath"):
            import nvmath

            peer = nvmath.fft.FFT(x, axes=[1])
            peer.plan()
            subjects[f"nvmath FFT.execute, {library}"] = repeated(peer.execute)
            subjects[f"nvmath.fft.fft, {library}"] = repeated(
                lambda x=x: nvmath.fft.fft(x, axes=[1])
            )
    return subjects


def plan_subjects(libraries: list[str]) -> dict[str, Timer]:
    """Return the subjects that make and free a plan, without an execution."""

    def uncached(x: Any) -> Timer:
        timer = repeated(lambda: planned(x).free())

        def without_cache() -> float:
            limit = core.plan_cache_info().limit
            core.set_plan_cache_limit(0)
            seconds = timer()
            core.set_plan_cache_limit(limit)
            return seconds

        return without_cache

    def make_and_destroy() -> None:
        batch, length = SMALL
        handle = cufft.create()
        cufft.make_plan1d(handle, length, cufft.Type.C2C, batch)
        cufft.destroy(handle)

    subjects: dict[str, Timer] = {"cufft.create, make_plan1d, destroy": repeated(make_and_destroy)}
    for library in libraries:
        x = operand(library, SMALL)
        subjects[f"FFT new, plan, free, {library}"] = uncached(x)
        subjects[f"the same, plan cached, {library}"] = repeated(lambda x=x: planned(x).free())
        if find_spec("nvmath"):
            import nvmath

            def peer(x: Any = x) -> None:
                with nvmath.fft.FFT(x, axes=[1]) as transform:
                    transform.plan()

            subjects[f"nvmath FFT new, plan, free, {library}"] = repeated(peer)
    return subjects


def print_times(title: str, times: dict[str, float], unit: str) -> None:
    """Print each figure, and its ratio to the first figure."""
    print(f"\n{title}")
    floor = next(iter(times.values()))
    for name, value in times.items():
        print(f"  {name:<36} {value:8.3f} {unit}  {value / floor:7.3f} x")


def host_times(subjects: dict[str, Timer], rounds: int) -> dict[str, float]:
    """Return the median of each subject, in microseconds per call."""
    device = core.Device(0)
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for round_ in range(rounds + 2):
        for name, timer in subjects.items():
            device.synchronize()
            seconds = timer()
            if round_ >= 2:  # the first two rounds warm up
                times[name].append(1e6 * seconds / CALLS)
    device.synchronize()
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    try:
        count = core.Device.count()
    except Exception as error:
        count, reason = 0, f": {error}"
    else:
        reason = ""
    if count == 0:
        print(f"nothing measured, since there is no CUDA device{reason}")
        return
    libraries = [name for name in ("cupy", "torch") if find_spec(name)]
    for name in {"cupy", "torch", "nvmath"} - {
        n for n in ("cupy", "torch", "nvmath") if find_spec(n)
    }:
        print(f"{name} left out: not installed")

    raw = Raw(SMALL)
    small = host_times(small_subjects(libraries, raw), arguments.rounds)
    raw.free()
    device = core.Device(0)
    versions = {library.name: library.version for library in core.libraries()}
    print(f"\n{device.name}, {versions}, Python {sys.version.split()[0]}")
    print_times(f"host time a call, {SMALL[0]} x {SMALL[1]} C2C", small, "us")
    plans = host_times(plan_subjects(libraries), arguments.rounds)
    print_times("host time to plan it", plans, "us")
    if arguments.json:
        rows = [(name, {"host time": time}) for name, time in {**small, **plans}.items()]
        title = f"Host time of a call, and of planning it, {SMALL[0]} × {SMALL[1]} complex64"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="µs", gpu=True))


if __name__ == "__main__":
    main()
