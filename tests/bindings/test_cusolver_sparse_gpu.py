"""cuSOLVERSp's functions of one call, on the CPU and on the GPU, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpumath.bindings import core, cusolverSp
from tests.helpers.cusolver import (
    DTYPES,
    REALS,
    assert_close,
    random,
    wide,
    zeros,
)
from tests.helpers.cusolver_sparse import Sparse, compressed, sparse, sparse_solver
from tests.helpers.device_arrays import DeviceArray, workspace

pytestmark = pytest.mark.gpu
N = 30
LETTERS = pytest.mark.parametrize("letter", DTYPES)


@pytest.fixture
def solver() -> Iterator[Sparse]:
    with sparse_solver() as lent:
        yield lent


@LETTERS
@pytest.mark.parametrize("name", ["csrlsvqr", "csrlsvchol", "csrlsvlu"])
@pytest.mark.parametrize("reorder", [0, 1, 2])
def test_systems_on_the_cpu(solver: Sparse, letter: str, name: str, reorder: int) -> None:
    a, b, x = sparse(letter, N), random(letter, N), np.zeros(N, DTYPES[letter])
    singular = np.array([7], np.int32)
    matrix = (len(compressed(a)[0]), solver.descriptor, *compressed(a))
    solver(f"{letter}{name}_host", N, *matrix, b, 1e-6, reorder, x, singular)
    assert singular[0] == -1
    assert_close(x, np.linalg.solve(a.astype(wide(letter)), b), letter, 10)


@LETTERS
@pytest.mark.parametrize("name", ["csrlsvqr", "csrlsvchol"])
def test_systems(solver: Sparse, letter: str, name: str) -> None:
    a, b = sparse(letter, N), random(letter, N)
    x, singular = zeros(N, DTYPES[letter]), np.array([7], np.int32)
    arrays = [DeviceArray(array) for array in compressed(a)]
    matrix = (len(compressed(a)[0]), solver.descriptor, *arrays)
    solver(f"{letter}{name}", N, *matrix, DeviceArray(b), 1e-6, 0, x, singular)
    assert singular[0] == -1
    found = x.get()
    assert_close(found, np.linalg.solve(a.astype(wide(letter)), b), letter, 10)


@LETTERS
def test_singular_system(solver: Sparse, letter: str) -> None:
    a, x = np.zeros((2, 2), DTYPES[letter]), np.zeros(2, DTYPES[letter])
    a[0] = 1, 2
    a[1] = 2, 4
    singular = np.array([7], np.int32)
    matrix = (4, solver.descriptor, *compressed(a))
    solver(f"{letter}csrlsvlu_host", 2, *matrix, a[0].copy(), 1e-6, 0, x, singular)
    assert singular[0] == 1


@LETTERS
def test_least_squares(solver: Sparse, letter: str) -> None:
    m = N + 12
    a = np.vstack([sparse(letter, N), random(letter, m - N, N)])
    b, x = random(letter, m), np.zeros(N, DTYPES[letter])
    rank, order = np.zeros(1, np.int32), np.zeros(N, np.int32)
    residual = np.zeros(1, DTYPES[REALS[letter]])
    values, pointers, columns = compressed(a)
    shape = (m, N, len(values), solver.descriptor, values, pointers, columns)
    solver(f"{letter}csrlsqvqr_host", *shape, b, 1e-6, rank, x, order, residual)
    a = a.astype(wide(letter))
    expected = np.linalg.lstsq(a, b, rcond=None)[0]
    assert_close(x, expected, letter, 10)
    assert rank[0] == N
    assert sorted(order) == list(range(N))
    assert_close(residual[0], np.linalg.norm(a @ expected - b), letter, 10)


@LETTERS
@pytest.mark.parametrize("host", [True, False])
def test_eigenvalue_near_a_guess(solver: Sparse, letter: str, host: bool) -> None:
    a = sparse(letter, N)
    values = np.linalg.eigvalsh(a.astype(wide(letter)))
    nearest = values[N // 2]
    guess = float(nearest) + 0.2 * min(values[N // 2 + 1] - nearest, 1.0)
    start, dtype = random(letter, N), DTYPES[letter]
    found, vector = np.zeros(1, dtype), np.zeros(N, dtype)
    nnz = len(compressed(a)[0])
    if host:
        shape = (N, nnz, solver.descriptor, *compressed(a), guess, start, 500, 1e-6)
        solver(f"{letter}csreigvsi_host", *shape, found, vector)
    else:
        arrays = [DeviceArray(array) for array in compressed(a)]
        mu, x = DeviceArray(found), DeviceArray(vector)
        shape = (N, nnz, solver.descriptor, *arrays, guess, DeviceArray(start), 500, 1e-6)
        solver(f"{letter}csreigvsi", *shape, mu, x)
        found = mu.get()
        vector = x.get()
    # An error of the vector is squared in the value, and 1e-6 bounds the residual.
    assert abs(found[0] - nearest) < 1e-3 * abs(nearest)
    assert np.linalg.norm(a @ vector - found[0] * vector) < 1e-2 * np.linalg.norm(vector) * N


@LETTERS
def test_eigenvalues_in_a_box(solver: Sparse, letter: str) -> None:
    a = sparse(letter, N)
    values = np.linalg.eigvalsh(a.astype(wide(letter)))
    gap = int(np.argmax(np.diff(values)))
    low, high = (values[gap] + values[gap + 1]) / 2, values[-1] + 5
    count = np.zeros(1, np.int32)
    matrix = (len(compressed(a)[0]), solver.descriptor, *compressed(a))
    solver(f"{letter}csreigs_host", N, *matrix, complex(low, -5), complex(high, 5), count)
    assert count[0] == N - 1 - gap


@pytest.mark.parametrize("method", ["symrcm", "symmdq", "symamd", "metisnd"])
def test_reorderings(solver: Sparse, method: str) -> None:
    hidden = np.random.default_rng().permutation(N)
    path = np.eye(N, dtype=bool) | np.eye(N, k=1, dtype=bool) | np.eye(N, k=-1, dtype=bool)
    a = path[np.ix_(hidden, hidden)].astype(np.float64)
    values, pointers, columns = compressed(a)
    order, options = np.zeros(N, np.int32), (0,) if method == "metisnd" else ()
    shape = (N, len(values), solver.descriptor, pointers.tolist(), columns.tolist())
    solver(f"xcsr{method}_host", *shape, *options, order)
    assert sorted(order) == list(range(N))
    if method == "symrcm":  # finds the path again
        rows, cols = np.nonzero(a[np.ix_(order, order)])
        assert np.abs(rows - cols).max() <= 2


@pytest.mark.parametrize("symmetric", [True, False])
def test_permuted_pattern(solver: Sparse, symmetric: bool) -> None:
    a = sparse("d", N)
    if not symmetric:
        a[0, N - 1], a[N - 1, 0] = 1, 0
    values, pointers, columns = compressed(a)
    nnz, answer = len(values), np.array([7], np.int32)
    ends = pointers[1:].copy()
    solver("xcsrissym_host", N, nnz, solver.descriptor, pointers, ends, columns, answer)
    assert answer[0] == symmetric
    p, q = (np.random.default_rng().permutation(N).astype(np.int32) for _ in range(2))
    head = (N, N, nnz, solver.descriptor, pointers, columns, p, q)
    size = solver("xcsrperm_buffer_size_host", *head)
    places, work = np.arange(nnz, dtype=np.int32), np.empty(max(size, 1), np.uint8)
    solver("xcsrperm_host", *head, places, work)
    b = np.zeros((N, N))
    b[np.repeat(np.arange(N), np.diff(pointers)), columns] = values[places]
    assert np.array_equal(b, a[np.ix_(p, q)])


@LETTERS
def test_zero_free_diagonal(solver: Sparse, letter: str) -> None:
    hidden = np.random.default_rng().permutation(N)
    a = sparse(letter, N)[hidden]
    order, count = np.zeros(N, np.int32), np.zeros(1, np.int32)
    matrix = (len(compressed(a)[0]), solver.descriptor, *compressed(a))
    solver(f"{letter}csrzfd_host", N, *matrix, order, count)
    assert sorted(order) == list(range(N))
    assert count[0] == N
    assert np.diag(a[order]).all()


@LETTERS
def test_batched_qr(solver: Sparse, letter: str) -> None:
    batch = 4
    first = sparse(letter, N)
    matrices = [first * (1 + 0.1 * k) + k * np.eye(N, dtype=first.dtype) for k in range(batch)]
    values = [compressed(a)[0] for a in matrices]
    _, pointers, columns = compressed(first)
    sides, nnz = [random(letter, N) for _ in range(batch)], len(columns)
    pattern = (solver.descriptor, DeviceArray(pointers), DeviceArray(columns))
    info = cusolverSp.create_csrqr_info()
    solver("xcsrqr_analysis_batched", N, N, nnz, *pattern, info)
    shape = (N, N, nnz, solver.descriptor, DeviceArray(np.concatenate(values)), *pattern[1:])
    internal, size = solver(f"{letter}csrqr_buffer_info_batched", *shape, batch, info)
    assert internal > 0
    x = zeros((N, batch), DTYPES[letter])
    tail = (DeviceArray(np.concatenate(sides)), x, batch, info, workspace(size))
    solver(f"{letter}csrqrsv_batched", *shape, *tail)
    found = x.get()
    for k, (a, b) in enumerate(zip(matrices, sides, strict=True)):
        assert_close(found[:, k], np.linalg.solve(a.astype(wide(letter)), b), letter, 10)
    cusolverSp.destroy_csrqr_info(info)


def test_stream(solver: Sparse) -> None:
    stream = core.Stream()
    cusolverSp.set_stream(solver.handle, stream.handle)
    assert cusolverSp.get_stream(solver.handle) == stream.handle
    cusolverSp.set_stream(solver.handle, 0)
