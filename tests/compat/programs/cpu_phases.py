"""The class in steps, with a log of its own; what can be read from an object."""

import logging

import numpy as np
import nvmath


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


class Numbered(logging.LoggerAdapter):
    def process(self, msg, kwargs):
        return f"[{self.extra['number']}] {msg}", kwargs


handler = Lines()
logger = logging.getLogger("program")
logger.setLevel(logging.DEBUG)
logger.addHandler(handler)
logger.propagate = False

rng = np.random.default_rng()
a = rng.standard_normal((4, 3, 16)) + 1j * rng.standard_normal((4, 3, 16))
options = nvmath.fft.FFTOptions(logger=Numbered(logger, {"number": 7}))

transform = nvmath.fft.FFT(a, axes=(-1,), options=options, execution="cpu")
try:
    transform.execute()
except RuntimeError:
    pass
else:
    raise AssertionError("executed without a plan")
transform.plan()
assert transform.axes == (2,)
assert transform.options.logger is options.logger
assert transform.logger is options.logger
assert transform.execution_options.name == "cpu"
assert transform.operand is not None
assert transform.memory_space == transform.execution_space == "cpu"
assert (transform.operand_data_type, transform.result_data_type) == ("complex128", "complex128")
assert (transform.fft_abstract_type, transform.inplace, transform.package) == (
    "C2C",
    False,
    "numpy",
)
assert np.allclose(transform.execute(), np.fft.fft(a))
assert np.allclose(
    transform.execute(direction=nvmath.fft.FFTDirection.INVERSE), 16 * np.fft.ifft(a)
)
assert tuple(transform.get_input_layout()[0]) == a.shape

# Other values, then the same number of transforms in another shape of the batch.
b = rng.standard_normal(a.shape) + 0j
transform.reset_operand(b)
assert np.allclose(transform.execute(), np.fft.fft(b))
c = rng.standard_normal((2, 6, 16)) + 0j
assert nvmath.fft.FFT.create_key(c, axes=[2], execution="cpu") is not None
transform.reset_operand(c)
result = transform.execute()
assert result.shape == c.shape
assert np.allclose(result, np.fft.fft(c))
transform.reset_operand_unchecked(c)
assert np.allclose(transform.execute(release_workspace=True), np.fft.fft(c))
try:
    transform.reset_operand(b.astype(np.complex64))
except ValueError:
    pass
else:
    raise AssertionError("took another element type")
transform.release_operand()
try:
    transform.execute()
except RuntimeError:
    pass
else:
    raise AssertionError("executed without an operand")
transform.free()
transform.free()
assert any(line.startswith("[7] ") for line in handler.lines), handler.lines
