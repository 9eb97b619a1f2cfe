"""NumPy arrays, transformed on the GPU."""

import numpy as np
import nvmath

rng = np.random.default_rng()
a = rng.standard_normal((30, 50)) + 1j * rng.standard_normal((30, 50))
forms = ("cuda", nvmath.fft.ExecutionCUDA(device_id=0), {"name": "cuda", "device_id": 0})
for execution in forms:
    b = nvmath.fft.fft(a, execution=execution)
    assert isinstance(b, np.ndarray)
    assert np.allclose(b, np.fft.fftn(a))
with nvmath.fft.FFT(a, axes=[0], execution="cuda") as transform:
    transform.plan()
    assert transform.memory_space == "cpu"
    assert transform.execution_space == "cuda"
    assert np.allclose(transform.execute(), np.fft.fft(a, axis=0))
