"""Python functions as device functions. Math inside Numba CUDA kernels: not yet.

`compile_fft_callback` compiles a Python function for cuFFT, which calls it for each element that a
transform reads or writes. Users call it through `gpumath.fft.compile_prolog` and
`gpumath.fft.compile_epilog`. FFTs, matrix products, solvers and random numbers that can be called
inside a kernel are to come, on NVIDIA's libmathdx.

Importing this package does not import Numba.
"""

from gpumath.device._callbacks import compile_fft_callback, function_fingerprint

__all__ = ["compile_fft_callback", "function_fingerprint"]
