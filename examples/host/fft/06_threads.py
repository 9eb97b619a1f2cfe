"""
A weak tone, found by threads
=============================

Find a tone in an hour of noise, with threads that each have their own stream.

Run it with::

    python examples/host/fft/06_threads.py
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from _report import Execution, choose_execution

from gpumath import fft
from gpumath.bindings import core

RATE, LENGTH, THREADS = 1000, 8192, 4  # samples per second, samples per spectrum
TONE = 123.4  # Hz

rng = np.random.default_rng()
samples = rng.standard_normal(3600 * RATE)
samples += 0.1 * np.sin(2 * np.pi * TONE / RATE * np.arange(samples.size))

execution: Execution = choose_execution()
window = np.hanning(LENGTH)
blocks = samples[: samples.size // LENGTH * LENGTH].reshape(-1, LENGTH)
own = threading.local()


def open_stream() -> None:
    """Give the thread its own stream, so that its work does not wait for that of other threads."""
    own.stream = core.Stream() if execution == "cuda" else None


def power(some: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sum of the power spectra of some blocks."""
    spectra = fft.rfft(some * window, axes=[1], execution=execution, stream=own.stream)
    result: npt.NDArray[np.float64] = np.square(np.abs(spectra)).sum(axis=0)
    return result


# A transform releases the GIL while it runs, and each thread has its own plan cache.
with ThreadPoolExecutor(THREADS, initializer=open_stream) as pool:
    total = np.sum(list(pool.map(power, np.array_split(blocks, 8 * THREADS))), axis=0)

frequency = fft.rfftfreq(LENGTH, 1 / RATE)
peak = int(np.argmax(total))
print(f"{len(blocks)} spectra by {THREADS} threads on the {execution}")
print(f"tone     : {frequency[peak]:.1f} Hz, {total[peak] / np.median(total):.0f} times the noise")

if abs(frequency[peak] - TONE) > RATE / LENGTH:
    sys.exit(f"a tone of {frequency[peak]:.1f} Hz is wrong: it is {TONE} Hz")
