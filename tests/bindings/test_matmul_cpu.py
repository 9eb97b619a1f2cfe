"""`core.MatmulPlan` on the CPU: every epilog, element type and layout, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core, cublasLt
from tests.helpers.epilogs import EPILOGS, bits, epilog_reference

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")

TYPES = [np.dtype(name) for name in ("float16", "float32", "float64")]
TYPES.append(np.dtype(ml_dtypes.bfloat16))

BATCHES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ()), ((3,), ()), ((2, 1), (1, 3))]
ORDERS = ["C", "F", "steps"]


def matrix(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, order: str) -> Any:
    """Return random numbers in an order, rounded to their type."""
    *batch, rows, columns = shape
    if order == "F":
        return rng.uniform(-1, 1, (*batch, columns, rows)).astype(dtype).swapaxes(-1, -2)
    if order == "steps":
        return rng.uniform(-1, 1, (*batch, 2 * rows, 3 * columns)).astype(dtype)[..., ::2, ::-3]
    return rng.uniform(-1, 1, shape).astype(dtype)


def multiply(
    a: Any, b: Any, c: Any = None, *, alpha: Any = None, beta: Any = None, **choices: Any
) -> Any:
    """Plan for the CPU and run twice, with equal results."""
    inputs = choices.get("inputs")
    plan = core.MatmulPlan(a, b, c, execution="cpu", **choices)
    assert plan.engine in ("embedded", "none")
    results = [
        plan.run(a, b, choices.get("out"), c=c, inputs=inputs, alpha=alpha, beta=beta)
        for _ in range(2)
    ]
    return results[1]


def close(found: Any, expected: Any, dtype: Any, depth: int) -> None:
    """Compare, by the precision of the type and the length of the sums."""
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    tolerance = max(4 * epsilon, 4e-7 if dtype.itemsize < 8 else 0) * (depth + 8)
    found = np.asarray(found).astype(np.float64)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("epilog", ["DEFAULT", *EPILOGS])
def test_every_epilog(epilog: str, dtype: Any) -> None:
    rng = np.random.default_rng()
    for rows, columns, depth in [(5, 7, 4), (1, 1, 1), (70, 9, 33), (130, 3, 20)]:
        for left, right in BATCHES:
            order = str(rng.choice(ORDERS))
            a = matrix(rng, (*left, rows, depth), dtype, order)
            b = matrix(rng, (*right, depth, columns), dtype, str(rng.choice(ORDERS)))
            batch = np.broadcast_shapes(left, right)
            c = matrix(rng, (*batch, rows, columns), dtype, str(rng.choice(ORDERS)))
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            total = 0.5 * np.matmul(wide_a, wide_b) - 2 * c.astype(np.float64)
            inputs: dict[str, Any] = {}
            if "BIAS" in epilog:
                shape = (*batch, rows, 1) if batch else (rows,)
                inputs["bias"] = rng.uniform(-1, 1, shape).astype(dtype)
            if epilog.startswith("DRELU"):
                size = (*batch, columns, -(-rows // 128) * 16)
                packed = rng.integers(0, 256, size, dtype=np.uint8)
                inputs["relu_aux"] = packed.swapaxes(-1, -2)
            if epilog.startswith("DGELU"):
                size = (*batch, columns, -(-rows // 8) * 8)
                inputs["gelu_aux"] = rng.uniform(-2, 2, size).astype(dtype).swapaxes(-1, -2)
            wide = {
                name: value if name == "relu_aux" else value.astype(np.float64)
                for name, value in inputs.items()
            }
            shared = (*batch, rows, depth), (*batch, depth, columns)
            factors = map(np.broadcast_to, (wide_a, wide_b), shared)
            expected, others = epilog_reference(epilog, total, *factors, wide)
            found = multiply(
                *(a, b, c),
                alpha=0.5,
                beta=-2,
                epilog=int(cublasLt.Epilogue[epilog]),
                inputs=inputs or None,
            )
            if others:
                found, *more = found if isinstance(found, tuple | list) else (found,)
                if more and isinstance(more[0], dict):
                    more = list(more[0].values())
                for (name, value), one in zip(others.items(), more, strict=True):
                    one = np.asarray(one)
                    if name == "relu_aux":
                        near = np.abs(total if "bias" not in wide else expected) < 1e-2
                        assert ((bits(one, rows) == value) | near | (expected == 0)).all()
                    elif name == "gelu_aux":
                        close(one[..., :rows, :], value, dtype, depth)
                    else:
                        close(one.reshape(value.shape), value, dtype, 4 * (columns + depth + rows))
            close(found, expected, dtype, depth)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rectified_numbers_that_are_none(dtype: str) -> None:
    rng = np.random.default_rng()
    a, b = (rng.uniform(-1, 1, (9, 9)).astype(dtype) for _ in range(2))
    a[3, 4], a[5, 6], a[7, 8] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    found = multiply(a, b, epilog=int(cublasLt.Epilogue.RELU))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)
    assert np.isnan(found[3]).all()


@pytest.mark.parametrize("result_type", ["int32", "int8", "float32"])
def test_integers_are_exact(result_type: str) -> None:
    rng = np.random.default_rng()
    for rows, depth, columns in [(3, 5, 4), (64, 3000, 33), (1, 70000, 2)]:
        limit = 128 if result_type != "int8" else 2
        a, b = (
            rng.integers(-limit, limit, shape, dtype=np.int8)
            for shape in [(rows, depth), (depth, columns)]
        )
        total = a.astype(np.int64) @ b.astype(np.int64)
        if result_type == "int8":
            total = np.clip(total, -128, 127)
        found = multiply(a, b, result_type=result_type)
        assert found.dtype == result_type
        np.testing.assert_array_equal(found, total.astype(result_type))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_conjugates(dtype: str) -> None:
    rng = np.random.default_rng()
    a, b, c = (
        (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(dtype)
        for shape in [(2, 6, 5), (2, 5, 3), (2, 6, 3)]
    )
    found = multiply(a, b, c, alpha=1j, beta=2, conjugate=(True, False))
    np.testing.assert_allclose(found, 1j * (a.conj() @ b) + 2 * c, rtol=1e-5, atol=1e-5)
    bias = np.asarray(c[:, :, :1])
    epilog = int(cublasLt.Epilogue.BIAS)
    if dtype == "complex64":
        try:
            found = multiply(a, b, epilog=epilog, inputs={"bias": bias})
        except ValueError:
            return
        np.testing.assert_allclose(found, a @ b + bias, rtol=1e-5, atol=1e-5)


def test_wider_results_and_in_place() -> None:
    rng = np.random.default_rng()
    a, b = (rng.uniform(-1, 1, (9, 9)).astype(np.float16) for _ in range(2))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    found = multiply(a, b, result_type="float32")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    c = np.ones((9, 9), np.float16)
    plan = core.MatmulPlan(a, b, c, execution="cpu", inplace=True)
    assert plan.run(a, b, c=c, alpha=1, beta=3) is c
    np.testing.assert_allclose(c.astype(np.float64), expected + 3, atol=4e-3)


def test_narrow_types_need_a_gpu() -> None:
    a = np.ones((16, 16), ml_dtypes.float8_e4m3fn)
    with pytest.raises(ValueError, match=r"float8_e4m3fn, which the CPU does not|scale"):
        core.MatmulPlan(a, a, execution="cpu", inputs={})
