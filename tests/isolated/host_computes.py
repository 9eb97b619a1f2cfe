"""Run by nox -s tests-isolated where only gpumath-host and what it requires are installed."""

from __future__ import annotations

import numpy as np

from gpumath import fft

rng = np.random.default_rng()
for shape, axes in [((1000,), None), ((3, 257), (1,)), ((16, 18, 20), (0, 1, 2))]:
    a = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    expected = np.fft.fftn(a, axes=axes)
    result = fft.fft(a, axes=axes, execution="cpu")
    error = np.linalg.norm(result - expected) / np.linalg.norm(expected)
    print(f"fft of {shape}: relative error {error:.1e}")
    assert error < 1e-14, error
