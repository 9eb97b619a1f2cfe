"""cuBLAS, one to one: vectors and matrices on one GPU; the letter in a name is the precision.

Matrices are column-major. Handles, streams and addresses are ints, and 0 is NULL. An address is
used as it is: a wrong one ends the process. Scalars such as alpha are passed by their address, in
host memory unless `set_pointer_mode` says otherwise, and so are scalar results. A batch of matrices
is passed with strides, or as the address of an array of addresses, and both the array and the
matrices are in device memory. A status other than success raises `cuBLASError`. cuBLAS is loaded by
the first call.

Examples
--------
>>> from gpumath.bindings import cublas
>>> cublas.Operation.T
<Operation.T: 1>
>>> cublas.GemmAlgo(-1) is cublas.GemmAlgo.DEFAULT
True

C = A B with single precision on the current GPU, where ``a``, ``b`` and ``c`` are addresses of
n x n matrices in device memory::

    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    alpha, beta = ctypes.addressof(one), ctypes.addressof(zero)
    handle = cublas.create()
    no = cublas.Operation.N
    cublas.sgemm(handle, no, no, n, n, n, alpha, a, n, b, n, beta, c, n)
    cublas.destroy(handle)
"""

from gpumath.bindings._core.cublas import *
from gpumath.bindings._generated.cublas import *
from gpumath.bindings.errors import cuBLASError as cuBLASError

check_status = cuBLASError.check
