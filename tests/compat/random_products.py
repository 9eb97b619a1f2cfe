"""Random generic products: shapes, types, layouts, batches, vectors, alpha, beta, c, qualifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Environment, Results, attempt, main

CASES = 200


def run(env: Environment) -> Results:
    for number in range(CASES):
        name, operands, keywords, expected = drawn(env)
        matmul = env.linalg.matmul
        arrays = [env.array(operand) for operand in operands]
        result = attempt(lambda m=matmul, a=arrays, k=keywords: env.numpy(m(*a, **k, **env.where)))
        yield f"{number}: {name}", result, expected


def drawn(env: Environment) -> tuple[str, list[np.ndarray], dict[str, Any], np.ndarray]:
    """Draw a product: what it is, its operands and keywords, and its result by NumPy."""
    rng, general = env.rng, env.linalg.GeneralMatrixQualifier.create()
    dtype = str(rng.choice(["f4", "f8", "c8", "c16"]))
    m, n, k = (int(extent) for extent in rng.integers(1, 9, 3))
    batch = [(), (3,), (2, 3)][rng.integers(3)]
    batches = [batch if rng.random() < 0.7 else () for _ in "ab"]
    keywords: dict[str, Any] = {}
    words = [dtype]
    if rng.random() < 0.3:
        side = int(rng.integers(2))
        m, n = (k, n) if side == 0 else (m, k)
        a = values(env, dtype, *batches[0], m, k)
        b = values(env, dtype, *batches[1], k, n)
        factors = [a, b]
        factors[side], full, qualifier, word = structured(env, factors[side])
        keywords["qualifiers"] = np.full(2, general, env.linalg.matrix_qualifiers_dtype)
        keywords["qualifiers"][side] = qualifier
        words.append(f"{word} {'ab'[side]}")
        wide = [wide_of(factor) for factor in factors]
        wide[side] = full
    else:
        shapes = [(*batches[0], m, k), (*batches[1], k, n)]
        if rng.random() < 0.1:
            shapes[0] = (k,)
        if rng.random() < 0.1:
            shapes[1] = (k,)
        factors = [values(env, dtype, *shape) for shape in shapes]
        wide = [wide_of(factor) for factor in factors]
    factors = [laid_out(rng, factor) for factor in factors]
    expected = wide[0] @ wide[1]
    if rng.random() < 0.5:
        keywords["alpha"] = number(rng, dtype)
        expected = keywords["alpha"] * expected
    if expected.ndim and rng.random() < 0.5:
        shape = expected.shape
        if expected.ndim > 2 and rng.random() < 0.3:
            shape = shape[-2:]  # one c for all products
        elif expected.ndim == 2 and min(map(np.ndim, factors)) == 2 and rng.random() < 0.2:
            shape = (2, *shape)  # one product for all c
        c = values(env, dtype, *shape)
        keywords["beta"] = number(rng, dtype)
        expected = expected + keywords["beta"] * wide_of(c)
        if shape == expected.shape and rng.random() < 0.3:
            keywords["options"] = {"inplace": True}
        elif c.ndim == 2:
            c = laid_out(rng, c)
        factors.append(c)
        if "qualifiers" in keywords:
            keywords["qualifiers"] = np.append(keywords["qualifiers"], general)
    words += [str(factor.shape) for factor in factors]
    words += [f"{key}={value}" for key, value in keywords.items() if key != "qualifiers"]
    return " ".join(words), factors, keywords, expected


def values(env: Environment, dtype: str, *shape: int) -> np.ndarray:
    """Draw an operand. Real elements are positive, so that errors are small beside each sum."""
    array = env.real_or_complex(dtype, *shape)
    return array if array.dtype.kind == "c" else np.abs(array)


def structured(env: Environment, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any, str]:
    """Choose what a square matrix is.

    Returns what is given to a product, all elements in double precision, the qualifier, and a name.
    """
    linalg, rng = env.linalg, env.rng
    kind = str(rng.choice(["Symmetric", "Hermitian", "Triangular", "Diagonal"]))
    make = getattr(linalg, f"{kind}MatrixQualifier").create
    conjugate = matrix.dtype.kind == "c" and rng.random() < 0.3
    wide = wide_of(matrix.conj() if conjugate else matrix)
    diagonal = wide * np.eye(matrix.shape[-1])
    words = [kind] + ["conjugate"] * conjugate
    if kind == "Diagonal":
        stored = np.ascontiguousarray(np.diagonal(matrix, axis1=-2, axis2=-1))
        return stored, diagonal, make(conjugate), " ".join(words)
    is_lower = bool(rng.integers(2))
    fill = linalg.FillMode.LOWER if is_lower else linalg.FillMode.UPPER
    part = np.tril(wide) if is_lower else np.triu(wide)
    other = np.swapaxes(np.tril(wide, -1) if is_lower else np.triu(wide, 1), -1, -2)
    full = {
        "Symmetric": part + other,
        "Hermitian": part - diagonal + diagonal.real + other.conj(),
        "Triangular": part,
    }
    words.append("lower" if is_lower else "upper")
    return matrix, full[kind], make(conjugate, fill), " ".join(words)


def laid_out(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Return an array with these elements whose memory may have another order, or gaps."""
    layout = int(rng.integers(12))
    if layout == 0:
        return np.asfortranarray(array)
    if layout < 5 and array.ndim > 1:
        return np.swapaxes(np.swapaxes(array, -1, -2).copy(), -1, -2)
    if layout == 5:
        wider = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
        wider[..., : array.shape[-1]] = array
        return wider[..., : array.shape[-1]]
    return array


def number(rng: np.random.Generator, dtype: str) -> Any:
    """Draw a factor of a product, by the rule of `values`."""
    real, imaginary = rng.standard_normal(2).round(2).tolist()
    return complex(real, imaginary) if dtype.startswith("c") else abs(real)


def wide_of(array: np.ndarray) -> np.ndarray:
    return array.astype("c16" if array.dtype.kind == "c" else "f8")


if __name__ == "__main__":
    main(run)
