"""cuSOLVERDn's eigenvalues and singular values of one element type, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cusolver, cusolverDn
from tests.helpers.cusolver import (
    LOWER,
    UPPER,
    Dense,
    dense_solver,
    hermitian,
    on_device,
    positive_definite,
    random,
    wide,
    zeros,
)

pytestmark = pytest.mark.gpu
M, N = 53, 37
VECTOR = cusolver.EigMode.VECTOR
TYPE_1 = cusolver.EigType.TYPE_1
BY_INDEX = cusolver.EigRange.I


@pytest.fixture(params="sdcz")
def dense(request: pytest.FixtureRequest) -> Iterator[Dense]:
    with dense_solver(request.param) as solver:
        yield solver


@pytest.fixture
def jacobi() -> Iterator[int]:
    info = cusolverDn.create_syevj_info()
    cusolverDn.xsyevj_set_tolerance(info, 1e-14)
    cusolverDn.xsyevj_set_max_sweeps(info, 60)
    cusolverDn.xsyevj_set_sort_eig(info, 1)
    yield info
    cusolverDn.destroy_syevj_info(info)


@pytest.fixture
def svd_jacobi() -> Iterator[int]:
    info = cusolverDn.create_gesvdj_info()
    cusolverDn.xgesvdj_set_tolerance(info, 1e-14)
    cusolverDn.xgesvdj_set_max_sweeps(info, 60)
    cusolverDn.xgesvdj_set_sort_eig(info, 1)
    yield info
    cusolverDn.destroy_gesvdj_info(info)


def check_pairs(dense: Dense, a: Any, w: Any, v: Any, b: Any = None) -> None:
    """Check A v = w v, or A v = w B v, and that the values are those of NumPy."""
    a = a.astype(wide(dense.letter))
    right = v if b is None else b @ v
    if b is not None:
        inverse = np.linalg.inv(np.linalg.cholesky(b.astype(wide(dense.letter))))
        values = np.linalg.eigvalsh(inverse @ a @ inverse.conj().T)
    else:
        values = np.linalg.eigvalsh(a)
    scale = np.linalg.norm(a)
    error = np.linalg.norm(a @ v - right * w)
    tolerance = 1000 * np.finfo(dense.dtype).eps * scale * max(1.0, np.linalg.norm(v, 2))
    assert error < tolerance
    assert np.abs(np.asarray(w) - values[: len(w)]).max() < tolerance


@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_divide_and_conquer(dense: Dense, uplo: int) -> None:
    a = hermitian(dense.letter, N)
    v, w = on_device(a), zeros(N, dense.real)
    name = dense.symmetric + "evd"
    shape = (VECTOR, uplo, N, v, N, w)
    dense(name, *shape, *dense.work(name, *shape), dense.info)
    dense.done()
    check_pairs(dense, a, w.get(), v.get())


def test_some_eigenvalues(dense: Dense) -> None:
    a = hermitian(dense.letter, N)
    v, w = on_device(a), zeros(N, dense.real)
    found = np.zeros(1, np.int32)
    name = dense.symmetric + "evdx"
    head = (VECTOR, BY_INDEX, LOWER, N, v, N, 0.0, 0.0, 1, 5)
    work = dense.work(name, *head, found.ctypes.data, w)
    assert dense(name, *head, w, *work, dense.info) == 5
    dense.done()
    check_pairs(dense, a, w.get()[:5], v.get()[:, :5])


def test_jacobi(dense: Dense, jacobi: int) -> None:
    a = hermitian(dense.letter, N)
    v, w = on_device(a), zeros(N, dense.real)
    name = dense.symmetric + "evj"
    shape = (VECTOR, LOWER, N, v, N, w)
    dense(name, *shape, *dense.work(name, *shape, jacobi), dense.info, jacobi)
    check_pairs(dense, a, w.get(), v.get())
    assert 1 <= cusolverDn.xsyevj_get_sweeps(dense.handle, jacobi) <= 60
    assert 0 <= cusolverDn.xsyevj_get_residual(dense.handle, jacobi) < 1e-2


def test_batched_jacobi(dense: Dense, jacobi: int) -> None:
    n, batch = 15, 4
    matrices = [hermitian(dense.letter, n) for _ in range(batch)]
    v, w = on_device(np.stack(matrices, axis=2)), zeros((n, batch), dense.real)
    infos = zeros(batch, np.int32)
    name = dense.symmetric + "evj_batched"
    shape = (VECTOR, LOWER, n, v, n, w)
    work = dense.work(name, *shape, jacobi, batch)
    dense(name, *shape, *work, infos, jacobi, batch)
    vectors, values = v.get(), w.get()
    for k, a in enumerate(matrices):
        check_pairs(dense, a, values[:, k], vectors[:, :, k])


@pytest.mark.parametrize("method", ["gvd", "gvdx", "gvj"])
def test_generalized(dense: Dense, jacobi: int, method: str) -> None:
    a, b = hermitian(dense.letter, N), positive_definite(dense.letter, N)
    v, metric, w = on_device(a), on_device(b), zeros(N, dense.real)
    count, found = N, np.zeros(1, np.int32)
    name = dense.symmetric + method
    if method == "gvdx":
        count = 5
        head = (TYPE_1, VECTOR, BY_INDEX, LOWER, N, v, N, metric, N, 0.0, 0.0, 1, count)
        shape: tuple[Any, ...] = (*head, found.ctypes.data, w)
    else:
        shape = (TYPE_1, VECTOR, LOWER, N, v, N, metric, N, w)
    tail = (jacobi,) if method == "gvj" else ()
    dense(name, *shape, *dense.work(name, *shape, *tail), dense.info, *tail)
    values, vectors = w.get()[:count], v.get()[:, :count]
    assert method != "gvdx" or found[0] == count
    check_pairs(dense, a, values, vectors, b)


def check_svd(dense: Dense, a: Any, u: Any, s: Any, v: Any, factor: float = 1.0) -> None:
    """Check A = U S V^H, unit vectors, and that the values are those of NumPy."""
    expected = np.linalg.svd(a.astype(wide(dense.letter)), compute_uv=False)
    dense.close(s, expected, factor)
    dense.close((u[:, : len(s)] * s) @ v[:, : len(s)].conj().T, a, factor)
    dense.close(v.conj().T @ v, np.eye(v.shape[1]), factor)


def test_svd(dense: Dense) -> None:
    a = random(dense.letter, M, N)
    copy, s = on_device(a), zeros(N, dense.real)
    u, vt = dense.zeros(M, M), dense.zeros(N, N)
    every, super_diagonal = ord("A"), zeros(N, dense.real)
    head = (every, every, M, N, copy, M, s, u, M, vt, N)
    dense("gesvd", *head, *dense.work("gesvd", M, N), super_diagonal, dense.info)
    dense.done()
    v = vt.get().conj().T
    check_svd(dense, a, u.get(), s.get(), v)


@pytest.mark.parametrize("economic", [0, 1])
def test_svd_by_jacobi(dense: Dense, svd_jacobi: int, economic: int) -> None:
    a = random(dense.letter, M, N)
    columns = N if economic else M
    copy, s = on_device(a), zeros(N, dense.real)
    u, v = dense.zeros(M, columns), dense.zeros(N, N)
    shape = (VECTOR, economic, M, N, copy, M, s, u, M, v, N)
    dense("gesvdj", *shape, *dense.work("gesvdj", *shape, svd_jacobi), dense.info, svd_jacobi)
    values, vectors = s.get(), v.get()
    check_svd(dense, a, u.get(), values, vectors, 10)
    assert 1 <= cusolverDn.xgesvdj_get_sweeps(dense.handle, svd_jacobi) <= 60
    assert 0 <= cusolverDn.xgesvdj_get_residual(dense.handle, svd_jacobi) < 1e-2


def test_svd_of_a_batch(dense: Dense, svd_jacobi: int) -> None:
    m, n, batch = 19, 11, 3
    matrices = [random(dense.letter, m, n) for _ in range(batch)]
    copy, s = on_device(np.stack(matrices, axis=2)), zeros((n, batch), dense.real)
    u, v = dense.zeros(m, m, batch), dense.zeros(n, n, batch)
    infos = zeros(batch, np.int32)
    shape = (VECTOR, m, n, copy, m, s, u, m, v, n)
    work = dense.work("gesvdj_batched", *shape, svd_jacobi, batch)
    dense("gesvdj_batched", *shape, *work, infos, svd_jacobi, batch)
    values = s.get()
    left, right = u.get(), v.get()
    for k, a in enumerate(matrices):
        check_svd(dense, a, left[:, :, k], values[:, k], right[:, :, k], 10)


def test_approximate_svd_of_tall_matrices(dense: Dense) -> None:
    m, n, batch = 60, 8, 3
    matrices = [random(dense.letter, m, n) for _ in range(batch)]
    a, s = on_device(np.stack(matrices, axis=2)), zeros((n, batch), dense.real)
    u, v = dense.zeros(m, n, batch), dense.zeros(n, n, batch)
    infos, residuals = zeros(batch, np.int32), np.full(batch, np.nan)
    shape = (VECTOR, n, m, n, a, m, m * n, s, n, u, m, m * n, v, n, n * n)
    work = dense.work("gesvda_strided_batched", *shape, batch)
    dense("gesvda_strided_batched", *shape, *work, infos, residuals.ctypes.data, batch)
    assert not infos.get().any()
    values = s.get()
    left, right = u.get(), v.get()
    for k, matrix in enumerate(matrices):
        check_svd(dense, matrix, left[:, :, k], values[:, k], right[:, :, k], 100)
        assert 0 <= residuals[k] < 1e-3 * np.linalg.norm(matrix)
