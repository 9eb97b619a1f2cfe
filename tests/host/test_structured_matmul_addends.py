"""Products to which one array is added for a batch, or several to one, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gpumath import linalg
from tests.helpers.structured import (
    DTYPES,
    GENERAL,
    KINDS,
    Kind,
    check,
    matrix,
    numbers,
    qualifiers,
)

# The batches of a, b and c.
BATCHES = [
    ((), (), (2,)),
    ((), (), (2, 3)),
    ((4,), (), ()),
    ((2, 3), (3,), ()),
    ((2, 3), (2, 1), (3,)),
    ((2, 1), (), (2, 3)),
    ((1,), (3,), (2, 1)),
    ((5,), (5,), (1,)),
    ((300,), (300,), ()),
    ((0,), (), ()),
]


@pytest.mark.parametrize("batches", BATCHES, ids=str)
@pytest.mark.parametrize("kind", [GENERAL, KINDS[2], KINDS[5], KINDS[7], KINDS[10]], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_c_is_broadcast(
    execution: str, batches: tuple[tuple[int, ...], ...], kind: Kind, dtype: str
) -> None:
    rng = np.random.default_rng()
    side, columns = int(rng.integers(1, 40)), int(rng.integers(1, 9))
    of_a, of_b, of_c = batches
    a = kind.stored(rng, (*of_a, side, side), dtype, "C")
    b, c = (matrix(rng, (*batch, side, columns), dtype, "last") for batch in (of_b, of_c))
    given = {"qualifiers": qualifiers(kind, GENERAL), "alpha": 0.5, "beta": 2.0}
    whole = kind.whole(a)
    expected = 0.5 * (whole @ b) + 2 * c.astype(np.complex128)
    size = np.abs(whole) @ np.abs(b) + 2 * np.abs(c)
    result = linalg.matmul(a, b, c, execution=execution, **given)
    assert result.shape == expected.shape
    check(np.asarray(result), expected, size, side)
    with linalg.Matmul(a, b, c, execution=execution, **given) as product:
        product.plan()
        for _ in range(2):
            check(np.asarray(product.execute()), expected, size, side)
    if c.shape == expected.shape:
        given["options"] = {"inplace": True}
        assert linalg.matmul(a, b, c, execution=execution, **given) is c
        check(c, expected, size, side)


@pytest.mark.parametrize(
    "shapes", [((2, 3, 4), (4,), (3,)), ((4,), (5, 4, 3), (3,)), ((4,), (4,), (2,))]
)
def test_c_is_broadcast_to_vectors(execution: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b, c = (numbers(np.random.default_rng(), shape, "float64") for shape in shapes)
    result = linalg.matmul(a, b, c, beta=3.0, execution=execution)
    np.testing.assert_allclose(result, a @ b + 3 * np.asarray(c), rtol=0, atol=1e-12)


def test_batches_that_do_not_fit_are_refused(execution: str) -> None:
    a, b = np.ones((2, 3, 4)), np.ones((4, 5))
    for shape in ((3, 3, 5), (2, 3, 1), (5,), (2, 5)):
        with pytest.raises(ValueError, match=r"each product has the shape \[3, 5\]"):
            linalg.matmul(a, b, np.ones(shape), beta=1.0, execution=execution)
    options = {"inplace": True}
    with pytest.raises(ValueError, match="inplace=True overwrites it"):
        linalg.matmul(a, b, np.ones((3, 5)), beta=1.0, options=options, execution=execution)
