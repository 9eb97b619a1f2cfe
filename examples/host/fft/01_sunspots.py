"""
The length of the solar cycle
=============================

Find it in the spectrum of 309 years of sunspot counts.

Run it with::

    python examples/host/fft/01_sunspots.py [FOLDER FOR THE PLOT]
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from _report import (
    DATA,
    Execution,
    choose_execution,
    print_comparison,
    print_machine,
    save_plot,
)

from gpumath import fft

record = np.loadtxt(DATA / "sunspots.csv", delimiter=",", skiprows=1)
years, counts = record[:, 0], record[:, 1]

# The window reduces spectral leakage from the ends of the record. The zeros after the record make
# the spectrum fine enough to show the shape of the peak.
signal = np.zeros(4096)
signal[: len(counts)] = (counts - counts.mean()) * np.hanning(len(counts))

execution: Execution = choose_execution()
print_machine(execution, signal)

power = np.abs(fft.rfft(signal, execution=execution)) ** 2
power /= power.max()
frequency = np.arange(len(power)) / len(signal)  # cycles per year

# Find the strongest peak among periods of 2 to 50 years; refine it by a parabola through its top.
candidates = np.flatnonzero((frequency > 1 / 50) & (frequency < 1 / 2))
top = candidates[np.argmax(power[candidates])]
before, peak, after = np.log(power[top - 1 : top + 2])
offset = (before - after) / (2 * (before - 2 * peak + after))
period = len(signal) / (top + offset)

print(f"record   : {len(counts)} years, {years[0]:.0f} to {years[-1]:.0f}")
print(f"solar cycle: {period:.2f} years")
print_comparison(
    "rfft of 4096 values",
    lambda: fft.rfft(signal, execution=execution),
    lambda: np.fft.rfft(signal),
)

figure, (above, below) = plt.subplots(2, figsize=(10, 7), layout="constrained")
above.plot(years, counts)
above.set(title="Yearly mean sunspot number", xlabel="year", ylabel="sunspots")
below.plot(frequency, power)
below.axvline(1 / period, color="tab:red", label=f"{period:.2f} years")
below.set(title="Its power spectrum", xlabel="cycles per year", ylabel="power", xlim=(0, 0.3))
below.legend()
save_plot(figure, "sunspots.png")

if not 10 < period < 12:
    sys.exit(f"a solar cycle of {period:.2f} years is wrong: it is known to be about 11")
