"""Advanced products: types, layouts, batches, vectors, c, alpha, beta and conjugates."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def layout(env: Environment, array: object) -> list[int]:
    """Strides of a result, in elements."""
    if env.library == "torch":
        return list(array.stride())
    return [stride // array.itemsize for stride in array.strides]


def run(env: Environment) -> Results:
    advanced = env.advanced
    for dtype in ("f2", "f4", "f8", "c8", "c16"):
        a, b = env.real_or_complex(dtype, 24, 40), env.real_or_complex(dtype, 40, 56)
        c, column = env.real_or_complex(dtype, 24, 56), env.real_or_complex(dtype, 24, 1)
        wide = [x.astype("c16" if "c" in dtype else "f8") for x in (a, b, c, column)]
        product = wide[0] @ wide[1]
        orders = {
            "rows": (a, b),
            "columns": (np.asfortranarray(a), np.asfortranarray(b)),
            "a by columns": (np.asfortranarray(a), b),
            "b by columns": (a, np.asfortranarray(b)),
        }
        for name, operands in orders.items():
            result = advanced.matmul(*map(env.array, operands))
            yield f"{dtype} {name}", env.numpy(result), product
            yield f"{dtype} {name} layout", layout(env, result), None
        alpha = 0.5 - 2j if "c" in dtype else -1.5
        result = advanced.matmul(env.array(a), env.array(b), alpha=alpha)
        yield f"{dtype} alpha", env.numpy(result), alpha * product
        for name, number in (("c", 2), ("column", 3)):
            added = env.array((a, b, c, column)[number])
            result = advanced.matmul(env.array(a), env.array(b), added, alpha=alpha, beta=0.5)
            yield f"{dtype} {name}", env.numpy(result), alpha * product + 0.5 * wide[number]
        yield f"{dtype} row", env.numpy(advanced.matmul(env.array(a[0]), env.array(b))), product[0]
        last = np.ascontiguousarray(b[:, 0])
        result = advanced.matmul(env.array(a), env.array(last))
        yield f"{dtype} vector", env.numpy(result), product[:, 0]
        yield (
            f"{dtype} inner",
            env.numpy(advanced.matmul(env.array(a[0]), env.array(last))),
            (product[0, 0]),
        )
        if "c" in dtype:
            for which in (0, 1):
                qualifiers = np.zeros(3, advanced.matrix_qualifiers_dtype)
                qualifiers[which]["is_conjugate"] = True
                result = advanced.matmul(env.array(a), env.array(b), qualifiers=qualifiers)
                both = [x.conj() if i == which else x for i, x in enumerate(wide[:2])]
                yield f"{dtype} conjugate {which}", env.numpy(result), both[0] @ both[1]
    x, y, b = env.real(3, 2, 24, 40), env.real(3, 2, 40, 8), env.real(40, 8)
    c = env.real(3, 2, 24, 8)
    batches = {
        "batches": (x, y),
        "batch and matrix": (x, b),
        "matrix and batch": (np.ascontiguousarray(x[0, 0]), y),
        "batch and vector": (x, np.ascontiguousarray(b[:, 0])),
    }
    for name, (first, second) in batches.items():
        result = advanced.matmul(env.array(first), env.array(second))
        yield name, env.numpy(result), first.astype("f8") @ second
        yield f"{name} layout", layout(env, result), None
    added = {
        "batched c": c,
        "one c": c[0, 0],
        "columns c": c[..., :1],
        "one column c": c[0, 0, :, :1],
    }
    for name, one in added.items():
        one = np.ascontiguousarray(one)
        result = advanced.matmul(env.array(x), env.array(y), env.array(one), beta=2.0)
        yield name, env.numpy(result), x.astype("f8") @ y + 2.0 * one


if __name__ == "__main__":
    main(run)
