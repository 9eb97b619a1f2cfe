"""Products of matrices with a structure, batches and lists, against NumPy in double precision."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import linalg
from gpumath.bindings import core
from tests.helpers.operands import library
from tests.helpers.structured import (
    DTYPES,
    GENERAL,
    KINDS,
    LOWER,
    ORDERS,
    UPPER,
    Kind,
    check,
    matrix,
    numbers,
    qualifiers,
)

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

PAIRS = [(kind, GENERAL) for kind in KINDS] + [(GENERAL, kind) for kind in KINDS[2:]]
BOTH = [(KINDS[4], KINDS[7]), (KINDS[10], KINDS[3]), (KINDS[8], KINDS[11]), (KINDS[11], KINDS[10])]


def check_pair(
    space: Space,
    kinds: tuple[Kind, Kind],
    dtype: str,
    orders: tuple[str, ...],
    rows: int,
    other: int,
) -> None:
    """Check ``alpha * a @ b + beta * c``, where a matrix with a structure has ``rows`` rows."""
    rng = np.random.default_rng()
    left, right = kinds
    shapes = [(rows, rows), (rows, other)] if right == GENERAL else [(other, rows), (rows, rows)]
    if GENERAL not in kinds:
        shapes = [(rows, rows), (rows, rows)]
    a, b = (
        kind.stored(rng, shape, dtype, order)
        for kind, shape, order in zip(kinds, shapes, orders, strict=False)
    )
    c = matrix(rng, (shapes[0][0], shapes[1][1]), dtype, orders[2])
    alpha, beta = (complex(number) for number in numbers(rng, (2,), "complex128"))
    if not dtype.startswith("complex"):
        alpha, beta = alpha.real, beta.real
    result = linalg.matmul(
        *(space.array(each) for each in (a, b, c)),
        alpha=alpha,
        beta=beta,
        qualifiers=qualifiers(left, right),
        execution=space.execution,
    )
    x, y = left.whole(a), right.whole(b)
    expected = alpha * (x @ y) + beta * c.astype(np.complex128)
    size = abs(alpha) * (np.abs(x) @ np.abs(y)) + np.abs(beta * c)
    space.assert_is_alike(result)
    check(space.numpy(result), expected, size, rows)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kinds", PAIRS + BOTH, ids=lambda kinds: f"{kinds[0]}_{kinds[1]}")
def test_every_structure(execution: str, kinds: tuple[Kind, Kind], dtype: str) -> None:
    space = numpy_on(execution)
    rng = np.random.default_rng()
    for rows, other in [(1, 1), (3, 5), (8, 1), (17, 20), (60, 33)]:
        orders = tuple(str(order) for order in rng.choice(ORDERS[:-1], 3))
        check_pair(space, kinds, dtype, orders, rows, other)
    check_pair(space, kinds, dtype, ("C", "C", "C"), 301, 35)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS[2:6], ids=str)
def test_larger_symmetric_matrices(execution: str, kind: Kind, dtype: str) -> None:
    """On a GPU, their other triangle is filled before they are multiplied."""
    rng = np.random.default_rng()
    for kinds in [(kind, GENERAL), (GENERAL, kind), (kind, KINDS[4])]:
        for width in (1, 7, 259):
            orders = tuple(str(order) for order in rng.choice(ORDERS[:-1], 3))
            rows = 256 + int(rng.integers(40))
            check_pair(numpy_on(execution), kinds, dtype, orders, rows, width)
    a, b = kind.stored(rng, (200, 200), dtype, "rows"), numbers(rng, (200,), dtype)
    result = linalg.matmul(b, a, qualifiers=qualifiers(GENERAL, kind), execution=execution)
    check(np.asarray(result), b @ kind.whole(a), np.abs(b) @ np.abs(kind.whole(a)), 200)
    a = kind.stored(rng, (2, 1, 257, 257), dtype, "last")
    b = matrix(rng, (2, 3, 257, 256), dtype, "F")
    result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL), execution=execution)
    whole = kind.whole(a)
    check(np.asarray(result), whole @ b, np.abs(whole) @ np.abs(b), 257)


@pytest.mark.parametrize("kinds", [PAIRS[2], PAIRS[13], PAIRS[7]], ids=str)
def test_every_order(execution: str, kinds: tuple[Kind, Kind]) -> None:
    space = numpy_on(execution)
    for orders in product(ORDERS[:-1], repeat=3):
        check_pair(space, kinds, "complex64", orders, 9, 12)


def test_every_library(space: Space) -> None:
    for kinds in [PAIRS[1], PAIRS[4], PAIRS[9], PAIRS[11]]:
        check_pair(space, kinds, "complex128", ("C", "F", "rows"), 12, 7)


def numpy_on(execution: str) -> Space:
    """Return the space of NumPy operands, computed there."""
    from tests.helpers.spaces import Space

    return Space("numpy", "cpu", execution)


@pytest.mark.parametrize("shapes", [
    ((5, 2, 3, 4), (5, 2, 4, 6)), ((4, 3, 2), (2, 5)), ((3, 2), (7, 2, 5)),
    ((3, 1, 2, 4), (1, 5, 4, 3)), ((300, 4, 4), (300, 4, 4)), ((4,), (4,)), ((3, 4), (4,)),
    ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((2, 1, 0, 3), (3, 4)),
    ((2, 3, 0), (0, 4)), ((0, 3, 4), (4, 5)), ((2, 130, 40), (2, 40, 150)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_batches_stretch_as_in_numpy(
    execution: str, shapes: tuple[tuple[int, ...], ...], dtype: str
) -> None:
    rng = np.random.default_rng()
    for order in ("C", "F", "last"):
        a, b = (
            numbers(rng, shape, dtype) if len(shape) == 1 else matrix(rng, shape, dtype, order)
            for shape in shapes
        )
        expected = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
        size = np.matmul(np.abs(a), np.abs(b)).astype(np.float64)
        result = linalg.matmul(a, b, execution=execution)
        assert result.flags.c_contiguous or result.size == 0
        check(np.asarray(result), expected, size, a.shape[-1])
        out = (
            matrix(rng, expected.shape, dtype, "last")
            if expected.ndim > 1
            else np.empty_like(result)
        )
        c = np.asarray(numbers(rng, expected.shape, dtype))
        assert linalg.matmul(a, b, c, beta=2, out=out, execution=execution) is out
        check(out, expected + 2 * c, size + 2 * np.abs(c), a.shape[-1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_of_structures(execution: str, dtype: str) -> None:
    rng = np.random.default_rng()
    for kind in KINDS[2:]:
        for order in ("last", "C", "F", "columns"):
            side = int(rng.integers(5, 50))
            a = kind.stored(rng, (2, 3, side, side), dtype, order)
            shared = np.broadcast_to(a[1], a.shape)
            a = shared if rng.integers(2) else a.swapaxes(0, 1)[:, ::-1]
            whole = kind.whole(a)
            b = matrix(rng, (a.shape[1], side, 5), dtype, "C")
            result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL), execution=execution)
            check(np.asarray(result), whole @ b, np.abs(whole) @ np.abs(b), side)


@pytest.mark.parametrize("kind", KINDS[2:], ids=str)
def test_many_matrices_times_vectors(execution: str, kind: Kind) -> None:
    rng = np.random.default_rng()
    dtype, side = str(rng.choice(DTYPES)), int(rng.integers(1, 60))
    a = kind.stored(rng, (300, side, side), dtype, str(rng.choice(ORDERS)))
    b = matrix(rng, (300, side, 1), dtype, str(rng.choice(ORDERS)))
    whole = kind.whole(a)
    result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL), execution=execution)
    check(np.asarray(result), whole @ b, np.abs(whole) @ np.abs(b), side)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_lists_of_products(execution: str, dtype: str) -> None:
    rng = np.random.default_rng()
    kinds = [(GENERAL, GENERAL), (KINDS[2], GENERAL), (GENERAL, KINDS[10]), (KINDS[1], GENERAL)]
    sides = [(3, 4, 5), (6, 6, 2), (7, 9, 9), (0, 2, 3)]
    a, b, c = (
        [
            kind[operand].stored(rng, (m, k) if operand == 0 else (k, n), dtype, "F")
            if operand < 2
            else numbers(rng, (m, n), dtype)
            for kind, (m, k, n) in zip(kinds, sides, strict=True)
        ]
        for operand in range(3)
    )
    alpha, beta = [1.5, -2, 0.5, 1], [0, 1, -1, 3]
    given = {
        "alpha": alpha,
        "beta": beta,
        "qualifiers": [qualifiers(*kind) for kind in kinds],
        "execution": execution,
    }
    expected = [
        alpha[i] * (kinds[i][0].whole(a[i]) @ kinds[i][1].whole(b[i])) + beta[i] * c[i]
        for i in range(4)
    ]
    results = linalg.matmul(a, b, c, **given)
    assert isinstance(results, list)
    for one, right in zip(results, expected, strict=True):
        check(one, right, np.abs(right) + 20, 9)
    outs = [np.empty(right.shape, dtype) for right in expected]
    written = linalg.matmul(tuple(a), b, c, **given, out=outs)
    assert all(one is out for one, out in zip(written, outs, strict=True))
    for one, right in zip(outs, expected, strict=True):
        check(one, right, np.abs(right) + 20, 9)
    copies = [each.copy() for each in c]
    written = linalg.matmul(a, b, copies, **given, options={"inplace": True})
    assert all(one is copy for one, copy in zip(written, copies, strict=True))
    for one, right in zip(copies, expected, strict=True):
        check(one, right, np.abs(right) + 20, 9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("with_c", [False, True])
def test_long_lists(execution: str, dtype: str, with_c: bool) -> None:
    """Some of the products are alike, and follow each other; some are batches."""
    rng = np.random.default_rng()
    shapes = [tuple(int(extent) for extent in rng.integers(1, 40, 3)) for _ in range(12)]
    shapes += [shapes[-1]] * 3 + [(5, 0, 3)] * int(rng.integers(0, 2)) + [(4, 4, 4)] * 5
    batches = [(3,) if rng.random() < 0.3 else () for _ in shapes]
    a, b, c = [], [], []
    for (m, k, n), batch in zip(shapes, batches, strict=True):
        a.append(matrix(rng, (*batch, m, k), dtype, str(rng.choice(["C", "F", "rows"]))))
        b.append(matrix(rng, (*batch, k, n), dtype, str(rng.choice(["C", "F", "columns"]))))
        c.append(matrix(rng, (*batch, m, n), dtype, str(rng.choice(["C", "F"]))))
    given: dict[str, Any] = {"execution": execution}
    alpha = [float(number) for number in rng.choice([1, 2], len(shapes))]
    addends = c if with_c else None
    beta = -1.5 if with_c else None
    for _ in range(2):
        results = linalg.matmul(a, b, addends, alpha=alpha, beta=beta, **given)
        terms = zip(results, a, b, c, alpha, strict=True)
        for one, left, right, addend, factor in terms:
            expected = factor * np.matmul(left.astype("c16"), right.astype("c16"))
            expected = expected - 1.5 * addend if with_c else expected
            check(one, expected, np.abs(left) @ np.abs(right) * 2 + 2 * np.abs(addend) + 1, 40)


def test_lists_in_steps(execution: str) -> None:
    """The same plan writes new results, and arrays that are given."""
    rng = np.random.default_rng()
    shapes = [tuple(int(extent) for extent in rng.integers(1, 20, 3)) for _ in range(5)]
    a = [numbers(rng, (m, k), "float32") for m, k, _ in shapes]
    b = [numbers(rng, (k, n), "float32") for _, k, n in shapes]
    outs = [np.empty((m, n), "float32") for m, _, n in shapes]
    with linalg.Matmul(a, b, alpha=2, execution=execution) as product:
        product.plan()
        for out in (None, outs, tuple(outs)):
            results = product.execute(out=out)
            assert isinstance(results, list)
            for one, left, right in zip(results, a, b, strict=True):
                np.testing.assert_allclose(one, 2 * (left @ right), rtol=1e-4, atol=1e-4)
            if out is not None:
                assert all(one is given for one, given in zip(results, outs, strict=True))
        # Memory in another order takes another plan.
        turned = [np.asfortranarray(np.zeros_like(out)) for out in outs]
        product.execute(out=turned)
        for one, left, right in zip(turned, a, b, strict=True):
            np.testing.assert_allclose(one, 2 * (left @ right), rtol=1e-4, atol=1e-4)
        for wrong, words in [(outs[1:], "a list of 4"), (outs[0], "one array")]:
            with pytest.raises(ValueError, match=words):
                product.execute(out=wrong)
    whole = np.empty(2 * 9 - 1, "float32")
    parts = [whole[:9].reshape(3, 3), whole[8:].reshape(3, 3)]
    square = [np.ones((3, 3), "float32")] * 2
    with pytest.raises(ValueError, match="two of the arrays that are given for results overlap"):
        linalg.matmul(square, square, out=parts, execution=execution)
    with pytest.raises(ValueError, match="out and b overlap"):
        linalg.matmul(square, [parts[0], parts[0]], out=[np.empty((3, 3), "f4"), parts[1]])
    with linalg.Matmul(square, [parts[0].copy(), parts[0]], execution=execution) as product:
        product.plan()
        with pytest.raises(ValueError, match="overlap"):
            product.execute(out=[parts[1], np.empty((3, 3), "f4")])


def test_a_list_of_one_stands_for_all(execution: str) -> None:
    rng = np.random.default_rng()
    a = [numbers(rng, (m, 4), "float32") for m in (1, 5, 30)]
    b = numbers(rng, (4, 3), "float32")
    results = linalg.matmul(a, [b], alpha=2, execution=execution)
    for one, left in zip(results, a, strict=True):
        np.testing.assert_allclose(one, 2 * (left @ b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_beta_nothing_of_c_is_read(execution: str, dtype: str) -> None:
    rng = np.random.default_rng()
    for shape in [(2, 3, 4), (60, 50, 40), (1, 9, 1), (200, 200, 1)]:
        m, k, n = shape
        a, b = numbers(rng, (m, k), dtype), numbers(rng, (k, n), dtype)
        c = np.full((m, n), np.nan, dtype)
        result = linalg.matmul(a, b, c, beta=0.0, execution=execution)
        np.testing.assert_allclose(result, a @ b, rtol=1e-4, atol=1e-4)
        options = {"inplace": True}
        assert linalg.matmul(a, b, c, beta=0, options=options, execution=execution) is c
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
        assert np.isnan(linalg.matmul(a, b, np.full_like(c, np.nan), beta=1)).all()


@pytest.mark.parametrize("size", [(3, 4, 5), (1, 40, 1), (40, 40, 40), (4, 300, 4), (70, 200, 1)])
def test_nan_and_infinity_pass_as_in_numpy(execution: str, size: tuple[int, int, int]) -> None:
    rng = np.random.default_rng()
    m, k, n = size
    for value in (np.nan, np.inf, -np.inf):
        a, b = numbers(rng, (m, k), "float64"), numbers(rng, (k, n), "float64")
        a[rng.integers(m), rng.integers(k)] = value
        b[rng.integers(k), rng.integers(n)] = np.inf
        b[rng.integers(k), rng.integers(n)] = 0
        with np.errstate(invalid="ignore"):
            expected = a @ b
        result = linalg.matmul(a, b, execution=execution)
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(result), np.isinf(expected))


@pytest.mark.parametrize("shape", [
    (600, 3), (300, 70), (5, 33, 9), (3, 200, 40), (130, 1), (70, 80), (150, 90), (30, 40, 5),
    (250, 30, 1),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS[6:10], ids=str)
def test_an_infinity_stays_in_its_rows(execution: str, kind: Kind, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng()
    *batch, side, columns = shape
    dtype, is_right = str(rng.choice(DTYPES)), bool(rng.integers(2))
    a = kind.stored(rng, (*batch, side, side), dtype, str(rng.choice(ORDERS)))
    b = matrix(rng, shape, dtype, str(rng.choice(ORDERS)))
    c = numbers(rng, shape, dtype) if rng.integers(2) else None
    for row in rng.integers(side, size=3):
        b[..., row, rng.integers(columns)] = rng.choice([np.inf, -np.inf, np.nan])
    whole, elements = kind.whole(a), np.where(np.isfinite(b), b, 0)
    if is_right:
        operands = [None if x is None else x.swapaxes(-1, -2) for x in (b, a, c)]
    else:
        operands = [a, b, c]
    kinds = [GENERAL, kind] if is_right else [kind, GENERAL]
    if is_right:
        kinds[1] = replace(kind, uplo=LOWER if kind.uplo == UPPER else UPPER)
    beta = None if c is None else 0.5
    result = linalg.matmul(*operands, beta=beta, qualifiers=qualifiers(*kinds), execution=execution)
    result = result.swapaxes(-1, -2) if is_right else result
    # Where a row of stored elements meets none of them, they change nothing.
    is_reached = (whole != 0).astype(float) @ ~np.isfinite(b) > 0
    assert not np.isfinite(result[is_reached]).any()
    expected = whole @ elements + (0 if c is None else 0.5 * c)
    size = np.abs(whole) @ np.abs(elements) + (0 if c is None else np.abs(0.5 * c))
    expected, size = np.where(is_reached, 0, expected), np.where(is_reached, 1, size)
    check(np.where(is_reached, 0, result).astype(result.dtype), expected, size, side)


@pytest.mark.parametrize("kind", [KINDS[3], KINDS[5], KINDS[7], KINDS[11]], ids=str)
@pytest.mark.parametrize("sizes", [(3, 4), (70, 2), (40, 30)])
def test_dimensions_that_are_no_single_step(
    direct_space: Space, kind: Kind, sizes: tuple[int, int]
) -> None:
    rng = np.random.default_rng()
    side, columns = sizes
    a = kind.stored(rng, (4, 3, 5, 4, side, side), "complex128", "C")
    b = numbers(rng, (4, 3, 5, 4, side, columns), "complex128")

    def parts(array: Any) -> Any:
        """Return every second entry of each dimension of the batch, in another order."""
        return array[::2, ::2, ::2, ::2].swapaxes(0, 3)

    result = linalg.matmul(
        *(parts(direct_space.array(each)) for each in (a, b)),
        qualifiers=qualifiers(kind, GENERAL),
        execution=direct_space.execution,
    )
    whole, b = kind.whole(parts(a)), parts(b)
    check(direct_space.numpy(result), whole @ b, np.abs(whole) @ np.abs(b), side)


def test_lazily_conjugated_tensors() -> None:
    torch = library("torch")
    a, b = (torch.randn(4, 4, dtype=torch.complex64) for _ in range(2))
    expected = (a.conj() @ b.T.conj()).numpy()
    result = linalg.matmul(a.conj(), b.T.conj())
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)
    many = linalg.matmul([a.conj(), a], [b, b.conj()])
    np.testing.assert_allclose(many[0].numpy(), (a.conj() @ b).numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(many[1].numpy(), (a @ b.conj()).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize("kind", [*KINDS[2:9:2], KINDS[10]], ids=str)
def test_any_number_of_threads(kind: Kind, threads: int) -> None:
    rng = np.random.default_rng()
    where = linalg.ExecutionCPU(num_threads=threads)
    a, b = kind.stored(rng, (520, 520), "float64", "C"), numbers(rng, (520, 90), "float64")
    result = linalg.matmul(a, b, qualifiers=qualifiers(kind, GENERAL), execution=where)
    whole = kind.whole(a)
    check(result, whole @ b, np.abs(whole) @ np.abs(b), 520)


def refused(match: str, *operands: Any, error: type[Exception] = ValueError, **given: Any) -> None:
    """Check that the function and the class refuse the same, before anything happens."""
    with pytest.raises(error, match=match):
        linalg.matmul(*operands, **given)
    given.pop("out", None)
    if "out" not in match:
        with pytest.raises(error, match=match):
            linalg.Matmul(*operands, **given)


def test_refusals() -> None:
    a, b, c = np.ones((3, 4)), np.ones((4, 5)), np.ones((3, 5))
    symmetric = qualifiers(KINDS[2], GENERAL)
    refused("as many columns as b has rows", a, a)
    refused("square", a, b, qualifiers=symmetric)
    refused("c is given without beta", a, b, c)
    refused("c is of .* each product has the shape", a, b, c[:2], beta=1)
    refused("c is of .* each product has the shape", a, b, c[:1], beta=1)
    refused("takes float32", a.astype("int32"), b)
    refused("same type", a, b.astype("float32"))
    refused("real number", a, b, alpha=1j)
    refused("complex number is needed", a, b, alpha="1", error=TypeError)
    refused("alpha is a masked element", a, b, alpha=np.ma.masked, error=TypeError)
    refused("beta is a masked element", [a], [b], [c], beta=[np.ma.masked], error=TypeError)
    refused("a list of 2", [a, a], b)
    refused("a list of 2", [a, a], [b, b, b])
    refused("a list of 0", [], [])
    refused("alpha has 3", [a, a], [b], alpha=[1, 2, 3])
    refused("no lists", a, b, alpha=[1, 2])
    refused("qualifiers is", a, b, qualifiers="ge")
    refused("shape", a, b, qualifiers=qualifiers(GENERAL))
    refused("c has a qualifier", a, b, qualifiers=qualifiers(GENERAL, GENERAL, KINDS[1]))
    refused("no c to overwrite", a, b, options={"inplace": True})
    refused("which no create", a, b, qualifiers=np.zeros(2, linalg.matrix_qualifiers_dtype))
    square = np.ones((4, 4))
    refused("out and a", square, square.copy(), out=square)
    refused("c and b", square.copy(), square, square, beta=1, options={"inplace": True})


def test_lists_in_place_share_no_memory() -> None:
    """One plan computes them, in no order that a user could count on."""
    square = np.ones((4, 4))
    factors, other = [square, square.copy()], np.ones((4, 4))
    frozen = np.ones((4, 4))
    frozen.flags.writeable = False
    for message, c in [
        ("c and a overlap", [other, factors[1]]),
        ("two of the arrays", [other, other[::-1]]),
        ("two of the arrays", [other]),
        ("c is of .*writable", [other, frozen]),
    ]:
        with pytest.raises(ValueError, match=message):
            linalg.matmul(factors, [np.eye(4)], c, beta=1, options={"inplace": True})
    assert (other == 1).all()


def test_qualifiers() -> None:
    for kind in KINDS:
        one = kind.qualifier()
        assert one.dtype == linalg.matrix_qualifiers_dtype
        assert linalg.MatrixQualifier.is_valid(one)
        assert "conjugated" in linalg.MatrixQualifier.to_string(one) or not kind.conjugate
    both = qualifiers(KINDS[2], KINDS[3])
    assert linalg.SymmetricMatrixQualifier.is_valid(both)
    assert not linalg.HermitianMatrixQualifier.is_valid(both)
    assert not linalg.GeneralMatrixQualifier.is_valid(np.ones(2))
    assert not linalg.GeneralMatrixQualifier.is_valid([[1], [1, 2]])
    with pytest.raises(RuntimeError, match="create"):
        linalg.GeneralMatrixQualifier()
    with pytest.raises(ValueError, match="uplo"):
        linalg.SymmetricMatrixQualifier.create(uplo=linalg.FillMode.FULL)
    with pytest.raises(ValueError, match="diag"):
        linalg.TriangularMatrixQualifier.create(diag=2)
    with pytest.raises(ValueError, match="incx"):
        linalg.DiagonalMatrixQualifier.create(incx=2)  # type: ignore[arg-type]  # the refusal
    for wrong in (both[0], [[1], [1, 2]], qualifiers(KINDS[3], KINDS[3])):
        with pytest.raises(ValueError, match="no qualifier of a Hermitian"):
            linalg.HermitianMatrixQualifier.to_string(wrong)
    flag: Any = "no"
    for made in (linalg.GeneralMatrixQualifier, linalg.DiagonalMatrixQualifier):
        with pytest.raises(TypeError, match="conjugate is 'no'; True or False is needed"):
            made.create(conjugate=flag)
        assert made.create(conjugate=np.True_)["conjugate"]
    number: Any = 1.0
    for name in ("uplo", "diag"):
        with pytest.raises(TypeError, match=f"{name} is 1.0; an integer"):
            linalg.TriangularMatrixQualifier.create(**{name: number})
    with pytest.raises(TypeError, match=r"incx is 1.0; an integer"):
        linalg.DiagonalMatrixQualifier.create(incx=number)


def test_plans_say_what_they_are() -> None:
    a = np.ones((3, 3))
    plan = core.StructuredMatmulPlan(a, a)
    assert (plan.engine, plan.device_id, plan.workspace_size) == ("embedded", None, 0)
    assert plan.accepts(a, a)
    assert not plan.accepts(a, a, a)
    assert not plan.accepts(a, np.ones((3, 4)))
    assert not plan.accepts([a], [a.T])
