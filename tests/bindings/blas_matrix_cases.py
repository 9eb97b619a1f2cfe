"""Matrix routines of BLAS and cuBLAS's own, with references in double precision by NumPy.

Cases are as in `blas_cases`; those in `XT_CASES` also run with cublasXt.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.bindings.blas_cases import (
    CASES,
    case,
    double,
    mask,
    op,
    packed,
    pick,
    self_adjoint,
    stored,
    triangular,
)
from tests.helpers.cusolver import (
    DTYPES,
    LEFT,
    LOWER,
    OP_C,
    OP_N,
    OP_T,
    REALS,
    RIGHT,
    UPPER,
    random,
)

M, N, K = 35, 27, 19
_VECTORS = {*CASES}


@case("gemm", "sdcz")
@case("gemm3m", "cz")
def _gemm(b: Any, t: str, name: str) -> tuple[Any, Any]:
    first, second = pick(OP_N, OP_T, OP_C), pick(OP_N, OP_T, OP_C)
    a = random(t, M, K) if first == OP_N else random(t, K, M)
    x = random(t, K, N) if second == OP_N else random(t, N, K)
    c, (alpha, one), (beta, two) = random(t, M, N), b.number(t), b.number(t)
    left, right, result = b.put(a), b.put(x), b.put(c)
    sizes = (first, second, M, N, K)
    b.call(t + name, *sizes, one, left, len(a), right, len(x), two, result, M)
    product = op(double(a, t), first) @ op(double(x, t), second)
    return b.get(result, (M, N), DTYPES[t]), alpha * product + beta * double(c, t)


@case("symm", "sdcz")
@case("hemm", "cz")
@case("spmm", "sdcz")
def _symm(b: Any, t: str, name: str) -> tuple[Any, Any]:
    side, uplo = pick(LEFT, RIGHT), pick(LOWER, UPPER)
    a = self_adjoint(t, M if side == LEFT else N, name == "hemm")
    x, c, (alpha, one), (beta, two) = random(t, M, N), random(t, M, N), b.number(t), b.number(t)
    result = b.put(c)
    matrix = [b.put(packed(a, uplo))] if name == "spmm" else [b.put(stored(a, uplo)), len(a)]
    b.call(t + name, side, uplo, M, N, one, *matrix, b.put(x), M, two, result, M)
    left, right = (a, x) if side == LEFT else (x, a)
    expected = alpha * double(left, t) @ double(right, t) + beta * double(c, t)
    return b.get(result, (M, N), DTYPES[t]), expected


@case("syrk syr2k syrkx", "sdcz")
@case("herk her2k herkx", "cz")
def _rank_k(b: Any, t: str, name: str) -> tuple[Any, Any]:
    conjugate, uplo = name[0] == "h", pick(LOWER, UPPER)
    trans = pick(OP_N, OP_C if conjugate else OP_T)
    a = random(t, N, K) if trans == OP_N else random(t, K, N)
    x = a * np.real(random(t, 1)[0]).astype(DTYPES[REALS[t]]) if name.endswith("x") else None
    x = np.asfortranarray(x) if x is not None else random(t, *a.shape)
    c = self_adjoint(t, N, conjugate)
    # A factor is real where a complex one would not keep the result Hermitian.
    alpha, one = b.number(REALS[t] if conjugate and name != "her2k" else t)
    beta, two = b.number(REALS[t] if conjugate else t)
    result, matrices = b.put(c), [b.put(a), len(a)]
    matrices += [] if name.endswith("rk") else [b.put(x), len(a)]
    if name == "herkx":  # its alpha has the type of the matrices
        alpha, one = b.number(t, alpha)
    b.call(t + name, uplo, trans, N, K, one, *matrices, two, result, N)
    wide_a = double(a, t)
    wide_x = wide_a if name.endswith("rk") else double(x, t)
    if trans != OP_N:
        wide_a, wide_x = op(wide_a, trans), op(wide_x, trans)
    adjoint = OP_C if conjugate else OP_T
    product = alpha * wide_a @ op(wide_x, adjoint)
    if name.endswith("2k"):
        product = product + op(product, adjoint)
    new = product + beta * double(c, t)
    return b.get(result, (N, N), DTYPES[t]), np.where(mask((N, N), uplo), new, c)


@case("trmm trsm", "sdcz")
def _triangular_and_matrix(b: Any, t: str, name: str) -> tuple[Any, Any]:
    side, uplo, trans = pick(LEFT, RIGHT), pick(LOWER, UPPER), pick(OP_N, OP_T, OP_C)
    diag = pick(0, 1)
    a, x = triangular(t, M if side == LEFT else N, uplo, diag), random(t, M, N)
    alpha, one = b.number(t)
    result = b.put(x)
    matrices = [b.put(stored(a, uplo, diag)), len(a), result, M]
    if name == "trmm":
        result = b.put(np.zeros_like(x))
        matrices += [result, M]
    b.call(t + name, side, uplo, trans, diag, M, N, one, *matrices)
    matrix, right = op(double(a, t), trans), alpha * double(x, t)
    if name == "trsm":
        matrix = np.linalg.inv(matrix)
    expected = matrix @ right if side == LEFT else right @ matrix
    return b.get(result, (M, N), DTYPES[t]), expected


# The names of both: those of cublasXt alone are no cases of cuBLAS.
XT_CASES = {key: CASES[key] for key in CASES if key not in _VECTORS and key[0] != "gemm3m"}
for letter in "sdcz":
    del CASES["spmm", letter]


@case("geam", "sdcz")
def _geam(b: Any, t: str, name: str) -> tuple[Any, Any]:
    first, second = pick(OP_N, OP_T, OP_C), pick(OP_N, OP_T, OP_C)
    a = random(t, M, N) if first == OP_N else random(t, N, M)
    x = random(t, M, N) if second == OP_N else random(t, N, M)
    (alpha, one), (beta, two), result = (
        b.number(t),
        b.number(t),
        b.put(np.zeros_like(random(t, M, N))),
    )
    b.call(t + name, first, second, M, N, one, b.put(a), len(a), two, b.put(x), len(x), result, M)
    expected = alpha * op(double(a, t), first) + beta * op(double(x, t), second)
    return b.get(result, (M, N), DTYPES[t]), expected


@case("dgmm", "sdcz")
def _dgmm(b: Any, t: str, name: str) -> tuple[Any, Any]:
    side = pick(LEFT, RIGHT)
    a, x = random(t, M, N), random(t, M if side == LEFT else N)
    result = b.put(np.zeros_like(a))
    b.call(t + name, side, M, N, b.put(a), M, b.put(x), 1, result, M)
    scale = double(x, t)[:, None] if side == LEFT else double(x, t)
    return b.get(result, (M, N), DTYPES[t]), double(a, t) * scale


@case("tpttr trttp", "sdcz")
def _packing(b: Any, t: str, name: str) -> tuple[Any, Any]:
    uplo, a = pick(LOWER, UPPER), random(t, N, N)
    pack = packed(a, uplo)
    if name == "trttp":
        result = b.put(np.zeros_like(pack))
        b.call(t + name, uplo, N, b.put(stored(a, uplo)), N, result)
        return b.get(result, len(pack), DTYPES[t]), pack
    result = b.put(np.zeros_like(a))
    b.call(t + name, uplo, N, b.put(pack), result, N)
    return b.get(result, (N, N), DTYPES[t]), np.where(mask((N, N), uplo), a, 0)


# Routines without a `_64` form.
ONLY_32 = {"tpttr", "trttp"}
