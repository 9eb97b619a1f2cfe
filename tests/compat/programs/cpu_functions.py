"""The four functions on NumPy arrays: 1-D to 3-D, some axes, both precisions."""

import numpy as np
import nvmath

rng = np.random.default_rng()

for dtype in (np.complex64, np.complex128):
    tolerance = 100 * np.finfo(dtype).eps
    shape = 8, 15, 16
    a = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    for axes in (None, (2,), (1, 2), (0, 1), [-1]):
        b = nvmath.fft.fft(a, axes=axes)
        expected = np.fft.fftn(a.astype(complex), axes=axes)
        assert isinstance(b, np.ndarray)
        assert b.dtype == a.dtype
        assert np.linalg.norm(b - expected) < tolerance * np.linalg.norm(expected)
        points = np.prod([shape[axis] for axis in axes or range(3)])
        c = nvmath.fft.ifft(b, axes=axes) / points
        assert np.linalg.norm(c - a) < tolerance * np.linalg.norm(a)

    r = a.real.copy()
    half = nvmath.fft.rfft(r, axes=(1, 2))
    assert half.shape == (8, 15, 9)
    expected = np.fft.rfftn(r.astype(float), axes=(1, 2))
    assert np.linalg.norm(half - expected) < tolerance * np.linalg.norm(expected)
    back = nvmath.fft.irfft(half, axes=(1, 2)) / (15 * 16)
    assert np.linalg.norm(back - r) < tolerance * np.linalg.norm(r)
