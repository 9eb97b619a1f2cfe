"""What the cuSOLVER modules share: version, enums, statuses and their exception.

The routines are in `gpumath.bindings.cusolverDn` (dense), `gpumath.bindings.cusolverSp` (sparse),
`gpumath.bindings.cusolverRf` (sparse refactorization) and `gpumath.bindings.cusolverMg` (dense, on
several GPUs).

Examples
--------
>>> from gpumath.bindings import cusolver
>>> cusolver.EigMode.VECTOR
<EigMode.VECTOR: 1>
"""

from gpumath.bindings._core.cusolver import *
from gpumath.bindings._generated.cusolver import *
from gpumath.bindings.errors import cuSOLVERError as cuSOLVERError

check_status = cuSOLVERError.check
