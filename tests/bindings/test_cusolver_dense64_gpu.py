"""cuSOLVERDn's routines of any type with 64-bit sizes, against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cusolver, cusolverDn, errors
from tests.helpers.cusolver import (
    LOWER,
    NON_UNIT,
    OP_N,
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
from tests.helpers.device_arrays import workspace

pytestmark = pytest.mark.gpu
M, N, NRHS = 53, 37, 3
VECTOR, NOVECTOR = cusolver.EigMode.VECTOR, cusolver.EigMode.NOVECTOR


class Solver(Dense):
    """A handle with the options of 64-bit routines."""

    params = 0

    def run(self, name: str, *arguments: Any, tail: tuple[Any, ...] = ()) -> Any:
        """Call a routine whose workspace has the arguments of the call itself."""
        works = self.works(name, *arguments, *tail)
        return getattr(cusolverDn, name)(self.handle, *arguments, *works, self.info, *tail)


@pytest.fixture(params="sdcz")
def dense(request: pytest.FixtureRequest) -> Iterator[Solver]:
    params = cusolverDn.create_params()
    with dense_solver(request.param, Solver) as solver:
        solver.params = params
        yield solver
    cusolverDn.destroy_params(params)


@pytest.mark.parametrize("algorithm", [cusolver.AlgMode.ALG_0, cusolver.AlgMode.ALG_1])
def test_lu(dense: Solver, algorithm: int) -> None:
    cusolverDn.set_adv_options(dense.params, cusolverDn.Function.GETRF, algorithm)
    a, b = random(dense.letter, N, N), random(dense.letter, N, NRHS)
    factors, x, pivots = on_device(a), on_device(b), zeros(N, np.int64)
    kind, shape = dense.type, (dense.params, N, N, dense.type, factors, N)
    works = dense.works("xgetrf", *shape, kind)
    cusolverDn.xgetrf(dense.handle, *shape, pivots, kind, *works, dense.info)
    dense.done()
    head = (dense.handle, dense.params, OP_N, N, NRHS)
    cusolverDn.xgetrs(*head, kind, factors, N, pivots, kind, x, N, dense.info)
    dense.done()
    expected = np.linalg.solve(a.astype(wide(dense.letter)), b)
    dense.close(x.get(), expected, np.linalg.cond(a))


@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_cholesky_and_triangular_inverse(dense: Solver, uplo: int) -> None:
    a, b = positive_definite(dense.letter, N), random(dense.letter, N, NRHS)
    factor, x, kind = on_device(a), on_device(b), dense.type
    dense.run("xpotrf", dense.params, uplo, N, kind, factor, N, kind)
    dense.done()
    head = (dense.handle, dense.params, uplo, N, NRHS)
    cusolverDn.xpotrs(*head, kind, factor, N, kind, x, N, dense.info)
    dense.done()
    expected = np.linalg.solve(a.astype(wide(dense.letter)), b)
    dense.close(x.get(), expected, 10)
    triangle = np.tril if uplo == LOWER else np.triu
    before = triangle(factor.get())
    dense.run("xtrtri", uplo, NON_UNIT, N, kind, factor, N)
    dense.done()
    inverse = np.linalg.inv(before.astype(wide(dense.letter)))
    dense.close(triangle(factor.get()), inverse, 10)


def test_qr_and_block_reflector(dense: Solver) -> None:
    a, kind = random(dense.letter, M, N), dense.type
    factors, tau = on_device(a), dense.zeros(N)
    dense.run("xgeqrf", dense.params, M, N, kind, factors, M, kind, tau, kind)
    dense.done()
    packed = factors.get()
    v = np.tril(packed, -1) + np.eye(M, N, dtype=dense.dtype)
    q = np.eye(M, dtype=wide(dense.letter))
    for k, scale in enumerate(tau.get()):
        q -= scale * (q @ v[:, k])[:, None] * v[:, k].conj()
    dense.close(q @ np.triu(packed), a)
    t, block = dense.zeros(N, N), on_device(v)
    head = (dense.params, cusolver.DirectMode.FORWARD, cusolver.StorevMode.COLUMNWISE, M, N)
    shape = (*head, kind, block, M, kind, tau, kind, t, N, kind)
    cusolverDn.xlarft(dense.handle, *shape, *dense.works("xlarft", *shape))
    upper = np.triu(t.get())
    dense.close(np.eye(M) - v @ upper @ v.conj().T, q)


def test_symmetric_indefinite(dense: Solver) -> None:
    a, b = random(dense.letter, N, N), random(dense.letter, N, NRHS)
    a = np.asfortranarray(a + a.T)  # symmetric, not Hermitian, for complex types
    factors, x, pivots = on_device(a), on_device(b), zeros(N, np.int32)
    work = dense.work("sytrf", N, factors, N)
    dense("sytrf", LOWER, N, factors, N, pivots, *work, dense.info)
    dense.done()
    wide_pivots = on_device(pivots.get().astype(np.int64))
    kind = dense.type
    dense.run("xsytrs", LOWER, N, NRHS, kind, factors, N, wide_pivots, kind, x, N)
    dense.done()
    expected = np.linalg.solve(a.astype(wide(dense.letter)), b)
    dense.close(x.get(), expected, 10 * np.linalg.cond(a))


def check_pairs(dense: Solver, a: Any, w: Any, v: Any) -> None:
    a = a.astype(wide(dense.letter))
    dense.close(w, np.linalg.eigvalsh(a)[: len(w)], 10)
    tolerance = 1000 * np.finfo(dense.dtype).eps * np.linalg.norm(a)
    assert np.linalg.norm(a @ v - v * w) < tolerance


def test_eigenvalues(dense: Solver) -> None:
    a, kind = hermitian(dense.letter, N), dense.type
    v, w = on_device(a), zeros(N, dense.real)
    head = (dense.params, VECTOR, LOWER, N)
    dense.run("xsyevd", *head, kind, v, N, dense.real_type, w, kind)
    dense.done()
    check_pairs(dense, a, w.get(), v.get())


def test_some_eigenvalues(dense: Solver) -> None:
    a, kind = hermitian(dense.letter, N), dense.type
    v, w = on_device(a), zeros(N, dense.real)
    low, high = np.zeros(1, dense.real), np.zeros(1, dense.real)
    found = np.zeros(1, np.int64)
    head = (dense.params, VECTOR, cusolver.EigRange.I, LOWER, N, kind, v, N)
    head = (*head, low.ctypes.data, high.ctypes.data, 1, 5)
    tail = (dense.real_type, w, kind)
    works = dense.works("xsyevdx", *head, found.ctypes.data, *tail)
    assert cusolverDn.xsyevdx(dense.handle, *head, *tail, *works, dense.info) == 5
    dense.done()
    vectors = v.get()[:, :5]
    check_pairs(dense, a, w.get()[:5], vectors)


def test_eigenvalues_of_a_batch(dense: Solver) -> None:
    batch, kind = 4, dense.type
    matrices = [hermitian(dense.letter, N) for _ in range(batch)]
    v, w = on_device(np.stack(matrices, axis=2)), zeros((N, batch), dense.real)
    infos = zeros(batch, np.int32)
    shape = (dense.params, VECTOR, LOWER, N, kind, v, N, dense.real_type, w, kind)
    works = dense.works("xsyev_batched", *shape, batch)
    cusolverDn.xsyev_batched(dense.handle, *shape, *works, infos, batch)
    assert not infos.get().any()
    values, vectors = w.get(), v.get()
    for k, a in enumerate(matrices):
        check_pairs(dense, a, values[:, k], vectors[:, :, k])


def test_eigenvalues_of_a_general_matrix(dense: Solver) -> None:
    a, kind = random(dense.letter, N, N), dense.type
    copy, w = on_device(a), dense.zeros(2 * N)
    v = dense.zeros(N, N)
    head = (dense.params, NOVECTOR, VECTOR, N, kind, copy, N, kind, w)
    dense.run("xgeev", *head, kind, 0, 1, kind, v, N, kind)
    dense.done()
    values, vectors = w.get(), v.get().astype(np.complex128)
    if dense.dtype.kind == "f":
        # Real parts, then imaginary parts; a conjugate pair shares two columns of vectors.
        values = values[:N] + 1j * values[N:]
        for k in np.flatnonzero(values.imag > 0):
            pair = vectors[:, k] + 1j * vectors[:, k + 1]
            vectors[:, k], vectors[:, k + 1] = pair, pair.conj()
    values, a = values[:N], a.astype(wide(dense.letter))
    tolerance = 1000 * np.finfo(dense.dtype).eps * np.linalg.norm(a)
    assert np.linalg.norm(a @ vectors - vectors * values) < tolerance
    distances = np.abs(values[:, None] - np.linalg.eigvals(a))
    condition = np.linalg.cond(np.linalg.eig(a)[1])
    assert max(distances.min(axis=0).max(), distances.min(axis=1).max()) < tolerance * condition


@pytest.mark.parametrize("method", ["xgesvd", "xgesvdp"])
def test_svd(dense: Solver, method: str) -> None:
    a, kind = random(dense.letter, M, N), dense.type
    copy, s = on_device(a), zeros(N, dense.real)
    u, v = dense.zeros(M, N), dense.zeros(N, N)
    head = (VECTOR, 1) if method == "xgesvdp" else (ord("S"), ord("S"))
    shape = (dense.params, *head, M, N, kind, copy, M, dense.real_type, s)
    error = dense.run(method, *shape, kind, u, M, kind, v, N, kind)
    dense.done()
    right = v.get()
    if method == "xgesvdp":
        assert 0 <= error < 1e-3
        right = right.conj().T
    values = s.get()
    expected = np.linalg.svd(a.astype(wide(dense.letter)), compute_uv=False)
    dense.close(values, expected, 10)
    dense.close((u.get() * values) @ right, a, 10)


def test_svd_by_random_projection(dense: Solver) -> None:
    rank, oversampling, iterations, kind = 5, 8, 2, dense.type
    a = np.asfortranarray(random(dense.letter, M, rank) @ random(dense.letter, rank, N))
    copy, s = on_device(a), zeros(N, dense.real)
    u, v = dense.zeros(M, M), dense.zeros(N, N)
    head = (dense.params, ord("S"), ord("S"), M, N, rank, oversampling, iterations)
    shape = (*head, kind, copy, M, dense.real_type, s, kind, u, M, kind, v, N, kind)
    dense.run("xgesvdr", *shape)
    dense.done()
    values = s.get()[:rank]
    expected = np.linalg.svd(a.astype(wide(dense.letter)), compute_uv=False)[:rank]
    dense.close(values, expected, 100)
    left, right = u.get()[:, :rank], v.get()[:, :rank]
    dense.close((left * values) @ right.conj().T, a, 100)


def test_lu_of_cuda_12(dense: Solver) -> None:
    a, b = random(dense.letter, N, N), random(dense.letter, N, NRHS)
    factors, x, pivots = on_device(a), on_device(b), zeros(N, np.int64)
    kind, shape = dense.type, (dense.handle, dense.params, N, N, dense.type, factors, N)
    try:
        size = cusolverDn.getrf_buffer_size(*shape, kind)
    except errors.FunctionNotFoundError as error:
        pytest.skip(str(error))
    work = workspace(size)
    cusolverDn.getrf(*shape, pivots, kind, work, size, dense.info)
    dense.done()
    head = (dense.handle, dense.params, OP_N, N, NRHS)
    cusolverDn.getrs(*head, kind, factors, N, pivots, kind, x, N, dense.info)
    dense.done()
    expected = np.linalg.solve(a.astype(wide(dense.letter)), b)
    dense.close(x.get(), expected, np.linalg.cond(a))
