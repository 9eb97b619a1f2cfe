"""cuSOLVERDn's routines of one element type, against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.linalg import get_lapack_funcs

from gpumath.bindings import core, cusolver, cusolverDn
from tests.helpers.cusolver import (
    LEFT,
    LOWER,
    OP_N,
    OP_T,
    RIGHT,
    UPPER,
    Dense,
    addresses,
    dense_solver,
    hermitian,
    on_device,
    positive_definite,
    random,
    wide,
    zeros,
)

pytestmark = pytest.mark.gpu
M, N, NRHS = 53, 37, 3


@pytest.fixture(params="sdcz")
def dense(request: pytest.FixtureRequest) -> Iterator[Dense]:
    with dense_solver(request.param) as solver:
        yield solver


@pytest.mark.parametrize("operation", [OP_N, OP_T])
def test_lu(dense: Dense, operation: int) -> None:
    a, b = random(dense.letter, N, N), random(dense.letter, N, NRHS)
    factors, swapped, x = on_device(a), on_device(a), on_device(b)
    pivots = zeros(N, np.int32)
    work, _ = dense.work("getrf", N, N, factors, N)
    dense("getrf", N, N, factors, N, work, pivots, dense.info)
    dense.done()
    dense("laswp", N, swapped, N, 1, N, pivots, 1)
    lu = factors.get().astype(wide(dense.letter))
    product = (np.tril(lu, -1) + np.eye(N)) @ np.triu(lu)
    dense.close(swapped.get(), product)
    dense("getrs", operation, N, NRHS, factors, N, pivots, x, N, dense.info)
    dense.done()
    wide_a = a.astype(wide(dense.letter))
    expected = np.linalg.solve(wide_a if operation == OP_N else wide_a.T, b)
    dense.close(x.get(), expected, np.linalg.cond(wide_a))


def test_lu_without_pivoting_and_singular(dense: Dense) -> None:
    a = positive_definite(dense.letter, N)
    factors = on_device(a)
    work, _ = dense.work("getrf", N, N, factors, N)
    dense("getrf", N, N, factors, N, work, 0, dense.info)
    dense.done()
    lu = factors.get()
    dense.close((np.tril(lu, -1) + np.eye(N)) @ np.triu(lu), a)
    zero, pivots = dense.zeros(N, N), zeros(N, np.int32)
    dense("getrf", N, N, zero, N, work, pivots, dense.info)
    assert dense.info.get()[0] == 1


@pytest.mark.parametrize("uplo", [LOWER, UPPER])
def test_cholesky(dense: Dense, uplo: int) -> None:
    a, b = positive_definite(dense.letter, N), random(dense.letter, N, NRHS)
    triangle = np.tril if uplo == LOWER else np.triu
    factor, x = on_device(a), on_device(b)
    work = dense.work("potrf", uplo, N, factor, N)
    dense("potrf", uplo, N, factor, N, *work, dense.info)
    dense.done()
    f = triangle(factor.get())
    dense.close(f @ f.conj().T if uplo == LOWER else f.conj().T @ f, a)
    dense("potrs", uplo, N, NRHS, factor, N, x, N, dense.info)
    dense.done()
    wide_a = a.astype(wide(dense.letter))
    dense.close(x.get(), np.linalg.solve(wide_a, b), 10)
    work = dense.work("potri", uplo, N, factor, N)
    dense("potri", uplo, N, factor, N, *work, dense.info)
    dense.done()
    inverse = triangle(factor.get())
    dense.close(inverse, triangle(np.linalg.inv(wide_a)), 10)
    square = on_device(f)
    work = dense.work("lauum", uplo, N, square, N)
    dense("lauum", uplo, N, square, N, *work, dense.info)
    product = f.conj().T @ f if uplo == LOWER else f @ f.conj().T
    dense.close(triangle(square.get()), triangle(product))


def test_batched_cholesky(dense: Dense) -> None:
    batch = 4
    matrices = [positive_definite(dense.letter, N) for _ in range(batch)]
    sides = [random(dense.letter, N, 1) for _ in range(batch)]
    # The arrays of addresses are in device memory too.
    factors = [on_device(m) for m in matrices]
    a = addresses(factors)
    solutions = [on_device(b) for b in sides]
    x = addresses(solutions)
    infos = zeros(batch, np.int32)
    dense("potrf_batched", LOWER, N, a, N, infos, batch)
    assert not infos.get().any()
    dense("potrs_batched", LOWER, N, 1, a, N, x, N, dense.info, batch)
    dense.done()
    for matrix, b, address in zip(matrices, sides, solutions, strict=True):
        expected = np.linalg.solve(matrix.astype(wide(dense.letter)), b)
        dense.close(address.get(), expected, 10)


def test_qr(dense: Dense) -> None:
    a = random(dense.letter, M, N)
    factors, product, tau = on_device(a), on_device(a), dense.zeros(N)
    work = dense.work("geqrf", M, N, factors, M)
    dense("geqrf", M, N, factors, M, tau, *work, dense.info)
    dense.done()
    r = np.triu(factors.get())
    mqr, gqr = dense.orthogonal + "mqr", dense.orthogonal + "gqr"
    shape = (LEFT, dense.adjoint, M, N, N, factors, M, tau, product, M)
    dense(mqr, *shape, *dense.work(mqr, *shape), dense.info)
    dense.done()
    dense.close(product.get(), r)
    work = dense.work(gqr, M, N, N, factors, M, tau)
    dense(gqr, M, N, N, factors, M, tau, *work, dense.info)
    dense.done()
    q = factors.get()
    dense.close(q @ r[:N], a)
    dense.close(q.conj().T @ q, np.eye(N))


def test_symmetric_indefinite(dense: Dense) -> None:
    a = random(dense.letter, N, N)
    a = np.asfortranarray(a + a.T)  # symmetric, not Hermitian, for complex types
    factors, pivots = on_device(a), zeros(N, np.int32)
    work = dense.work("sytrf", N, factors, N)
    dense("sytrf", LOWER, N, factors, N, pivots, *work, dense.info)
    dense.done()
    expected, order, info = get_lapack_funcs("sytrf", (a,))(a, lower=1)
    assert info == 0
    assert np.array_equal(pivots.get(), order)
    dense.close(np.tril(factors.get()), np.tril(expected), 10)


def test_bidiagonal_form(dense: Dense) -> None:
    a = random(dense.letter, M, N)
    left = on_device(a)
    d, e = zeros(N, dense.real), zeros(N, dense.real)
    tau_q, tau_p = dense.zeros(N), dense.zeros(N)
    work = dense.work("gebrd", M, N)
    dense("gebrd", M, N, left, M, d, e, tau_q, tau_p, *work, dense.info)
    dense.done()
    right = on_device(left.get())
    gbr = dense.orthogonal + "gbr"
    for side, rows, inner, address, tau in [
        (LEFT, M, N, left, tau_q),
        (RIGHT, N, M, right, tau_p),
    ]:
        shape = (side, rows, N, inner, address, M, tau)
        dense(gbr, *shape, *dense.work(gbr, *shape), dense.info)
        dense.done()
    diagonal = d.get()
    above = e.get()[: N - 1]
    middle = np.diag(diagonal) + np.diag(above, 1)
    p_adjoint = right.get()[:N]
    dense.close(left.get() @ middle @ p_adjoint, a)


def test_tridiagonal_form(dense: Dense) -> None:
    a, c = hermitian(dense.letter, N), random(dense.letter, N, NRHS)
    reflectors, product = on_device(a), on_device(c)
    d, e = zeros(N, dense.real), zeros(N, dense.real)
    tau = dense.zeros(N)
    trd = dense.symmetric + "trd"
    mtr, gtr = dense.orthogonal + "mtr", dense.orthogonal + "gtr"
    shape = (LOWER, N, reflectors, N, d, e, tau)
    dense(trd, *shape, *dense.work(trd, *shape), dense.info)
    dense.done()
    shape = (LEFT, LOWER, OP_N, N, NRHS, reflectors, N, tau, product, N)
    dense(mtr, *shape, *dense.work(mtr, *shape), dense.info)
    dense.done()
    shape = (LOWER, N, reflectors, N, tau)
    dense(gtr, *shape, *dense.work(gtr, *shape), dense.info)
    dense.done()
    q = reflectors.get()
    beside = e.get()[: N - 1]
    middle = np.diag(d.get()) + np.diag(beside, 1) + np.diag(beside, -1)
    dense.close(q @ middle @ q.conj().T, a)
    dense.close(product.get(), q @ c)


def test_stream_and_modes(dense: Dense) -> None:
    stream = core.Stream()
    cusolverDn.set_stream(dense.handle, stream.handle)
    assert cusolverDn.get_stream(dense.handle) == stream.handle
    cusolverDn.set_stream(dense.handle, 0)
    for mode in cusolver.DeterministicMode:
        cusolverDn.set_deterministic_mode(dense.handle, mode)
        assert cusolverDn.get_deterministic_mode(dense.handle) == mode
    for math in [cusolver.MathMode.FP32_EMULATED_BF16X9_MATH, cusolver.MathMode.DEFAULT_MATH]:
        cusolverDn.set_math_mode(dense.handle, math)
        assert cusolverDn.get_math_mode(dense.handle) == math
    for strategy in [1, 0]:
        cusolverDn.set_emulation_strategy(dense.handle, strategy)
        assert cusolverDn.get_emulation_strategy(dense.handle) == strategy
