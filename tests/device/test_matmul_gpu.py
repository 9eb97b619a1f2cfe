"""Matrix products inside kernels on a GPU, against NumPy in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.device import Precision, bfloat16, float8_e4m3fn, float8_e5m2, tfloat32
from tests.helpers.callbacks import require_numba

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng()
ROWS, COLUMNS = "row_major", "col_major"
# By types of the numbers: the bits of the fraction of the result and of the inputs decide.
FLOATS: list[tuple[Any, float]] = [
    (np.float16, 2e-2),
    (np.float32, 1e-5),
    (np.float64, 1e-14),
    (Precision(np.float16, np.float16, np.float32), 1e-3),
    (Precision(bfloat16, bfloat16, np.float32), 1e-2),
    (Precision(tfloat32, tfloat32, np.float32), 2e-3),
    (Precision(float8_e4m3fn, float8_e4m3fn, np.float32), 2e-2),
    (Precision(float8_e5m2, float8_e4m3fn, np.float32), 2e-2),
]


@pytest.fixture(scope="module", autouse=True)
def _numba() -> None:
    require_numba()


def check(matmul: Any, tolerance: float, **options: Any) -> None:
    from tests.helpers.device_matmul import multiply_on_gpu, operands

    a, b, c = operands(matmul, RNG)
    alpha, beta = (2, 3) if np.dtype(c.dtype).kind in "iu" else (1.5, -0.5)
    if matmul.data_type == "complex":
        alpha += 1j
    wanted = alpha * (a @ b) + beta * c
    got = multiply_on_gpu(matmul, alpha, a, b, beta, c, **options)
    error = np.linalg.norm(got - wanted) / np.linalg.norm(wanted)
    assert error <= tolerance, f"{matmul}: {error}"


@pytest.mark.parametrize(("precision", "tolerance"), FLOATS)
def test_types(precision: Any, tolerance: float) -> None:
    arrangement = (ROWS, COLUMNS, ROWS)
    check(device.Matmul((32, 16, 64), precision, "real", arrangement=arrangement), tolerance)


@pytest.mark.parametrize(
    ("precision", "tolerance"),
    [(np.float32, 1e-5), (Precision(bfloat16, bfloat16, np.float32), 1e-2)],
)
def test_complex_types(precision: Any, tolerance: float) -> None:
    arrangement = (COLUMNS, ROWS, COLUMNS)
    check(device.Matmul((32, 16, 64), precision, "complex", arrangement=arrangement), tolerance)


@pytest.mark.parametrize("signs", [("u", "u", "u"), ("", "u", "")])
def test_integers(signs: tuple[str, str, str]) -> None:
    names = zip(signs, ("int8", "int8", "int32"), strict=True)
    precision = Precision(*(np.dtype(sign + name).type for sign, name in names))
    check(device.Matmul((32, 32, 32), precision, "real", arrangement=(ROWS, COLUMNS, ROWS)), 0)


@pytest.mark.parametrize("arrangement", [(ROWS, ROWS, COLUMNS), (COLUMNS, ROWS, ROWS)])
def test_arrangements(arrangement: Any) -> None:
    check(device.Matmul((13, 7, 21), np.float32, "real", arrangement=arrangement), 1e-5)


@pytest.mark.parametrize("mode", ["transposed", "conj_transposed"])
def test_transpose_modes(mode: str) -> None:
    modes = ("non_transposed", mode)
    check(device.Matmul((16, 8, 24), np.float64, "complex", transpose_mode=modes), 1e-14)


@pytest.mark.parametrize("leading_dimension", [(41, 43, 45), "suggested"])
def test_leading_dimensions(leading_dimension: Any) -> None:
    matmul = device.Matmul(
        *((32, 24, 40), np.float32, "real"),
        arrangement=(ROWS, COLUMNS, COLUMNS),
        leading_dimension=leading_dimension,
        block_dim="suggested",
    )
    assert matmul.leading_dimension.a > 40 or leading_dimension == "suggested"
    check(matmul, 1e-5)


def test_leading_dimensions_of_the_run() -> None:
    matmul = device.Matmul((16, 24, 40), np.float64, "real", arrangement=(ROWS, COLUMNS, COLUMNS))
    check(matmul, 1e-14, leading_dimensions=(42, 45, 17))


def test_alignment_and_a_static_block() -> None:
    matmul = device.Matmul(
        *((64, 64, 32), np.float16, "real"),
        arrangement=(ROWS, COLUMNS, ROWS),
        alignment=(16, 16, 16),
        block_dim=(128, 1, 1),
        static_block_dim=True,
    )
    check(matmul, 2e-2)
