"""Rates of FFTs and matrix products that blocks compute, by gpumath and by nvmath-python.

Each kernel of each package is compiled in a process of its own, several at once; one at a time is
measured. A kernel repeats a transform or a product on data that stays in registers or in shared
memory, so the GPU's memory has no part in the rates.

    python benchmarks/device/block_rates.py                      # gpumath alone
    python benchmarks/device/block_rates.py --peer FOLDER        # and nvmath-python, from a folder

A folder is put first on PYTHONPATH, and its libraries on LD_LIBRARY_PATH.
"""

from __future__ import annotations

import argparse
import fcntl
import importlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

BLOCKS = 132 * 16
PRECISIONS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
FFT_SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
MATMUL_SIZES = (16, 32, 64, 96)


def best_time(kernel: Any, grid: int, block: Any, dynamic: int, *arguments: Any) -> float:
    """Return the seconds that one repetition takes, the best of five."""
    from numba import cuda

    kernel = kernel.specialize(*arguments, 4, 0)
    with Path(os.environ["BLOCK_RATES_LOCK"]).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _best_time(cuda, kernel, (grid, block, 0, dynamic), arguments)


def _best_time(cuda: Any, kernel: Any, launch: Any, arguments: Any) -> float:
    times = []
    for _ in range(5):
        marks = [cuda.event(), cuda.event(), cuda.event()]
        for mark, repetitions in zip(marks, (4, 68, 0), strict=True):
            mark.record()
            if repetitions:
                kernel[launch](*arguments, repetitions, 0)
        marks[-1].synchronize()
        first, second = (cuda.event_elapsed_time(*marks[i : i + 2]) for i in range(2))
        times.append((second - first) / 64 / 1e3)
    return min(times)


def fft_rate(device: Any, size: int, name: str) -> float:
    """Return transforms per second of all blocks together."""
    from numba import cuda

    fft = device.FFT(
        size=size,
        precision=PRECISIONS[name],
        fft_type="c2c",
        direction="forward",
        execution="Block",
        ffts_per_block="suggested" if size < 1024 else None,
    )
    value_type, storage, count = fft.value_type, fft.storage_size, fft.elements_per_thread
    make = getattr(device, f"{name}x{4 if name == 'float16' else 2}")
    four = name == "float16"

    @cuda.jit(device=True)
    def fill_pair(data: Any) -> None:
        for i in range(count):
            data[i] = make(0.001 * i, 0.002 * cuda.threadIdx.x)

    @cuda.jit(device=True)
    def fill_four(data: Any) -> None:
        zero = np.float16(0.001)
        for i in range(count):
            data[i] = make(zero, zero, zero, zero)

    fill = fill_four if four else fill_pair

    @cuda.jit
    def kernel(out: Any, repetitions: int, store: int) -> None:
        data = cuda.local.array(shape=(storage,), dtype=value_type)
        shared = cuda.shared.array(shape=(0,), dtype=value_type)
        fill(data)
        for _ in range(repetitions):
            fft.execute(data, shared)
        if store:
            for i in range(count):
                out[i] = data[i].x

    out = cuda.to_device(np.zeros(64, PRECISIONS[name]))
    block = tuple(fft.block_dim)
    seconds = best_time(kernel, BLOCKS, block, fft.shared_memory_size, out)
    return BLOCKS * fft.ffts_per_block / seconds


def matmul_rate(device: Any, size: int, name: str) -> float:
    """Return floating-point operations per second of all blocks together."""
    from numba import cuda

    dtype = PRECISIONS[name]
    product = device.Matmul(
        size=(size, size, size),
        precision=device.Precision(dtype, dtype, np.float32) if name == "float16" else dtype,
        data_type="real",
        arrangement=("row_major", "col_major", "row_major"),
        block_dim=(128, 1, 1),
        alignment=(16, 16, 16),
        static_block_dim=True,
    )
    spans = (product.a_size, product.b_size, product.c_size)
    c_type = np.float32 if name == "float16" else dtype

    @cuda.jit
    def kernel(out: Any, repetitions: int, store: int) -> None:
        a = cuda.shared.array(shape=spans[0], dtype=dtype, alignment=16)
        b = cuda.shared.array(shape=spans[1], dtype=dtype, alignment=16)
        c = cuda.shared.array(shape=spans[2], dtype=c_type, alignment=16)
        for i in range(cuda.threadIdx.x, spans[0], 128):
            a[i] = 0.001 * i
            b[i] = 0.002 * i
            c[i] = 0
        cuda.syncthreads()
        for _ in range(repetitions):
            product.execute(0.5, a, b, 0.5, c)
            cuda.syncthreads()
        if store:
            out[cuda.threadIdx.x] = c[cuda.threadIdx.x]

    out = cuda.to_device(np.zeros(128, c_type))
    return BLOCKS * 2 * size**3 / best_time(kernel, BLOCKS, 128, 0, out)


def rate(package: str, title: str) -> float | str:
    """Return a rate, or the error."""
    warnings.simplefilter("ignore")
    kind, size, name = title.split()
    try:
        device = importlib.import_module(f"{package}.device")
        return (fft_rate if kind == "FFT" else matmul_rate)(device, int(size), name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


def run(package: str, folder: str | None, title: str) -> float | str:
    """Measure in a process of its own."""
    environment = dict(os.environ)
    if folder:
        environment["PYTHONPATH"] = f"{folder}:{environment.get('PYTHONPATH', '')}"
        libraries = Path(folder) / "nvidia/cu13/lib"
        environment["LD_LIBRARY_PATH"] = f"{libraries}:{environment.get('LD_LIBRARY_PATH', '')}"
    command = [sys.executable, "-P", __file__, "--measure", package, title]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        return result.stderr[-300:]
    measured: float | str = json.loads(result.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="folder with nvmath-python and its libmathdx")
    parser.add_argument("--only", choices=("FFT", "product"))
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("titles", nargs="*", help="such as 'FFT 128 float32'; all by default")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(rate(*arguments.measure)))
        return
    cases = [("FFT", FFT_SIZES), ("product", MATMUL_SIZES)]
    titles = arguments.titles or [
        f"{kind} {size} {name}"
        for kind, sizes in cases
        for name in PRECISIONS
        for size in sizes
        if arguments.only in (None, kind)
    ]
    packages = [("gpumath", None)] + ([("nvmath", arguments.peer)] if arguments.peer else [])
    with (
        tempfile.NamedTemporaryFile() as lock,
        ThreadPoolExecutor(arguments.processes) as pool,
    ):
        os.environ["BLOCK_RATES_LOCK"] = lock.name
        rows = {
            title: [pool.submit(run, *package, title) for package in packages] for title in titles
        }
        print(f"{'':24}" + "".join(f"{name + ' /s':>14}" for name, _ in packages), flush=True)
        for title, jobs in rows.items():
            found = [job.result() for job in jobs]
            numbers = [number for number in found if isinstance(number, float)]
            ratio = f"{numbers[0] / numbers[1]:8.3f}" if len(numbers) == 2 else ""
            shown = [f"{x:14.4g}" if isinstance(x, float) else f" {x}" for x in found]
            print(f"{title:24}{''.join(shown)}{ratio}", flush=True)


if __name__ == "__main__":
    main()
