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
from gpumath.device._random_function import kernel_function
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

    ============================================= =============================================
    ``init(seed, subsequence, offset, state)``    XORWOW, MRG32k3a and Philox4_32_10
    ``init(directions, offset, state)``           Sobol32 and Sobol64
    ``init(directions, scramble, offset, state)`` ScrambledSobol32 and ScrambledSobol64
    ============================================= =============================================

    Threads with the same seed and different subsequences draw independent numbers; a subsequence
    has 2^67 of them (XORWOW), 2^76 (MRG32k3a) or 2^66 (Philox4_32_10).

    Parameters
    ----------
    seed, subsequence : int
        Numbers of 64 bits.
    directions : array or pointer
        The 32 or 64 direction vectors of one dimension, such as a row of what
        `random_helpers.get_direction_vectors32` returns.
    scramble : int
        Scramble constant of the dimension, of as many bits as the generator.
    offset : int
        How many numbers are skipped.
    state : state
        Element of an array of states, such as ``states[i]``.
    """


@kernel_function
def skipahead(n: Any, state: Any) -> None:
    """Skip numbers, inside a kernel.

    Parameters
    ----------
    n : int
        How many; not negative.
    state : state
        Element of an array of states, such as ``states[i]``.
    """


@kernel_function
def skipahead_sequence(n: Any, state: Any) -> None:
    """Skip sequences, inside a kernel.

    A sequence of MRG32k3a has 2^127 numbers; of XORWOW and Philox4_32_10, it is a subsequence.

    Parameters
    ----------
    n : int
        How many; not negative.
    state : state
        Element of an array of states, such as ``states[i]`` of a generator that is not Sobol's.
    """


@kernel_function
def skipahead_subsequence(n: Any, state: Any) -> None:
    """Skip subsequences, inside a kernel; `init` says how long they are.

    Parameters
    ----------
    n : int
        How many; not negative.
    state : state
        Element of an array of states, such as ``states[i]`` of a generator that is not Sobol's.
    """


@kernel_function
def rand(state: Any) -> Any:
    """Return random bits, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.

    Returns
    -------
    uint32, or uint64 of a Sobol generator of 64 bits
    """


@kernel_function
def rand4(state: Any) -> Any:
    """Return four times 32 random bits, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of Philox4_32_10.

    Returns
    -------
    uint32x4
    """


@kernel_function
def uniform(state: Any) -> Any:
    """Return a number above 0 and up to 1, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.

    Returns
    -------
    float32
    """


@kernel_function
def uniform_double(state: Any) -> Any:
    """Return a number above 0 and up to 1, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.

    Returns
    -------
    float64
        It has 53 random bits of XORWOW and of the Sobol generators of 64 bits, else 32.
    """


@kernel_function
def uniform2_double(state: Any) -> Any:
    """Return two numbers with 53 random bits each, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of Philox4_32_10.

    Returns
    -------
    float64x2
    """


@kernel_function
def uniform4(state: Any) -> Any:
    """Return four numbers above 0 and up to 1, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of Philox4_32_10.

    Returns
    -------
    float32x4
    """


@kernel_function
def normal(state: Any) -> Any:
    """Return a number of the standard normal distribution, inside a kernel.

    XORWOW, MRG32k3a and Philox4_32_10 make numbers in pairs; the state keeps the second one for the
    next call.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.

    Returns
    -------
    float32
    """


@kernel_function
def normal_double(state: Any) -> Any:
    """Return a number of the standard normal distribution, inside a kernel.

    XORWOW, MRG32k3a and Philox4_32_10 make numbers in pairs; the state keeps the second one for the
    next call.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.

    Returns
    -------
    float64
    """


@kernel_function
def normal2(state: Any) -> Any:
    """Return two numbers of the standard normal distribution, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of a generator that is not Sobol's.

    Returns
    -------
    float32x2
    """


@kernel_function
def normal2_double(state: Any) -> Any:
    """Return two numbers of the standard normal distribution, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of a generator that is not Sobol's.

    Returns
    -------
    float64x2
    """


@kernel_function
def normal4(state: Any) -> Any:
    """Return four numbers of the standard normal distribution, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of Philox4_32_10.

    Returns
    -------
    float32x4
    """


@kernel_function
def log_normal(state: Any, mean: Any, stddev: Any) -> Any:
    """Return a number whose logarithm is normally distributed, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.
    mean, stddev : float
        Mean and standard deviation of the logarithms.

    Returns
    -------
    float32
    """


@kernel_function
def log_normal_double(state: Any, mean: Any, stddev: Any) -> Any:
    """Return a number whose logarithm is normally distributed, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.
    mean, stddev : float
        Mean and standard deviation of the logarithms.

    Returns
    -------
    float64
    """


@kernel_function
def log_normal2(state: Any, mean: Any, stddev: Any) -> Any:
    """Return two numbers whose logarithms are normally distributed, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of a generator that is not Sobol's.
    mean, stddev : float
        Mean and standard deviation of the logarithms.

    Returns
    -------
    float32x2
    """


@kernel_function
def log_normal2_double(state: Any, mean: Any, stddev: Any) -> Any:
    """Return two numbers whose logarithms are normally distributed, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of a generator that is not Sobol's.
    mean, stddev : float
        Mean and standard deviation of the logarithms.

    Returns
    -------
    float64x2
    """


@kernel_function
def log_normal4(state: Any, mean: Any, stddev: Any) -> Any:
    """Return four numbers whose logarithms are normally distributed, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of Philox4_32_10.
    mean, stddev : float
        Mean and standard deviation of the logarithms.

    Returns
    -------
    float32x4
    """


@kernel_function
def poisson(state: Any, lambda_: Any) -> Any:
    """Return a number of the Poisson distribution, inside a kernel.

    The distribution is exact up to rounding. The numbers are not those of cuRAND, which
    approximates it where the mean is above 64.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]``.
    lambda_ : float
        Mean. If it is not positive, the result is 0.

    Returns
    -------
    uint32
    """


@kernel_function
def poisson4(state: Any, lambda_: Any) -> Any:
    """Return four numbers of the Poisson distribution, inside a kernel.

    Parameters
    ----------
    state : state
        Element of an array of states, such as ``states[i]`` of Philox4_32_10.
    lambda_ : float
        Mean. If it is not positive, the result is 0.

    Returns
    -------
    uint32x4
    """
