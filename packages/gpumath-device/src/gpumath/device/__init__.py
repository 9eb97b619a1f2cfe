"""GPU math inside Numba CUDA kernels: not yet.

This release of gpumath-device holds the package name and its version, and no function. FFTs,
matrix products, solvers and random numbers that can be called inside a kernel are to come, on
NVIDIA's libmathdx.
"""

__all__: list[str] = []
