"""Advanced products: types, layouts, batches, vectors, c, alpha, beta and conjugates."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Environment, Results, attempt, is_refusal, main


def layout(env: Environment, array: Any) -> list[int]:
    """Strides of a result, in elements."""
    if env.library == "torch":
        return list(array.stride())
    return [stride // array.itemsize for stride in array.strides]


def multiplied(env: Environment, *operands: np.ndarray, **keywords: Any) -> Any:
    """Multiply arrays of the library; return the result there, or why there is none."""
    arrays = [env.array(np.asarray(operand)) for operand in operands]
    return attempt(lambda: env.advanced.matmul(*arrays, **keywords))


def run(env: Environment) -> Results:
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
            result = multiplied(env, *operands)
            yield f"{dtype} {name}", numbers(env, result), product
            if not is_refusal(result):
                yield f"{dtype} {name} layout", layout(env, result), None
        alpha = 0.5 - 2j if "c" in dtype else -1.5
        result = multiplied(env, a, b, alpha=alpha)
        yield f"{dtype} alpha", numbers(env, result), alpha * product
        for name, number in (("c", 2), ("column", 3)):
            added = (a, b, c, column)[number]
            result = multiplied(env, a, b, added, alpha=alpha, beta=0.5)
            yield f"{dtype} {name}", numbers(env, result), alpha * product + 0.5 * wide[number]
        last = np.ascontiguousarray(b[:, 0])
        yield f"{dtype} row", numbers(env, multiplied(env, a[0], b)), product[0]
        yield f"{dtype} vector", numbers(env, multiplied(env, a, last)), product[:, 0]
        yield f"{dtype} inner", numbers(env, multiplied(env, a[0], last)), product[0, 0]
        for which in (0, 1) if "c" in dtype else ():
            qualifiers = np.zeros(3, env.advanced.matrix_qualifiers_dtype)
            qualifiers[which]["is_conjugate"] = True
            result = multiplied(env, a, b, qualifiers=qualifiers)
            both = [x.conj() if i == which else x for i, x in enumerate(wide[:2])]
            yield f"{dtype} conjugate {which}", numbers(env, result), both[0] @ both[1]
    x, y, b = env.real(3, 2, 24, 40), env.real(3, 2, 40, 8), env.real(40, 8)
    c = env.real(3, 2, 24, 8)
    batches = {
        "batches": (x, y),
        "batch and matrix": (x, b),
        "matrix and batch": (np.ascontiguousarray(x[0, 0]), y),
        "batch and vector": (x, np.ascontiguousarray(b[:, 0])),
    }
    for name, (first, second) in batches.items():
        result = multiplied(env, first, second)
        yield name, numbers(env, result), first.astype("f8") @ second
        if not is_refusal(result):
            yield f"{name} layout", layout(env, result), None
    added = {
        "batched c": c,
        "one c": c[0, 0],
        "columns c": c[..., :1],
        "one column c": c[0, 0, :, :1],
    }
    for name, one in added.items():
        result = multiplied(env, x, y, np.ascontiguousarray(one), beta=2.0)
        yield name, numbers(env, result), x.astype("f8") @ y + 2.0 * one


def numbers(env: Environment, result: Any) -> Any:
    return result if is_refusal(result) else env.numpy(result)


if __name__ == "__main__":
    main(run)
