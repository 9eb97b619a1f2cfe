"""cuSOLVERMg, one to one: dense LU, Cholesky and eigenvalues on several GPUs of one machine.

Blocks of columns of a matrix are distributed over the devices of a grid, as a matrix descriptor
says. Arguments called ``array_d_...`` are sequences with one device address for each device, or the
address of such an array. Indices of rows and columns start at 1. Handles and descriptors are ints,
and 0 is NULL. A status other than success raises `cuSOLVERError`, while a singular matrix is
reported by the ``info`` that a routine returns. CUDA 13 marks all of it as deprecated.

Examples
--------
>>> from gpumath.bindings import cusolverMg
>>> cusolverMg.GridMapping.COL_MAJOR
<GridMapping.COL_MAJOR: 0>
"""

from gpumath.bindings._core.cusolverMg import *
from gpumath.bindings._generated.cusolverMg import *
from gpumath.bindings.errors import cuSOLVERError as cuSOLVERError

check_status = cuSOLVERError.check
