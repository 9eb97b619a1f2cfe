"""cuSOLVERSp, one to one: sparse systems, least squares, eigenvalues and reorderings.

Matrices are in compressed rows, described by a matrix descriptor of cuSPARSE's. Functions that end
with ``_host`` compute on the CPU, on arrays in host memory; the others take device memory. Handles,
descriptors and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one ends the
process. The functions in steps (``csrqr_setup``, ``csrchol_factor``, ``csrlu_solve_host`` ...) are
those of NVIDIA's low-level preview. A status other than success raises `cuSOLVERError`. CUDA 13
marks all of them as deprecated.

Examples
--------
>>> import inspect
>>> from gpumath.bindings import cusolverSp
>>> list(inspect.signature(cusolverSp.xcsrsymrcm_host).parameters)
['handle', 'n', 'nnz_a', 'descr_a', 'csr_row_ptr_a', 'csr_col_ind_a', 'p']
"""

from gpumath.bindings._core.cusolverSp import *
from gpumath.bindings._generated.cusolverSp import *
from gpumath.bindings.errors import cuSOLVERError as cuSOLVERError

check_status = cuSOLVERError.check
