"""Products with epilogs, of CuPy and NumPy arrays: functions of nvmath.linalg.advanced."""

import cupy as cp
import numpy as np
import nvmath
from nvmath.linalg.advanced import MatmulEpilog, matmul

m, n, k = 64, 48, 80
a, b = cp.random.rand(m, k, dtype=cp.float32), cp.random.rand(k, n, dtype=cp.float32)
c, bias = cp.random.rand(m, n, dtype=cp.float32), cp.random.rand(m, 1, dtype=cp.float32)


def near(result, expected):
    return bool(cp.allclose(result, expected, rtol=1e-3, atol=1e-3))


assert near(matmul(a, b), a @ b)
assert near(matmul(a, b, c, alpha=0.5, beta=2.0), 0.5 * (a @ b) + 2 * c)
product = a @ b - 20 + bias
shift = bias - 20
assert near(
    matmul(a, b, epilog=MatmulEpilog.RELU_BIAS, epilog_inputs={"bias": shift}),
    cp.maximum(product, 0),
)
result, auxiliary = matmul(a, b, epilog=MatmulEpilog.RELU_AUX_BIAS, epilog_inputs={"bias": shift})
assert near(result, cp.maximum(product, 0))
assert set(auxiliary) == {"relu_aux"}
gradient = matmul(
    cp.ones((m, k), cp.float32), b, epilog=MatmulEpilog.DRELU,
    epilog_inputs={"relu_aux": auxiliary["relu_aux"]},
)  # fmt: skip
assert near(gradient, (cp.ones((m, k), cp.float32) @ b) * (product > 0))

batched = cp.random.rand(5, m, k, dtype=cp.float32)
assert near(matmul(batched, b), batched @ b)
assert matmul(a[0], b).shape == (n,)

options = nvmath.linalg.advanced.MatmulOptions(
    compute_type=nvmath.linalg.advanced.MatmulComputeType.COMPUTE_32F_FAST_TF32
)
assert bool(cp.allclose(matmul(a, b, options=options), a @ b, rtol=2e-2, atol=2e-2))

left, right = np.random.rand(m, k), np.random.rand(k, n)
result = matmul(left, right)
assert isinstance(result, np.ndarray)
assert np.allclose(result, left @ right)
