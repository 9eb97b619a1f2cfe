"""Fit a curve to each of thousands of noisy signals, in one kernel: normal equations and Cholesky.

python examples/device/02_cholesky.py
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpumath import device
from gpumath.bindings import core

if core.Device.count() == 0:
    print("there is no GPU, so the kernel does not run")
    sys.exit()

from numba import cuda

SIGNALS, POINTS, TERMS = 4000, 200, 8

solver = device.CholeskySolver((TERMS, TERMS, 1), np.float64, "Block", "lower", block_dim=(64,))
A_SIZE, B_SIZE = solver.a_size(), solver.b_size()


@cuda.jit
def fit(basis: Any, signals: Any, coefficients: Any, info: Any) -> None:
    """Solve (basis^T W basis) c = basis^T W signal; the weights W leave out missing points."""
    normal = cuda.shared.array(A_SIZE, np.float64)
    right = cuda.shared.array(B_SIZE, np.float64)
    signal = signals[cuda.blockIdx.x]
    for place in range(cuda.threadIdx.x, TERMS * TERMS + TERMS, solver.block_size):
        row, column = place % TERMS, place // TERMS
        total = 0.0
        for point in range(POINTS):
            if signal[point] == signal[point]:  # a missing point is not a number
                factor = basis[point, column] if column < TERMS else signal[point]
                total += basis[point, row] * factor
        if column < TERMS:
            normal[row + column * solver.lda] = total
        else:
            right[row] = total
    cuda.syncthreads()
    solver.factorize(normal, info[cuda.blockIdx.x :])
    solver.solve(normal, right)
    cuda.syncthreads()
    if cuda.threadIdx.x < TERMS:
        coefficients[cuda.blockIdx.x, cuda.threadIdx.x] = right[cuda.threadIdx.x]


rng = np.random.default_rng()
x = np.linspace(-1, 1, POINTS)
basis = np.polynomial.legendre.legvander(x, TERMS - 1)
wanted = rng.standard_normal((SIGNALS, TERMS))
signals = wanted @ basis.T + 0.05 * rng.standard_normal((SIGNALS, POINTS))
signals[rng.random(signals.shape) < 0.1] = np.nan
signals[11, 5:] = np.nan  # too few points are left

coefficients = cuda.device_array((SIGNALS, TERMS))
info = cuda.device_array(SIGNALS, np.int32)
fit[SIGNALS, solver.block_dim](cuda.to_device(basis), cuda.to_device(signals), coefficients, info)

solved = info.copy_to_host() == 0
found = coefficients.copy_to_host()
reference = np.array(
    [
        np.linalg.lstsq(basis[kept], signal[kept], rcond=None)[0]
        for signal in signals[solved]
        for kept in [~np.isnan(signal)]
    ]
)
error = np.abs(found[solved] - reference).max()
deviation = (found[solved] - wanted[solved]).std()
print(f"signals that cannot be fitted: {np.flatnonzero(~solved).tolist()}")
print(f"largest difference from NumPy's least squares: {error:.1e}")
print(f"standard deviation of the coefficients: {deviation:.4f}")
assert not solved[11]
assert solved.sum() >= SIGNALS - 1
assert error < 1e-9
