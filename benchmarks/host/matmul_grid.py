"""Measures the GPU time of products over a grid of extents, layouts and element types.

Each cell is compared with cublasLtMatmul, called with the same algorithm on the operands that it
takes as they are, and with PyTorch, CuPy and nvmath-python, if that is installed. Where cuBLAS or
a kernel of gpumath's own computes the product, cublasLtMatmul runs cuBLASLt's first algorithm. It
is measured twice: the two times say by how much equal subjects differ in that cell. The times are
medians of runs in turns, each after the cache of the GPU was filled with something else; there are
more runs of a cell until half of them agree with the other half. The worst cells are measured again
with more runs, and after autotuning too.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from _raw_matmul import raw_product

from gpumath.bench import _report
from gpumath.bindings import core, driver
from gpumath.linalg import advanced
from gpumath.linalg.advanced._algorithm import algorithm_from

EXTENTS = [1, 8, 64, 1000, 4096, 8192]
LAYOUTS = ["C", "F", "gaps", "steps", "batch", "batch last", "broadcast"]
DTYPES = ["bfloat16", "float16", "tf32", "float32", "float64", "complex64", "int8", "float8"]
MOST_WORK = 2 << 38
# A cell is measured up to so many times longer, until half of its runs agree with the other half.
MOST_TIMES_ROUNDS = 4
MOST_NOISE = 0.01
LONG = 1000.0  # microseconds, after which a cell is measured no longer
FILLER = 512 << 20  # bytes, which the GPU writes while the host enqueues the product

Subjects = dict[str, Callable[[], Any]]


@dataclass
class Cell:
    """A product of the grid, and the median times of its subjects in microseconds."""

    dtype: str
    extents: tuple[int, int, int]
    layouts: tuple[str, str]
    engine: str = ""
    copies: int = 0
    times: dict[str, float] = field(default_factory=dict)
    noise: float = 0.0

    @classmethod
    def random(cls, choose: random.Random) -> Cell:
        while True:
            rows, columns, depth = choose.choices(EXTENTS, k=3)
            left, right = choose.choices(LAYOUTS, k=2)
            dtype = choose.choice(DTYPES)
            if rows * columns * depth <= MOST_WORK:
                return cls(dtype, (rows, columns, depth), (left, right))

    @property
    def operands(self) -> tuple[Any, Any]:
        kind = {"tf32": torch.float32, "float8": torch.float8_e4m3fn}.get(self.dtype)
        kind = kind or getattr(torch, self.dtype)
        rows, columns, depth = self.extents
        left, right = self.layouts
        return matrix(rows, depth, kind, left), matrix(depth, columns, kind, right)

    def ratio(self, own: str, *others: str) -> float:
        """Return the time of one subject, in units of the best of others; 0 without any."""
        found = [self.times[name] for name in others if name in self.times]
        return self.times[own] / min(found) if found and own in self.times else 0.0

    @property
    def title(self) -> str:
        extents = " x ".join(map(str, self.extents))
        return f"{self.dtype}, {extents}, {self.layouts[0]} x {self.layouts[1]}"

    @property
    def kind(self) -> str:
        """What is slow or fast for one reason: the type, the shape, whether operands are copied."""
        rows, columns, depth = self.extents
        shape = "vector" if 1 in (rows, columns) else "matrix"
        batch = ", batch" if any(layout.startswith("batch") for layout in self.layouts) else ""
        return f"{self.dtype}, {shape}{batch}, depth {depth}, {self.engine}, {self.copies} copies"

    @property
    def own_difference(self) -> float:
        """By how much the times of cublasLtMatmul differ from each other, as a ratio above 1."""
        ratio = self.ratio("raw again", "raw")
        return max(ratio, 1 / ratio) if ratio else 1.0

    def __str__(self) -> str:
        times = ", ".join(f"{name} {value:.2f}" for name, value in self.times.items())
        how = f"{self.engine}, {self.copies} copies, noise {self.noise:.1%}"
        return f"{self.title}, {how}: {times}"


def matrix(rows: int, columns: int, dtype: Any, layout: str) -> Any:
    def new(*shape: int) -> Any:
        if dtype == torch.int8:
            return torch.randint(-100, 100, shape, dtype=dtype, device="cuda")
        if dtype == torch.float8_e4m3fn:
            return torch.rand(shape, device="cuda").to(dtype)
        return torch.randn(shape, dtype=dtype, device="cuda")

    if layout == "F":
        return new(columns, rows).T
    if layout == "gaps":
        return new(rows, columns + 16)[:, :columns]
    if layout == "steps":
        return new(2 * rows, 2 * columns)[::2, ::2]
    if layout == "batch":
        return new(4, rows, columns)
    if layout == "batch last":
        return new(rows, columns, 4).movedim(2, 0)
    if layout == "broadcast":
        return new(1, columns).expand(rows, columns)
    return new(rows, columns)


def subjects_of(
    cell: Cell, a: Any, b: Any, is_tuned: bool = False, by_engine: bool = False
) -> Subjects:
    options: dict[str, Any] = {}
    scales: list[Any] = []
    if cell.dtype == "tf32":
        options["compute_type"] = advanced.MatmulComputeType.COMPUTE_32F_FAST_TF32
    if cell.dtype == "float8":
        options["result_type"] = "bfloat16"
        scales = [torch.ones(1, device="cuda"), torch.ones(1, device="cuda")]
    quantization = dict(zip("ab", scales, strict=False)) or None

    def planned(module: Any, **keywords: Any) -> Any:
        product = module.Matmul(a, b, options=options, quantization_scales=quantization)
        product.plan(**keywords)
        return product

    inputs = dict(zip(("a_scale", "b_scale"), scales, strict=False)) or None
    plan = core.MatmulPlan(a, b, inputs=inputs, limit=8, **options)
    cell.engine, cell.copies = plan.engine, plan.copies
    subjects: Subjects = {"gpumath": planned(advanced).execute}
    if by_engine:
        for algorithm in map(algorithm_from, plan.algorithms):
            name = engine_of(algorithm)
            if name not in subjects:
                subjects[name] = planned(advanced, algorithms=[algorithm]).execute
    for code, *_ in plan.algorithms:
        if not code.startswith((b"gpumath", b"cublas")):
            plan = core.MatmulPlan(a, b, inputs=inputs, algorithm=code, **options)
            raw = raw_product(a, b, scales, plan)
            if raw is not None:
                subjects |= {"raw": raw, "raw again": raw}
            break
    if is_tuned:
        tuned = planned(advanced, preferences={"limit": 32})
        tuned.autotune(iterations=9)
        subjects["tuned"] = tuned.execute
    torch.backends.cuda.matmul.allow_tf32 = cell.dtype == "tf32"
    if cell.dtype == "float8":
        one = torch.ones((), device="cuda")
        subjects["torch"] = lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16)
    elif cell.dtype == "int8":
        subjects["torch"] = lambda: torch._int_mm(a, b)
    else:
        subjects["torch"] = lambda: torch.matmul(a, b)
        if cell.dtype not in ("bfloat16", "tf32"):
            import cupy

            left, right = cupy.from_dlpack(a), cupy.from_dlpack(b)
            subjects["cupy"] = lambda: cupy.matmul(left, right)
    # nvmath-python 1.0 reads beyond the memory of matrices whose rows are all the same.
    if "broadcast" not in cell.layouts and find_spec("nvmath"):
        import nvmath

        # What it does not do is left out.
        with contextlib.suppress(Exception):
            if cell.dtype == "float8":
                options["result_type"] = nvmath.CudaDataType.CUDA_R_16BF
            subjects["nvmath"] = planned(nvmath.linalg.advanced).execute
    return subjects


def engine_of(algorithm: advanced.Algorithm) -> str:
    """Return what computes a product by an algorithm."""
    if algorithm.is_own_kernel:
        return "own kernel"
    return "cublas" if algorithm.is_by_cublas else "cublaslt"


def measure(cell: Cell, rounds: int, filler: Any, **choices: bool) -> None:
    """Find the median time of each subject on the GPU."""
    a, b = cell.operands
    subjects = subjects_of(cell, a, b, **choices)
    start, end = (core.Event(0, timing=True) for _ in range(2))
    found: dict[str, list[float]] = {}
    for name, call in list(subjects.items()):
        try:
            call()
        except Exception:  # what another library does not do
            if name in ("gpumath", "tuned", "raw"):
                raise
            del subjects[name]
    for number in range(MOST_TIMES_ROUNDS * rounds):
        for name in random.sample(list(subjects), len(subjects)):
            driver.memset_d8_async(filler.device_ptr, 0, filler.size, 0)
            start.record(0)
            subjects[name]()
            end.record(0)
            end.synchronize()
            found.setdefault(name, []).append(1e3 * start.elapsed_ms(end))
        if (number + 1) % rounds == 0:
            cell.noise = max(map(noise, found.values()))
            is_long = statistics.median(found["gpumath"]) > LONG
            if cell.noise <= MOST_NOISE or is_long:
                break
    cell.times = {name: statistics.median(times) for name, times in found.items()}


def noise(times: list[float]) -> float:
    """Return by how much the medians of every other run differ, relative to one another."""
    ratio = statistics.median(times[::2]) / statistics.median(times[1::2])
    return abs(ratio - 1)


def report(cells: list[Cell], own: str, *others: str, most: float, engine: str = "") -> None:
    """Print how the ratios are spread, in cells of one engine or of all."""
    chosen = (cell for cell in cells if engine in ("", cell.engine))
    ratios = sorted(filter(None, (cell.ratio(own, *others) for cell in chosen)))
    shares = ", ".join(
        f"{share:.0%} {ratios[int(share * (len(ratios) - 1))]:.3f}"
        for share in (0.1, 0.5, 0.9, 1)
        if ratios
    )
    above = sum(ratio > most for ratio in ratios)
    peers = " and ".join(others)
    name = f"{own}, {engine}," if engine else own
    print(f"{name} to {peers}: {len(ratios)} cells, {shares}; {above} above {most}")


def report_raw(cells: list[Cell]) -> None:
    """Print the ratios to cublasLtMatmul, and those of that to itself."""
    for engine in ("cublaslt", "cublas", "gpumath"):
        report(cells, "gpumath", "raw", most=1.02, engine=engine)
    report(cells, "raw again", "raw", most=1.02)
    beyond = sum(cell.ratio("gpumath", "raw") > max(1.02, cell.own_difference) for cell in cells)
    print(f"above 1.02 and by more than cublasLtMatmul differs from itself in that cell: {beyond}")


def report_kinds(cells: list[Cell]) -> None:
    """Print which kinds of cells are slower than PyTorch or CuPy, those with most excess first."""
    kinds: dict[str, list[float]] = {}
    for cell in cells:
        kinds.setdefault(cell.kind, []).append(cell.ratio("gpumath", "torch", "cupy"))
    slow = {kind: [ratio for ratio in ratios if ratio > 1.03] for kind, ratios in kinds.items()}
    for kind, ratios in sorted(slow.items(), key=lambda item: sum(item[1]), reverse=True):
        if ratios:
            print(f"{len(ratios)} of {len(kinds[kind])} above 1.03, to {max(ratios):.2f}: {kind}")


def main() -> None:
    """Measure random cells, and print the worst ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--worst", type=int, default=20, help="cells that are measured again")
    parser.add_argument("--tuned", action="store_true", help="autotune the worst cells")
    parser.add_argument("--engines", action="store_true", help="measure each engine by itself too")
    parser.add_argument("--seed", type=int, default=15, help="which cells are measured")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    filler = core.allocate(FILLER)
    choose = random.Random(arguments.seed)
    cells: list[Cell] = []
    start = time.perf_counter()
    for _ in range(arguments.cells):
        if time.perf_counter() - start > arguments.seconds:
            break
        cell = Cell.random(choose)
        try:
            measure(cell, arguments.rounds, filler, by_engine=arguments.engines)
            cells.append(cell)
        except Exception as error:
            print(f"{cell} {type(error).__name__}: {str(error)[:200]}")

    def excess(cell: Cell) -> float:
        to_raw = cell.ratio("gpumath", "raw") / max(1.02, cell.own_difference)
        return max(cell.ratio("gpumath", "torch", "cupy") / 1.03, to_raw)

    print(f"{core.Device(0).name}, seed {arguments.seed}, GPU time in us")
    report_raw(cells)
    for peers in [("torch", "cupy"), ("nvmath",)]:
        report(cells, "gpumath", *peers, most=1.03)
    report_kinds(cells)
    if arguments.json:
        rows = [(f"{cell}".partition(", noise")[0], cell.times) for cell in cells]
        title = f"GPU time of products, seed {arguments.seed}"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="µs", gpu=True))
    worst = sorted(cells, key=excess, reverse=True)[: arguments.worst]
    for cell in worst:
        choices = {"is_tuned": arguments.tuned, "by_engine": arguments.engines}
        measure(cell, 4 * arguments.rounds, filler, **choices)
    print(f"the {len(worst)} worst cells, measured again:")
    report_raw(worst)
    report(worst, "gpumath", "torch", "cupy", most=1.03)
    report(worst, "tuned", "torch", most=1.0)
    for cell in sorted(worst, key=excess, reverse=True):
        print(
            f"{cell.ratio('gpumath', 'torch', 'cupy'):6.3f} {cell.ratio('gpumath', 'raw'):6.3f}",
            cell,
        )


if __name__ == "__main__":
    main()
