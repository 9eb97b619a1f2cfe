"""FP4 (E2M1) elements of PyTorch tensors: two in a byte, the first in the lower half."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from gpumath._host.array_libraries import library_of

__all__ = ["quantized", "unpacked"]

_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Values of the codes 0 to 7; 8 is added for negative ones."""


def _largest_below_next() -> list[float]:
    """Return the largest float32 that is rounded to each code but the last, with ties to even."""
    bounds = []
    for code, (low, high) in enumerate(pairwise(_MAGNITUDES)):
        middle = (low + high) / 2
        # A float32 has 24 bits, so this is the one before the middle.
        bounds.append(middle if code % 2 == 0 else middle - math.ulp(middle) * 2**29)
    return bounds


_BOUNDS = _largest_below_next()


def quantized(x: Any, axis: int) -> Any:
    """Round float32 values and pack them along ``axis``, which gets the stride 1."""
    _check_axis(axis)
    _check_tensor("x", x, "float32")
    if axis == -2 and x.ndim < 2:
        msg = f"axis is -2, but x has {x.ndim} dimensions"
        raise ValueError(msg)
    if x.ndim < 1 or x.shape[axis] % 2:
        msg = f"x has the shape {tuple(x.shape)}, but an even extent along axis {axis} is needed"
        raise ValueError(msg)
    import torch

    rows = x if axis == -1 else x.swapaxes(-1, -2)
    bounds = torch.tensor(_BOUNDS, dtype=torch.float32, device=x.device)
    codes = torch.bucketize(rows.abs().contiguous(), bounds).to(torch.uint8)
    codes |= torch.signbit(rows).to(torch.uint8) << 3
    packed = (codes[..., 0::2] | codes[..., 1::2] << 4).view(torch.float4_e2m1fn_x2)
    return packed if axis == -1 else packed.swapaxes(-1, -2)


def unpacked(packed: Any, axis: int) -> Any:
    """Convert packed values to float32."""
    _check_axis(axis)
    _check_tensor("fp4_tensor", packed, "float4_e2m1fn_x2")
    if packed.ndim < -axis:
        msg = f"axis is {axis}, but fp4_tensor has {packed.ndim} dimensions"
        raise ValueError(msg)
    import torch

    rows = packed.view(torch.uint8)
    if axis == -2:
        rows = rows.swapaxes(-1, -2)
    codes = torch.stack((rows & 15, rows >> 4), dim=-1).flatten(-2)
    signed = (*_MAGNITUDES, *(-value for value in _MAGNITUDES))
    values = torch.tensor(signed, dtype=torch.float32, device=packed.device)[codes.int()]
    return values if axis == -1 else values.swapaxes(-1, -2)


def _check_axis(axis: int) -> None:
    if axis not in (-1, -2):
        msg = f"axis is {axis!r}; allowed are -1 and -2"
        raise ValueError(msg)


def _check_tensor(name: str, x: Any, dtype: str) -> None:
    library = library_of(x).name
    if library != "torch":
        msg = f"{name} is of the library {library}, but only PyTorch has packed FP4 elements"
        raise ValueError(msg)
    if str(x.dtype) != f"torch.{dtype}":
        msg = f"{name} is {x.dtype}, but torch.{dtype} is needed"
        raise ValueError(msg)
