"""Products by cuBLASLt: every epilog, element type and layout against float64."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from gpumath.linalg import advanced
from gpumath.linalg.advanced._algorithm import algorithm_from
from tests.helpers.epilogs import EPILOGS, bits, epilog_reference

pytestmark = pytest.mark.gpu

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

# Largest error of an element, for each type, relative to the sum of the magnitudes.
BOUNDS = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 1e-6,
    "float64": 1e-15,
    "complex64": 2e-6,
    "complex128": 2e-15,
}
REAL = ["float16", "bfloat16", "float32", "float64"]


def values(shape: tuple[int, ...], dtype: str) -> Any:
    kind = getattr(torch, dtype)
    if dtype == "int8":
        return torch.randint(-128, 128, shape, dtype=kind, device="cuda")
    if dtype.startswith("float8"):
        return torch.rand(shape, device="cuda").mul_(2).sub_(1).to(kind)
    return torch.randn(shape, dtype=kind, device="cuda")


def in_order(shape: tuple[int, ...], dtype: str, order: str) -> Any:
    """Return values in C or Fortran order of the matrices, with gaps, or with a step."""
    *batch, rows, columns = shape
    if order == "C":
        return values(shape, dtype)
    if order == "F":
        return values((*batch, columns, rows), dtype).mT
    if order == "gaps":
        return values((*batch, rows, columns + 8), dtype)[..., 4 : columns + 4]
    if order == "steps":
        return values((*batch, 2 * rows, 3 * columns), dtype)[..., ::2, ::3]
    if order == "batch last":
        return values((rows, columns, *batch), dtype).movedim((0, 1), (-2, -1))
    return values((*batch[:0], *([1] * len(batch)), rows, columns), dtype).expand(shape)


def wide(array: Any) -> np.ndarray:
    if not hasattr(array, "cpu"):
        return np.asarray(array)
    kind = torch.complex128 if array.is_complex() else torch.float64
    kind = array.dtype if array.dtype == torch.uint8 else kind
    result: np.ndarray = array.detach().cpu().to(kind).numpy()
    return result


def check(found: Any, expected: np.ndarray, size: np.ndarray | float, bound: float) -> None:
    assert tuple(found.shape) == expected.shape
    error = np.abs(wide(found) - expected)
    assert (error <= bound * (size + 1e-3)).all(), (error / (size + 1e-3)).max()


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("epilog", EPILOGS)
def test_epilogs(epilog: str, dtype: str, batch: tuple[int, ...]) -> None:
    rng = np.random.default_rng()
    rows, columns, depth = (int(extent) for extent in rng.choice([16, 40, 128, 136], 3))
    check_epilog(epilog, dtype, batch, (rows, columns, depth))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("epilog", EPILOGS)
@pytest.mark.parametrize("extents", [(17, 129, 33), (1, 8, 16), (24, 1, 7), (5, 3, 1)], ids=str)
def test_epilogs_of_odd_extents(epilog: str, dtype: str, extents: tuple[int, int, int]) -> None:
    check_epilog(epilog, dtype, (), extents)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("epilog", ["DRELU_BGRAD", "BGRADA", "BGRADB"])
@pytest.mark.parametrize("extents", [(3, 5, 30000), (40, 30000, 8)], ids=str)
def test_sums_of_long_lines(epilog: str, dtype: str, extents: tuple[int, int, int]) -> None:
    check_epilog(epilog, dtype, (), extents)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("epilog", ["RELU", "RELU_AUX", "GELU_BIAS", "DRELU_BGRAD", "BGRADB"])
def test_epilogs_with_an_addend(epilog: str, dtype: str) -> None:
    check_epilog(epilog, dtype, (3,), (40, 24, 33), has_addend=True)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("epilog", ["RELU", "RELU_BIAS", "GELU"])
@pytest.mark.parametrize("order", ["C", "F", "gaps", "steps"])
def test_epilogs_of_vectors_and_into_memory_of_any_order(
    epilog: str, dtype: str, order: str
) -> None:
    a, b = values((40, 24), dtype), values((24, 17), dtype)
    inputs = {"bias": values((40,), dtype)} if "BIAS" in epilog else {}
    keywords = {"epilog": advanced.MatmulEpilog[epilog], "epilog_inputs": inputs or None}
    product, out = advanced.Matmul(a, b), in_order((40, 17), dtype, order)
    for algorithm in kinds_of(product, product.plan(**keywords)):
        found = product.execute(algorithm=algorithm, out=out)
        assert found is out
        check_result(epilog, dtype, (a, b, inputs), found)
    vector = in_order((24, 1), dtype, order)
    product = advanced.Matmul(a, vector[:, 0])
    for algorithm in kinds_of(product, product.plan(**keywords)):
        found = product.execute(algorithm=algorithm)[:, None]
        check_result(epilog, dtype, (a, vector, inputs), found)


@pytest.mark.parametrize("extents", [(123, 90, 5521), (533, 6, 3582), (3, 814, 1635)], ids=str)
def test_odd_columns_that_begin_at_words(extents: tuple[int, int, int]) -> None:
    rows, columns, depth = extents
    a = values((depth, rows + 1), "float64")[:, :rows].T
    b = values((depth, columns), "float64")
    left, right = wide(a), wide(b)
    size = np.abs(left) @ np.abs(right)
    check(advanced.matmul(a, b), left @ right, size, BOUNDS["float64"])


def kinds_of(product: advanced.Matmul, algorithms: list[Any]) -> list[Any]:
    """Return an algorithm of each kind: a kernel of gpumath's, the library, each two steps."""
    others = [algorithm_from((code, 0, 0.0)) for code in product._plan.other_ways]
    kinds = {
        (each.is_own_kernel, each.has_separate_epilog, "by rows" in repr(each)): each
        for each in reversed([*algorithms, *others])
    }
    return list(kinds.values())


def check_epilog(
    epilog: str,
    dtype: str,
    batch: tuple[int, ...],
    extents: tuple[int, int, int],
    has_addend: bool = False,
) -> None:
    """Compare a product of fresh operands with the reference, with all that it makes besides."""
    rng = np.random.default_rng()
    rows, columns, depth = extents
    a = in_order((*batch, rows, depth), dtype, str(rng.choice(["C", "F"])))
    b = in_order((*batch, depth, columns), dtype, str(rng.choice(["C", "F"])))
    c = values((*batch, rows, columns), dtype) if has_addend else None
    inputs: dict[str, Any] = {}
    if "BIAS" in epilog:
        inputs["bias"] = values((rows,) if not batch else (*batch, rows, 1), dtype)
    if epilog.startswith("DRELU"):
        height = -(-rows // 128) * 16
        inputs["relu_aux"] = torch.randint(
            0, 256, (*batch, columns, height), dtype=torch.uint8, device="cuda"
        ).mT
    if epilog.startswith("DGELU"):
        inputs["gelu_aux"] = values((*batch, columns, -(-rows // 8) * 8), dtype).mT
    numbers = {"alpha": 0.5, "beta": 2.0} if has_addend else {}
    product = advanced.Matmul(a, b, c, **numbers)
    member = advanced.MatmulEpilog[epilog]
    algorithms = kinds_of(product, product.plan(epilog=member, epilog_inputs=inputs or None))
    # Halves have no addend of the type in which they are kept between the steps.
    has_steps = not (has_addend and "16" in dtype and "GELU" in epilog)
    assert any(each.has_separate_epilog for each in algorithms) == has_steps
    for algorithm in algorithms:
        check_result(epilog, dtype, (a, b, inputs), product.execute(algorithm=algorithm), c)


def check_result(
    epilog: str, dtype: str, operands: tuple[Any, Any, Any], found: Any, c: Any = None
) -> None:
    a, b, inputs = operands
    *batch, rows, _ = a.shape
    others = {}
    if isinstance(found, tuple):
        found, others = found
    left, right = wide(a), wide(b)
    known = {name: wide(value) for name, value in inputs.items()}
    total = left @ right if c is None else 0.5 * (left @ right) + 2 * wide(c)
    expected, expected_others = epilog_reference(epilog, total, left, right, known)
    size = np.abs(left) @ np.abs(right) + (3 if c is None else 3 + 2 * np.abs(wide(c)))
    bound = BOUNDS[dtype]
    if "GELU" in epilog:
        # cuBLASLt has its constants in single precision, and a fast tanh.
        bound = max(bound, 2e-5 if dtype == "float32" else 2e-9)
    check(found, expected, size, bound)
    assert set(others) == set(expected_others)
    for name, value in others.items():
        reference = expected_others[name]
        if name == "relu_aux":
            wrong = bits(wide(value), rows) != reference
            argument = total + (0 if "BIAS" not in epilog else _column(known["bias"]))
            assert (np.abs(argument[wrong]) <= BOUNDS[dtype] * size[wrong]).all()
        elif name == "gelu_aux":
            check(value[..., :rows, :], reference, size, BOUNDS[dtype])
        else:
            reference = reference[..., None] if batch else reference
            scale = np.abs(reference) + size.sum() / size.shape[-2]
            check(value, reference, scale, bound)


def _column(bias: np.ndarray) -> np.ndarray:
    return bias[..., None] if bias.ndim == 1 else bias


@pytest.mark.parametrize("dtype", [*REAL, "complex64", "complex128"])
@pytest.mark.parametrize("order", ["C", "F", "gaps", "steps", "batch last", "one"])
def test_addends_in_every_order(dtype: str, order: str) -> None:
    a, b = values((3, 24, 9), dtype), in_order((3, 9, 40), dtype, "F")
    for shape in [(3, 24, 40), (24, 40), (24, 1), (1, 40), (3, 1, 1)]:
        c = in_order(shape, dtype, order)
        alpha, beta = 0.5, -2.0
        if "complex" in dtype:
            alpha, beta = 0.5 - 1j, 2j  # type: ignore[assignment]  # what such products take
        found = advanced.matmul(a, b, c, alpha=alpha, beta=beta)
        expected = alpha * (wide(a) @ wide(b)) + beta * wide(c)
        size = np.abs(wide(a)) @ np.abs(wide(b)) + 2 * np.abs(wide(c))
        check(found, expected, size, 3 * BOUNDS[dtype])
    nothing = torch.full((24, 40), float("nan"), dtype=getattr(torch, dtype), device="cuda")
    found = advanced.matmul(a, b, nothing, beta=0)
    check(found, wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b)), BOUNDS[dtype])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_conjugates(dtype: str, orders: str) -> None:
    a = in_order((2, 17, 9), dtype, orders[0])
    b = in_order((2, 9, 30), dtype, orders[1])
    left, right = wide(a), wide(b)
    size = np.abs(left) @ np.abs(right)
    for first in (False, True):
        for second in (False, True):
            expected = (left.conj() if first else left) @ (right.conj() if second else right)
            qualifiers = np.zeros(3, advanced.matrix_qualifiers_dtype)
            qualifiers["is_conjugate"] = [first, second, False]
            found = advanced.matmul(a, b, qualifiers=qualifiers)
            check(found, expected, size, BOUNDS[dtype])
            lazy = advanced.matmul(a.conj() if first else a, b.conj() if second else b)
            check(lazy, expected, size, BOUNDS[dtype])


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF", "gaps,C", "C,steps"])
@pytest.mark.parametrize("extents", [(64, 48, 32), (1, 1, 1), (17, 5, 33), (8, 8, 0)], ids=str)
def test_integers(orders: str, extents: tuple[int, int, int]) -> None:
    rows, columns, depth = extents
    left, right = orders.split(",") if "," in orders else orders
    a, b = in_order((rows, depth), "int8", left), in_order((depth, columns), "int8", right)
    expected = wide(a) @ wide(b)
    found = advanced.matmul(a, b)
    assert found.dtype == torch.int32
    np.testing.assert_array_equal(wide(found), expected)
    c = torch.randint(-1000, 1000, (rows, columns), dtype=torch.int32, device="cuda")
    found = advanced.matmul(a, b, c, alpha=2, beta=-3)
    np.testing.assert_array_equal(wide(found), 2 * expected - 3 * wide(c))
    found = advanced.matmul(a, b, options={"result_type": "float32"})
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(wide(found), expected)


@pytest.mark.parametrize("pair", ["e4m3fn,e4m3fn", "e4m3fn,e5m2", "e5m2,e4m3fn"])
@pytest.mark.parametrize("result", ["bfloat16", "float16", "float32", "float8_e4m3fn"])
@pytest.mark.parametrize("orders", ["CF", "CC", "FC", "gaps,steps"])
def test_eight_bit_floats(pair: str, result: str, orders: str) -> None:
    first, second = (f"float8_{name}" for name in pair.split(","))
    left, right = orders.split(",") if "," in orders else orders
    for rows, columns, depth in [(64, 32, 128), (17, 33, 65)]:
        a, b = in_order((rows, depth), first, left), in_order((depth, columns), second, right)
        scales: dict[str, Any] = {"a": 0.5, "b": torch.tensor([4.0], device="cuda")}
        if result.startswith("float8"):
            scales["d"] = 0.25
        options: dict[str, Any] = {"result_type": result}
        options["result_amax"] = result.startswith("float8")
        found = advanced.matmul(a, b, quantization_scales=scales, options=options)
        expected = 2 * (wide(a) @ wide(b))
        if isinstance(found, tuple):
            found, others = found
            largest = np.abs(expected).max()
            assert abs(others["result_amax"].item() - largest) <= 1e-3 * largest
            expected /= 4
        assert str(found.dtype) == f"torch.{result}"
        bound = {"float32": 1e-3, "float16": 2e-3, "bfloat16": 8e-3}.get(result, 7e-2)
        check(found, expected, 2 * np.abs(wide(a)) @ np.abs(wide(b)), bound)


@pytest.mark.parametrize("aux", ["float8_e4m3fn", "float16", "bfloat16"])
def test_the_argument_of_gelu_beside_an_eight_bit_result(aux: str) -> None:
    a = in_order((64, 48), "float8_e4m3fn", "C")
    b = in_order((48, 32), "float8_e4m3fn", "F")
    is_narrow = aux.startswith("float8")
    _, others = advanced.matmul(
        a,
        b,
        epilog=advanced.MatmulEpilog.GELU_AUX,
        epilog_inputs={"aux_quantization_scale": 0.25} if is_narrow else None,
        preferences={"epilog": {"aux_type": aux, "aux_amax": is_narrow}},
        quantization_scales={"a": 1, "b": 1, "d": 1},
    )
    expected = wide(a) @ wide(b)
    if is_narrow:
        assert others["gelu_aux_amax"].item() == pytest.approx(np.abs(expected).max(), rel=1e-3)
        expected /= 4
    assert str(others["gelu_aux"].dtype) == f"torch.{aux}"
    bound = {"float16": 2e-3, "bfloat16": 8e-3}.get(aux, 7e-2)
    check(others["gelu_aux"], expected, np.abs(wide(a)) @ np.abs(wide(b)), bound)


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_every_batch(dtype: str) -> None:
    for left, right in [
        ((5, 7, 8, 9), (5, 7, 9, 4)),
        ((5, 1, 8, 9), (7, 9, 4)),
        ((9,), (9,)),
        ((9,), (3, 9, 4)),
        ((3, 8, 9), (9,)),
        ((2, 3, 4, 8, 9), (3, 1, 9, 6)),
        ((0, 3, 4), (4, 5)),
    ]:
        for order in ("C", "F", "steps", "batch last", "one"):
            a = in_order(left, dtype, order) if len(left) > 1 else values(left, dtype)
            b = values(right, dtype)
            found = advanced.matmul(a, b)
            expected = np.matmul(wide(a), wide(b))
            check(found, expected, np.matmul(np.abs(wide(a)), np.abs(wide(b))), 2 * BOUNDS[dtype])


@pytest.mark.parametrize("order", ["C", "F", "gaps"])
def test_in_place(order: str) -> None:
    a, b = values((2, 30, 20), "float32"), values((20, 40), "float32")
    c = in_order((2, 30, 40), "float32", order)
    expected = 2 * (wide(a) @ wide(b)) + 3 * wide(c)
    size = 2 * np.abs(wide(a)) @ np.abs(wide(b)) + 3 * np.abs(wide(c))
    assert advanced.matmul(a, b, c, alpha=2, beta=3, options={"inplace": True}) is c
    check(c, expected, size, 1e-6)


def test_compute_types() -> None:
    a, b = values((128, 64), "float32"), values((64, 96), "float32")
    size = np.abs(wide(a)) @ np.abs(wide(b))
    types = advanced.MatmulComputeType
    for compute, bound in [
        (types.COMPUTE_32F, 1e-6),
        (types.COMPUTE_32F_PEDANTIC, 1e-6),
        (types.COMPUTE_32F_FAST_TF32, 2e-3),
        (types.COMPUTE_32F_FAST_16F, 2e-3),
        (types.COMPUTE_32F_FAST_16BF, 1.6e-2),
    ]:
        found = advanced.matmul(a, b, options={"compute_type": compute})
        check(found, wide(a) @ wide(b), size, bound)
    half = a.half()
    found = advanced.matmul(half, half.T, options={"compute_type": types.COMPUTE_16F})
    check(found, wide(half) @ wide(half).T, np.abs(wide(half)) @ np.abs(wide(half)).T, 1e-2)


def test_algorithms_and_autotuning() -> None:
    a, b = values((512, 256), "bfloat16"), values((256, 384), "bfloat16")
    expected, size = wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b))
    with advanced.Matmul(a, b) as product:
        algorithms = product.plan(preferences={"limit": 5})
        assert 1 <= len(algorithms) <= 5
        assert algorithms is product.algorithms
        assert set(product.applicable_algorithm_ids(100)) >= {algorithms[0].algorithm_id}
        for algorithm in algorithms:
            if not (algorithm.is_own_kernel or algorithm.is_by_cublas):
                assert algorithm.tile in algorithm.capabilities.tile_ids
                assert algorithm.capabilities.numerical_impl_flags
            check(product.execute(algorithm=algorithm), expected, size, BOUNDS["bfloat16"])
        product.autotune(iterations=3, prune=2)
        assert len(product.algorithms) == min(2, len(algorithms))
        check(product.execute(), expected, size, BOUNDS["bfloat16"])
        saved = product.algorithms[0].as_numpy()
    loaded = advanced.Algorithm.from_numpy(saved)
    with advanced.Matmul(a, b) as product:
        assert product.plan(algorithms=[loaded]) == [loaded]
        check(product.execute(), expected, size, BOUNDS["bfloat16"])
        if loaded.capabilities.cta_swizzling_support:
            loaded.cta_swizzling = not loaded.cta_swizzling
        check(product.execute(), expected, size, BOUNDS["bfloat16"])


@pytest.mark.parametrize("is_logged", [False, True])
@pytest.mark.parametrize("others", [{}, {"alpha": 1.0}])
@pytest.mark.parametrize("name", ["reset_operands", "reset_operands_unchecked"])
def test_other_operands_leave_the_algorithm_as_it_is(
    name: str, others: dict[str, Any], is_logged: bool
) -> None:
    logger = logging.getLogger("gpumath.test.algorithm")
    logger.setLevel(logging.INFO if is_logged else logging.CRITICAL)
    b = values((256, 384), "bfloat16")

    def check_with_another(product: advanced.Matmul, algorithm: advanced.Algorithm) -> None:
        a = values((512, 256), "bfloat16")
        getattr(product, name)(a=a, **others)
        expected, size = wide(a) @ wide(b), np.abs(wide(a)) @ np.abs(wide(b))
        check(product.execute(), expected, size, BOUNDS["bfloat16"])
        assert product.algorithms == [algorithm]
        assert product._plan.algorithms[0][0] == algorithm._bytes()

    with advanced.Matmul(values((512, 256), "bfloat16"), b, options={"logger": logger}) as product:
        found = product.plan(preferences={"limit": 8})
        found = [each for each in found if not (each.is_own_kernel or each.is_by_cublas)]
        # Planning would find another one first.
        chosen = found[-1]
        product.plan(algorithms=[chosen])
        check_with_another(product, chosen)
        if chosen.capabilities.cta_swizzling_support:
            chosen.cta_swizzling = not chosen.cta_swizzling
        check_with_another(product, chosen)
        chosen.split_k = 999
        with pytest.raises(ValueError, match="change its split_k"):
            check_with_another(product, chosen)


def test_backward_of_an_epilog() -> None:
    """The auxiliary matrices of a forward pass are what the derivative's epilog takes."""
    x, weight = values((96, 64), "float16"), values((64, 48), "float16")
    grad, other = values((96, 24), "float16"), values((24, 48), "float16")
    total = wide(x) @ wide(weight)
    size = np.abs(wide(grad)) @ np.abs(wide(other)) + 3
    for name in ("RELU", "GELU"):
        forward = advanced.MatmulEpilog[f"{name}_AUX"]
        _, others = advanced.matmul(x, weight, epilog=forward)
        key = f"{name.lower()}_aux"
        backward = advanced.MatmulEpilog[f"D{name}_BGRAD"]
        found, sums = advanced.matmul(
            grad, other, epilog=backward, epilog_inputs={key: others[key]}
        )
        reference = {key: wide(others[key])}
        expected, sums_of = epilog_reference(
            f"D{name}_BGRAD", wide(grad) @ wide(other), wide(grad), wide(other), reference
        )
        if name == "RELU":
            agreed = bits(reference[key], 96) == (total > 0)
            assert agreed.mean() > 0.99
        check(found, expected, size, 2 * BOUNDS["float16"])
        check(
            sums[f"d{name.lower()}_bgrad"],
            sums_of[f"d{name.lower()}_bgrad"],
            size.sum(1),
            BOUNDS["float16"],
        )
