"""cuRAND's generators and distributions, for tests on the host and on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np
from scipy import stats

from gpumath.bindings import curand

PSEUDO = [
    curand.RngType.PSEUDO_XORWOW,
    curand.RngType.PSEUDO_MRG32K3A,
    curand.RngType.PSEUDO_MTGP32,
    curand.RngType.PSEUDO_MT19937,
    curand.RngType.PSEUDO_PHILOX4_32_10,
]
QUASI = [
    curand.RngType.QUASI_SOBOL32,
    curand.RngType.QUASI_SCRAMBLED_SOBOL32,
    curand.RngType.QUASI_SOBOL64,
    curand.RngType.QUASI_SCRAMBLED_SOBOL64,
]
DEFAULT = [curand.RngType.PSEUDO_DEFAULT, curand.RngType.QUASI_DEFAULT]
OF_64_BITS = QUASI[2:]


@dataclass(frozen=True)
class Distribution:
    """A function of cuRAND, its parameters, and what its numbers should be like."""

    function: Callable[..., None]
    dtype: Any
    parameters: tuple[float, ...]
    mean: float
    deviation: float
    # The distribution function of continuous ones.
    cdf: Callable[[Any], Any] | None

    def assert_fits(self, numbers: np.ndarray) -> None:
        """Compare mean, deviation and distribution, at less than 1e-8 chance of error each."""
        numbers = numbers.astype(np.float64)
        count = len(numbers)
        centred = numbers - self.mean
        variance = self.deviation**2
        # Standard errors of the mean and of the variance.
        assert abs(centred.mean()) < 6 * self.deviation / sqrt(count)
        assert abs((centred**2).mean() - variance) < 6 * (centred**2).std() / sqrt(count)
        if self.cdf is not None:
            assert stats.kstest(numbers, self.cdf).pvalue > 1e-8


METHOD = curand.Method.METHOD_DEVICE_API
MEAN, DEVIATION = 0.5, 0.25
_LOG_MEAN = exp(MEAN + DEVIATION**2 / 2)
_NORMAL = (np.float32, (2.0, 3.0), 2.0, 3.0, stats.norm(2, 3).cdf)
_LOG_NORMAL = (
    *(np.float32, (MEAN, DEVIATION), _LOG_MEAN, _LOG_MEAN * sqrt(exp(DEVIATION**2) - 1)),
    stats.lognorm(DEVIATION, scale=exp(MEAN)).cdf,
)
_UNIFORM = (np.float32, (), 0.5, sqrt(1 / 12), stats.uniform.cdf)


def _double(case: tuple[Any, ...]) -> tuple[Any, ...]:
    return (np.float64, *case[1:])


DISTRIBUTIONS = {
    "bits": Distribution(curand.generate, np.uint32, (), 2**31, 2**32 / sqrt(12), None),
    "long bits": Distribution(
        *(curand.generate_long_long, np.uint64, (), 2**63, 2**64 / sqrt(12), None)
    ),
    "uniform": Distribution(curand.generate_uniform, *_UNIFORM),
    "uniform double": Distribution(curand.generate_uniform_double, *_double(_UNIFORM)),
    "normal": Distribution(curand.generate_normal, *_NORMAL),
    "normal double": Distribution(curand.generate_normal_double, *_double(_NORMAL)),
    "log-normal": Distribution(curand.generate_log_normal, *_LOG_NORMAL),
    "log-normal double": Distribution(curand.generate_log_normal_double, *_double(_LOG_NORMAL)),
    "few Poisson": Distribution(
        *(curand.generate_poisson, np.uint32, (4.5,), 4.5, sqrt(4.5), None)
    ),
    "many Poisson": Distribution(
        *(curand.generate_poisson, np.uint32, (5000.0,), 5000.0, sqrt(5000), None)
    ),
    "Poisson by method": Distribution(
        *(curand.generate_poisson_method, np.uint32, (64.0, METHOD), 64.0, 8.0, None)
    ),
}


def has(generator: int, distribution: str) -> bool:
    """Say whether a type of generator has a distribution; integers are of its own width."""
    of_64_bits = generator in OF_64_BITS
    return not (distribution == "bits" and of_64_bits) and not (
        distribution == "long bits" and not of_64_bits
    )


def philox4x32(seed: int, count: int) -> np.ndarray:
    """Philox4x32-10 as its paper has it, in cuRAND's order: blocks of 65536 subsequences."""
    lanes = np.arange((count + 3) // 4, dtype=np.uint64)
    zero = np.zeros_like(lanes)
    low = np.uint64(2**32 - 1)
    shift = np.uint64(32)
    a, b, c, d = lanes >> np.uint64(16), zero, lanes & np.uint64(0xFFFF), zero
    for step in range(10):
        key0 = np.uint64((seed + step * 0x9E3779B9) % 2**32)
        key1 = np.uint64(((seed >> 32) + step * 0xBB67AE85) % 2**32)
        first, second = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b = (second >> shift) ^ b ^ key0, second & low
        c, d = (first >> shift) ^ d ^ key1, first & low
    return np.stack([a, b, c, d], axis=1).astype(np.uint32).ravel()[:count]


def sobol(vectors: np.ndarray, count: int, constants: np.ndarray) -> np.ndarray:
    """Sobol sequences in Gray code order, one dimension a row."""
    numbers = np.empty((len(vectors), count), vectors.dtype)
    numbers[:, 0] = constants
    for i in range(1, count):
        changed = (i & -i).bit_length() - 1
        numbers[:, i] = numbers[:, i - 1] ^ vectors[:, changed]
    return numbers
