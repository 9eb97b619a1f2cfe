"""Vector and matrix-vector routines of BLAS, with references in double precision by NumPy.

A case gets a `tests.helpers.cublas.Blas` and the letter of an element type, draws its input,
calls, and returns what came back and what should have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.helpers.cusolver import (
    DTYPES,
    LOWER,
    NON_UNIT,
    OP_C,
    OP_N,
    OP_T,
    REALS,
    UPPER,
    hermitian,
    random,
    wide,
)

Case = Callable[[Any, str], tuple[Any, Any]]
# Name and letter: two names are one routine with different letters.
CASES: dict[tuple[str, str], Case] = {}
N = 101


def case(names: str, letters: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function under names with a space between them, for each letter.

    It is called with the `Blas`, the letter and the name.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names.split():
            CASES.update({(name, letter): partial(function, name=name) for letter in letters})
        return function

    return register


def pick(*values: int) -> int:
    """Return one of the values."""
    return int(np.random.default_rng().choice(values))


def op(a: np.ndarray, operation: int) -> np.ndarray:
    """Return the matrix, its transpose or its conjugate transpose."""
    return {OP_N: a, OP_T: a.T, OP_C: a.conj().T}[operation]


def double(a: np.ndarray, t: str) -> np.ndarray:
    """Return an array in the precision of references."""
    return a.astype(wide(t))


def mask(shape: tuple[int, ...], uplo: int) -> np.ndarray:
    """Return where a triangle is."""
    ones = np.ones(shape, bool)
    return np.triu(ones) if uplo == UPPER else np.tril(ones)


def stored(a: np.ndarray, uplo: int, diag: int = NON_UNIT) -> np.ndarray:
    """Return a matrix with NaN wherever routines must not read."""
    read = mask(a.shape, uplo)
    if diag != NON_UNIT:
        np.fill_diagonal(read, False)
    return np.where(read, a, np.nan).astype(a.dtype)


def packed(a: np.ndarray, uplo: int) -> np.ndarray:
    """Return the columns of a triangle, one after another."""
    columns = range(a.shape[1])
    parts = [a[: j + 1, j] if uplo == UPPER else a[j:, j] for j in columns]
    return np.concatenate(parts)


def banded(a: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """Return a matrix with 0 outside a band."""
    return np.asfortranarray(np.triu(np.tril(a, upper), -lower))


def band_storage(a: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """Return the diagonals of a band as rows; NaN where nothing is read."""
    rows, columns = a.shape
    storage = np.full((lower + upper + 1, columns), np.nan, a.dtype, order="F")
    for j in range(columns):
        for i in range(max(0, j - upper), min(rows, j + lower + 1)):
            storage[upper + i - j, j] = a[i, j]
    return storage


def self_adjoint(t: str, n: int, conjugate: bool) -> np.ndarray:
    """Return a random symmetric or Hermitian matrix."""
    a = random(t, n, n)
    return hermitian(t, n) if conjugate else np.asfortranarray(np.tril(a) + np.tril(a, -1).T)


def triangular(t: str, n: int, uplo: int, diag: int) -> np.ndarray:
    """Return a random triangular matrix that is well conditioned."""
    a = np.where(mask((n, n), uplo), random(t, n, n) / n, 0) + 2 * np.eye(n)
    if diag != NON_UNIT:
        np.fill_diagonal(a, 1)
    return np.asfortranarray(a.astype(DTYPES[t]))


REDUCTIONS = {
    "s": ("sasum", "snrm2", "isamax", "isamin"),
    "d": ("dasum", "dnrm2", "idamax", "idamin"),
    "c": ("scasum", "scnrm2", "icamax", "icamin"),
    "z": ("dzasum", "dznrm2", "izamax", "izamin"),
}


@case("reductions", "sdcz")
def _reductions(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x = random(t, 2 * N)
    address = b.put(x)
    used = double(x, t)[::2]
    size = np.abs(used.real) + np.abs(used.imag)
    asum, nrm2, amax, amin = REDUCTIONS[t]
    found: list[float] = []
    for name in (asum, nrm2):
        cell = b.host([0], DTYPES[REALS[t]])
        b.call(name, N, address, 2, cell.ctypes.data)
        found.append(cell[0])
    for name in (amax, amin):
        index = b.host([0], np.int64)
        b.call(name, N, address, 2, index.ctypes.data)
        found.append(index[0])
    return found, [size.sum(), np.linalg.norm(used), size.argmax() + 1, size.argmin() + 1]


@case("dot", "sd")
@case("dotu dotc", "cz")
def _dot(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x, y, cell = random(t, 2 * N), random(t, N), b.host([0], DTYPES[t])
    b.call(t + name, N, b.put(x), 2, b.put(y), 1, cell.ctypes.data)
    first = double(x, t)[::2]
    return cell[0], (first.conj() if name == "dotc" else first) @ double(y, t)


@case("axpy", "sdcz")
def _axpy(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x, y, (alpha, address) = random(t, 2 * N), random(t, N), b.number(t)
    result = b.put(y)
    b.call(f"{t}axpy", N, address, b.put(x), 2, result, 1)
    return b.get(result, N, DTYPES[t]), alpha * double(x, t)[::2] + double(y, t)


@case("copy swap", "sdcz")
def _copy(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x, y = random(t, N), random(t, N)
    first, second = b.put(x), b.put(y)
    b.call(t + name, N, first, 1, second, 1)
    found = [b.get(address, N, DTYPES[t]) for address in (first, second)]
    return found, [y if name == "swap" else x, x]


@case("scal", "sdcz")
def _scal(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x, (alpha, address) = random(t, N), b.number(t)
    result = b.put(x)
    b.call(f"{t}scal", N, address, result, 1)
    return b.get(result, N, DTYPES[t]), alpha * double(x, t)


@case("scal_by_real", "cz")
def _scal_by_real(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x, (alpha, address) = random(t, N), b.number(REALS[t])
    result = b.put(x)
    b.call({"c": "csscal", "z": "zdscal"}[t], N, address, result, 1)
    return b.get(result, N, DTYPES[t]), alpha * double(x, t)


@case("rot", "sdcz")
@case("rot_by_real", "cz")
def _rot(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x, y = random(t, N), random(t, N)
    angle = np.random.default_rng().uniform(0, 6)
    real = name == "rot_by_real"
    phase = 1 if real or t in "sd" else np.exp(0.7j)
    c, c_address = b.number(REALS[t], np.cos(angle))
    s, s_address = b.number(REALS[t] if real else t, np.sin(angle) * phase)
    first, second = b.put(x), b.put(y)
    routine = {"c": "csrot", "z": "zdrot"}[t] if real else f"{t}rot"
    b.call(routine, N, first, 1, second, 1, c_address, s_address)
    found = [b.get(address, N, DTYPES[t]) for address in (first, second)]
    wide_x, wide_y = double(x, t), double(y, t)
    return found, [c * wide_x + s * wide_y, c * wide_y - np.conj(s) * wide_x]


@case("rotm", "sd")
def _rotm(b: Any, t: str, name: str) -> tuple[Any, Any]:
    x, y, h = random(t, N), random(t, N), random(t, 2, 2)
    parameters = b.host([-1, *h.ravel(order="F")], DTYPES[t])
    first, second = b.put(x), b.put(y)
    b.call(f"{t}rotm", N, first, 1, second, 1, parameters.ctypes.data)
    found = [b.get(address, N, DTYPES[t]) for address in (first, second)]
    return found, double(h, t) @ [double(x, t), double(y, t)]


@case("gemv", "sdcz")
def _gemv(b: Any, t: str, name: str) -> tuple[Any, Any]:
    m, n, trans = 31, 23, pick(OP_N, OP_T, OP_C)
    rows, columns = (m, n) if trans == OP_N else (n, m)
    a, x, y = random(t, m, n), random(t, columns), random(t, rows)
    (alpha, one), (beta, two) = b.number(t), b.number(t)
    result = b.put(y)
    b.call(f"{t}gemv", trans, m, n, one, b.put(a), m, b.put(x), 1, two, result, 1)
    expected = alpha * op(double(a, t), trans) @ double(x, t) + beta * double(y, t)
    return b.get(result, rows, DTYPES[t]), expected


@case("gbmv", "sdcz")
def _gbmv(b: Any, t: str, name: str) -> tuple[Any, Any]:
    m, n, lower, upper = 31, 23, 3, 2
    a, x, y = banded(random(t, m, n), lower, upper), random(t, n), random(t, m)
    (alpha, one), (beta, two) = b.number(t), b.number(t)
    result, matrix = b.put(y), b.put(band_storage(a, lower, upper))
    shape = (OP_N, m, n, lower, upper)
    b.call(f"{t}gbmv", *shape, one, matrix, lower + upper + 1, b.put(x), 1, two, result, 1)
    expected = alpha * double(a, t) @ double(x, t) + beta * double(y, t)
    return b.get(result, m, DTYPES[t]), expected


@case("symv", "sdcz")
@case("sbmv spmv", "sd")
@case("hemv hbmv hpmv", "cz")
def _self_adjoint_times_vector(b: Any, t: str, name: str) -> tuple[Any, Any]:
    n, k, uplo = 37, 4, pick(LOWER, UPPER)
    a = self_adjoint(t, n, name[0] == "h")
    x, y, (alpha, one), (beta, two) = random(t, n), random(t, n), b.number(t), b.number(t)
    if name[1] == "b":
        a = banded(a, k, k)
        half = band_storage(a, *((0, k) if uplo == UPPER else (k, 0)))
        shape, matrix = [uplo, n, k], [b.put(half), k + 1]
    elif name[1] == "p":
        shape, matrix = [uplo, n], [b.put(packed(a, uplo))]
    else:
        shape, matrix = [uplo, n], [b.put(stored(a, uplo)), n]
    result = b.put(y)
    b.call(t + name, *shape, one, *matrix, b.put(x), 1, two, result, 1)
    expected = alpha * double(a, t) @ double(x, t) + beta * double(y, t)
    return b.get(result, n, DTYPES[t]), expected


@case("trmv tbmv tpmv trsv tbsv tpsv", "sdcz")
def _triangular_and_vector(b: Any, t: str, name: str) -> tuple[Any, Any]:
    n, k, uplo, trans, diag = 37, 4, pick(LOWER, UPPER), pick(OP_N, OP_T, OP_C), pick(0, 1)
    a, x = triangular(t, n, uplo, diag), random(t, n)
    full = stored(a, uplo, diag)
    if name[1] == "b":
        a = banded(a, *((0, k) if uplo == UPPER else (k, 0)))
        half = band_storage(full, *((0, k) if uplo == UPPER else (k, 0)))
        arguments = [n, k, b.put(half), k + 1]
    elif name[1] == "p":
        arguments = [n, b.put(packed(full, uplo))]
    else:
        arguments = [n, b.put(full), n]
    result = b.put(x)
    b.call(t + name, uplo, trans, diag, *arguments, result, 1)
    matrix, vector = op(double(a, t), trans), double(x, t)
    solved = name.endswith("sv")
    expected = np.linalg.solve(matrix, vector) if solved else matrix @ vector
    return b.get(result, n, DTYPES[t]), expected


@case("ger", "sd")
@case("geru gerc", "cz")
def _rank_one(b: Any, t: str, name: str) -> tuple[Any, Any]:
    m, n = 31, 23
    a, x, y, (alpha, one) = random(t, m, n), random(t, m), random(t, n), b.number(t)
    result = b.put(a)
    b.call(t + name, m, n, one, b.put(x), 1, b.put(y), 1, result, m)
    right = double(y, t).conj() if name == "gerc" else double(y, t)
    expected = alpha * np.outer(double(x, t), right) + double(a, t)
    return b.get(result, (m, n), DTYPES[t]), expected


@case("syr syr2", "sdcz")
@case("spr spr2", "sd")
@case("her her2 hpr hpr2", "cz")
def _self_adjoint_update(b: Any, t: str, name: str) -> tuple[Any, Any]:
    n, uplo, conjugate = 37, pick(LOWER, UPPER), name[0] == "h"
    a, x, y = self_adjoint(t, n, conjugate), random(t, n), random(t, n)
    two = name.endswith("2")
    alpha, address = b.number(REALS[t] if conjugate and not two else t)
    vectors = [b.put(x), 1, b.put(y), 1] if two else [b.put(x), 1]
    in_pack = name[1] == "p"
    result = b.put(packed(a, uplo) if in_pack else a)
    b.call(t + name, uplo, n, address, *vectors, result, *([] if in_pack else [n]))
    u, v = double(x, t), double(y if two else x, t)
    adjoint = np.conj if conjugate else np.asarray
    added = alpha * np.outer(u, adjoint(v))
    if two:
        added = added + adjoint(added.T)
    new = double(a, t) + added
    if in_pack:
        return b.get(result, n * (n + 1) // 2, DTYPES[t]), packed(new, uplo)
    return b.get(result, (n, n), DTYPES[t]), np.where(mask((n, n), uplo), new, a)
