"""Where to compute, in every form; wrong uses raise Python's own exceptions."""

import numpy as np
import nvmath
from nvmath.fft import ExecutionCPU, ExecutionCUDA

rng = np.random.default_rng()
a = rng.standard_normal((3, 60)) + 1j * rng.standard_normal((3, 60))
expected = np.fft.fftn(a)
forms = (
    None,
    "cpu",
    ExecutionCPU(),
    ExecutionCPU(num_threads=1),
    {"name": "cpu", "num_threads": 2},
)
for execution in forms:
    assert np.allclose(nvmath.fft.fft(a, execution=execution), expected)
assert (ExecutionCPU.name, ExecutionCUDA().device_id) == ("cpu", 0)

real = a.real.copy()
wrong = (
    (ValueError, lambda: nvmath.fft.fft(real)),
    (ValueError, lambda: nvmath.fft.irfft(real)),
    ((ValueError, RuntimeError), lambda: nvmath.fft.rfft(a)),
    (ValueError, lambda: nvmath.fft.fft(a, axes=[2])),
    (ValueError, lambda: nvmath.fft.fft(a, execution="tpu")),
    (TypeError, lambda: nvmath.fft.fft(a, options=1)),
    (ValueError, lambda: nvmath.fft.fft([1j, 2])),
)
for exception, use in wrong:
    try:
        use()
    except exception:
        continue
    raise AssertionError(exception)


def with_copy(operand, axes):
    """Transform an operand of any layout, as programs do that expect refusals."""
    try:
        return nvmath.fft.fft(operand, axes=axes)
    except nvmath.fft.UnsupportedLayoutError as error:
        assert error.message == str(error)
        permuted = operand.transpose(error.permutation).copy()
        result = nvmath.fft.fft(permuted, axes=error.axes)
        return result.transpose(np.argsort(error.permutation))


grid = rng.standard_normal((4, 5, 6)) + 0j
part = grid[:, 1:4]
assert np.allclose(with_copy(part, (2,)), np.fft.fft(part))
