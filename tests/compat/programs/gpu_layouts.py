"""Layouts that may need a copy, and keys with the workspace that they need."""

import cupy as cp
import nvmath


def transform(operand, axes):
    """Transform operands of any layout, with a copy if the library asks for one."""
    try:
        return nvmath.fft.fft(operand, axes=axes)
    except nvmath.fft.UnsupportedLayoutError as error:
        assert error.message == str(error)
        permuted = cp.ascontiguousarray(operand.transpose(error.permutation))
        result = nvmath.fft.fft(permuted, axes=error.axes)
        order = sorted(range(operand.ndim), key=list(error.permutation).index)
        return result.transpose(order)


a = cp.random.standard_normal((6, 10, 14)) + 0j
for operand, axes in ((a[:, 1:8], (2,)), (a.T, (0,)), (a[::2], (1, 2)), (a[:, ::2], (2,))):
    assert cp.allclose(transform(operand, axes), cp.fft.fftn(operand, axes=axes))

key = nvmath.fft.FFT.create_key(a, axes=[1, 2])
assert key == nvmath.fft.FFT.create_key_from_metadata(a.shape, "complex128", "cuda", axes=[1, 2])
size = nvmath.fft.estimate_workspace_size(key)
assert size >= 0
handle = nvmath.bindings.cufft.create()
refined = nvmath.fft.estimate_workspace_size(key, technique="refined", handle=handle)
nvmath.bindings.cufft.destroy(handle)
assert refined >= 0
