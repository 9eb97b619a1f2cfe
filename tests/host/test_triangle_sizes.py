"""Products of stored triangles of random sizes, against NumPy in double precision.

A GPU has several kernels for them, each for some sides, columns and batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import linalg
from tests.helpers.structured import (
    DTYPES,
    GENERAL,
    KINDS,
    ORDERS,
    Kind,
    check,
    matrix,
    qualifiers,
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS[2:10], ids=str)
def test_random_sizes(execution: str, kind: Kind, dtype: str) -> None:
    rng = np.random.default_rng()
    for _ in range(6):
        side, width, count = (
            int(2 ** rng.uniform(*bounds)) for bounds in ((3, 8.4), (1, 7), (0, 7))
        )
        count = max(1, min(count, (1 << 19) // (side * max(side, width))))
        is_right = bool(rng.integers(2))
        shape = (count, width, side) if is_right else (count, side, width)
        a = kind.stored(rng, (count, side, side), dtype, str(rng.choice(ORDERS)))
        b, c = (matrix(rng, shape, dtype, str(rng.choice(ORDERS))) for _ in range(2))
        kinds = (GENERAL, kind) if is_right else (kind, GENERAL)
        given: dict[str, Any] = {"qualifiers": qualifiers(*kinds), "execution": execution}
        operands, whole = ((b, a) if is_right else (a, b)), kind.whole(a)
        left, right = (b, whole) if is_right else (whole, b)
        expected, size = left @ right, np.abs(left) @ np.abs(right)
        check(np.asarray(linalg.matmul(*operands, **given)), expected, size, side)
        expected, size = expected - 2 * c, size + 2 * np.abs(c)
        assert linalg.matmul(*operands, c, beta=-2, **given, options={"inplace": True}) is c
        check(c, expected, size, side)
