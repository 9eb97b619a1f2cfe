"""Linear algebra of NumPy and CuPy arrays and PyTorch tensors, on a GPU or on the CPU.

The function `matmul` makes a plan, executes it, and caches it for the next call with such operands.

Examples
--------
>>> import numpy as np
>>> from gpumath import linalg
>>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
>>> linalg.matmul(a, a)
array([[ 7., 10.],
       [15., 22.]])
"""

from gpumath._host.execution import ExecutionCPU, ExecutionCUDA
from gpumath.bindings.errors import UnsupportedLayoutError
from gpumath.linalg._matmul import MatmulOptions, matmul

__all__ = ["ExecutionCPU", "ExecutionCUDA", "MatmulOptions", "UnsupportedLayoutError", "matmul"]
