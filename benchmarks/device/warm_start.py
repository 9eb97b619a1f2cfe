"""Time of imports, and of the first launch of a kernel in a new process, beside Numba's own.

A process imports, makes a descriptor, and compiles and launches one kernel, and all of that is
measured. The plain kernel has the same body without the call; its time is Numba's own. gpumath's
code is made in the first process and found in its cache on disk by the later ones. Each time is the
median of several processes in turns, except that of the first process and nvmath-python's.

    python benchmarks/device/warm_start.py                       # gpumath and Numba
    python benchmarks/device/warm_start.py --peer FOLDER         # and nvmath-python, from a folder

Without a GPU, kernels are compiled and linked for compute capability 9.0, not launched, and the
peer's are left out. A folder is put first on PYTHONPATH, and its libraries on LD_LIBRARY_PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KINDS = ("FFT", "product")
IMPORTS = {
    "numba.cuda": "from numba import cuda",
    "gpumath.device": "import gpumath.device",
    "gpumath.device in kernels": "import gpumath.device; gpumath.device.float32x2",
    "nvmath.device": "import nvmath.device",
}


def import_time(statement: str) -> dict[str, float]:
    """Import in this process."""
    start = time.perf_counter()
    exec(statement)
    return {"seconds": time.perf_counter() - start}


def first_launch(package: str, kind: str) -> dict[str, float]:
    """Import, make a kernel of one kind and launch it."""
    start = time.perf_counter()
    import numpy as np
    from numba import cuda
    from numba.cuda import types

    from gpumath.bindings import core

    has_gpu = core.Device.count() > 0
    device = __import__(f"{package}.device", fromlist=["device"]) if package != "numba" else None
    number = np.complex64 if kind == "FFT" else np.float32
    if has_gpu:
        out = cuda.to_device(np.zeros(1024, number))
    kernel = (fft_kernel if kind == "FFT" else product_kernel)(device, has_gpu)
    if has_gpu:
        cuda.jit(kernel)[1, 16 if kind == "FFT" else 128, 0, 16384](out)
        cuda.synchronize()
    else:
        signature = types.void(types.complex64[::1] if kind == "FFT" else types.float32[::1])
        link(cuda, kernel, signature)
    return {"seconds": time.perf_counter() - start}


def link(cuda: Any, kernel: Any, signature: Any) -> None:
    """Compile and link without a GPU, as Numba does it with one."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    options = {"device": False, "abi": "numba", "cc": (9, 0), "output": "ltoir"}
    codes, _ = cuda.compile_all(kernel, signature, **options)
    data = [code if isinstance(code, bytes) else code.data for code in codes]
    pieces = [ObjectCode.from_ltoir(code) for code in data]
    linker = Linker(*pieces, options=LinkerOptions(arch="sm_90", link_time_optimization=True))
    linker.link("cubin")


def fft_kernel(device: Any, has_gpu: bool) -> Any:
    """Return a kernel that loads, transforms and stores, or the same without a transform."""
    import numpy as np
    from numba import cuda

    if device is None:

        def plain(out: Any) -> None:
            data = cuda.local.array(shape=8, dtype=np.complex64)
            for i in range(8):
                data[i] = out[cuda.threadIdx.x + 16 * i]
            for i in range(8):
                out[cuda.threadIdx.x + 16 * i] = data[i] * 2

        return plain
    fft = device.FFT(
        size=128,
        precision=np.float32,
        fft_type="c2c",
        direction="forward",
        execution="Block",
        elements_per_thread=8,
        **target(device, has_gpu),
    )
    value_type, storage, stride = fft.value_type, fft.storage_size, fft.stride

    def kernel(out: Any) -> None:
        data = cuda.local.array(shape=storage, dtype=value_type)
        shared = cuda.shared.array(shape=0, dtype=value_type)
        for i in range(8):
            z = out[cuda.threadIdx.x + stride * i]
            data[i] = device.float32x2(z.real, z.imag)
        fft.execute(data, shared)
        for i in range(8):
            out[cuda.threadIdx.x + stride * i] = data[i].x + 1j * data[i].y

    return kernel


def product_kernel(device: Any, has_gpu: bool) -> Any:
    """Return a kernel that fills shared memory, multiplies and stores, or the same without it."""
    import numpy as np
    from numba import cuda

    if device is None:

        def plain(out: Any) -> None:
            a = cuda.shared.array(1024, np.float32)
            for i in range(cuda.threadIdx.x, 1024, 128):
                a[i] = out[i]
            cuda.syncthreads()
            for i in range(cuda.threadIdx.x, 1024, 128):
                out[i] = a[i] * 2

        return plain
    product = device.Matmul(
        size=(32, 32, 32),
        precision=np.float32,
        data_type="real",
        arrangement=("row_major", "row_major", "row_major"),
        block_dim=(128, 1, 1),
        execution="Block",
        **target(device, has_gpu),
    )

    def kernel(out: Any) -> None:
        a = cuda.shared.array(1024, np.float32)
        b = cuda.shared.array(1024, np.float32)
        c = cuda.shared.array(1024, np.float32)
        for i in range(cuda.threadIdx.x, 1024, 128):
            a[i] = b[i] = out[i]
        cuda.syncthreads()
        product.execute(1.0, a, b, 0.0, c)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, 1024, 128):
            out[i] = c[i]

    return kernel


def target(device: Any, has_gpu: bool) -> dict[str, Any]:
    """Return the GPU to compile for, where there is none."""
    return {} if has_gpu else {"sm": device.ComputeCapability(9, 0)}


def in_process(peer: str | None, cache: str, *arguments: str) -> float:
    """Measure in a process of its own."""
    environment = dict(os.environ) | {"GPUMATH_CACHE_DIR": cache}
    if any("nvmath" in argument for argument in arguments):
        environment["PYTHONPATH"] = f"{peer}:{environment.get('PYTHONPATH', '')}"
        libraries = Path(str(peer)) / "nvidia/cu13/lib"
        environment["LD_LIBRARY_PATH"] = f"{libraries}:{environment.get('LD_LIBRARY_PATH', '')}"
    command = [sys.executable, "-P", __file__, "--measure", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="folder with nvmath-python and its libmathdx")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--processes", type=int, default=5, help="of which the median is taken")
    parser.add_argument("--imports", action="store_true", help="measure imports, too")
    parser.add_argument("--cache", help="folder of the cache from an earlier run")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        what, *rest = arguments.measure
        print(json.dumps(import_time(*rest) if what == "import" else first_launch(*rest)))
        return
    from gpumath.bench import _report
    from gpumath.bindings import core

    results: dict[str, dict[str, list[float]]] = {}
    has_gpu = core.Device.count() > 0
    with tempfile.TemporaryDirectory() as temporary:
        cache = arguments.cache or temporary

        def measure(row: str, subject: str, *measured: str) -> None:
            seconds = in_process(arguments.peer, cache, *measured)
            results.setdefault(row, {}).setdefault(subject, []).append(seconds)

        for kind in arguments.kinds:
            if not arguments.cache:
                measure(kind, "gpumath, the first time", "launch", "gpumath", kind)
            if arguments.peer and has_gpu:
                measure(kind, "nvmath-python", "launch", "nvmath", kind)
        for _ in range(arguments.processes):
            for kind in arguments.kinds:
                measure(kind, "Numba alone", "launch", "numba", kind)
                measure(kind, "gpumath", "launch", "gpumath", kind)
            for name, statement in IMPORTS.items() if arguments.imports else ():
                if "nvmath" not in name or arguments.peer:
                    measure("import", name, "import", statement)
    for row, found in results.items():
        for subject, times in found.items():
            spread = f"{min(times):.3f} to {max(times):.3f}"
            print(f"{row + ': ' + subject:44}{statistics.median(times):8.3f} s, {spread}")
    if arguments.json:
        launches = [
            (f"kernel with a {kind}", {s: statistics.median(t) for s, t in results[kind].items()})
            for kind in arguments.kinds
        ]
        title = "First launch of a kernel in a new process"
        _report.save(arguments.json, _report.figures(launches, title=title, unit="s", gpu=has_gpu))


if __name__ == "__main__":
    main()
