"""A prolog and an epilog, compiled from Python functions by Numba."""

import cupy as cp
import numba.cuda  # noqa: F401 - it compiles them
import nvmath

rows, points = 16, 256
a = cp.random.standard_normal((rows, points)) + 0j
window = cp.hanning(points) + 0j
scale = cp.full(1, 1 / points, dtype=cp.complex128)


def weigh(data_in, offset, window, reserved):
    return data_in[offset] * window[offset % 256]


def shrink(data_out, offset, data, scale, reserved):
    data_out[offset] = data * scale[0]


prolog = nvmath.fft.compile_prolog(weigh, "complex128", "complex128")
epilog = nvmath.fft.compile_epilog(
    function=shrink, element_dtype="complex128", user_info_dtype="complex128"
)
expected = cp.fft.fft(a * window) / points
result = nvmath.fft.fft(
    a,
    axes=[1],
    prolog={"ltoir": prolog, "data": window.data.ptr},
    epilog=nvmath.fft.DeviceCallable(ltoir=epilog, size=len(epilog), data=scale.data.ptr),
)
assert cp.allclose(result, expected)
with nvmath.fft.FFT(a, axes=[1]) as transform:
    transform.plan(prolog={"ltoir": prolog, "data": window.data.ptr})
    assert cp.allclose(transform.execute(), cp.fft.fft(a * window))
    with_callback = transform.get_key(prolog={"ltoir": prolog, "data": window.data.ptr})
    assert with_callback != transform.get_key()

# The result of a batch in the last dimension has another order in memory than the operand.
n1, n2, b = 16, 32, 8
c = cp.random.standard_normal((n1, n2, b)) + 0j
response = cp.sin(c)


def filter_(data_out, offset, element, response, reserved):
    data_out[offset] = element * response[offset]


code = nvmath.fft.compile_epilog(filter_, "complex128", "complex128")
with nvmath.fft.FFT(c, axes=(0, 1)) as transform:
    shape, strides = transform.get_output_layout()
    assert tuple(shape) == c.shape
    assert tuple(strides) == (n2, 1, n1 * n2)
    same_order = response.transpose((2, 0, 1)).copy()
    transform.plan(epilog={"ltoir": code, "data": same_order.data.ptr})
    assert cp.allclose(transform.execute(), cp.fft.fft2(c, axes=(0, 1)) * response)
