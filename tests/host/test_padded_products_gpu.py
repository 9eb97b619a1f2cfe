"""Products whose lines are made longer for tensor cores, against double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from gpumath.linalg import advanced
from gpumath.linalg.advanced._algorithm import algorithm_from
from tests.helpers.epilogs import bits, epilog_reference

pytestmark = pytest.mark.gpu

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

TF32 = advanced.MatmulComputeType.COMPUTE_32F_FAST_TF32
TYPES = ["float16", "bfloat16", "float32"]
# Errors of a sum, relative to the sum of magnitudes.
BOUNDS = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-3}
# Which extents have lines of whole pieces: none, some.
SHAPES = [(2533, 2531, 2537), (2536, 2531, 2536), (2531, 2535, 2536), (2528, 2533, 2535)]


def values(*shape: int, dtype: str) -> Any:
    return torch.randn(shape, dtype=getattr(torch, dtype), device="cuda")


def has_padded_lines(product: advanced.Matmul) -> bool:
    """Whether autotuning would add an algorithm for lines as they are."""
    others = [algorithm_from((code, 0, 0.0)) for code in product._plan.other_ways]
    return any(algorithm.pads_lines is False for algorithm in others)


def options_of(dtype: str, **others: Any) -> dict[str, Any]:
    return {**others, "compute_type": TF32} if dtype == "float32" else others


def wide(array: Any) -> np.ndarray:
    result: np.ndarray = array.double().cpu().numpy()
    return result


def check(found: Any, expected: np.ndarray, a: Any, b: Any, more: float = 0.0) -> None:
    size = np.abs(wide(a)) @ np.abs(wide(b)) + more
    dtype = str(a.dtype).removeprefix("torch.")
    assert found.shape == expected.shape
    assert (np.abs(wide(found) - expected) <= BOUNDS[dtype] * size).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_orders(dtype: str, shape: tuple[int, int, int], orders: str) -> None:
    rows, columns, depth = shape
    a = values(rows, depth, dtype=dtype)
    b = values(depth, columns, dtype=dtype)
    a, b = (
        one.mT.contiguous().mT if order == "F" else one
        for one, order in zip((a, b), orders, strict=True)
    )
    with advanced.Matmul(a, b, options=options_of(dtype)) as product:
        product.plan()
        assert has_padded_lines(product)
        for _ in range(2):
            check(product.execute(), wide(a) @ wide(b), a, b)
        # Memory around the result stays as it is.
        around = torch.full((rows + 2, columns + 3), 7, dtype=a.dtype, device="cuda")
        out = around[1:-1, 1:-2]
        product.execute(out=out)
        check(out, wide(a) @ wide(b), a, b)
        out.fill_(7)
        assert (around == 7).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("epilog", ["RELU_BIAS", "GELU_AUX_BIAS", "RELU_AUX", "DRELU", "DGELU"])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_epilogs(dtype: str, epilog: str, batch: tuple[int, ...]) -> None:
    rows, columns, depth = 2535, 2530, 2537
    a, b = values(*batch, rows, depth, dtype=dtype), values(*batch, depth, columns, dtype=dtype)
    inputs: dict[str, Any] = {}
    if "BIAS" in epilog:
        inputs["bias"] = values(*batch, rows, *([1] if batch else []), dtype=dtype)
    if epilog == "DGELU":
        inputs["gelu_aux"] = values(*batch, columns, 2536, dtype=dtype).mT
    if epilog == "DRELU":
        inputs["relu_aux"] = torch.randint(
            0, 256, (*batch, columns, 320), dtype=torch.uint8, device="cuda"
        ).mT
    member = advanced.MatmulEpilog[epilog]
    with advanced.Matmul(a, b, options=options_of(dtype)) as product:
        product.plan(epilog=member, epilog_inputs=inputs or None)
        assert has_padded_lines(product)
        found = product.execute()
    found, others = found if isinstance(found, tuple) else (found, {})
    left, right = wide(a), wide(b)
    known = {
        name: value.cpu().numpy() if name == "relu_aux" else wide(value)
        for name, value in inputs.items()
    }
    expected, expected_others = epilog_reference(epilog, left @ right, left, right, known)
    check(found, expected, a, b, 5.0)
    if "gelu_aux" in others:
        check(others["gelu_aux"][..., :rows, :], expected_others["gelu_aux"], a, b, 5.0)
    if "relu_aux" in others:
        wrong = bits(others["relu_aux"].cpu().numpy(), rows) != expected_others["relu_aux"]
        size = np.abs(left) @ np.abs(right)
        assert (np.abs((left @ right)[wrong]) <= BOUNDS[dtype] * size[wrong]).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("inplace", [False, True])
def test_addends(dtype: str, inplace: bool) -> None:
    rows, columns, depth = 2801, 2799, 2800
    a, b = values(rows, depth, dtype=dtype), values(depth, columns, dtype=dtype)
    c = values(rows, columns, dtype=dtype)
    expected = 0.5 * (wide(a) @ wide(b)) + 2 * wide(c)
    options = options_of(dtype, inplace=inplace)
    with advanced.Matmul(a, b, c, alpha=0.5, beta=2.0, options=options) as product:
        product.plan()
        assert has_padded_lines(product)
        found = product.execute()
    assert (found.data_ptr() == c.data_ptr()) == inplace
    check(found, expected, a, b, 10.0)


def test_captures() -> None:
    a, b = values(1535, 1537, dtype="bfloat16"), values(1537, 1531, dtype="bfloat16")
    with advanced.Matmul(a, b) as product:
        product.plan()
        assert has_padded_lines(product)
        product.execute()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = product.execute()
    core.plan_cache_clear()
    a.normal_()
    graph.replay()
    torch.cuda.synchronize()
    check(found, wide(a) @ wide(b), a, b)


def test_a_limit_on_the_workspace_leaves_lines_as_they_are() -> None:
    a, b = values(1535, 1537, dtype="float16"), values(1537, 1531, dtype="float16")
    with advanced.Matmul(a, b, options={"memory_limit": "4 MiB"}) as product:
        assert product.plan()[0].workspace_size <= 4 << 20
        check(product.execute(), wide(a) @ wide(b), a, b)
