"""Generic products: types, layouts, batches, vectors, alpha, beta and c."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def run(env: Environment) -> Results:
    matmul, where = env.linalg.matmul, env.where
    for dtype in ("f4", "f8", "c8", "c16"):
        a, b = env.real_or_complex(dtype, 5, 24), env.real_or_complex(dtype, 24, 17)
        c = env.real_or_complex(dtype, 5, 17)
        wide_a, wide_b, wide_c = (x.astype("c16" if "c" in dtype else "f8") for x in (a, b, c))
        product = wide_a @ wide_b
        orders = {
            "rows": (a, b),
            "columns": (np.asfortranarray(a), np.asfortranarray(b)),
            "mixed": (np.asfortranarray(a), b),
        }
        for name, operands in orders.items():
            result = matmul(*map(env.array, operands), **where)
            yield f"{dtype} {name}", env.numpy(result), product
        alpha = 0.5 - 2j if "c" in dtype else -1.5
        result = matmul(env.array(a), env.array(b), alpha=alpha, **where)
        yield f"{dtype} alpha", env.numpy(result), alpha * product
        result = matmul(env.array(a), env.array(b), env.array(c), alpha=alpha, beta=2, **where)
        yield f"{dtype} c", env.numpy(result), alpha * product + 2 * wide_c
        target = env.array(c)
        result = matmul(
            env.array(a), env.array(b), target, beta=3, options={"inplace": True}, **where
        )
        yield f"{dtype} inplace", env.numpy(result), product + 3 * wide_c
        yield f"{dtype} inplace c", env.numpy(target), product + 3 * wide_c
    a, b = env.real(7, 24), env.real(24, 9)
    yield "row", env.numpy(matmul(env.array(a[0]), env.array(b), **where)), a[0].astype("f8") @ b
    column = np.ascontiguousarray(b[:, 0])
    result = matmul(env.array(a), env.array(column), **where)
    yield "column", env.numpy(result), a.astype("f8") @ column
    x = env.real(3, 2, 7, 24)
    result = matmul(env.array(x), env.array(b), **where)
    yield "batch and matrix", env.numpy(result), x.astype("f8") @ b
    y = env.real(3, 2, 24, 5)
    yield "batches", env.numpy(matmul(env.array(x), env.array(y), **where)), x.astype("f8") @ y
    lists = ([env.array(a), env.array(x[0, 0])], [env.array(b), env.array(y[0, 0])])
    for number, result in enumerate(matmul(*lists, **where)):
        expected = (a.astype("f8") @ b, x[0, 0].astype("f8") @ y[0, 0])[number]
        yield f"list {number}", env.numpy(result), expected
    results = matmul([env.array(a), env.array(x[0, 1])], [env.array(b)], alpha=[1, 2], **where)
    for number, result in enumerate(results):
        expected = (a.astype("f8") @ b, 2 * x[0, 1].astype("f8") @ b)[number]
        yield f"list and one {number}", env.numpy(result), expected


if __name__ == "__main__":
    main(run)
