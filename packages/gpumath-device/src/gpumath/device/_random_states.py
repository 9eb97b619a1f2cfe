"""Arrays of states of random number generators, in the memory of a GPU."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gpumath.device._arguments import as_count

__all__ = [
    "STATES",
    "StatesMRG32k3a",
    "StatesPhilox4_32_10",
    "StatesScrambledSobol32",
    "StatesScrambledSobol64",
    "StatesSobol32",
    "StatesSobol64",
    "StatesTest",
    "StatesXORWOW",
]


class States:
    """States of a generator, one for each thread of a kernel.

    ``states[i]`` in a kernel is a state. It is not initialized before the kernel calls
    `gpumath.device.random.init`. A kernel can also make states of its own, which only one thread
    uses: ``numba.cuda.local.array(1, dtype=StatesXORWOW.dtype)``.

    Parameters
    ----------
    n : int
        How many states.

    Attributes
    ----------
    dtype : numpy.dtype
        The fields of a state, as in cuRAND's C++ struct of that name.

    Raises
    ------
    ValueError
        ``n`` is no positive integer.
    """

    dtype: ClassVar[np.dtype[Any]]

    def __new__(cls, n: int) -> Any:
        """Return an array of Numba's, which kernels take as it is."""
        count = as_count("n", n)
        from gpumath.device._numba import _random

        return _random.new_states(count, cls.dtype)


def _struct(*fields: tuple[Any, ...]) -> np.dtype[Any]:
    return np.dtype(list(fields), align=True)


_U32, _U64 = np.uint32, np.uint64
# What is kept when a pair of normal numbers was made and one of them was asked for.
_SPARE_NORMAL = (
    ("boxmuller_flag", np.int32),
    ("boxmuller_flag_double", np.int32),
    ("boxmuller_extra", np.float32),
    ("boxmuller_extra_double", np.float64),
)


class StatesXORWOW(States):
    """States of XORWOW generators: Marsaglia's xorshift with a Weyl sequence, period 2^192 - 2^32.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesXORWOW.dtype.itemsize
    48
    """

    dtype = _struct(("d", _U32), ("v", _U32, (5,)), *_SPARE_NORMAL)


class StatesMRG32k3a(States):
    """States of MRG32k3a generators: L'Ecuyer's combined recurrence, period about 2^191.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesMRG32k3a.dtype.itemsize
    48
    """

    dtype = _struct(("s1", _U32, (3,)), ("s2", _U32, (3,)), *_SPARE_NORMAL)


class StatesPhilox4_32_10(States):  # noqa: N801 - the generator's name, as in nvmath-python
    """States of Philox4x32-10 generators: a counter of 128 bits, encrypted under the seed.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesPhilox4_32_10.dtype.itemsize
    64
    """

    dtype = _struct(
        *(("ctr", _U32, (4,)), ("output", _U32, (4,)), ("key", _U32, (2,)), ("STATE", _U32)),
        *_SPARE_NORMAL,
    )


class StatesSobol32(States):
    """States of Sobol generators of 32 bits, each for one dimension.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesSobol32.dtype.itemsize
    140
    """

    dtype = _struct(("i", _U32), ("x", _U32), ("c", _U32), ("direction_vectors", _U32, (32,)))


class StatesScrambledSobol32(States):
    """States of scrambled Sobol generators of 32 bits, each for one dimension.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesScrambledSobol32.dtype.itemsize
    140
    """

    # The name of a field tells this type from that of StatesSobol32.
    dtype = _struct(("i", _U32), ("x", _U32), ("c", _U32), ("scrambled_vectors", _U32, (32,)))


class StatesSobol64(States):
    """States of Sobol generators of 64 bits, each for one dimension.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesSobol64.dtype.itemsize
    536
    """

    dtype = _struct(("i", _U64), ("x", _U64), ("c", _U64), ("direction_vectors", _U64, (64,)))


class StatesScrambledSobol64(States):
    """States of scrambled Sobol generators of 64 bits, each for one dimension.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesScrambledSobol64.dtype.itemsize
    536
    """

    dtype = _struct(("i", _U64), ("x", _U64), ("c", _U64), ("scrambled_vectors", _U64, (64,)))


class StatesTest(States):
    """States of a counter, whose numbers are not random, for tests of programs.

    Examples
    --------
    >>> from gpumath.device import random
    >>> random.StatesTest.dtype.itemsize
    4
    """

    dtype = _struct(("v", _U32))


# By the names of the generators in the source.
STATES: dict[str, type[States]] = {
    "XORWOW": StatesXORWOW,
    "MRG32k3a": StatesMRG32k3a,
    "Philox4_32_10": StatesPhilox4_32_10,
    "Sobol32": StatesSobol32,
    "ScrambledSobol32": StatesScrambledSobol32,
    "Sobol64": StatesSobol64,
    "ScrambledSobol64": StatesScrambledSobol64,
    "Test": StatesTest,
}
