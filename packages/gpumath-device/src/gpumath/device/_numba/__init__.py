"""What Numba's CUDA target needs to know of device functions. Importing this imports Numba.

An object whose ``_numba_type_`` asks for its type here can be used in kernels, because Numba reads
that attribute of any object that it does not know.
"""

from __future__ import annotations

from typing import Any

from gpumath.device._check_numba import refresh  # before all that imports Numba
from gpumath.device._fft import FFT
from gpumath.device._functions import CallableFFT, CallableMatmul
from gpumath.device._matmul import Matmul
from gpumath.device._numba import _accumulators as _accumulators
from gpumath.device._numba import _shared_arrays as _shared_arrays
from gpumath.device._numba._fft import CallableFFTType, FFTType
from gpumath.device._numba._matmul import CallableMatmulType, MatmulType
from gpumath.device._numba._pipelines import PIPELINE_ARGUMENT, DevicePipelineType
from gpumath.device._numba._solver import SOLVER_TYPES
from gpumath.device._numba._tensors import LayoutType
from gpumath.device._numba._vectors import number_class
from gpumath.device._pipelines import DevicePipeline
from gpumath.device._tensors import Layout

__all__ = ["PIPELINE_ARGUMENT", "number_class", "type_of"]

_TYPES: dict[type, Any] = {
    FFT: FFTType,
    CallableFFT: CallableFFTType,
    Matmul: MatmulType,
    CallableMatmul: CallableMatmulType,
    **SOLVER_TYPES,
    Layout: LayoutType,
    DevicePipeline: lambda pipeline: DevicePipelineType(pipeline._code),
}

refresh()


def type_of(value: Any) -> Any:
    """Return Numba's type of an object that kernels use as it is."""
    return _TYPES[type(value)](value)
