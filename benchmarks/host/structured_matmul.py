"""Measures products of matrices with a structure: symmetric, Hermitian, triangular, diagonal.

On the CPU the others are SciPy's functions of BLAS (symm, hemm, trmm) and NumPy's product of the
whole matrix, or of the diagonal and each column. On a GPU (--gpu) they are PyTorch's and CuPy's
product of the whole matrix, and nvmath-python's planned one with the same qualifiers, if it is
installed.
Rows are random: the structure, its triangle and side, the extents, the orders of the operands and
the batch. The last column is gpumath's time over that of the fastest other.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpumath import linalg

sys.path.append(str(Path(__file__).parent))
from _timing import Call, finish, medians, report

STRUCTURES = ["symmetric", "Hermitian", "triangular", "diagonal"]
DTYPES = ["float32", "float64", "complex64", "complex128"]
MOST_WORK = 1 << 28  # products of numbers, on the CPU
MOST_WORK_ON_GPU = 1 << 36


class Row(NamedTuple):
    """A product of a square matrix with a structure and a general one."""

    structure: str
    dtype: str
    side: int
    width: int
    batch: int
    is_right: bool
    is_upper: bool
    orders: str

    @classmethod
    def random(cls, structures: list[str], dtypes: list[str], most: int, work: int) -> Row:
        side, width = (int(exp(random.uniform(0, log(most)))) for _ in range(2))
        batch = random.choice([1, 1, 1, int(exp(random.uniform(0, log(300))))])
        if side * side * width * batch > work or side * max(side, width) * batch > work >> 6:
            return cls.random(structures, dtypes, most, work)
        return cls(
            random.choice(structures),
            random.choice(dtypes),
            *(side, width, batch),
            *(random.random() < 0.5 for _ in range(2)),
            "".join(random.choice("CF") for _ in range(2)),
        )

    def __str__(self) -> str:
        triangle = "" if self.structure == "diagonal" else " upper" if self.is_upper else " lower"
        place = "right" if self.is_right else "left"
        sizes = f"{self.batch} x {self.side}, {self.width}"
        return f"{self.structure}{triangle} {place} {self.dtype} {sizes} {self.orders}"


def matrix(xp: Any, row: Row, rows: int, columns: int, order: str) -> Any:
    """Return random matrices in an order, a batch of them if the row has one."""
    batch = () if row.batch == 1 else (row.batch,)
    rng = xp.random.default_rng()
    shape = (*batch, rows, columns) if order == "C" else (*batch, columns, rows)
    x = rng.standard_normal(shape)
    if row.dtype.startswith("c"):
        x = x + 1j * rng.standard_normal(shape)
    x = x.astype(row.dtype)
    return x if order == "C" else x.swapaxes(-1, -2)


def completed(xp: Any, row: Row, a: Any) -> Any:
    """Return all elements of a matrix with a structure, in the order in which it is given."""
    if row.structure == "diagonal":
        return a[..., None] * xp.eye(row.side, dtype=a.dtype)
    keep, strict = (xp.triu, 1) if row.is_upper else (xp.tril, -1)
    whole = keep(a)
    if row.structure != "triangular":
        other = keep(a, strict).swapaxes(-1, -2)
        whole = whole + (other.conj() if row.structure == "Hermitian" else other)
    if row.structure == "Hermitian":
        diagonal = xp.eye(row.side, dtype=bool)
        whole = xp.where(diagonal, whole.real.astype(a.dtype), whole)
    result = xp.empty_like(a)
    result[...] = whole
    return result


def qualifiers_of(row: Row, module: Any) -> Any:
    """Return the qualifiers of both factors, as gpumath and nvmath-python take them."""
    qualifiers = np.full(2, module.GeneralMatrixQualifier.create())
    create = getattr(module, f"{row.structure.capitalize()}MatrixQualifier").create
    fill = module.FillMode.UPPER if row.is_upper else module.FillMode.LOWER
    options = {} if row.structure == "diagonal" else {"uplo": fill}
    qualifiers[int(row.is_right)] = create(**options)
    return qualifiers


def of_scipy(row: Row, a: Any, b: Any) -> dict[str, Call]:
    """Return the call of SciPy's function of BLAS, for operands that it need not copy."""
    from scipy.linalg import blas

    if row.structure == "diagonal" or row.batch > 1:
        return {}
    letter = dict(zip(DTYPES, "sdcz", strict=True))[row.dtype]
    right, upper = row.is_right, row.is_upper
    conjugated = row.structure == "Hermitian" and not a.flags.f_contiguous
    if row.structure == "triangular":
        function = getattr(blas, f"{letter}trmm")
        turned = not b.flags.f_contiguous
        # a @ b is the transposed b.T @ a.T.
        left, other = (a.T, b.T) if turned else (a, b)
        on_right, in_upper = right != turned, upper != turned
        flipped = not left.flags.f_contiguous
        factor = left.T if flipped else left
        options = {"side": on_right, "lower": in_upper == flipped, "trans_a": flipped}
        return {"SciPy": lambda: function(1, factor, other, **options)}
    if conjugated and row.dtype.startswith("c"):
        return {}
    kind = "hemm" if row.structure == "Hermitian" and row.dtype.startswith("c") else "symm"
    function = getattr(blas, f"{letter}{kind}")
    turned = not b.flags.f_contiguous
    if kind == "hemm" and turned:
        return {}
    flipped = not a.flags.f_contiguous
    factor, other = a.T if flipped else a, b.T if turned else b
    options = {"side": right != turned, "lower": upper == flipped}
    return {"SciPy": lambda: function(1, factor, other, **options)}


def subjects(row: Row, a: Any, b: Any, xp: Any, on_gpu: bool) -> dict[str, Call]:
    """Return the calls of a row."""
    qualifiers = qualifiers_of(row, linalg)
    operands = (b, a) if row.is_right else (a, b)
    calls: dict[str, Call] = {"gpumath": lambda: linalg.matmul(*operands, qualifiers=qualifiers)}
    if row.structure == "diagonal":
        vector = a[..., None, :] if row.is_right else a[..., None]
        # In C order, which they would not choose for other operands.
        calls["CuPy" if on_gpu else "NumPy"] = lambda: xp.ascontiguousarray(vector * b)
    else:
        whole = completed(xp, row, a)
        dense = (b, whole) if row.is_right else (whole, b)
        calls["CuPy" if on_gpu else "NumPy"] = lambda: dense[0] @ dense[1]
    if not on_gpu:
        return calls | of_scipy(row, a, b)
    import torch

    if row.structure == "diagonal":
        of_torch = [torch.from_dlpack(x) for x in (vector, b)]
        calls["PyTorch"] = lambda: of_torch[0] * of_torch[1]
    else:
        of_torch = [torch.from_dlpack(x) for x in dense]
        calls["PyTorch"] = lambda: of_torch[0] @ of_torch[1]
    try:
        from nvmath import linalg as other
    except ImportError:
        return calls
    try:
        product = other.Matmul(*operands, qualifiers=qualifiers_of(row, other))
        product.plan()
    except (NotImplementedError, ValueError):  # some batches and orders
        return calls
    return calls | {"nvmath": product.execute}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--random", type=float, default=20, metavar="SECONDS", help="of all rows")
    parser.add_argument("--seconds", type=float, default=0.01, help="for each row")
    parser.add_argument("--cpu-time", action="store_true", help="of the thread; on one core")
    parser.add_argument("--gpu-alone", action="store_true", help="never wait for the host")
    parser.add_argument("--structures", nargs="+", default=STRUCTURES)
    parser.add_argument("--dtypes", nargs="+", default=DTYPES)
    parser.add_argument("--most", type=int, default=2000, help="rows and columns")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    xp: Any = importlib.import_module("cupy" if arguments.gpu else "numpy")
    found: dict[str, dict[str, float]] = {}
    work = MOST_WORK_ON_GPU if arguments.gpu else MOST_WORK
    end = time.perf_counter() + arguments.random
    while time.perf_counter() < end:
        row = Row.random(arguments.structures, arguments.dtypes, arguments.most, work)
        is_right, side, width = row.is_right, row.side, row.width
        if row.structure == "diagonal":
            a = matrix(xp, row, 1, side, "C")[..., 0, :]
        else:
            a = matrix(xp, row, side, side, row.orders[0])
        b = matrix(xp, row, *((width, side) if is_right else (side, width)), row.orders[1])
        calls = subjects(row, a, b, xp, arguments.gpu)
        how = {"cpu_time": arguments.cpu_time, "gpu_alone": arguments.gpu_alone}
        times = medians(calls, arguments.seconds, arguments.gpu, **how)
        found[str(row)] = report(str(row), times)
        if arguments.gpu:
            del a, b, calls
            xp.get_default_memory_pool().free_all_blocks()
    title = f"Matrices with a structure {'on a GPU' if arguments.gpu else 'on the CPU'}"
    finish(found, title, arguments.gpu, arguments.json)


if __name__ == "__main__":
    main()
