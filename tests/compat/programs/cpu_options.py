"""Options, as an object and as a dictionary: kind, place, parity, layout, blocking."""

import numpy as np
import nvmath

rng = np.random.default_rng()
a = rng.standard_normal((6, 20)) + 1j * rng.standard_normal((6, 20))
expected = np.fft.fft(a)

# In place: the result is the operand.
b = a.copy()
options = nvmath.fft.FFTOptions(inplace=True, blocking=True)
r = nvmath.fft.fft(b, axes=(1,), options=options)
assert r is b
assert np.allclose(b, expected)

# A real result with an odd number of points.
signal = rng.standard_normal(31)
half = nvmath.fft.rfft(signal)
again = nvmath.fft.irfft(half, options={"last_axis_parity": "odd"}) / 31
assert again.shape == signal.shape
assert np.allclose(again, signal)

# The kind, for the class.
options = nvmath.fft.FFTOptions(fft_type="C2R", last_axis_parity="odd")
with nvmath.fft.FFT(half, options=options) as transform:
    transform.plan(direction=nvmath.fft.FFTDirection.INVERSE)
    assert np.allclose(transform.execute(direction="inverse") / 31, signal)

# irfft does C2R, whatever kind its options name, and ifft does the kind that they name.
for kind in ("C2C", "R2C", None):
    assert np.allclose(nvmath.fft.irfft(np.fft.rfft(a.real), axes=[1], options={"fft_type": kind}),
                       20 * a.real)  # fmt: skip
assert np.allclose(
    nvmath.fft.ifft(np.fft.rfft(a.real), axes=[1], options={"fft_type": "C2R"}), 20 * a.real
)

# The result's order in memory.
turned = a.T
for layout in ("natural", "optimized"):
    with nvmath.fft.FFT(turned, axes=(0,), options={"result_layout": layout}) as transform:
        transform.plan()
        shape, strides = transform.get_output_layout()
        result = transform.execute()
        assert tuple(result.shape) == tuple(shape)
        assert [stride // result.itemsize for stride in result.strides] == list(strides)
        assert np.allclose(result, expected.T)

for wrong in ({"fft_type": "D2Z"}, {"last_axis_parity": "none"}, {"result_layout": "any"}):
    try:
        nvmath.fft.fft(a, options=wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
