"""Which library computes on the CPU, as the environment variable chooses."""

from __future__ import annotations

import ctypes

import pytest

from tests.helpers.cuda_wheels import in_fresh_process

VARIABLE = "GPUMATH_FFT_CPU_LIBRARY"

OPERAND = """
import numpy
rng = numpy.random.default_rng()
a = rng.standard_normal((30, 101)) + 1j * rng.standard_normal((30, 101))
"""
# The engine, and the largest relative error.
TRANSFORM = f"""{OPERAND}
plan = core.FftPlan(a, num_threads=2)
b = numpy.empty(plan.output_shape, plan.output_dtype)
plan.execute(a, b)
wanted = numpy.fft.fftn(a)
result = [plan.engine, float(abs(b - wanted).max() / abs(wanted).max())]
"""
REFUSAL = f"""{OPERAND}
try:
    core.FftPlan(a)
    result = ["no error", ""]
except Exception as error:
    result = [type(error).__name__, str(error)]
"""


def test_the_embedded_engine_can_be_asked_for() -> None:
    engine, error = in_fresh_process(TRANSFORM, {VARIABLE: "embedded"})
    assert engine == "embedded"
    assert error < 1e-14


def test_fftw_can_be_asked_for() -> None:
    try:
        ctypes.CDLL("libfftw3.so.3")
    except OSError:
        pytest.skip("libfftw3.so.3 is not on this machine")
    engine, error = in_fresh_process(TRANSFORM, {VARIABLE: "fftw"})
    assert engine == "fftw"
    assert error < 1e-14


@pytest.mark.parametrize("asked", ["/no/such/libfftw3.so.3", "no-such-library"])
def test_an_absent_library_is_an_error_that_helps(asked: str) -> None:
    name, text = in_fresh_process(REFUSAL, {VARIABLE: asked})
    assert name == "LibraryNotFoundError"
    assert asked in text
    assert f"{VARIABLE}=embedded" in text
