"""Functions that prepare operands for `gpumath.linalg.advanced`."""

from gpumath.linalg.advanced.helpers import matmul

__all__ = ["matmul"]
