"""Long sums of narrow types: cuBLASLt and cuBLAS may leave out the last products of them."""

from __future__ import annotations

from typing import Any

import pytest

from gpumath.linalg import advanced

pytestmark = pytest.mark.gpu

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

# Only so many products at the end of a sum are not zero, so that results are exact in all types.
LAST = 100
ORDERS = ["CC", "CF", "FC", "FF"]
# Rows, columns and depth for which the first algorithm was seen to leave out products on an H200,
# and others.
HALVES = [
    (16, 384, 3201),
    (64, 432, 6401),
    (176, 32, 7685),
    (32, 1120, 9923),
    (48, 96, 5634),
    (16, 128, 32016),
    (80, 80, 35216),
    (16, 96, 64008),
    (64, 64, 8192),
    (1, 3000, 3201),
    (3000, 1, 5761),
]
NARROW = [(128, 48, 91424), (16, 160, 88720), (48, 32, 92176), (64, 64, 8192)]
CASES = [
    (dtype, order, shape)
    for dtype in ("float16", "bfloat16")
    for order in ORDERS
    for shape in HALVES
] + [("float8_e4m3fn", "CF", shape) for shape in NARROW]


def factor(shape: tuple[int, int], dtype: str, order: str, axis: int) -> Any:
    """Return small whole numbers at the end of the sums, which are along ``axis``, and zeros."""
    numbers = torch.randint(-1, 2, shape, device="cuda").float()
    numbers.narrow(axis, 0, shape[axis] - LAST).zero_()
    numbers = numbers.to(getattr(torch, dtype))
    return numbers.T.contiguous().T if order == "F" else numbers


def factors(dtype: str, orders: str, shape: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    rows, columns, depth = shape
    a = factor((rows, depth), dtype, orders[0], 1)
    b = factor((depth, columns), dtype, orders[1], 0)
    return a, b, a.double() @ b.double()


@pytest.mark.parametrize(("dtype", "orders", "shape"), CASES)
def test_no_algorithm_leaves_out_products(
    dtype: str, orders: str, shape: tuple[int, int, int]
) -> None:
    a, b, expected = factors(dtype, orders, shape)
    if dtype == "float8_e4m3fn":
        options: dict[str, Any] = {
            "options": {"result_type": "bfloat16"},
            "quantization_scales": {"a": 1.0, "b": 1.0},
        }
    else:
        options = {}
        batch = advanced.matmul(torch.stack([a, a, a]), b)
        assert (batch.double() == expected).all()
    assert (advanced.matmul(a, b, **options).double() == expected).all()
    with advanced.Matmul(a, b, **options) as product:
        for algorithm in product.plan(preferences={"limit": 32}):
            found = product.execute(algorithm=algorithm)
            assert (found.double() == expected).all(), algorithm


def test_an_algorithm_that_leaves_out_products_is_refused() -> None:
    a, b, expected = factors("bfloat16", "FC", (176, 32, 7685))
    messages = []
    with advanced.Matmul(a, b) as product:
        for algorithm in product.plan(preferences={"limit": 32}):
            if algorithm.is_own_kernel or algorithm.is_by_cublas:
                continue
            algorithm.split_k = 6
            try:
                product.plan(algorithms=[algorithm])
            except ValueError as error:
                messages.append(str(error))
            else:
                pytest.fail(f"{algorithm} was taken")
        assert any("do not have all of them" in message for message in messages)
        product.plan()
        assert (product.execute().double() == expected).all()
