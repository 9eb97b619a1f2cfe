"""How cuBLASLt stores block scales: shapes, block axes, and the order of the scales in memory.

A matrix has one scale for each block of 32 (MXFP8) or 16 (NVFP4) elements along the axis over which
a product sums. The scales are stored in tiles of 128 × 4: 128 along the other axis, 4 along the
blocked one. In a tile, the scale (i, j) is at ``16 * (i % 32) + 4 * (i // 32) + j``. Tiles follow
each other along the blocked axis first. See "1D Block Scaling Factors Layout" in the documentation
of cuBLAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import prod
from typing import Any, NamedTuple

from gpumath._host.narrow_arrays import narrow_arrays_of

__all__ = ["BlockScalingFormat", "Blocks", "blocks_of", "resolve_format", "tiled", "untiled"]


class BlockScalingFormat(StrEnum):
    """Formats whose elements share scales in blocks."""

    NVFP4 = "NVFP4"
    MXFP8 = "MXFP8"


_BLOCK = {BlockScalingFormat.NVFP4: 16, BlockScalingFormat.MXFP8: 32}
_OPERANDS = {
    BlockScalingFormat.NVFP4: ("float4_e2m1fn_x2",),
    BlockScalingFormat.MXFP8: ("float8_e4m3fn", "float8_e5m2"),
}
_TILE_ROWS, _TILE_BLOCKS = 128, 4


class Blocks(NamedTuple):
    """The blocks of an operand."""

    shape: tuple[int, ...]
    """Shape of the operand in elements, also if two of them share a byte."""
    axis: int
    """-1 if blocks are along rows, -2 if they are along columns."""
    size: int
    """Number of elements in a block."""

    @property
    def scale_shape(self) -> tuple[int, ...]:
        """Shape of an array with one scale for each block."""
        shape = list(self.shape)
        shape[self.axis] //= self.size
        return tuple(shape)

    @property
    def number(self) -> int:
        """Number of blocks."""
        return prod(self.shape) // self.size


def resolve_format(value: Any) -> BlockScalingFormat:
    """Return the format that a user names; ValueError if there is none of that name."""
    try:
        return BlockScalingFormat(value)
    except ValueError:
        names = ", ".join(f"BlockScalingFormat.{one.name}" for one in BlockScalingFormat)
        msg = f"block_scaling_format is {value!r}; allowed are {names}"
        raise ValueError(msg) from None


def blocks_of(operand_or_shape: Any, chosen: BlockScalingFormat, axis: int | None) -> Blocks:
    """Find the blocks of an operand, or of a shape; ValueError if it cannot have any."""
    if axis not in (None, -1, -2):
        msg = f"axis is {axis!r}; allowed are -1 for blocks along rows, -2 along columns, and None"
        raise ValueError(msg)
    if isinstance(operand_or_shape, Sequence):
        if axis is None:
            msg = "axis is None, but operand_or_shape is a shape; name the blocked axis, -1 or -2"
            raise ValueError(msg)
        blocks = Blocks(tuple(map(int, operand_or_shape)), axis, _BLOCK[chosen])
    else:
        blocks = _blocks_of_operand(operand_or_shape, chosen, axis)
    _check_tiles(blocks)
    return blocks


def tiled(scales: Any, blocks: Blocks) -> Any:
    """Return scales of the shape ``blocks.scale_shape`` as a vector in cuBLASLt's order."""
    rows = scales if blocks.axis == -1 else scales.swapaxes(-1, -2)
    height, width = rows.shape[-2] // _TILE_ROWS, rows.shape[-1] // _TILE_BLOCKS
    # Batch, tile row, 4 quarters of its rows, 32 rows, tile column, 4 blocks.
    parts = rows.reshape(-1, height, 4, 32, width, 4)
    return parts.swapaxes(2, 4).reshape(-1)


def untiled(vector: Any, blocks: Blocks) -> Any:
    """Return a vector in cuBLASLt's order as an array of the shape ``blocks.scale_shape``."""
    shape = list(blocks.scale_shape)
    if blocks.axis == -2:
        shape[-1], shape[-2] = shape[-2], shape[-1]
    parts = vector.reshape(-1, shape[-2] // _TILE_ROWS, shape[-1] // _TILE_BLOCKS, 32, 4, 4)
    rows = parts.swapaxes(2, 4).reshape(shape)
    return rows if blocks.axis == -1 else rows.swapaxes(-1, -2)


def _blocks_of_operand(operand: Any, chosen: BlockScalingFormat, axis: int | None) -> Blocks:
    dtype = narrow_arrays_of(operand).dtype(operand)
    if dtype not in _OPERANDS[chosen]:
        needed = " or ".join(_OPERANDS[chosen])
        msg = f"the operand is {dtype}, but block_scaling_format {chosen.name} is for {needed}"
        raise ValueError(msg)
    shape = list(operand.shape)
    if len(shape) < 2:
        msg = f"the operand has the shape {tuple(shape)}, but a matrix has at least 2 dimensions"
        raise ValueError(msg)
    # The elements have one byte each, so NumPy's strides are those in elements.
    strides = operand.stride() if hasattr(operand, "stride") else operand.strides
    if strides[-1] == 1:
        own = -1
    elif strides[-2] == 1:
        own = -2
    else:
        msg = f"the operand has the strides {tuple(strides)}, but one of the last two has to be 1"
        raise ValueError(msg)
    if axis not in (None, own):
        order = "rows" if own == -1 else "columns"
        msg = f"axis is {axis}, but the operand is stored by {order}, so its blocks are along {own}"
        raise ValueError(msg)
    if dtype.endswith("_x2"):
        shape[own] *= 2
    return Blocks(tuple(shape), own, _BLOCK[chosen])


def _check_tiles(blocks: Blocks) -> None:
    shape = blocks.shape
    if len(shape) < 2:
        msg = f"operand_or_shape is {shape}, but a matrix has at least 2 dimensions"
        raise ValueError(msg)
    other = -3 - blocks.axis
    for axis, multiple in ((blocks.axis, _TILE_BLOCKS * blocks.size), (other, _TILE_ROWS)):
        if shape[axis] < 1 or shape[axis] % multiple:
            msg = (
                f"the operand's extent along axis {axis} is {shape[axis]}, but cuBLASLt stores "
                f"block scales in tiles of {_TILE_ROWS} x {_TILE_BLOCKS}, so a positive multiple "
                f"of {multiple} is needed; pad the operand"
            )
            raise ValueError(msg)
