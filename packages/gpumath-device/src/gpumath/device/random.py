"""Random numbers inside the kernels that Numba compiles.

A kernel draws numbers from states, one for each thread: ``random.uniform(states[i])``. The numbers
are those of cuRAND's generators of the same names, apart from Poisson's. The code is gpumath's own
and needs neither cuRAND nor its headers; NVRTC compiles a generator once for all GPUs.

Examples
--------
The first kernel seeds the states, the second draws from them::

    from numba import cuda
    from gpumath.device import random

    @cuda.jit
    def seed(states):
        i = cuda.grid(1)
        random.init(1234, i, 0, states[i])

    @cuda.jit
    def draw(states, numbers):
        i = cuda.grid(1)
        numbers[i] = random.normal(states[i])

    states = random.StatesPhilox4_32_10(64 * 64)
    seed[64, 64](states)
    draw[64, 64](states, numbers)
"""

from __future__ import annotations

from typing import Any

from gpumath.device import random_helpers
from gpumath.device._architecture import ComputeCapability, as_compute_capability
from gpumath.device._kernel_function import kernel_function
from gpumath.device._random_states import (
    StatesMRG32k3a,
    StatesPhilox4_32_10,
    StatesScrambledSobol32,
    StatesScrambledSobol64,
    StatesSobol32,
    StatesSobol64,
    StatesTest,
    StatesXORWOW,
)

__all__ = [
    "Compile",
    "StatesMRG32k3a",
    "StatesPhilox4_32_10",
    "StatesScrambledSobol32",
    "StatesScrambledSobol64",
    "StatesSobol32",
    "StatesSobol64",
    "StatesTest",
    "StatesXORWOW",
    "init",
    "log_normal",
    "log_normal2",
    "log_normal2_double",
    "log_normal4",
    "log_normal_double",
    "normal",
    "normal2",
    "normal2_double",
    "normal4",
    "normal_double",
    "poisson",
    "poisson4",
    "rand",
    "rand4",
    "random_helpers",
    "skipahead",
    "skipahead_sequence",
    "skipahead_subsequence",
    "uniform",
    "uniform2_double",
    "uniform4",
    "uniform_double",
]


class Compile:
    """Accepted for kernels written for nvmath-python, which link and extend each kernel.

    Here kernels need neither: ``files`` and ``extension`` are empty.

    Parameters
    ----------
    cc : ComputeCapability, optional
        GPUs that the kernel is for. The code serves all.

    Raises
    ------
    ValueError
        ``cc`` is no compute capability.

    Examples
    --------
    >>> from gpumath import device
    >>> from gpumath.device import random
    >>> compiled = random.Compile(device.ComputeCapability(9, 0))
    >>> compiled.files, compiled.extension
    ([], [])
    """

    def __init__(self, cc: ComputeCapability | None = None) -> None:
        if cc is not None:
            as_compute_capability(cc, "cc")
        self.cc = cc

    @property
    def files(self) -> list[Any]:
        """What a kernel has to be linked with: nothing."""
        return []

    @property
    def extension(self) -> list[Any]:
        """Extensions that a kernel needs: none."""
        return []


@kernel_function
def init(*arguments: Any) -> None:
    """Initialize a state, inside a kernel.

    ========================================  ==================================================
    ``init(seed, subsequence, offset, s)``    XORWOW, MRG32k3a and Philox4_32_10
    ``init(directions, offset, s)``           Sobol32 and Sobol64
    ``init(directions, scramble, offset, s)`` ScrambledSobol32 and ScrambledSobol64
    ========================================  ==================================================

    Threads with the same seed and different subsequences draw independent numbers; a subsequence
    has 2^67 of them (XORWOW), 2^76 (MRG32k3a) or 2^66 (Philox4_32_10). ``offset`` numbers are
    skipped. ``directions`` are the 32 or 64 direction vectors of one dimension: an array, such as a
    row of what `random_helpers.get_direction_vectors32` returns.
    """


@kernel_function
def skipahead(n: Any, state: Any) -> None:
    """Skip ``n`` numbers, inside a kernel."""


@kernel_function
def skipahead_sequence(n: Any, state: Any) -> None:
    """Skip ``n`` sequences, inside a kernel.

    For MRG32k3a, they are of 2^127 numbers; for XORWOW and Philox4_32_10, they are subsequences.
    """


@kernel_function
def skipahead_subsequence(n: Any, state: Any) -> None:
    """Skip ``n`` subsequences, inside a kernel."""


@kernel_function
def rand(state: Any) -> Any:
    """Return 32 random bits, or 64 of a Sobol generator of 64 bits, inside a kernel."""


@kernel_function
def rand4(state: Any) -> Any:
    """Return four times 32 random bits of a Philox4_32_10 state, as a ``uint32x4``."""


@kernel_function
def uniform(state: Any) -> Any:
    """Return a float32 above 0 and up to 1, inside a kernel."""


@kernel_function
def uniform_double(state: Any) -> Any:
    """Return a float64 above 0 and up to 1, inside a kernel.

    It has 53 random bits of XORWOW and of the Sobol generators of 64 bits, else 32.
    """


@kernel_function
def uniform2_double(state: Any) -> Any:
    """Return two numbers of a Philox4_32_10 state with 53 random bits each, as a ``float64x2``."""


@kernel_function
def uniform4(state: Any) -> Any:
    """Return four numbers of a Philox4_32_10 state above 0 and up to 1, as a ``float32x4``."""


@kernel_function
def normal(state: Any) -> Any:
    """Return a float32 of the standard normal distribution, inside a kernel.

    XORWOW, MRG32k3a and Philox4_32_10 make numbers in pairs; the state keeps the second one for the
    next call.
    """


@kernel_function
def normal_double(state: Any) -> Any:
    """Return a float64 of the standard normal distribution, inside a kernel."""


@kernel_function
def normal2(state: Any) -> Any:
    """Return two normal numbers of a generator that is not Sobol's, as a ``float32x2``."""


@kernel_function
def normal2_double(state: Any) -> Any:
    """Return two normal numbers of a generator that is not Sobol's, as a ``float64x2``."""


@kernel_function
def normal4(state: Any) -> Any:
    """Return four normal numbers of a Philox4_32_10 state, as a ``float32x4``."""


@kernel_function
def log_normal(state: Any, mean: Any, stddev: Any) -> Any:
    """Return ``exp(mean + stddev * normal)`` as a float32, inside a kernel."""


@kernel_function
def log_normal_double(state: Any, mean: Any, stddev: Any) -> Any:
    """Return ``exp(mean + stddev * normal)`` as a float64, inside a kernel."""


@kernel_function
def log_normal2(state: Any, mean: Any, stddev: Any) -> Any:
    """Return two log-normal numbers of a generator that is not Sobol's, as a ``float32x2``."""


@kernel_function
def log_normal2_double(state: Any, mean: Any, stddev: Any) -> Any:
    """Return two log-normal numbers of a generator that is not Sobol's, as a ``float64x2``."""


@kernel_function
def log_normal4(state: Any, mean: Any, stddev: Any) -> Any:
    """Return four log-normal numbers of a Philox4_32_10 state, as a ``float32x4``."""


@kernel_function
def poisson(state: Any, lambda_: Any) -> Any:
    """Return a uint32 of the Poisson distribution with the mean ``lambda_``, inside a kernel.

    The distribution is exact for every mean, up to rounding. The numbers are not those of cuRAND,
    which approximates it above 64.
    """


@kernel_function
def poisson4(state: Any, lambda_: Any) -> Any:
    """Return four Poisson numbers of a Philox4_32_10 state, as a ``uint32x4``."""
