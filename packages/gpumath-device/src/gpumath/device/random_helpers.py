"""Direction vectors and scramble constants of the Sobol generators of `gpumath.device.random`.

They are those of cuRAND, by `gpumath.bindings.curand`.

Examples
--------
>>> from gpumath.device import random_helpers
>>> chosen = random_helpers.DirectionVectorSet.DIRECTION_VECTORS_32_JOEKUO6
>>> random_helpers.get_direction_vectors32(chosen, 3).shape
(3, 32)
"""

from gpumath.bindings.curand import (
    DirectionVectorSet,
    get_direction_vectors32,
    get_direction_vectors64,
    get_scramble_constants32,
    get_scramble_constants64,
)

__all__ = [
    "DirectionVectorSet",
    "get_direction_vectors32",
    "get_direction_vectors64",
    "get_scramble_constants32",
    "get_scramble_constants64",
]
