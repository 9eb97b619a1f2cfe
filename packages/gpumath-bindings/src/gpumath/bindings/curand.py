"""cuRAND's host functions, one to one: random numbers for arrays in device or host memory.

Handles, streams and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one
ends the process. What C writes to a scalar is returned. A status other than success raises
`cuRANDError`. cuRAND is loaded by the first call. Generators of `create_generator_host` need no
GPU: they compute on the CPU and write to host memory.

Examples
--------
>>> from gpumath.bindings import curand
>>> curand.RngType.PSEUDO_MT19937
<RngType.PSEUDO_MT19937: 142>
"""

from operator import index as _index
from typing import TYPE_CHECKING

from gpumath.bindings._core.curand import *
from gpumath.bindings._core.curand import (
    _get_direction_vectors32,
    _get_direction_vectors64,
    _get_scramble_constants32,
    _get_scramble_constants64,
)
from gpumath.bindings._generated.curand import *
from gpumath.bindings.errors import cuRANDError as cuRANDError

if TYPE_CHECKING:
    from typing import TypeVar

    import numpy as np
    from numpy.typing import NDArray

    _Scalar = TypeVar("_Scalar", bound=np.generic)

check_status = cuRANDError.check

# Number of dimensions in cuRAND's tables. The library does not tell it, and reading past the end
# could end the process.
_DIMENSIONS = 20000


def get_direction_vectors32(set_: int, size: int) -> "NDArray[np.uint32]":
    """Return direction vectors of the 32-bit Sobol generators.

    Parameters
    ----------
    set_ : DirectionVectorSet
        One of the 32-bit sets.
    size : int
        Number of dimensions, at most 20000.

    Returns
    -------
    numpy.ndarray
        A copy of shape ``(size, 32)``: the vectors of one dimension in each row.

    Raises
    ------
    ValueError
        ``size`` is negative or above 20000.
    cuRANDError
        The set is not a 32-bit one.

    Notes
    -----
    C function ``curandGetDirectionVectors32``. NumPy is imported by the first call.
    """
    import numpy as np

    _check_dimensions(size)
    return _copied(_get_direction_vectors32(set_), np.uint32, size, 32)


def get_direction_vectors64(set_: int, size: int) -> "NDArray[np.uint64]":
    """Return direction vectors of the 64-bit Sobol generators.

    Parameters
    ----------
    set_ : DirectionVectorSet
        One of the 64-bit sets.
    size : int
        Number of dimensions, at most 20000.

    Returns
    -------
    numpy.ndarray
        A copy of shape ``(size, 64)``: the vectors of one dimension in each row.

    Raises
    ------
    ValueError
        ``size`` is negative or above 20000.
    cuRANDError
        The set is not a 64-bit one.

    Notes
    -----
    C function ``curandGetDirectionVectors64``. NumPy is imported by the first call.
    """
    import numpy as np

    _check_dimensions(size)
    return _copied(_get_direction_vectors64(set_), np.uint64, size, 64)


def get_scramble_constants32(size: int) -> "NDArray[np.uint32]":
    """Return scramble constants of the 32-bit scrambled Sobol generator.

    Parameters
    ----------
    size : int
        Number of dimensions, at most 20000.

    Returns
    -------
    numpy.ndarray
        A copy of shape ``(size,)``: one constant for each dimension.

    Raises
    ------
    ValueError
        ``size`` is negative or above 20000.

    Notes
    -----
    C function ``curandGetScrambleConstants32``. NumPy is imported by the first call.
    """
    import numpy as np

    _check_dimensions(size)
    return _copied(_get_scramble_constants32(), np.uint32, size)


def get_scramble_constants64(size: int) -> "NDArray[np.uint64]":
    """Return scramble constants of the 64-bit scrambled Sobol generator.

    Parameters
    ----------
    size : int
        Number of dimensions, at most 20000.

    Returns
    -------
    numpy.ndarray
        A copy of shape ``(size,)``: one constant for each dimension.

    Raises
    ------
    ValueError
        ``size`` is negative or above 20000.

    Notes
    -----
    C function ``curandGetScrambleConstants64``. NumPy is imported by the first call.
    """
    import numpy as np

    _check_dimensions(size)
    return _copied(_get_scramble_constants64(), np.uint64, size)


def _check_dimensions(size: int) -> None:
    if not 0 <= _index(size) <= _DIMENSIONS:
        raise ValueError(f"size is {size}; cuRAND's tables hold 0 to {_DIMENSIONS} dimensions")


def _copied(address: int, scalar: "type[_Scalar]", *shape: int) -> "NDArray[_Scalar]":
    from ctypes import string_at
    from math import prod

    import numpy as np

    count = prod(shape)
    data = string_at(address, count * np.dtype(scalar).itemsize)
    return np.frombuffer(data, scalar, count).reshape(shape).copy()
