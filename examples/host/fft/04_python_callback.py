"""
A band pass in Python, on the GPU
=================================

Find the solar cycle's share of the sunspot record by an epilog that is written in Python.

Run it with::

    python examples/host/fft/04_python_callback.py
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
from _report import DATA, choose_execution, skip

from gpumath import fft

if choose_execution() == "cpu":
    skip("callbacks run on a GPU, and there is none with cuFFT")
if not find_spec("numba_cuda"):
    skip("Numba, which compiles the callback, is missing; pip install 'gpumath-device[cu13]'")

counts = np.loadtxt(DATA / "sunspots.csv", delimiter=",", skiprows=1)[-300:, 1]  # last 300 years

# The band has periods of 8.5 to 14 years. cuFFT calls the function to store each element of the
# spectrum, so the filter needs no pass over memory of its own. The compiler reads the two numbers
# when it compiles the function.
FIRST, LAST = round(300 / 14), round(300 / 8.5)  # cycles in the record


def band_pass(spectrum: Any, offset: int, value: Any, _user_info: Any, _reserved: Any) -> None:
    """Store the value if it is in the band, and 0 if it is not."""
    spectrum[offset] = value if FIRST <= offset <= LAST else 0 * value


code = fft.compile_epilog(band_pass, "complex128", "float64")  # user_info is not used
spectrum = fft.rfft(counts, execution="cuda", epilog=fft.DeviceCallable(code))
cycle = fft.irfft(spectrum, execution="cuda", norm="backward")

expected = np.fft.rfft(counts)
expected[:FIRST] = expected[LAST + 1 :] = 0
error = np.abs(cycle - np.fft.irfft(expected)).max()
print(f"largest difference from NumPy: {error:.1e} sunspots")
print(f"the solar cycle holds {cycle.var() / counts.var():.0%} of the variance")

if error > 1e-9:
    sys.exit("the band pass differs from NumPy's")
