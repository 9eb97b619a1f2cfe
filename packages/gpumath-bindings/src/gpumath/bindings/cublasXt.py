"""cublasXt, one to one: products of matrices in host memory, divided between several GPUs.

Matrices are column-major, in host or device memory, and may be larger than the memory of a GPU.
They are cut into square tiles, and some are copied while others are computed. A call returns when
the whole product is done.
Handles and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one ends the
process. Scalars such as alpha are passed by their address in host memory. Operation, FillMode,
SideMode and DiagType are those of `gpumath.bindings.cublas`. A status other than success raises
`cuBLASError`. The functions are in cuBLAS's library, which is loaded by the first call.

Examples
--------
>>> from gpumath.bindings import cublasXt
>>> cublasXt.PinnedMemMode.ENABLED
<PinnedMemMode.ENABLED: 1>

C = A B with double precision on two GPUs, where ``a``, ``b`` and ``c`` are n x n NumPy arrays in
Fortran's order::

    handle = cublasXt.create()
    cublasXt.device_select(handle, 2, [0, 1])
    one, zero = numpy.ones(1), numpy.zeros(1)
    no = cublas.Operation.N
    cublasXt.dgemm(handle, no, no, n, n, n, one.ctypes.data, a.ctypes.data, n,
                   b.ctypes.data, n, zero.ctypes.data, c.ctypes.data, n)
    cublasXt.destroy(handle)
"""

from gpumath.bindings._core.cublasXt import *
from gpumath.bindings._generated.cublasXt import *
from gpumath.bindings.errors import cuBLASError as cuBLASError

check_status = cuBLASError.check
