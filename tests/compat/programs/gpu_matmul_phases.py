"""The class Matmul in steps: plans, algorithms that are saved, other operands."""

import pickle

import cupy as cp
import numpy as np
import nvmath
from nvmath.linalg.advanced import Matmul, MatmulEpilog, MatmulPlanPreferences

m, n, k = 128, 96, 160
a, b = cp.random.rand(m, k), cp.random.rand(k, n)
bias = cp.random.rand(m, 1)

with Matmul(a, b) as mm:
    algorithms = mm.plan(
        preferences=MatmulPlanPreferences(limit=4),
        epilog=MatmulEpilog.RELU_BIAS,
        epilog_inputs={"bias": bias},
    )
    assert 1 <= len(algorithms) <= 4
    assert len(mm.algorithms) == len(algorithms)
    best = mm.algorithms[0]
    assert best.capabilities is not None
    assert best.algorithm_id >= 0
    best.tile = best.tile
    mm.autotune(iterations=2)
    saved = pickle.dumps(mm.algorithms)
    assert cp.allclose(mm.execute(), cp.maximum(a @ b + bias, 0))

with Matmul(a, b) as mm:
    mm.plan(
        algorithms=pickle.loads(saved), epilog=MatmulEpilog.RELU_BIAS, epilog_inputs={"bias": bias}
    )
    assert cp.allclose(mm.execute(), cp.maximum(a @ b + bias, 0))
    other, more = cp.random.rand(m, k), cp.random.rand(m, 1)
    mm.reset_operands(a=other, epilog_inputs={"bias": more})
    assert cp.allclose(mm.execute(release_workspace=True), cp.maximum(other @ b + more, 0))

left, right = np.random.rand(m, k), np.random.rand(k, n)
with nvmath.linalg.advanced.Matmul(left, right, options={"device_id": 0}) as mm:
    mm.plan()
    assert np.allclose(mm.execute(), left @ right)
    other = np.random.rand(m, k)
    mm.reset_operands(a=other, b=right)
    assert np.allclose(mm.execute(), other @ right)
    stream = cp.cuda.Stream()
    mm.plan(stream=stream.ptr)
    assert np.allclose(mm.execute(stream=stream.ptr), other @ right)
