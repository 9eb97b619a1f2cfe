"""cuSOLVERDn, one to one: dense LU, QR, Cholesky, LDL, eigenvalues, singular values, refinement.

Handles, parameter objects and addresses are ints, and 0 is NULL. An address is used as it is: a
wrong one ends the process. Matrices are in column-major order in device memory. The routines with
an ``x`` in front take matrices of any type with 64-bit sizes; the others have their type's letter.
Sizes of workspaces are returned: elements for the routines with a letter, bytes for the ones with
``x``, of device memory first and then of host memory. The enums of the arguments are in
`gpumath.bindings.cusolver`; job letters are characters as numbers, such as ``ord("A")``. A status
other than success raises `cuSOLVERError`, while a singular matrix or an iteration that did not
converge is reported by the ``info`` that the routine writes.

Examples
--------
>>> from gpumath.bindings import cusolverDn
>>> cusolverDn.Function.GETRF
<Function.GETRF: 0>
"""

from gpumath.bindings._core.cusolverDn import *
from gpumath.bindings._generated.cusolverDn import *
from gpumath.bindings.errors import cuSOLVERError as cuSOLVERError

check_status = cuSOLVERError.check
