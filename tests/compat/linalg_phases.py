"""The generic class: plan, execute, reset_operands, release_operands, free, and wrong uses."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    linalg, where = env.linalg, env.where
    a, b, c = env.real(6, 30), env.real(30, 8), env.real(6, 8)
    other = env.real(6, 30)
    product, other_product = a.astype("f8") @ b, other.astype("f8") @ b
    operands = env.array(a), env.array(b), env.array(c)
    with linalg.Matmul(*operands, alpha=2.0, beta=1.0, **where) as mm:
        yield "before plan", raised(mm.execute) != "nothing", None
        mm.plan()
        for turn in range(2):
            yield f"execute {turn}", env.numpy(mm.execute()), 2 * product + c
        mm.reset_operands(a=env.array(other), alpha=3.0)
        yield "reset", env.numpy(mm.execute()), 3 * other_product + c
        mm.reset_operands_unchecked(a=env.array(a), beta=0.5)
        yield "unchecked", env.numpy(mm.execute_unchecked()), 3 * product + 0.5 * c
        wrong = env.array(a[:5].copy())
        yield "misfit", raised(lambda: mm.reset_operands(a=wrong)), None
        mm.release_operands()
        yield "released", raised(mm.execute) != "nothing", None
        mm.reset_operands(a=env.array(a), b=env.array(b), c=env.array(c), alpha=1.0, beta=1.0)
        yield "after release", env.numpy(mm.execute()), product + c
    mm.free()
    yield "freed", raised(mm.execute) != "nothing", None
    x, y = env.array(a), env.array(b)
    uses = {
        "shapes": lambda: linalg.matmul(x, x, **where),
        "types": lambda: linalg.matmul(x, env.array(b.astype("f8")), **where),
        "integers": lambda: linalg.matmul(*[env.array(np.ones((4, 4), "i4"))] * 2, **where),
        "no beta": lambda: linalg.matmul(x, y, env.array(c), **where),
        "small c": lambda: linalg.matmul(x, y, env.array(c[:, :1].copy()), beta=1.0, **where),
        "options": lambda: linalg.matmul(x, y, options=3, **where),
        "blocking": lambda: linalg.matmul(x, y, options={"blocking": "no"}, **where),
        "no space": lambda: linalg.matmul(x, y, execution="tpu"),
        "create": lambda: linalg.GeneralMatrixQualifier(),
    }
    for name, use in uses.items():
        yield name, raised(use), None


if __name__ == "__main__":
    main(run)
