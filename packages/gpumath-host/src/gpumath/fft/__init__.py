"""Fourier transforms of NumPy and CuPy arrays and PyTorch tensors, on a GPU or on the CPU.

The functions `fft`, `ifft`, `rfft` and `irfft` make a plan, execute it, and cache it for the next
call with such an operand. The class `FFT` separates these steps, for a transform that runs many
times. Neither scales the result in either direction, unless ``norm`` is given to a function. The
functions for several axes, from `fft2` to `irfftn`, have the arguments and the defaults of
`numpy.fft`: they divide inverse transforms by the number of points. `convolve`, `correlate` and
their relatives have those of `scipy.signal`, and `scipy_backend` serves programs that call
`scipy.fft`.

Examples
--------
>>> import numpy as np
>>> from gpumath import fft
>>> a = np.array([1.0, 2.0, 3.0, 4.0])
>>> fft.rfft(a)
array([10.+0.j, -2.+2.j, -2.+0.j])
>>> fft.irfft(fft.rfft(a)) / 4
array([1., 2., 3., 4.])
"""

from gpumath._host.execution import ExecutionCPU, ExecutionCUDA
from gpumath.bindings.errors import UnsupportedLayoutError
from gpumath.fft._callbacks import compile_epilog, compile_prolog
from gpumath.fft._convolution import convolve, correlate, fftconvolve, oaconvolve
from gpumath.fft._dct import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from gpumath.fft._device_callable import DeviceCallable
from gpumath.fft._errors import InvalidFFTState
from gpumath.fft._estimate import estimate_workspace_size
from gpumath.fft._fft_class import FFT
from gpumath.fft._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from gpumath.fft._functions import fft, ifft, irfft, rfft
from gpumath.fft._key import FFTKey
from gpumath.fft._nd_functions import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from gpumath.fft._options import FFTDirection, FFTOptions
from gpumath.fft._scipy_backend import ScipyBackend, scipy_backend

__all__ = [
    "FFT",
    "DeviceCallable",
    "ExecutionCPU",
    "ExecutionCUDA",
    "FFTDirection",
    "FFTKey",
    "FFTOptions",
    "InvalidFFTState",
    "ScipyBackend",
    "UnsupportedLayoutError",
    "compile_epilog",
    "compile_prolog",
    "convolve",
    "correlate",
    "dct",
    "dctn",
    "dst",
    "dstn",
    "estimate_workspace_size",
    "fft",
    "fft2",
    "fftconvolve",
    "fftfreq",
    "fftn",
    "fftshift",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "irfft",
    "irfft2",
    "irfftn",
    "oaconvolve",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
    "scipy_backend",
]
