"""Products of more than 2**31 elements, against double precision, with 40 GiB of device memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpumath.bindings import core
from gpumath.linalg import advanced
from tests.helpers.operands import library

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
