"""Products with symmetric, Hermitian, triangular and diagonal matrices, by their qualifiers."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def run(env: Environment) -> Results:
    linalg, where = env.linalg, env.where
    general = linalg.GeneralMatrixQualifier.create()
    fills = {"lower": linalg.FillMode.LOWER, "upper": linalg.FillMode.UPPER}

    def product(a: np.ndarray, b: np.ndarray, qualifiers: tuple) -> np.ndarray:
        both = np.zeros(2, dtype=linalg.matrix_qualifiers_dtype)
        both[0], both[1] = qualifiers
        return env.numpy(linalg.matmul(env.array(a), env.array(b), qualifiers=both, **where))

    for dtype in ("f4", "c16"):
        s, b = env.real_or_complex(dtype, 12, 12), env.real_or_complex(dtype, 12, 7)
        # The libraries read one triangle only, so the matrices are stored by columns.
        s, b = np.asfortranarray(s), np.asfortranarray(b)
        wide, wide_b = (x.astype("c16" if "c" in dtype else "f8") for x in (s, b))
        for name, fill in fills.items():
            part = np.tril(wide) if name == "lower" else np.triu(wide)
            rest = part - np.diag(np.diag(wide))
            symmetric = linalg.SymmetricMatrixQualifier.create(uplo=fill)
            full = part + rest.T
            yield f"{dtype} symm {name}", product(s, b, (symmetric, general)), full @ wide_b
            right = np.asfortranarray(b.T)
            yield (
                f"{dtype} symm right {name}",
                product(right, s, (general, symmetric)),
                right @ full,
            )
            if "c" in dtype:
                hermitian = linalg.HermitianMatrixQualifier.create(uplo=fill)
                full = part + rest.conj().T - 1j * np.diag(np.diag(wide).imag)
                yield f"{dtype} hemm {name}", product(s, b, (hermitian, general)), full @ wide_b
            if env.is_on_gpu or env.package == "gpumath":
                for diagonal in ("NON_UNIT", "UNIT"):
                    triangular = linalg.TriangularMatrixQualifier.create(
                        uplo=fill, diag=getattr(linalg.DiagType, diagonal)
                    )
                    full = rest + np.eye(12) if diagonal == "UNIT" else part
                    title = f"{dtype} trmm {name} {diagonal}"
                    yield title, product(s, b, (triangular, general)), full @ wide_b
        if env.is_on_gpu or env.package == "gpumath":
            d = env.real_or_complex(dtype, 12)
            diagonal_matrix = linalg.DiagonalMatrixQualifier.create()
            expected = d.astype(wide_b.dtype)[:, None] * wide_b
            yield f"{dtype} dgmm", product(d, b, (diagonal_matrix, general)), expected


if __name__ == "__main__":
    main(run)
