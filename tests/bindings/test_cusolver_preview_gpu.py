"""cuSOLVERSp's factorizations in steps, on the CPU and on the GPU, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cusolverSp
from tests.helpers.cusolver import DTYPES, REALS, assert_close, random, wide, zeros
from tests.helpers.cusolver_sparse import Sparse, compressed, sparse, sparse_solver
from tests.helpers.device_arrays import DeviceArray, workspace

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.parametrize("letter", DTYPES),
]
N = 30
PLACES = pytest.mark.parametrize("host", [True, False], ids=["host", "device"])


@pytest.fixture
def solver() -> Iterator[Sparse]:
    with sparse_solver() as lent:
        yield lent


class Place:
    """Where the arrays of a factorization are: the host's or the device's memory."""

    def __init__(self, host: bool) -> None:
        self.host = host
        self.suffix = "_host" if host else ""

    def put(self, array: np.ndarray) -> Any:
        """Return a copy of an array at the place."""
        return array.copy() if self.host else DeviceArray(array)

    def work(self, size: int) -> Any:
        """Return so many bytes at the place."""
        return np.empty(max(size, 1), np.uint8) if self.host else workspace(size)

    def get(self, array: Any) -> np.ndarray:
        """Return an array on the host."""
        return array if self.host else array.get()


@PLACES
def test_cholesky(solver: Sparse, letter: str, host: bool) -> None:
    place, a, b = Place(host), sparse(letter, N), random(letter, N)
    end, dtype = place.suffix, DTYPES[letter]
    values, pointers, columns = (place.put(array) for array in compressed(a))
    nnz = np.count_nonzero(a)
    info = getattr(cusolverSp, f"create_csrchol_info{end}")()
    # The pattern of the analysis may be sequences on the host.
    pattern = [array.tolist() if host else array for array in (pointers, columns)]
    solver(f"xcsrchol_analysis{end}", N, nnz, solver.descriptor, *pattern, info)
    matrix = (N, nnz, solver.descriptor, values, pointers, columns, info)
    internal, size = solver(f"{letter}csrchol_buffer_info{end}", *matrix)
    assert internal > 0
    work = place.work(size)
    solver(f"{letter}csrchol_factor{end}", *matrix, work)
    assert solver(f"{letter}csrchol_zero_pivot{end}", info, 1e-6) == -1
    x = place.put(np.zeros(N, dtype))
    solver(f"{letter}csrchol_solve{end}", N, place.put(b), x, info, work)
    wide_a = a.astype(wide(letter))
    assert_close(place.get(x), np.linalg.solve(wide_a, b), letter, 10)
    if not host:
        real = DTYPES[REALS[letter]]
        diagonal = zeros(N, real)
        solver(f"{letter}csrchol_diag", info, diagonal)
        expected = np.diag(np.linalg.cholesky(wide_a)).real
        # In the order of the elimination.
        assert_close(np.sort(diagonal.get()), np.sort(expected), letter, 10)
    getattr(cusolverSp, f"destroy_csrchol_info{end}")(info)


@PLACES
def test_qr(solver: Sparse, letter: str, host: bool) -> None:
    place, a, b = Place(host), sparse(letter, N), random(letter, N)
    end, dtype, shift = place.suffix, DTYPES[letter], 0.25
    values, pointers, columns = (place.put(array) for array in compressed(a))
    nnz = np.count_nonzero(a)
    info = getattr(cusolverSp, f"create_csrqr_info{end}")()
    pattern = [array.tolist() if host else array for array in (pointers, columns)]
    solver(f"xcsrqr_analysis{end}", N, N, nnz, solver.descriptor, *pattern, info)
    matrix = (N, N, nnz, solver.descriptor, values, pointers, columns)
    internal, size = solver(f"{letter}csrqr_buffer_info{end}", *matrix, info)
    assert internal > 0
    work = place.work(size)
    solver(f"{letter}csrqr_setup{end}", *matrix, shift, info)
    solver(f"{letter}csrqr_factor{end}", N, N, nnz, 0, 0, info, work)
    assert solver(f"{letter}csrqr_zero_pivot{end}", info, 1e-6) == -1
    x = place.put(np.zeros(N, dtype))
    solver(f"{letter}csrqr_solve{end}", N, N, place.put(b), x, info, work)
    expected = np.linalg.solve(a.astype(wide(letter)) - shift * np.eye(N), b)
    assert_close(place.get(x), expected, letter, 10)
    getattr(cusolverSp, f"destroy_csrqr_info{end}")(info)


def test_lu(solver: Sparse, letter: str) -> None:
    dtype = DTYPES[letter]
    a, b = sparse(letter, N)[np.random.default_rng().permutation(N)], random(letter, N)
    values, pointers, columns = compressed(a)
    info = cusolverSp.create_csrlu_info_host()
    pattern = (pointers.tolist(), columns.tolist())
    solver("xcsrlu_analysis_host", N, len(values), solver.descriptor, *pattern, info)
    matrix = (N, len(values), solver.descriptor, values, pointers, columns, info)
    internal, size = solver(f"{letter}csrlu_buffer_info_host", *matrix)
    assert internal > 0
    work = np.empty(max(size, 1), np.uint8)
    solver(f"{letter}csrlu_factor_host", *matrix, 1.0, work)
    assert solver(f"{letter}csrlu_zero_pivot_host", info, 1e-6) == -1
    x = np.zeros(N, dtype)
    solver(f"{letter}csrlu_solve_host", N, b, x, info, work)
    assert_close(x, np.linalg.solve(a.astype(wide(letter)), b), letter, 10)
    p, q = np.zeros(N, np.int32), np.zeros(N, np.int32)
    factors = [
        (np.zeros(nnz, dtype), np.zeros(N + 1, np.int32), np.zeros(nnz, np.int32))
        for nnz in solver("xcsrlu_nnz_host", info)
    ]
    lower, upper = ((solver.descriptor, *factor) for factor in factors)
    solver(f"{letter}csrlu_extract_host", p, q, *lower, *upper, info, work)
    dense = []
    for data, starts, places in factors:
        dense.append(np.zeros((N, N), dtype))
        dense[-1][np.repeat(np.arange(N), np.diff(starts)), places] = data
    # The ones on the diagonal of L are not stored.
    assert_close((dense[0] + np.eye(N)) @ dense[1], a[np.ix_(p, q)], letter, 10)
    cusolverSp.destroy_csrlu_info_host(info)
