"""Price an option by random numbers inside a kernel, and plot how the error falls.

Philox draws independent numbers; scrambled Sobol points are spread evenly, and need fewer.

python examples/device/03_monte_carlo.py [FOLDER]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from gpumath.bindings import core
from gpumath.device import random, random_helpers

if core.Device.count() == 0:
    print("there is no GPU, so the kernels do not run")
    sys.exit()

from numba import cuda

# The drawing functions are those of the other examples.
sys.path.append(str(Path(__file__).resolve().parents[1] / "host" / "fft"))
from _plot import BLUE, RED, Axes, Canvas

PRICE, STRIKE, RATE, VOLATILITY, YEARS = 100.0, 105.0, 0.03, 0.25, 1.0
DRIFT = (RATE - VOLATILITY**2 / 2) * YEARS
DEVIATION = VOLATILITY * math.sqrt(YEARS)
DISCOUNT = math.exp(-RATE * YEARS)
THREADS, DRAWS, REPEATS = 1 << 16, 64, 8

PHILOX = random.StatesPhilox4_32_10.dtype
SOBOL = random.StatesScrambledSobol64.dtype


@cuda.jit
def draw_philox(seed: int, payoffs: Any) -> None:
    """Each thread draws from a subsequence of its own."""
    thread = cuda.grid(1)
    states = cuda.local.array(1, PHILOX)
    random.init(seed, thread, 0, states[0])
    for draw in range(payoffs.shape[0]):
        final = PRICE * math.exp(DRIFT + DEVIATION * random.normal_double(states[0]))
        payoffs[draw, thread] = DISCOUNT * max(final - STRIKE, 0.0)


@cuda.jit
def draw_sobol(directions: Any, scramble: int, payoffs: Any) -> None:
    """All threads draw points of one sequence, each those from a place of its own on."""
    thread = cuda.grid(1)
    states = cuda.local.array(1, SOBOL)
    random.init(directions, scramble, thread * payoffs.shape[0], states[0])
    for draw in range(payoffs.shape[0]):
        final = PRICE * math.exp(DRIFT + DEVIATION * random.normal_double(states[0]))
        payoffs[draw, thread] = DISCOUNT * max(final - STRIKE, 0.0)


def normal_distribution(x: float) -> float:
    """Return the probability that a normal number is below x."""
    return math.erfc(-x / math.sqrt(2)) / 2


# The price by Black and Scholes.
d1 = (math.log(PRICE / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / DEVIATION
exact = PRICE * normal_distribution(d1) - STRIKE * DISCOUNT * normal_distribution(d1 - DEVIATION)

chosen = random_helpers.DirectionVectorSet.SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6
directions = cuda.to_device(random_helpers.get_direction_vectors64(chosen, 1)[0])
rng = np.random.default_rng()
payoffs = cuda.device_array((DRAWS, THREADS))
counts = 1 << np.arange(8, 23)
errors = {name: np.zeros(len(counts)) for name in ("Philox", "Sobol")}
for _ in range(REPEATS):
    draw_philox[THREADS // 128, 128](int(rng.integers(1 << 62)), payoffs)
    # Draw after draw, the numbers of all threads.
    philox = payoffs.copy_to_host().ravel()
    draw_sobol[THREADS // 128, 128](directions, int(rng.integers(1 << 62)), payoffs)
    # Thread after thread, the points of the sequence.
    sobol = payoffs.copy_to_host().T.ravel()
    for name, drawn in (("Philox", philox), ("Sobol", sobol)):
        means = np.cumsum(drawn)[counts - 1] / counts
        errors[name] += (means - exact) ** 2 / REPEATS
philox_error, sobol_error = (np.sqrt(errors[name]) for name in ("Philox", "Sobol"))

print(f"price by Black and Scholes: {exact:.6f}")
for name, error in (("Philox", philox_error), ("Sobol", sobol_error)):
    print(f"{name:6}: error of {counts[0]} draws {error[0]:.1e}, of {counts[-1]} {error[-1]:.1e}")

canvas = Canvas(1200, 700)
axes = Axes(canvas, (130, 70, 1150, 610), (2, 7), (-7, 1))
axes.frame("Error of the price", "draws, power of 10", "error, power of 10", step=(1, 1))
axes.line(np.log10(counts), np.log10(philox_error), RED)
axes.line(np.log10(counts), np.log10(sobol_error), BLUE)
plot = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "monte_carlo.png"
canvas.save(plot)
print(f"plot  : {plot}, Philox in red, Sobol in blue")

standard_error = 20 / math.sqrt(counts[-1])
assert philox_error[-1] < 5 * standard_error
assert sobol_error[-1] < philox_error[-1]
