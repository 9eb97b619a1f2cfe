"""cuSOLVERRf, one to one: solve many sparse systems that share one pattern.

`setup_host` takes a matrix with an LU factorization and permutations that another solver found;
`analyze` prepares the GPU; then `reset_values`, `refactor` and `solve` run for every new matrix.
Indices are 32-bit and values double precision. Handles and addresses are ints, and 0 is NULL. An
address is used as it is: a wrong one ends the process. A status other than success raises
`cuSOLVERError`. CUDA 13 marks all of it as deprecated.

Examples
--------
>>> from gpumath.bindings import cusolverRf
>>> cusolverRf.UnitDiagonal.STORED_L
<UnitDiagonal.STORED_L: 0>
"""

from gpumath.bindings._core.cusolverRf import *
from gpumath.bindings._generated.cusolverRf import *
from gpumath.bindings.errors import cuSOLVERError as cuSOLVERError

check_status = cuSOLVERError.check
