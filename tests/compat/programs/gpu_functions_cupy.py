"""The functions and the class on CuPy arrays, with streams."""

import cupy as cp
import nvmath
from nvmath.fft import FFT, FFTDirection

shape = 16, 20, 32
a = cp.random.standard_normal(shape) + 1j * cp.random.standard_normal(shape)
for axes in (None, (2,), (1, 2), (0, 1)):
    b = nvmath.fft.fft(a, axes=axes)
    assert isinstance(b, cp.ndarray)
    assert cp.allclose(b, cp.fft.fftn(a, axes=axes))
    points = 1
    for axis in axes or range(3):
        points *= shape[axis]
    assert cp.allclose(nvmath.fft.ifft(b, axes=axes) / points, a)
half = nvmath.fft.rfft(a.real.copy(), axes=(2,))
assert cp.allclose(half, cp.fft.rfft(a.real))
assert cp.allclose(nvmath.fft.irfft(half, axes=(2,)) / 32, a.real)

b = a.copy()
assert nvmath.fft.fft(b, options={"inplace": True}) is b
assert cp.allclose(b, cp.fft.fftn(a))

stream = cp.cuda.Stream(non_blocking=True)
with FFT(a, axes=[2], stream=stream) as transform:
    transform.plan(stream=stream)
    assert transform.device_id == cp.cuda.Device().id
    assert (transform.memory_space, transform.execution_space) == ("cuda", "cuda")
    assert transform.execution_options.device_id == cp.cuda.Device().id
    first = transform.execute(stream=stream)
    with stream:
        c = cp.random.standard_normal(shape) + 0j
    transform.reset_operand(c, stream=stream)
    second = transform.execute(
        direction=FFTDirection.INVERSE, stream=stream, release_workspace=True
    )
    # The same number of transforms in another shape of the batch.
    d = c.reshape(20, 16, 32)
    transform.reset_operand(d, stream=stream)
    third = transform.execute(stream=stream.ptr)
    stream.synchronize()
    assert third.shape == d.shape
    assert cp.allclose(first, cp.fft.fft(a))
    assert cp.allclose(second, 32 * cp.fft.ifft(c))
    assert cp.allclose(third, cp.fft.fft(d))
