"""Measures the host time of a product of small matrices, and of the C call behind it.

Every subject runs in every round, and the medians over the rounds are printed, with the ratio to
cublasLtMatmul in a C loop. A kernel of gpumath's own computes this product; what it is by cuBLASLt
is measured too. A package that is not installed is left out.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gpumath.bench import _report
from gpumath.bindings import core, cublas, cublasLt
from gpumath.linalg import advanced

SIDE = 64
CALLS = 200  # per round; so few that the queue of the GPU does not fill up
ROUNDS = 25

C_LOOP = """
#include <stddef.h>
#include <time.h>
typedef int (*matmul_t)(void *, void *, const void *, const void *, void *, const void *, void *,
                        const void *, const void *, void *, void *, void *, const void *, void *,
                        size_t, void *);
double loop(matmul_t matmul, void *handle, void *product, void *layout, void *a, void *b, void *d,
            void *algorithm, void *workspace, size_t size, void *stream, int calls)
{
    struct timespec start, end;
    float one = 1, zero = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < calls; ++i)
        if (matmul(handle, product, &one, a, layout, b, layout, &zero, d, layout, d, layout,
                   algorithm, workspace, size, stream))
            return -1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (end.tv_sec - start.tv_sec) + 1e-9 * (end.tv_nsec - start.tv_nsec);
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


class Raw:
    """A product of square float32 matrices, made by the bindings."""

    def __init__(self, folder: Path, epilog: int, algorithm: advanced.Algorithm) -> None:
        self.handle = cublasLt.create()
        kind = cublas.DataType.R_32F
        self.product = cublasLt.matmul_desc_create(cublas.ComputeType.COMPUTE_32F, kind)
        self.layout = cublasLt.matrix_layout_create(kind, SIDE, SIDE, SIDE)
        self.blocks = [core.allocate(4 * SIDE * SIDE) for _ in range(4)]
        self._set(cublasLt.MatmulDescAttribute.EPILOGUE, np.int32(epilog))
        bias = np.uint64(self.blocks[3].device_ptr)
        if epilog & cublasLt.Epilogue.BIAS:
            self._set(cublasLt.MatmulDescAttribute.BIAS_POINTER, bias)
        self.algorithm = algorithm.as_numpy()
        self.workspace = core.allocate(max(algorithm.workspace_size, 1))
        path = next(library.path for library in core.libraries() if library.name == "cublasLt")
        self.function = ctypes.cast(ctypes.CDLL(path).cublasLtMatmul, ctypes.c_void_p)
        self.loop = ctypes.CDLL(str(built_loop(folder))).loop
        self.loop.restype = ctypes.c_double
        pointer, number = ctypes.c_void_p, ctypes.c_int
        self.loop.argtypes = [pointer] * 9 + [ctypes.c_size_t, pointer, number]

    def _set(self, attribute: int, value: Any) -> None:
        cell = np.array(value)
        cublasLt.matmul_desc_set_attribute(self.product, attribute, cell.ctypes.data, cell.nbytes)

    def time(self) -> float:
        a, b, d = (block.device_ptr for block in self.blocks[:3])
        size = int(self.algorithm["workspace_size"][0])
        seconds = self.loop(
            *(self.function, self.handle, self.product, self.layout, a, b, d),
            *(self.algorithm.ctypes.data, self.workspace.device_ptr, size, None, CALLS),
        )
        assert seconds > 0
        return float(seconds)


def built_loop(folder: Path) -> Path:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        message = "a C compiler is needed"
        raise SystemExit(message)
    code, built = folder / "loop.c", folder / "loop.so"
    code.write_text(C_LOOP)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", built, code], check=True)
    return built


def arrays(library: str) -> list[Any]:
    """Return a, b, an array for the result, and a bias."""
    shapes = [(SIDE, SIDE)] * 3 + [(SIDE,)]
    if library == "cupy":
        import cupy

        return [cupy.ones(shape, cupy.float32) for shape in shapes]
    import torch

    return [torch.ones(shape, device="cuda") for shape in shapes]


def planned(a: Any, b: Any, **keywords: Any) -> advanced.Matmul:
    product = advanced.Matmul(a, b)
    product.plan(**keywords)
    return product


def best_of_cublaslt(product: advanced.Matmul) -> advanced.Algorithm:
    return next(one for one in product.algorithms if not (one.is_own_kernel or one.is_by_cublas))


def subjects_of(library: str) -> dict[str, Timer]:
    a, b, out, bias = arrays(library)
    relu_bias = advanced.MatmulEpilog.RELU_BIAS
    inputs = {"bias": bias}
    plain = planned(a, b)
    by_cublaslt = planned(a, b, algorithms=[best_of_cublaslt(plain)])
    fused = planned(a, b, epilog=relu_bias, epilog_inputs=inputs)
    fused_by_cublaslt = planned(
        *(a, b),
        epilog=relu_bias,
        epilog_inputs=inputs,
        algorithms=[best_of_cublaslt(fused)],
    )

    def reset_and_execute() -> None:
        plain.reset_operands(a=a, b=b)
        plain.execute()

    subjects = {
        "Matmul.execute": plain.execute,
        "Matmul.execute, out=": lambda: plain.execute(out=out),
        "Matmul.execute by cuBLASLt": by_cublaslt.execute,
        "Matmul.execute by cuBLASLt, out=": lambda: by_cublaslt.execute(out=out),
        "Matmul.execute, RELU_BIAS": fused.execute,
        "Matmul.execute by cuBLASLt, RELU_BIAS": fused_by_cublaslt.execute,
        "reset_operands + execute": reset_and_execute,
        "matmul()": lambda: advanced.matmul(a, b),
        "matmul(), RELU_BIAS": lambda: advanced.matmul(
            a, b, epilog=relu_bias, epilog_inputs=inputs
        ),
        f"{library}.matmul": lambda: a @ b,
    }
    if library == "torch":
        import torch

        subjects["torch.matmul, out="] = lambda: torch.matmul(a, b, out=out)
        subjects["torch.relu(addmm)"] = lambda: torch.addmm(bias, a, b).relu()
    if find_spec("nvmath"):
        import nvmath

        peer = nvmath.linalg.advanced.Matmul(a, b)
        peer.plan()
        other = nvmath.linalg.advanced.Matmul(a, b)
        other.plan(
            epilog=nvmath.linalg.advanced.MatmulEpilog.RELU_BIAS, epilog_inputs={"bias": bias}
        )
        subjects["nvmath Matmul.execute"] = peer.execute
        subjects["nvmath Matmul.execute, RELU_BIAS"] = other.execute
        subjects["nvmath matmul()"] = lambda: nvmath.linalg.advanced.matmul(a, b)
    return {f"{name}, {library}": repeated(call) for name, call in subjects.items()}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    path = arguments.json
    libraries = [name for name in ("cupy", "torch") if find_spec(name)]
    with tempfile.TemporaryDirectory() as folder:
        subjects: dict[str, Timer] = {}
        a, b, _, bias = arrays(libraries[0])
        relu_bias = advanced.MatmulEpilog.RELU_BIAS
        for name, epilog, product in [
            ("cublasLtMatmul in C", 1, planned(a, b)),
            (
                "cublasLtMatmul in C, RELU_BIAS",
                int(relu_bias),
                planned(a, b, epilog=relu_bias, epilog_inputs={"bias": bias}),
            ),
        ]:
            subjects[name] = Raw(Path(folder), epilog, best_of_cublaslt(product)).time
        for library in libraries:
            subjects |= subjects_of(library)
        times: dict[str, list[float]] = {name: [] for name in subjects}
        for number in range(arguments.rounds + 3):
            for name, timer in subjects.items():
                seconds = timer()
                core.Device(0).synchronize()
                if number >= 3:
                    times[name].append(1e6 * seconds / CALLS)
    medians = {name: statistics.median(some) for name, some in times.items()}
    floors = list(medians.values())[:2]
    print(f"host time of a product of {SIDE} x {SIDE} float32 matrices")
    for name, median in medians.items():
        floor = floors["RELU_BIAS" in name]
        print(f"{name:44} {median:8.2f} us {median / floor:6.2f} x")
    if path:
        rows = [(name, {"host time": median}) for name, median in medians.items()]
        title = f"Host time of a product, {SIDE} × {SIDE} float32"
        _report.save(path, _report.figures(rows, title=title, unit="µs", gpu=True))


if __name__ == "__main__":
    main()
