"""Products of more than 2**31 elements, against double precision, with 40 GiB of device memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpumath import linalg
from gpumath.bindings import core
from gpumath.linalg import advanced
from tests.helpers.operands import library
from tests.helpers.structured import GENERAL, LOWER, UPPER, Kind, qualifiers

pytestmark = pytest.mark.gpu

GIB = 1 << 30
CHUNK = 1 << 26  # elements that are compared at once


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    """Free memory of earlier tests, or skip; give this test's back."""
    torch = library("torch")
    torch.cuda.empty_cache()
    core.plan_cache_clear()
    free = core.Device(0).memory_info()[0]
    if free < 40 * GIB:
        pytest.skip(f"40 GiB of device memory are needed, {free / GIB:.0f} GiB are free")
    yield
    core.plan_cache_clear()
    torch.cuda.empty_cache()


def integers(*shape: int) -> Any:
    torch = library("torch")
    return torch.randint(-100, 100, shape, dtype=torch.int8, device="cuda")


def halves(*shape: int) -> Any:
    torch = library("torch")
    return torch.randn(shape, dtype=torch.float16, device="cuda")


# The operands, and how many matrices an execution copies to another layout.
CASES: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "a matrix of int8": (lambda: (integers((1 << 17) + 16, 1 << 14), integers(16, 1 << 14).T), 0),
    "a batch": (lambda: (halves((1 << 15) + 3, 256, 257), halves((1 << 15) + 3, 257, 8)), 0),
    "a matrix that is copied": (
        lambda: (halves((1 << 16) + 1, 1 << 16)[:, ::2], halves(1 << 15, 8)),
        1,
    ),
    "a result": (lambda: (halves((1 << 16) + 1, 16), halves(16, 1 << 15)), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_more_elements_than_32_bits_count(name: str) -> None:
    torch = library("torch")
    make, copies = CASES[name]
    a, b = make()
    with advanced.Matmul(a, b) as product:
        product.plan(preferences={"limit": 1})
        result = product.execute()
    assert core.MatmulPlan(a, b).copies == copies
    assert max(a.numel(), result.numel()) > 2**31
    tolerance = 0.0 if a.dtype == torch.int8 else 2e-3
    rows = max(1, CHUNK // max(a[0].numel(), result[0].numel()))
    for start in range(0, len(a), rows):
        part = slice(start, start + rows)
        right = b[part] if b.ndim > 2 else b
        expected = torch.matmul(a[part].double(), right.double())
        magnitude = torch.matmul(a[part].double().abs(), right.double().abs())
        error = (result[part].double() - expected).abs()
        assert bool((error <= tolerance * magnitude).all()), f"rows from {start}"


SYMMETRIC = [Kind("sy", LOWER), Kind("sy", UPPER)]
TRIANGULAR = [Kind("tr", UPPER, unit=True), Kind("tr", LOWER)]
SIDE = 46_400  # of a matrix with more than 2**31 elements


def singles(*shape: int) -> Any:
    torch = library("torch")
    return torch.randn(shape, device="cuda")


# The structure, the stored elements and the other factor, which is on the right.
STRUCTURED: dict[str, tuple[Kind, Callable[[], tuple[Any, Any]]]] = {
    "symmetric, a vector": (SYMMETRIC[0], lambda: (singles(SIDE, SIDE), singles(SIDE, 1))),
    "symmetric, few columns": (SYMMETRIC[1], lambda: (singles(SIDE, SIDE), singles(SIDE, 3))),
    "symmetric, completed": (SYMMETRIC[1], lambda: (singles(SIDE, SIDE), singles(SIDE, 16))),
    "symmetric, too large": (SYMMETRIC[0], lambda: (singles(51_000, 51_000), singles(51_000, 16))),
    "triangle, few columns": (TRIANGULAR[0], lambda: (singles(SIDE, SIDE), singles(SIDE, 8))),
    "triangle, more columns": (TRIANGULAR[1], lambda: (singles(SIDE, SIDE), singles(SIDE, 16))),
    "small ones": (SYMMETRIC[0], lambda: (singles((1 << 27) + 1, 4, 4), singles(1, 4, 4))),
    "many columns": (
        TRIANGULAR[0],
        lambda: (singles(30, 30), singles((1 << 26) + (1 << 23), 30).T),
    ),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_more_elements_of_a_structure_than_32_bits_count(name: str) -> None:
    kind, make = STRUCTURED[name]
    a, b = make()
    result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL))
    assert max(a.numel(), b.numel(), result.numel()) > 2**31
    check_structured(kind, a, b, result)


def test_an_infinity_stays_in_its_rows_of_many_triangles() -> None:
    """The last triangle is completed with zeros; products by them are computed again."""
    torch = library("torch")
    a, b = singles((1 << 19) + 1, 64, 64), singles((1 << 19) + 1, 64, 64)
    b[-1, -1, -1] = torch.inf
    result = linalg.matmul(a, b, qualifiers=qualifiers(TRIANGULAR[1], GENERAL))
    assert result.numel() > 2**31
    assert bool(result[-1, -1, -1].isinf())
    b[-1, -1, -1] = 0
    result[-1, -1, -1] = a[-1, -1] @ b[-1, :, -1]
    check_structured(TRIANGULAR[1], a, b, result)


def check_structured(kind: Kind, a: Any, b: Any, result: Any) -> None:
    """Compare a product with that of all elements, in parts: rows of a matrix, or matrices."""
    count = max(1, CHUNK // max(a[0].numel(), result[0].numel()))
    most = 1 << 22
    is_wide = b.shape[-1] > most
    for start in range(0, len(a), count):
        part = slice(start, start + count)
        left = rows_of(kind, a, part) if a.ndim == 2 else whole(kind, a[part])
        for columns in [slice(most), slice(-most, None)] if is_wide else [slice(None)]:
            right = (b[part] if b.ndim > 2 and len(b) > 1 else b)[..., columns].double()
            error = (result[part][..., columns].double() - left @ right).abs()
            assert bool((error <= 1e-5 * (left.abs() @ right.abs())).all()), f"rows from {start}"


def rows_of(kind: Kind, stored: Any, part: slice) -> Any:
    """Return rows of a matrix in double precision."""
    torch = library("torch")
    rows = torch.arange(*part.indices(len(stored)), device="cuda")
    columns = torch.arange(stored.shape[-1], device="cuda")
    is_stored = columns <= rows[:, None] if kind.uplo == LOWER else columns >= rows[:, None]
    others = stored[:, part].mT if kind.name == "sy" else torch.zeros_like(stored[part])
    values = torch.where(is_stored, stored[part], others).double()
    return torch.where(columns == rows[:, None], 1.0, values) if kind.unit else values


def whole(kind: Kind, stored: Any) -> Any:
    """Return lower triangles, or symmetric matrices that have them, in double precision."""
    lower = stored.double().tril()
    return lower + lower.tril(-1).mT if kind.name == "sy" else lower


# Rows and columns, and whether the result is in Fortran order.
DIAGONAL = [((SIDE, SIDE), False), ((SIDE, SIDE), True), (((1 << 30) + 3, 2), False)]


@pytest.mark.parametrize(("shape", "is_turned"), DIAGONAL)
def test_more_elements_than_32_bits_count_times_a_diagonal(
    shape: tuple[int, int], is_turned: bool
) -> None:
    diagonal, b = singles(shape[0]), singles(*shape)
    out = singles(*reversed(shape)).mT if is_turned else None
    kinds = (Kind("dg", reverse=True), GENERAL)
    result = linalg.matmul(diagonal, b, out=out, qualifiers=qualifiers(*kinds))
    assert result.numel() > 2**31
    count = CHUNK // shape[1]
    for start in range(0, shape[0], count):
        rows = slice(start, start + count)
        expected = diagonal.flip(0)[rows, None] * b[rows]
        assert bool((result[rows] == expected).all()), f"rows from {start}"


def test_more_diagonals_than_32_bits_count() -> None:
    diagonals, b = singles((1 << 29) + 1, 2), singles(2, 2)
    result = linalg.matmul(diagonals, b, qualifiers=qualifiers(Kind("dg"), GENERAL))
    assert result.numel() > 2**31
    for start in range(0, len(diagonals), CHUNK):
        part = slice(start, start + CHUNK)
        assert bool((result[part] == diagonals[part, :, None] * b).all()), f"from {start}"
