"""Transforms along five axes as a composition, with a cache of plans, and zero padding."""

import cupy as cp
import nvmath

cache = {}


def cached(a, axes, stream):
    key = nvmath.fft.FFT.create_key(a, axes=axes), stream.ptr
    transform = cache.get(key)
    if transform is None:
        transform = cache[key] = nvmath.fft.FFT(a, axes=axes, stream=stream)
        transform.plan(stream=stream)
    else:
        transform.reset_operand(a, stream=stream)
    result = transform.execute(stream=stream)
    transform.release_operand()
    return result


stream = cp.cuda.get_current_stream()
for _ in range(2):
    a = cp.random.standard_normal((4, 6, 8, 10, 12)) + 0j
    half = cached(a, (2, 3, 4), stream)
    order = (2, 3, 4, 0, 1)
    whole = cached(half.transpose(order).copy(), (3, 4), stream)
    result = whole.transpose((3, 4, 0, 1, 2))
    assert cp.allclose(result, cp.fft.fftn(a))
assert len(cache) == 2

b = cp.random.standard_normal((5, 20)) + 0j
padded = cp.zeros((5, 32), b.dtype)
padded[:, :20] = b
assert cp.allclose(cached(padded, (1,), stream), cp.fft.fft(b, n=32))

# Two objects that take turns with the memory for the workspace.
f1, f2 = nvmath.fft.FFT(a, axes=(3, 4)), nvmath.fft.FFT(b, axes=(0,))
f1.plan()
f2.plan()
with f1, f2:
    for _ in range(3):
        first = f1.execute(release_workspace=True)
        second = f2.execute(release_workspace=True)
    assert cp.allclose(first, cp.fft.fft2(a))
    assert cp.allclose(second, cp.fft.fft(b, axis=0))
for transform in cache.values():
    transform.free()
