"""Options and preferences of advanced products, and wrong uses."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    advanced = env.advanced
    matmul = advanced.matmul
    a, b, c = env.real(64, 96), env.real(96, 80), env.real(64, 80)
    x, y, z = env.array(a), env.array(b), env.array(c)
    product = a.astype("f8") @ b
    types = advanced.MatmulComputeType
    options = {
        "none": None,
        "object": advanced.MatmulOptions(),
        "blocking": {"blocking": True},
        "memory": advanced.MatmulOptions(memory_limit="50%"),
        "bytes": {"memory_limit": 1 << 26},
        "multiprocessors": {"sm_count_target": 4},
        "pedantic": {"compute_type": types.COMPUTE_32F_PEDANTIC},
        "half tf32": {"compute_type": types.COMPUTE_32F_FAST_TF32},
        "half f16": {"compute_type": types.COMPUTE_32F_FAST_16F},
    }
    for name, chosen in options.items():
        yield f"options {name}", env.numpy(matmul(x, y, options=chosen)), product
    target = env.array(c)
    result = matmul(x, y, target, beta=2.0, options={"inplace": True})
    yield "inplace", env.numpy(result), product + 2 * c
    yield "inplace c", env.numpy(target), product + 2 * c
    preferences = {
        "none": None,
        "object": advanced.MatmulPlanPreferences(limit=2),
        "dict": {"limit": 1, "max_waves_count": 0.0},
        "no reduction": {"reduction_scheme_mask": advanced.MatmulReductionScheme.NONE},
        "no tensor cores": {
            "numerical_impl_mask": advanced.MatmulNumericalImplFlags.OP_TYPE_FMA
            | advanced.MatmulNumericalImplFlags.ACCUMULATOR_TYPE_MASK
            | advanced.MatmulNumericalImplFlags.INPUT_TYPE_MASK
        },
    }
    for name, chosen in preferences.items():
        yield f"preferences {name}", env.numpy(matmul(x, y, preferences=chosen)), product
    integers = env.array(np.ones((16, 16), "i4"))
    epilogs = advanced.MatmulEpilog
    qualifiers = np.zeros(3, advanced.matrix_qualifiers_dtype)
    qualifiers[2]["is_conjugate"] = True
    wrong = {
        "shapes": lambda: matmul(x, x),
        "types": lambda: matmul(x, env.array(b.astype("f8"))),
        "int32": lambda: matmul(integers, integers),
        "no beta": lambda: matmul(x, y, z),
        "vector c": lambda: matmul(x, y, env.array(c[0].copy()), beta=1.0),
        "misfit c": lambda: matmul(x, y, env.array(c[:32].copy()), beta=1.0),
        "options": lambda: matmul(x, y, options=3),
        "unknown option": lambda: matmul(x, y, options={"speed": 1}),
        "blocking": lambda: matmul(x, y, options={"blocking": "no"}),
        "memory": lambda: matmul(x, y, options={"memory_limit": "much"}),
        "preferences": lambda: matmul(x, y, preferences=3),
        "no bias": lambda: matmul(x, y, epilog=epilogs.BIAS),
        "misfit bias": lambda: matmul(
            x, y, epilog=epilogs.BIAS, epilog_inputs={"bias": env.array(a[0].copy())}
        ),
        "no aux": lambda: matmul(x, y, epilog=epilogs.DRELU),
        "inplace without c": lambda: matmul(x, y, options={"inplace": True}),
        "conjugate c": lambda: matmul(x, y, z, beta=1.0, qualifiers=qualifiers),
        "scales": lambda: matmul(x, y, quantization_scales={"a": 1.0}),
        "list": lambda: matmul([1.0], [2.0]),
    }
    for name, use in wrong.items():
        yield name, raised(use), None


if __name__ == "__main__":
    main(run)
