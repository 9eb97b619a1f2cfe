"""cuSOLVERRf: systems of one pattern, alone and in batches, against NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from gpumath.bindings import cusolverRf
from tests.helpers.cusolver import DeviceMemory, assert_close, device_memory, random
from tests.helpers.cusolver_sparse import compressed, sparse

pytestmark = pytest.mark.gpu
N = 30


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
def memory() -> Iterator[DeviceMemory]:
    with device_memory() as lent:
        yield lent


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


def solve_again(handle: int, problem: Problem, memory: DeviceMemory) -> np.ndarray:
    """Refactor with new values, solve, check the solution, and return the new matrix."""
    a, b = changed(problem.a), random("d", N)
    values, pointers, columns = compressed(a)
    arrays = [memory.put(array) for array in (pointers, columns, values)]
    orders = [memory.put(problem.p), memory.put(problem.q)]
    cusolverRf.reset_values(N, len(values), *arrays, *orders, handle)
    cusolverRf.refactor(handle)
    x, work = memory.put(b), memory.zeros(N, np.float64)
    cusolverRf.solve(handle, *orders, 1, work, N, x, N)
    assert_close(memory.get(x, N, np.float64), np.linalg.solve(a, b), "d", 10)
    return a


@pytest.mark.parametrize("host", [True, False], ids=["host", "device"])
def test_new_values(handle: int, memory: DeviceMemory, host: bool) -> None:
    problem = factored()
    arguments: list[object] = [N]
    for matrix in (problem.a, problem.lower, problem.upper):
        count, *arrays = host_arrays(matrix)
        kinds = (np.int32, np.int32, np.float64)
        on_device = [memory.put(np.array(x, k)) for x, k in zip(arrays, kinds, strict=True)]
        arguments += [count, *(arrays if host else on_device)]
    orders = [problem.p, problem.q]
    setup = cusolverRf.setup_host if host else cusolverRf.setup_device
    setup(*arguments, *(orders if host else map(memory.put, orders)), handle)
    cusolverRf.analyze(handle)
    for _ in range(3):
        a = solve_again(handle, problem, memory)
    report = cusolverRf.get_numeric_boost_report(handle)
    assert report == cusolverRf.NumericBoostReport.NOT_USED
    b = a[np.ix_(problem.p, problem.q)]
    count, *addresses = cusolverRf.access_bundled_factors_device(handle)
    kinds = (np.int32, np.int32, np.float64)
    bundled = [
        memory.get(address, size, kind)
        for address, size, kind in zip(addresses, (N + 1, count, count), kinds, strict=True)
    ]
    check_bundled(b, *bundled)
    count, *addresses = cusolverRf.extract_bundled_factors_host(handle)
    check_bundled(b, *on_host(count, *addresses))
    parts = cusolverRf.extract_split_factors_host(handle)
    lower, upper = (dense(*on_host(*parts[k : k + 4])) for k in (0, 4))
    assert_close((lower + np.eye(N)) @ upper, b, "d")


def on_host(count: int, pointers: int, columns: int, values: int) -> list[np.ndarray]:
    """Copy a matrix in compressed rows from addresses of host memory."""
    kinds = (ctypes.c_int, ctypes.c_int, ctypes.c_double)
    sizes = (N + 1, count, count)
    return [
        np.array((kind * size).from_address(address))
        for kind, size, address in zip(kinds, sizes, (pointers, columns, values), strict=True)
    ]


def dense(pointers: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a matrix in compressed rows as a dense one."""
    matrix = np.zeros((N, N))
    matrix[np.repeat(np.arange(N), np.diff(pointers)), columns] = values
    return matrix


def check_bundled(b: np.ndarray, *bundled: np.ndarray) -> None:
    """Check L and U that share one matrix."""
    both = dense(*bundled)
    assert_close((np.tril(both, -1) + np.eye(N)) @ np.triu(both), b, "d")


def test_batch(handle: int, memory: DeviceMemory) -> None:
    problem, batch = factored(), 4
    count, pointers, columns, values = host_arrays(problem.a)
    factors = [*host_arrays(problem.lower), *host_arrays(problem.upper)]
    arrays = (pointers, columns, [values] * batch)
    orders = (problem.p, problem.q)
    cusolverRf.batch_setup_host(batch, N, count, *arrays, *factors, *orders, handle)
    cusolverRf.batch_analyze(handle)
    matrices = [changed(problem.a) for _ in range(batch)]
    sides = [random("d", N) for _ in range(batch)]
    on_device = [memory.put(compressed(a)[0]) for a in matrices]
    solutions = [memory.put(b) for b in sides]
    # The arrays of addresses are in device memory too.
    value_array = memory.put(np.array(on_device, np.uint64))
    solution_array = memory.put(np.array(solutions, np.uint64))
    pattern = [memory.put(np.array(array, np.int32)) for array in (pointers, columns)]
    order_arrays = [memory.put(order) for order in orders]
    shape = (batch, N, count, *pattern, value_array, *order_arrays, handle)
    cusolverRf.batch_reset_values(*shape)
    cusolverRf.batch_refactor(handle)
    pivots = np.full(batch, 7, np.int32)
    cusolverRf.batch_zero_pivot(handle, pivots.ctypes.data)
    assert (pivots == -1).all()
    work = memory.zeros(2 * N * batch, np.float64)
    cusolverRf.batch_solve(handle, *order_arrays, 1, work, N, solution_array, N)
    for a, b, address in zip(matrices, sides, solutions, strict=True):
        found = memory.get(address, N, np.float64)
        assert_close(found, np.linalg.solve(a, b), "d", 10)
