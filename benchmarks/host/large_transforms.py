"""Measures the GPU time of large transforms, and the whole time with operands in host memory.

Both are compared with the same steps through the bindings. For operands on the GPU, that is the
cuFFT call alone; for operands in host memory, it is copy in, transform, copy out. Every subject
runs in every round, and the medians over the rounds are printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from gpumath import fft, memory
from gpumath.bench import _report
from gpumath.bindings import core, cufft, errors

DEVICE_CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    # shape, transform axes, calls per round
    "64 x 2^20": ((64, 1 << 20), (1,), 3),
    "512 x 512 x 512": ((512, 512, 512), (0, 1, 2), 3),
    "8192 x 8192": ((8192, 8192), (0, 1), 5),
    "1000003 (prime)": ((1_000_003,), (0,), 50),
}
HOST_CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "16 x 1024": ((16, 1024), (1,), 50),
    "64 x 2^16": ((64, 1 << 16), (1,), 5),
    "64 x 2^20": ((64, 1 << 20), (1,), 1),
}
ITEMSIZE = 8  # complex64

EPILOG = """
__device__ void epilog(float2 *out, unsigned long long i, float2 value, const float *, void *)
{{
    out[i] = make_float2({factor}f * value.x, {factor}f * value.y);
}}
"""

Call = Callable[[], object]


class Raw:
    """The cuFFT plan of a case, made by the bindings, and memory for it on the device."""

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        lengths = [shape[axis] for axis in axes]
        batch = prod(shape) // prod(lengths)
        self.handle = cufft.create()
        cufft.make_plan_many(
            self.handle, len(lengths), lengths, 0, 1, 0, 0, 1, 0, cufft.Type.C2C, batch
        )
        self.size = ITEMSIZE * prod(shape)
        self.blocks = core.allocate(self.size), core.allocate(self.size)
        self.source, self.target = (block.device_ptr for block in self.blocks)

    def run(self) -> None:
        cufft.exec_c2c(self.handle, self.source, self.target, -1)

    def run_from_host(self, source: int, target: int) -> None:
        core.copy(self.source, source, self.size)
        self.run()
        core.copy(target, self.target, self.size)
        core.synchronize_stream(0)

    def free(self) -> None:
        cufft.destroy(self.handle)
        for block in self.blocks:
            block.free()


def medians(
    subjects: dict[str, Call], measure: Callable[[Call], float], rounds: int
) -> dict[str, float]:
    """Print and return the median of each subject, with its ratio to the first subject."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for round_ in range(rounds + 2):
        for name, call in subjects.items():
            milliseconds = measure(call)
            if round_ >= 2:  # the first two rounds warm up
                times[name].append(milliseconds)
    found = {name: statistics.median(values) for name, values in times.items()}
    floor = next(iter(found.values()))
    for name, median in found.items():
        print(f"    {name:<44} {median:10.4f} ms  {median / floor:6.3f} x", flush=True)
    return found


def on_gpu(calls: int) -> Callable[[Call], float]:
    """Return a function that measures the milliseconds of GPU time per call."""

    def measure(call: Call) -> float:
        start, end = core.Event(timing=True), core.Event(timing=True)
        call()  # The GPU is busy with this call while the others are submitted.
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        return start.elapsed_ms(end) / calls

    return measure


def on_host(calls: int) -> Callable[[Call], float]:
    """Return a function that measures the milliseconds per call, until the result is there."""

    def measure(call: Call) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return 1e3 * (time.perf_counter() - start) / calls

    return measure


def planned(x: Any, axes: tuple[int, ...], epilog: fft.DeviceCallable | None = None) -> fft.FFT:
    """Return a planned transform, and print how long planning took."""
    core.plan_cache_clear()
    start = time.perf_counter()
    transform = fft.FFT(x, axes=axes)
    transform.plan(epilog=epilog)
    name = "FFT and plan" if epilog is None else "FFT and plan, with an epilog"
    print(f"    {name:<44} {1e3 * (time.perf_counter() - start):10.4f} ms")
    return transform


def scaling_epilog(count: int) -> fft.DeviceCallable:
    code = EPILOG.format(factor=f"{1 / count:e}")
    return fft.DeviceCallable(fft.compile_epilog(code, "complex64", "float32"))


def device_case(library: str, name: str, rounds: int) -> dict[str, float]:
    shape, axes, calls = DEVICE_CASES[name]
    print(f"  {name}, {library}")
    raw = Raw(shape, axes)
    module = import_module(library)
    keywords = {"device": "cuda"} if library == "torch" else {}
    x = module.ones(shape, dtype=module.complex64, **keywords)
    y = module.empty_like(x)
    with ExitStack() as stack:
        new = stack.enter_context(planned(x, axes))
        subjects: dict[str, Call] = {
            "cufft.exec_c2c": raw.run,
            "FFT.execute, new result": new.execute,
            "FFT.execute, out=": lambda: new.execute(out=y),
            "fft.fft": lambda: fft.fft(x, axes=axes),
            "fft.fft, norm='forward'": lambda: fft.fft(x, axes=axes, norm="forward"),
            f"fft.fft, scaled by {library}": lambda: fft.fft(x, axes=axes) * 0.5,
        }
        epilog = scaling_epilog(prod(shape[axis] for axis in axes))
        try:
            scaled = stack.enter_context(planned(x, axes, epilog))
        except errors.cuFFTError as error:
            print(f"    an epilog that scales is left out: {error}")
        else:
            subjects["FFT.execute, an epilog that scales"] = scaled.execute
        found = medians(subjects, on_gpu(calls), rounds)
    raw.free()
    return found


def host_case(name: str, rounds: int) -> dict[str, dict[str, float]]:
    shape, axes, calls = HOST_CASES[name]
    print(f"  {name}")
    found: dict[str, dict[str, float]] = {}
    raw = Raw(shape, axes)
    x = np.ones(shape, np.complex64)
    y = np.zeros(shape, np.complex64)
    pinned_x = np.asarray(memory.empty(shape, "complex64", kind="pinned"))
    pinned_y = np.asarray(memory.empty(shape, "complex64", kind="pinned"))
    pinned_x[:] = 1

    def raw_with_new_result() -> Any:
        result = np.empty(shape, np.complex64)
        raw.run_from_host(x.ctypes.data, result.ctypes.data)
        return result

    def raw_to(source: Any, target: Any) -> Call:
        return lambda: raw.run_from_host(source.ctypes.data, target.ctypes.data)

    with (
        fft.FFT(x, axes=axes, execution="cuda") as pageable,
        fft.FFT(pinned_x, axes=axes, execution="cuda") as pinned,
    ):
        pageable.plan()
        pinned.plan()
        groups: list[tuple[str, dict[str, Call]]] = [
            (
                "a new result",
                {
                    "copy in, cuFFT, copy out": raw_with_new_result,
                    "FFT.execute": pageable.execute,
                    "fft.fft": lambda: fft.fft(x, axes=axes, execution="cuda"),
                },
            ),
            (
                "a given result",
                {
                    "copy in, cuFFT, copy out": raw_to(x, y),
                    "FFT.execute, out=": lambda: pageable.execute(out=y),
                },
            ),
            (
                "pinned memory, a given result",
                {
                    "copy in, cuFFT, copy out": raw_to(pinned_x, pinned_y),
                    "FFT.execute, out=": lambda: pinned.execute(out=pinned_y),
                },
            ),
        ]
        if find_spec("nvmath"):
            import nvmath

            peer = nvmath.fft.FFT(x, axes=axes, execution="cuda")
            peer.plan()
            groups[0][1]["nvmath FFT.execute"] = peer.execute
        for title, subjects in groups:
            print(f"   {title}")
            found[title] = medians(subjects, on_host(calls), rounds)
    raw.free()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    try:
        count = core.Device.count()
    except Exception as error:
        print(f"nothing measured, since there is no CUDA device: {error}")
        return
    if count == 0:
        print("nothing measured, since there is no CUDA device")
        return
    versions = {library.name: library.version for library in core.libraries()}
    print(f"{core.Device(0).name}, {versions}, Python {sys.version.split()[0]}")
    print("\nGPU time a call, complex64")
    libraries = [name for name in ("cupy", "torch") if find_spec(name)]
    rows: list[tuple[str, dict[str, float]]] = []
    for library in libraries:
        for name in DEVICE_CASES:
            rows.append((f"{name}, {library}", device_case(library, name, arguments.rounds)))
        if library == "cupy":
            import_module("cupy").get_default_memory_pool().free_all_blocks()
    if not libraries:
        print("  left out: neither CuPy nor PyTorch is installed")
    print("\nwhole time a call, operand and result in host memory, complex64")
    for name in HOST_CASES:
        found = host_case(name, arguments.rounds)
        rows += [(f"{name} in host memory, {title}", times) for title, times in found.items()]
    if arguments.json:
        title = "Large transforms, beside the same steps through the bindings"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="ms", gpu=True))


if __name__ == "__main__":
    main()
