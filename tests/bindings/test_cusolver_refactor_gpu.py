"""cuSOLVERRf: systems of one pattern, alone and in batches, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from gpumath.bindings import core, cusolverRf
from tests.helpers.cusolver import assert_close, random, zeros
from tests.helpers.cusolver_sparse import compressed, sparse
from tests.helpers.device_arrays import DeviceArray

pytestmark = pytest.mark.gpu
N = 30
# Element types of row pointers, columns and values.
KINDS = (np.int32, np.int32, np.float64)


@dataclass
class Problem:
    """A matrix, permutations, and factors of P A Q^T = L U; L without its diagonal of ones."""

    a: np.ndarray
    p: np.ndarray
    q: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def factored() -> Problem:
    """Factor a random matrix that needs no pivoting, and hide it behind permutations."""
    b = sparse("d", N)
    p, q = (np.random.default_rng().permutation(N).astype(np.int32) for _ in range(2))
    a = np.empty_like(b)
    a[np.ix_(p, q)] = b
    work = b.copy()
    for k in range(N):
        work[k + 1 :, k] /= work[k, k]
        work[k + 1 :, k + 1 :] -= np.outer(work[k + 1 :, k], work[k, k + 1 :])
    return Problem(a, p, q, np.tril(work, -1), np.triu(work))


def changed(a: np.ndarray) -> np.ndarray:
    """Return a matrix of the same pattern with other values."""
    return a * (1 + 0.1 * np.random.default_rng().random(a.shape))


def host_arrays(matrix: np.ndarray) -> tuple[int, list[int], list[int], list[float]]:
    """Return the count, the row pointers, the columns and the values as Python sequences."""
    values, pointers, columns = compressed(matrix)
    return len(values), pointers.tolist(), columns.tolist(), values.tolist()


@pytest.fixture
def handle() -> Iterator[int]:
    handle = cusolverRf.create()
    layout, diagonal = cusolverRf.MatrixFormat.CSR, cusolverRf.UnitDiagonal.ASSUMED_L
    cusolverRf.set_matrix_format(handle, layout, diagonal)
    assert cusolverRf.get_matrix_format(handle) == (layout, diagonal)
    algorithms = (cusolverRf.Factorization.ALG0, cusolverRf.TriangularSolve.ALG1)
    cusolverRf.set_algs(handle, *algorithms)
    assert cusolverRf.get_algs(handle) == algorithms
    cusolverRf.set_numeric_properties(handle, 0.0, 0.0)
    assert cusolverRf.get_numeric_properties(handle) == (0.0, 0.0)
    cusolverRf.set_reset_values_fast_mode(handle, cusolverRf.ResetValuesFastMode.ON)
    assert cusolverRf.get_reset_values_fast_mode(handle) == cusolverRf.ResetValuesFastMode.ON
    yield handle
    cusolverRf.destroy(handle)


def solve_again(handle: int, problem: Problem) -> np.ndarray:
    """Refactor with new values, solve, check the solution, and return the new matrix."""
    a, b = changed(problem.a), random("d", N)
    values, pointers, columns = compressed(a)
    arrays = [DeviceArray(array) for array in (pointers, columns, values)]
    orders = [DeviceArray(problem.p), DeviceArray(problem.q)]
    cusolverRf.reset_values(N, len(values), *arrays, *orders, handle)
    cusolverRf.refactor(handle)
    x, work = DeviceArray(b), zeros(N, np.float64)
    cusolverRf.solve(handle, *orders, 1, work, N, x, N)
    assert_close(x.get(), np.linalg.solve(a, b), "d", 10)
    return a


@pytest.mark.parametrize("host", [True, False], ids=["host", "device"])
def test_new_values(handle: int, host: bool) -> None:
    problem = factored()
    arguments: list[object] = [N]
    for matrix in (problem.a, problem.lower, problem.upper):
        count, *arrays = host_arrays(matrix)
        copies = [DeviceArray(np.array(x, k)) for x, k in zip(arrays, KINDS, strict=True)]
        arguments += [count, *(arrays if host else copies)]
    arguments += [order if host else DeviceArray(order) for order in (problem.p, problem.q)]
    setup = cusolverRf.setup_host if host else cusolverRf.setup_device
    setup(*arguments, handle)
    cusolverRf.analyze(handle)
    for _ in range(3):
        a = solve_again(handle, problem)
    report = cusolverRf.get_numeric_boost_report(handle)
    assert report == cusolverRf.NumericBoostReport.NOT_USED
    b = a[np.ix_(problem.p, problem.q)]
    check_bundled(b, *cusolverRf.access_bundled_factors_device(handle))
    check_bundled(b, *cusolverRf.extract_bundled_factors_host(handle))
    parts = cusolverRf.extract_split_factors_host(handle)
    lower, upper = dense(*parts[:4]), dense(*parts[4:])
    assert_close((lower + np.eye(N)) @ upper, b, "d")


def dense(count: int, pointers: int, columns: int, values: int) -> np.ndarray:
    """Return a matrix in compressed rows, at addresses of host or device memory, as a dense one."""
    arrays = [np.empty(size, kind) for size, kind in zip((N + 1, count, count), KINDS, strict=True)]
    for array, address in zip(arrays, (pointers, columns, values), strict=True):
        core.copy(array.ctypes.data, address, array.nbytes)
    core.synchronize_stream(0)
    matrix = np.zeros((N, N))
    matrix[np.repeat(np.arange(N), np.diff(arrays[0])), arrays[1]] = arrays[2]
    return matrix


def check_bundled(b: np.ndarray, *bundled: int) -> None:
    """Check L and U that share one matrix."""
    both = dense(*bundled)
    assert_close((np.tril(both, -1) + np.eye(N)) @ np.triu(both), b, "d")
