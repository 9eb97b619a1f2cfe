"""The flags of cuBLASLt for how an algorithm computes, which its header has as macros."""

from __future__ import annotations

from enum import IntFlag

__all__ = ["MatmulNumericalImplFlags"]


class MatmulNumericalImplFlags(IntFlag):
    """How an algorithm of cuBLASLt computes.

    A preference of plans: an algorithm is considered if all its flags are in the mask.

    Examples
    --------
    >>> from gpumath.linalg.advanced import MatmulNumericalImplFlags
    >>> int(MatmulNumericalImplFlags.OP_TYPE_TENSOR_MASK)
    254
    """

    OP_TYPE_FMA = 0x01 << 0
    OP_TYPE_TENSOR_HMMA = 0x02 << 0
    OP_TYPE_TENSOR_IMMA = 0x04 << 0
    OP_TYPE_TENSOR_DMMA = 0x08 << 0
    OP_TYPE_TENSOR_MASK = 0xFE << 0
    OP_TYPE_MASK = 0xFF << 0
    ACCUMULATOR_16F = 0x01 << 8
    ACCUMULATOR_32F = 0x02 << 8
    ACCUMULATOR_64F = 0x04 << 8
    ACCUMULATOR_32I = 0x08 << 8
    ACCUMULATOR_TYPE_MASK = 0xFF << 8
    INPUT_TYPE_16F = 0x01 << 16
    INPUT_TYPE_16BF = 0x02 << 16
    INPUT_TYPE_TF32 = 0x04 << 16
    INPUT_TYPE_32F = 0x08 << 16
    INPUT_TYPE_64F = 0x10 << 16
    INPUT_TYPE_8I = 0x20 << 16
    INPUT_TYPE_8F_E4M3 = 0x40 << 16
    INPUT_TYPE_8F_E5M2 = 0x80 << 16
    INPUT_TYPE_MASK = 0xFF << 16
    GAUSSIAN = 0x01 << 32
    ALL = 0xFFFF_FFFF_FFFF_FFFF
