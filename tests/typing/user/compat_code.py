"""What a user writes who comes from nvmath-python; checked by mypy and pyright, never run."""

import numpy as np

import gpumath.compat.nvmath as nvmath
from gpumath.compat.nvmath.bindings import cufft
from gpumath.compat.nvmath.fft import FFT, FFTOptions
from gpumath.compat.nvmath.memory import MemoryPointer


class Manager(nvmath.BaseCUDAMemoryManager):
    """Memory from somewhere else."""

    def memalloc(self, size: int) -> MemoryPointer:
        return nvmath.MemoryPointer(0, size, None)


a = np.ones((4, 8), np.complex64)
b: np.ndarray = nvmath.fft.fft(a, axes=[1], options=FFTOptions(allocator=Manager()))
with nvmath.fft.FFT(a, execution="cpu") as transform:
    transform.plan(direction=nvmath.fft.FFTDirection.FORWARD)
    transform.execute()
    axes: tuple[int, ...] = transform.axes
kind: int = cufft.Type.C2C
number: int = nvmath.CudaDataType.CUDA_R_32F
key = FFT.create_key(a)

# Mistakes that the checkers must find: an unused suppression is an error too.
_ = nvmath.tensor  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
_ = nvmath.fft.dct9  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
