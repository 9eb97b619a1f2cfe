"""`gpumath.bindings.cublas` on a GPU: batches, groups, small solvers and routines of any type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cublas, errors
from gpumath.bindings.cublas import ComputeType, DataType
from tests.bindings.blas_cases import double, op, stored, triangular
from tests.helpers.cublas import DTYPES, Blas, bfloat16, blas, from_bfloat16, random
from tests.helpers.cusolver import LEFT, OP_C, OP_N, OP_T, UPPER, assert_close, wide

pytestmark = pytest.mark.gpu
SUFFIXES = pytest.mark.parametrize("suffix", ["", "_64"])
LETTERS = pytest.mark.parametrize("letter", "sdcz")
BATCH, M, N, K = 5, 24, 16, 32
HALF_EPS, BFLOAT_EPS = 2.0**-10, 2.0**-7


@pytest.fixture
def b() -> Iterator[Blas]:
    with blas() as lent:
        yield lent


def assert_near(result: Any, expected: Any, eps: float, factor: float = 4) -> None:
    """Compare in the norm, for types that `assert_close` does not know."""
    assert np.shape(result) == np.shape(expected)
    error = np.linalg.norm(np.asarray(result, complex) - expected)
    assert error <= factor * eps * np.linalg.norm(expected)


@SUFFIXES
@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("name", [*(f"{t}gemm" for t in "sdczh"), "cgemm3m"])
def test_products_of_a_batch(name: str, strided: bool, suffix: str) -> None:
    letter = name[0].replace("h", "s")
    dtype = np.dtype(np.float16) if name[0] == "h" else DTYPES[letter]
    shapes = (BATCH, M, K), (BATCH, K, N), (BATCH, M, N)
    a, x, c = (random(letter, *shape).astype(dtype) for shape in shapes)
    with blas(suffix) as b:
        alpha, beta = b.host([1.5], dtype).ctypes.data, b.host([-0.5], dtype).ctypes.data
        (a_first, a_all), (x_first, x_all), (c_first, c_all) = map(b.batch, (a, x, c))
        if strided:
            left, right = (a_first, M, M * K), (x_first, K, K * N)
            call, result = f"{name}_strided_batched", (c_first, M, M * N)
        else:
            left, right, call, result = (a_all, M), (x_all, K), f"{name}_batched", (c_all, M)
        b.call(call, 0, 0, M, N, K, alpha, *left, *right, beta, *result, BATCH)
        found = b.get_batch(c_first, c.shape, dtype)
    expected = 1.5 * double(a, letter) @ double(x, letter) - 0.5 * double(c, letter)
    if name[0] == "h":
        assert_near(found, expected, HALF_EPS, 20)
    else:
        assert_close(found, expected, letter)


@SUFFIXES
@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("types", ["s", "d", "c", "z", "hsh", "hss", "tst", "tss"])
def test_matrices_times_vectors_of_a_batch(types: str, strided: bool, suffix: str) -> None:
    letter = types if len(types) == 1 else "s"
    narrow = {"h": np.float16, "t": np.uint16}
    given = np.dtype(narrow.get(types[0], DTYPES[letter]))
    made = np.dtype(narrow.get(types[-1], DTYPES[letter]))

    def to(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        return bfloat16(values) if dtype == np.uint16 else values.astype(dtype)

    def back(values: np.ndarray) -> np.ndarray:
        wider = from_bfloat16(values) if values.dtype == np.uint16 else values
        return double(wider, letter)

    a, x = to(random(letter, BATCH, M, N), given), to(random(letter, BATCH, N), given)
    y = to(random(letter, BATCH, M), made)
    with blas(suffix) as b:
        (alpha, one), (beta, two) = b.number(letter), b.number(letter)
        (a_first, a_all), (x_first, x_all), (y_first, y_all) = map(b.batch, (a, x, y))
        if strided:
            matrix, vector, result = (a_first, M, M * N), (x_first, 1, N), (y_first, 1, M)
        else:
            matrix, vector, result = (a_all, M), (x_all, 1), (y_all, 1)
        name = f"{types}gemv_{'strided_' if strided else ''}batched"
        b.call(name, OP_N, M, N, one, *matrix, *vector, two, *result, BATCH)
        found = back(b.get_batch(y_first, y.shape, made))
    expected = alpha * np.einsum("bij,bj->bi", back(a), back(x)) + beta * back(y)
    eps = {"float16": HALF_EPS, "uint16": BFLOAT_EPS}.get(made.name)
    if eps is None:
        assert_close(found, expected, letter)
    else:
        assert_near(found, expected, eps)


@SUFFIXES
@LETTERS
def test_triangular_systems_of_a_batch(letter: str, suffix: str) -> None:
    a = np.stack([triangular(letter, M, UPPER, 0) for _ in range(BATCH)])
    x = random(letter, BATCH, M, N)
    with blas(suffix) as b:
        alpha, one = b.number(letter)
        _, matrices = b.batch(np.stack([stored(one_of, UPPER) for one_of in a]))
        first, right = b.batch(x)
        b.call(
            f"{letter}trsm_batched",
            *(LEFT, UPPER, OP_T, 0, M, N),
            *(one, matrices, M, right, M, BATCH),
        )
        found = b.get_batch(first, x.shape, DTYPES[letter])
    transposed = double(a, letter).transpose(0, 2, 1)
    assert_close(found, alpha * np.linalg.solve(transposed, double(x, letter)), letter)


def general(letter: str, n: int) -> np.ndarray:
    """Return a batch of matrices that are well conditioned and need pivots."""
    a = random(letter, BATCH, n, n) / np.sqrt(n) / 4
    shifted = np.roll(np.eye(n), 1, axis=0)
    return (a + shifted).astype(DTYPES[letter])


@LETTERS
def test_lu_factors_solve_and_invert(b: Blas, letter: str) -> None:
    a, x = general(letter, M), random(letter, BATCH, M, N)
    dtype = DTYPES[letter]
    first, matrices = b.batch(a)
    pivots, info = b.zeros(BATCH * M, np.int32), b.zeros(BATCH, np.int32)
    b.call(f"{letter}getrf_batched", M, matrices, M, pivots, info, BATCH)
    assert not b.get(info, BATCH, np.int32).any()
    factors = double(b.get_batch(first, a.shape, dtype), letter)
    rows = b.get(pivots, (M, BATCH), np.int32).T - 1
    permuted = double(a, letter)
    for matrix, swaps in zip(permuted, rows, strict=True):
        for i, j in enumerate(swaps):
            matrix[[i, j]] = matrix[[j, i]]
    product = (np.tril(factors, -1) + np.eye(M)) @ np.triu(factors)
    assert_close(product, permuted, letter)

    right, all_right = b.batch(x)
    host_info = b.host([-1], np.int32)
    solve = [matrices, M, pivots, all_right, M, host_info.ctypes.data, BATCH]
    b.call(f"{letter}getrs_batched", OP_C, M, N, *solve)
    assert host_info[0] == 0
    adjoint = double(a, letter).conj().transpose(0, 2, 1)
    found = b.get_batch(right, x.shape, dtype)
    assert_close(found, np.linalg.solve(adjoint, double(x, letter)), letter, 10)

    inverse, inverses = b.batch(np.zeros_like(a))
    b.call(f"{letter}getri_batched", M, matrices, M, pivots, inverses, M, info, BATCH)
    assert not b.get(info, BATCH, np.int32).any()
    expected = np.linalg.inv(double(a, letter))
    assert_close(b.get_batch(inverse, a.shape, dtype), expected, letter, 10)


@LETTERS
def test_small_matrices_are_inverted(b: Blas, letter: str) -> None:
    a = general(letter, 30)
    _, matrices = b.batch(a)
    first, inverses = b.batch(np.zeros_like(a))
    info = b.zeros(BATCH, np.int32)
    b.call(f"{letter}matinv_batched", 30, matrices, 30, inverses, 30, info, BATCH)
    assert not b.get(info, BATCH, np.int32).any()
    found = b.get_batch(first, a.shape, DTYPES[letter])
    assert_close(found, np.linalg.inv(double(a, letter)), letter, 10)


@LETTERS
def test_qr_factors_of_a_batch(b: Blas, letter: str) -> None:
    a = random(letter, BATCH, M, N)
    first, matrices = b.batch(a)
    _, taus = b.batch(np.zeros((BATCH, N), DTYPES[letter]))
    info = b.host([-1], np.int32)
    b.call(f"{letter}geqrf_batched", M, N, matrices, M, taus, info.ctypes.data, BATCH)
    assert info[0] == 0
    r = np.triu(double(b.get_batch(first, a.shape, DTYPES[letter]), letter)[:, :N])
    wide_a = double(a, letter)
    gram = [m.conj().transpose(0, 2, 1) @ m for m in (r, wide_a)]
    assert_close(gram[0], gram[1], letter)


@LETTERS
def test_least_squares_of_a_batch(b: Blas, letter: str) -> None:
    a, c = random(letter, BATCH, 20, 8), random(letter, BATCH, 20, 3)
    _, matrices = b.batch(a)
    first, right = b.batch(c)
    info, each = b.host([-1], np.int32), b.zeros(BATCH, np.int32)
    sizes = (OP_N, 20, 8, 3)
    end = (info.ctypes.data, each, BATCH)
    b.call(f"{letter}gels_batched", *sizes, matrices, 20, right, 20, *end)
    assert info[0] == 0
    assert not b.get(each, BATCH, np.int32).any()
    found = b.get_batch(first, c.shape, DTYPES[letter])[:, :8]
    pairs = zip(double(a, letter), double(c, letter), strict=True)
    assert_close(found, np.stack([np.linalg.lstsq(m, v)[0] for m, v in pairs]), letter, 10)


@SUFFIXES
@pytest.mark.parametrize("name", ["sgemm_grouped_batched", "dgemm_grouped_batched", "ex"])
def test_products_in_groups(name: str, suffix: str) -> None:
    letter = "d" if name[0] == "d" else "s"
    dtype, sizes = DTYPES[letter], [2, 3]
    m, n, k, transposed = [12, 8], [20, 16], [8, 24], [OP_N, OP_T]
    alpha, beta = [1.5, -2.0], [0.5, 0.25]
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    a = [random(letter, *((m[g], k[g]) if g == 0 else (k[g], m[g]))) for g in groups]
    x = [random(letter, k[g], n[g]) for g in groups]
    c = [random(letter, m[g], n[g]) for g in groups]
    lda = [m[0], k[1]]
    with blas(suffix) as b:
        left, right, made = ([b.put(each) for each in some] for some in (a, x, c))
        first, second, third = map(b.addresses, (left, right, made))
        shape = [transposed, (OP_N, OP_N), m, np.array(n), k]
        try:
            if name == "ex":
                one, two = (b.host(each, dtype).ctypes.data for each in (alpha, beta))
                matrices = [one, first, DataType.R_32F, lda, second, DataType.R_32F, k, two]
                end = [third, DataType.R_32F, m, 2, sizes, ComputeType.COMPUTE_32F]
                b.call("gemm_grouped_batched_ex", *shape, *matrices, *end)
            else:
                matrices = [alpha, first, lda, second, k, beta, third, m]
                b.call(name, *shape, *matrices, 2, sizes)
        except errors.FunctionNotFoundError as error:
            pytest.skip(f"this cuBLAS ({error.version}) has no {error.symbol}")
        found = [b.get(at, each.shape, dtype) for at, each in zip(made, c, strict=True)]
    for i, g in enumerate(groups):
        product = op(double(a[i], letter), transposed[g]) @ double(x[i], letter)
        expected = alpha[g] * product + beta[g] * double(c[i], letter)
        assert_close(found[i], expected, letter)


TYPES = {
    DataType.R_16F: np.dtype(np.float16),
    DataType.R_16BF: np.dtype(np.uint16),
    DataType.R_32F: np.dtype(np.float32),
    DataType.R_64F: np.dtype(np.float64),
    DataType.C_32F: np.dtype(np.complex64),
    DataType.C_64F: np.dtype(np.complex128),
    DataType.R_8I: np.dtype(np.int8),
    DataType.R_32I: np.dtype(np.int32),
}


def values(kind: DataType, *shape: int) -> np.ndarray:
    """Return random numbers of a type; bfloat16 as bits."""
    rng = np.random.default_rng()
    if kind in (DataType.R_8I, DataType.R_32I):
        return rng.integers(-9, 10, shape).astype(TYPES[kind])
    numbers = random("z" if TYPES[kind].kind == "c" else "d", *shape)
    return bfloat16(numbers) if kind == DataType.R_16BF else numbers.astype(TYPES[kind])


def as_double(kind: DataType, given: np.ndarray) -> np.ndarray:
    """Return what numbers of a type stand for."""
    given = from_bfloat16(given) if kind == DataType.R_16BF else given
    return given.astype(complex if given.dtype.kind == "c" else float)


PRODUCTS = [
    # Type of A and B, of C, of alpha, compute type, relative error.
    (DataType.R_16F, DataType.R_32F, DataType.R_32F, ComputeType.COMPUTE_32F, 1e-5),
    (DataType.R_16F, DataType.R_16F, DataType.R_16F, ComputeType.COMPUTE_16F, 20 * HALF_EPS),
    (DataType.R_16BF, DataType.R_16BF, DataType.R_32F, ComputeType.COMPUTE_32F, BFLOAT_EPS),
    (DataType.R_32F, DataType.R_32F, DataType.R_32F, ComputeType.COMPUTE_32F_FAST_TF32, 2e-3),
    (DataType.R_64F, DataType.R_64F, DataType.R_64F, ComputeType.COMPUTE_64F, 1e-13),
    (DataType.C_64F, DataType.C_64F, DataType.C_64F, ComputeType.COMPUTE_64F, 1e-13),
    (DataType.R_8I, DataType.R_32I, DataType.R_32I, ComputeType.COMPUTE_32I, 0),
]


@SUFFIXES
@pytest.mark.parametrize("form", ["gemm_ex", "gemm_batched_ex", "gemm_strided_batched_ex"])
@pytest.mark.parametrize("types", PRODUCTS, ids=lambda types: f"{types[0].name}-{types[3].name}")
def test_products_of_any_type(types: tuple[Any, ...], form: str, suffix: str) -> None:
    given, made, scale, compute, error = types
    count = 1 if form == "gemm_ex" else BATCH
    a, x = values(given, count, M, K), values(given, count, K, N)
    c = values(made, count, M, N)
    alpha, beta = (2, 1) if given == DataType.R_8I else (1.5, -0.5)
    with blas(suffix) as b:
        one, two = (b.host([v], TYPES[scale]).ctypes.data for v in (alpha, beta))
        batches = [b.batch(each) for each in (a, x, c)]
        arguments = []
        for (first, every), kind, ld, stride in zip(
            batches, (given, given, made), (M, K, M), (M * K, K * N, M * N), strict=True
        ):
            arguments.append([every if form == "gemm_batched_ex" else first, kind, ld])
            arguments[-1] += [stride] if "strided" in form else []
        left, right, result = arguments
        end = [compute, cublas.GemmAlgo.DEFAULT]
        end = end if form == "gemm_ex" else [BATCH, *end]
        b.call(form, 0, 0, M, N, K, one, *left, *right, two, *result, *end)
        found = as_double(made, b.get_batch(batches[2][0], c.shape, TYPES[made]))
    expected = alpha * as_double(given, a) @ as_double(given, x) + beta * as_double(made, c)
    assert np.linalg.norm(found - expected) <= error * np.linalg.norm(expected)


@SUFFIXES
@pytest.mark.parametrize("name", ["sgemm_ex", "cgemm_ex", "cgemm3m_ex"])
def test_products_of_other_element_types(name: str, suffix: str) -> None:
    kind = DataType.R_16F if name[0] == "s" else DataType.C_32F
    made = DataType.R_32F if name[0] == "s" else kind
    a, x, c = values(kind, M, K), values(kind, K, N), values(made, M, N)
    with blas(suffix) as b:
        (alpha, one), (beta, two), result = b.number(name[0]), b.number(name[0]), b.put(c)
        left, right = (b.put(a), kind, M), (b.put(x), kind, K)
        b.call(name, 0, 0, M, N, K, one, *left, *right, two, result, made, M)
        found = b.get(result, c.shape, TYPES[made])
    assert_close(found, alpha * as_double(kind, a) @ as_double(kind, x) + beta * c, name[0])


@SUFFIXES
@pytest.mark.parametrize("name", ["csyrk_ex", "csyrk3m_ex", "cherk_ex", "cherk3m_ex"])
def test_squares_of_other_element_types(name: str, suffix: str) -> None:
    a = values(DataType.C_32F, N, K)
    with blas(suffix) as b:
        scale = "c" if name[1] == "s" else "s"
        (alpha, one), (_, zero) = b.number(scale), b.number(scale, 0)
        result = b.put(np.zeros((N, N), np.complex64))
        matrix = (b.put(a), DataType.C_32F, N)
        b.call(name, UPPER, OP_N, N, K, one, *matrix, zero, result, DataType.C_32F, N)
        found = b.get(result, (N, N), np.complex64)
    wide_a = a.astype(complex)
    expected = alpha * wide_a @ (wide_a.T if name[1] == "s" else wide_a.conj().T)
    assert_close(np.triu(found), np.triu(expected), "c")


@SUFFIXES
@pytest.mark.parametrize("kind", [DataType.R_16F, DataType.R_32F, DataType.C_64F])
def test_vectors_of_any_type(kind: DataType, suffix: str) -> None:
    n, dtype = 64, TYPES[kind]
    compute = DataType.R_32F if kind == DataType.R_16F else kind
    real = {DataType.C_64F: DataType.R_64F}.get(kind, kind)
    x, y = values(kind, n), values(kind, n)
    wide_x, wide_y = as_double(kind, x), as_double(kind, y)
    eps = HALF_EPS if kind == DataType.R_16F else np.finfo(dtype).eps * 50
    with blas(suffix) as b:
        scale = b.host([1.25], TYPES[compute]).ctypes.data
        first, second = b.put(x), b.put(y)
        b.call("axpy_ex", n, scale, compute, first, kind, 1, second, kind, 1, compute)
        assert_near(b.get(second, n, dtype), 1.25 * wide_x + wide_y, eps)
        b.call("scal_ex", n, scale, compute, first, kind, 1, compute)
        assert_near(b.get(first, n, dtype), 1.25 * wide_x, eps)
        first, second = b.put(x), b.put(y)
        for name, expected in [
            ("dot_ex", wide_x @ wide_y),
            ("dotc_ex", wide_x.conj() @ wide_y),
            ("nrm2_ex", np.linalg.norm(wide_x)),
        ]:
            result = real if name == "nrm2_ex" else kind
            inside = DataType.R_64F if result == DataType.R_64F else compute
            cell = b.host([0], TYPES[result])
            others = [] if name == "nrm2_ex" else [second, kind, 1]
            b.call(name, n, first, kind, 1, *others, cell.ctypes.data, result, inside)
            scale_of = np.linalg.norm(wide_x) * np.linalg.norm(wide_y)
            assert abs(cell[0] - expected) <= 4 * eps * scale_of
        if kind == DataType.R_16F:  # the others are not for it
            return
        index = b.host([0], np.int64)
        b.call("iamax_ex", n, first, kind, 1, index.ctypes.data)
        size = np.abs(wide_x.real) + np.abs(wide_x.imag)
        assert index[0] == size.argmax() + 1
        b.call("swap_ex", n, first, kind, 1, second, kind, 1)
        assert np.array_equal(b.get(first, n, dtype), y)
        b.call("copy_ex", n, first, kind, 1, second, kind, 1)
        assert np.array_equal(b.get(second, n, dtype), y)


def test_rotations_and_sums_of_a_given_type(b: Blas) -> None:
    kind, n = DataType.R_64F, 50
    x, y = values(kind, n), values(kind, n)
    first, second, total = b.put(x), b.put(y), b.host([0], np.float64)
    b.call("asum_ex", n, first, kind, 1, total.ctypes.data, kind, kind)
    assert_close(total[0], np.abs(x).sum(), "d")
    c, s = b.host([0.6], np.float64), b.host([0.8], np.float64)
    vectors = (n, first, kind, 1, second, kind, 1)
    b.call("rot_ex", *vectors, c.ctypes.data, s.ctypes.data, kind, kind)
    found = [b.get(first, n, wide("d")), b.get(second, n, wide("d"))]
    assert_close(found, [0.6 * x + 0.8 * y, 0.6 * y - 0.8 * x], "d")
