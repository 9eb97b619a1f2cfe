"""libmathdx, one to one: device functions of cuFFTDx, cuBLASDx and cuSOLVERDx as LTO-IR.

A descriptor gets operators that say what it computes. It is compiled into a code object, whose
LTO-IR nvJitLink links with a kernel. Handles are ints. Texts and LTO-IR are written to a writable
buffer that the caller passes. A status other than success raises `LibMathDxError`. libmathdx is
loaded by the first call, and needs NVRTC, but neither a driver nor a GPU.

Examples
--------
>>> from gpumath.bindings import mathdx
>>> mathdx.CommondxOption.TARGET_SM
<CommondxOption.TARGET_SM: 1>

A transform of 8 complex numbers by one thread, where libmathdx is installed::

    fft = mathdx.cufftdx_create_descriptor()
    for operator, value in operators.items():
        mathdx.cufftdx_set_operator_int64(fft, operator, value)
    code = mathdx.commondx_create_code()
    mathdx.commondx_set_code_option_int64(code, mathdx.CommondxOption.TARGET_SM, 900)
    mathdx.cufftdx_finalize_code(code, fft)
    ltoir = bytearray(mathdx.commondx_get_code_ltoir_size(code))
    mathdx.commondx_get_code_ltoir(code, len(ltoir), ltoir)
"""

from gpumath.bindings._core.mathdx import *
from gpumath.bindings._generated.mathdx import *
from gpumath.bindings.errors import LibMathDxError as LibMathDxError

check_status = LibMathDxError.check
