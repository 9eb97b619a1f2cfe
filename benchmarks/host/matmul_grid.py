"""Measures the GPU time of products over a grid of extents, layouts and element types.

With `--any-extents`, extents are random ones up to 8192, which shows whether limits that were
chosen by the grid hold between its points.

Each cell is compared with cublasLtMatmul, called with the same algorithm on the operands that it
takes as they are, and with PyTorch, CuPy and nvmath-python, if that is installed. Where cuBLAS or
a kernel of gpumath's own computes the product, cublasLtMatmul runs cuBLASLt's first algorithm.

Every run is timed after the cache of the GPU was filled with something else; in a turn, each
subject runs once, in random order. A subject's time is the mean of the middle half of its runs. All
cells above a limit are measured again, after autotuning too, until the 95 % interval of each ratio,
by resampling the turns, is on one side of its limit, or a second is over. A second plan like the
first is the control: the ratio of the two says by how much equal subjects differ.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _raw_matmul import raw_product

from gpumath.bench import _report
from gpumath.bindings import core, driver
from gpumath.linalg import advanced
from gpumath.linalg.advanced import tuning
from gpumath.linalg.advanced._algorithm import algorithm_from

EXTENTS = [1, 8, 64, 1000, 4096, 8192]
LAYOUTS = ["C", "F", "gaps", "steps", "batch", "batch last", "broadcast"]
DTYPES = ["bfloat16", "float16", "tf32", "float32", "float64", "complex64", "int8", "float8"]
MOST_WORK = 2 << 38
PEERS = ("torch", "cupy")
ENGINES = ("own kernel", "cublaslt", "cublas")
# What is compared with what, and the ratio that it should not be above.
LIMITS = [("gpumath", ("raw",), 1.02), ("gpumath", PEERS, 1.03), ("tuned", ("torch",), 1.0)]
# Intervals so narrow are not made narrower.
NARROW = 0.01
RESAMPLES = 300
MOST_SECONDS = 1.0  # for the turns of a cell
LONG = 1000.0  # microseconds, from which on fewer algorithms are tuned
FILLER = 512 << 20  # bytes, which the GPU writes while the host enqueues the product

Subjects = dict[str, Callable[[], Any]]
Interval = tuple[float, float]


@dataclass
class Cell:
    """A product of the grid, and the times of its subjects in microseconds, one for each turn."""

    dtype: str
    extents: tuple[int, int, int]
    layouts: tuple[str, str]
    engine: str = ""
    copies: int = 0
    runs: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    def random(cls, choose: random.Random, any_extents: bool = False) -> Cell:
        while True:
            rows, columns, depth = choose.choices(EXTENTS, k=3)
            if any_extents:
                rows, columns, depth = (int(2 ** choose.uniform(0, 13)) for _ in range(3))
            left, right = choose.choices(LAYOUTS, k=2)
            dtype = choose.choice(DTYPES)
            if rows * columns * depth <= MOST_WORK:
                return cls(dtype, (rows, columns, depth), (left, right))

    @classmethod
    def named(cls, title: str) -> Cell:
        """Return the cell of a title, such as "float32, 8 x 64 x 1000, C x batch last"."""
        dtype, extents, layouts = title.split(", ")
        rows, columns, depth = map(int, extents.split(" x "))
        left, right = layouts.split(" x ")
        return cls(dtype, (rows, columns, depth), (left, right))

    @property
    def operands(self) -> tuple[Any, Any]:
        kind = {"tf32": torch.float32, "float8": torch.float8_e4m3fn}.get(self.dtype)
        kind = kind or getattr(torch, self.dtype)
        rows, columns, depth = self.extents
        left, right = self.layouts
        return matrix(rows, depth, kind, left), matrix(depth, columns, kind, right)

    @property
    def times(self) -> dict[str, float]:
        return {name: float(middle_mean(np.array(runs))) for name, runs in self.runs.items()}

    def best(self, names: tuple[str, ...]) -> str:
        """Return the fastest one of these subjects; nothing if none was measured."""
        times = self.times
        return min((name for name in names if name in times), key=times.__getitem__, default="")

    def ratio(self, own: str, others: tuple[str, ...]) -> float:
        """Return the time of one subject, in units of the best of others; 0 without any."""
        best = self.best(others)
        return self.times[own] / self.times[best] if best and own in self.runs else 0.0

    def interval(self, own: str, others: tuple[str, ...]) -> Interval:
        """Return between what that ratio is, with 95 % confidence."""
        best = self.best(others)
        if not best or own not in self.runs:
            return 0.0, 0.0
        runs = np.array([self.runs[own], self.runs[best]])
        turns = runs.shape[1]
        chosen = np.random.default_rng(15).integers(turns, size=(RESAMPLES, turns))
        mine, theirs = middle_mean(runs[:, chosen])
        low, high = np.quantile(mine / theirs, [0.025, 0.975])
        return float(low), float(high)

    def is_decided(self) -> bool:
        """Whether more turns would not say more of which limits the cell keeps."""
        intervals = [(self.interval(own, others), most) for own, others, most in LIMITS]
        return all(
            high <= most or low > most or high - low <= NARROW for (low, high), most in intervals
        )

    @property
    def excess(self) -> float:
        """The largest ratio in units of its limit."""
        return max(self.ratio(own, others) / most for own, others, most in LIMITS)

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

    def __str__(self) -> str:
        times = ", ".join(f"{name} {value:.2f}" for name, value in self.times.items())
        return f"{self.title}, {self.engine}, {self.copies} copies: {times}"


class Stopwatch:
    """Measures the GPU time of calls whose operands are not in the cache of the GPU."""

    def __init__(self) -> None:
        self._filler = core.allocate(FILLER)
        self._start, self._end = (core.Event(0, timing=True) for _ in range(2))

    def time(self, call: Callable[[], Any]) -> float:
        """Return the microseconds of a call."""
        driver.memset_d8_async(self._filler.device_ptr, 0, self._filler.size, 0)
        self._start.record(0)
        call()
        self._end.record(0)
        self._end.synchronize()
        return 1e3 * self._start.elapsed_ms(self._end)

    def times(self, subjects: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
        """Return the microseconds of each subject: they take turns, in random order."""
        runs: dict[str, list[float]] = {name: [] for name in subjects}
        for call in subjects.values():
            call()
        for _ in range(turns):
            for name in random.sample(list(subjects), len(subjects)):
                runs[name].append(self.time(subjects[name]))
        return {name: float(middle_mean(np.array(run))) for name, run in runs.items()}


def middle_mean(runs: Any) -> Any:
    """Return the mean of the middle half, along the last axis."""
    cut = runs.shape[-1] // 4
    return np.sort(runs)[..., cut : runs.shape[-1] - cut].mean(axis=-1)


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
    subjects: Subjects = {"gpumath": planned(advanced).execute, "again": planned(advanced).execute}
    if by_engine:
        for algorithm in map(algorithm_from, plan.algorithms):
            name = engine_of(algorithm)
            if name not in subjects:
                subjects[name] = planned(advanced, algorithms=[algorithm]).execute
    for code, *_ in plan.algorithms:
        if not code.startswith((b"gpumath", b"cublas", b"apart")):
            plan = core.MatmulPlan(a, b, inputs=inputs, algorithm=code, **options)
            raw = raw_product(a, b, scales, plan)
            if raw is not None:
                subjects["raw"] = raw
            break
    if is_tuned:
        is_long = cell.times.get("gpumath", 0) > LONG
        tuned = planned(advanced, preferences={"limit": 8 if is_long else 32})
        tuned.autotune(iterations=3 if is_long else 9)
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


def measure(cell: Cell, turns: int, most_turns: int, stopwatch: Stopwatch, **choices: bool) -> None:
    """Find the times of each subject on the GPU, in more turns until they are decided."""
    a, b = cell.operands
    subjects = subjects_of(cell, a, b, **choices)
    for name, call in list(subjects.items()):
        try:
            call()
        except Exception:  # what another library does not do
            if name in ("gpumath", "tuned", "raw"):
                raise
            del subjects[name]
    cell.runs = {name: [] for name in subjects}
    begin = time.perf_counter()
    for turn in range(1, most_turns + 1):
        for name in random.sample(list(subjects), len(subjects)):
            cell.runs[name].append(stopwatch.time(subjects[name]))
        is_over = time.perf_counter() - begin > MOST_SECONDS and turn > 4
        if is_over or (turn % turns == 0 and cell.is_decided()):
            break


def report(cells: list[Cell]) -> None:
    """Print how the ratios are spread, and how many are above the limits."""
    control = ("again", ("gpumath",), 1.02)
    for own, others, most in [
        *LIMITS,
        ("gpumath", ("nvmath",), 1.03),
        ("gpumath", ENGINES, 1.1),
        control,
    ]:
        ratios = sorted(filter(None, (cell.ratio(own, others) for cell in cells)))
        if not ratios:
            continue
        shares = ", ".join(
            f"{share:.0%} {ratios[int(share * (len(ratios) - 1))]:.3f}"
            for share in (0.1, 0.5, 0.9, 1)
        )
        above = sum(ratio > most for ratio in ratios)
        certain = sum(cell.interval(own, others)[0] > most for cell in cells)
        print(
            f"{own} to {' and '.join(others)}: {len(ratios)} cells, {shares}; {above} above "
            f"{most}, {certain} with 95 % confidence"
        )


def report_kinds(cells: list[Cell]) -> None:
    """Print which kinds of cells are slower than PyTorch or CuPy, those with most excess first."""
    kinds: dict[str, list[float]] = {}
    for cell in cells:
        kinds.setdefault(cell.kind, []).append(cell.ratio("gpumath", PEERS))
    slow = {kind: [ratio for ratio in ratios if ratio > 1.03] for kind, ratios in kinds.items()}
    for kind, ratios in sorted(slow.items(), key=lambda item: sum(item[1]), reverse=True):
        if ratios:
            print(f"{len(ratios)} of {len(kinds[kind])} above 1.03, to {max(ratios):.2f}: {kind}")


def losses(cell: Cell) -> str:
    """Say which limits a cell is above, with the intervals of the ratios."""
    found = []
    for own, others, most in LIMITS:
        low, high = cell.interval(own, others)
        if cell.ratio(own, others) > most:
            sure = "" if low > most else "?"
            found.append(f"{own}/{cell.best(others)} {low:.3f}-{high:.3f}{sure}")
    low, high = cell.interval("again", ("gpumath",))
    return f"{', '.join(found) or 'none'} (control {low:.3f}-{high:.3f})"


def table(cells: list[Cell]) -> None:
    """Print the cells that are surely above a limit, as the documentation has them."""
    print("| type | m | n | k | layouts | gpumath | by | tuned | PyTorch | CuPy | ratio | tuned |")
    print("|---" * 12 + "|")
    for cell in cells:
        bounds = [cell.interval(own, others) for own, others, _ in LIMITS]
        if not any(low > most for (low, _), (*_, most) in zip(bounds, LIMITS, strict=True)):
            continue
        times = [f"{cell.times.get(name, 0):.1f}" for name in ("tuned", "torch", "cupy")]
        engine = f"{cell.engine}, {cell.copies} copies" if cell.copies else cell.engine
        ratios = [f"{low:.2f}-{high:.2f}" for low, high in bounds[1:]]
        extents = " | ".join(map(str, cell.extents))
        layouts = f"{cell.layouts[0]} × {cell.layouts[1]}"
        own = f"{cell.times['gpumath']:.1f}"
        row = [cell.dtype, extents, layouts, own, engine, *times, *ratios]
        print(f"| {' | '.join(row)} |")


def main() -> None:
    """Measure random cells, and print the worst ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=150)
    parser.add_argument("--turns", type=int, default=9, help="runs of each subject")
    parser.add_argument("--again", type=int, default=200, help="at most, of cells above a limit")
    parser.add_argument("--tuned", action="store_true", help="autotune the cells above a limit")
    parser.add_argument("--engines", action="store_true", help="measure each engine too")
    parser.add_argument("--seed", type=int, default=15, help="which cells are measured")
    parser.add_argument("--any-extents", action="store_true", help="random extents, not the grid")
    parser.add_argument("--also", type=Path, help="a file of titles of cells to measure too")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long, each time")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    # What is tuned for one cell is not to be found for another.
    tuning.configure(mode="off")
    stopwatch = Stopwatch()
    choose = random.Random(arguments.seed)
    random_cell = partial(Cell.random, choose, arguments.any_extents)
    lines = arguments.also.read_text().splitlines() if arguments.also else []
    cells: list[Cell] = []
    start = time.perf_counter()
    for number in range(len(lines) + arguments.cells):
        if time.perf_counter() - start > arguments.seconds:
            break
        cell = Cell.named(lines[number]) if number < len(lines) else random_cell()
        try:
            measure(cell, arguments.turns, arguments.turns, stopwatch, by_engine=arguments.engines)
            cells.append(cell)
        except Exception as error:
            print(f"{cell} {type(error).__name__}: {str(error)[:200]}")
    print(f"{core.Device(0).name}, seed {arguments.seed}, GPU time in us")
    report(cells)
    report_kinds(cells)
    above = sorted((cell for cell in cells if cell.excess > 1), key=lambda cell: -cell.excess)
    again: list[Cell] = []
    start = time.perf_counter()
    for cell in above:
        if time.perf_counter() - start > arguments.seconds:
            break
        choices = {"is_tuned": arguments.tuned, "by_engine": arguments.engines}
        measure(cell, 40, arguments.again, stopwatch, **choices)
        again.append(cell)
    if arguments.json:
        rows = [(f"{cell}".partition(":")[0], cell.times) for cell in cells]
        title = f"GPU time of products, seed {arguments.seed}"
        _report.save(arguments.json, _report.figures(rows, title=title, unit="µs", gpu=True))
    print(f"{len(again)} of the {len(above)} cells above a limit, measured again:")
    report(again)
    for cell in sorted(again, key=lambda cell: -cell.excess):
        turns = len(cell.runs["gpumath"])
        print(f"{cell.excess:.3f}", cell, f"; {turns} turns, above: {losses(cell)}")
    table(sorted(again, key=lambda cell: -cell.excess))


if __name__ == "__main__":
    main()
