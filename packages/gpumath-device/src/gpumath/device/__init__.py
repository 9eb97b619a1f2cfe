"""Math inside the kernels that Numba compiles, and Python functions as device functions.

A transform is described by `FFT`, and called in a kernel as ``fft.execute(thread_data)``. NVIDIA's
libmathdx generates its code for the GPU in question, as LTO-IR, which Numba links and inlines.
Other compilers get the LTO-IR from `compile_fft_execute`.

`compile_fft_callback` compiles a Python function for cuFFT, which calls it for each element that a
transform reads or writes. Users call it through `gpumath.fft.compile_prolog` and
`gpumath.fft.compile_epilog`.

Importing this package does not import Numba. Names that only kernels can use import it when they
are first read.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gpumath.device._architecture import (
    MAX_SUPPORTED_CC,
    Code,
    CodeType,
    ComputeCapability,
    Dim3,
    ISAVersion,
    current_device_lto,
    current_device_sm,
)
from gpumath.device._callbacks import compile_fft_callback, function_fingerprint
from gpumath.device._fft import FFT, compile_fft_execute
from gpumath.device._functions import fft, matmul
from gpumath.device._kernel_functions import Accumulator, OpaqueTensor
from gpumath.device._matmul import Matmul, compile_blas_execute
from gpumath.device._matmul_types import (
    MAX_ALIGNMENT,
    Alignment,
    Arrangement,
    LeadingDimension,
    Precision,
    SharedStorageCalc,
    TransposeMode,
)
from gpumath.device._orthogonal import (
    LeastSquaresSolver,
    LQFactorize,
    LQMultiply,
    QRFactorize,
    QRMultiply,
)
from gpumath.device._pipelines import DevicePipeline, TilePipeline, pipeline_extensions
from gpumath.device._precompile import precompile
from gpumath.device._solver import Solver
from gpumath.device._solver_classes import (
    CholeskySolver,
    LUPivotSolver,
    LUSolver,
    TriangularSolver,
)
from gpumath.device._solver_code import compile_solver_execute, solver_fatbin
from gpumath.device._tensors import Layout
from gpumath.device._types import (
    INT_NP_TYPES,
    REAL_NP_TYPES,
    Complex,
    SmallFloat,
    Vector,
    bfloat16,
    complex32,
    complex64,
    complex128,
    float8_e4m3fn,
    float8_e5m2,
    half2,
    half4,
    np_float16x2,
    np_float16x4,
    tfloat32,
)

_NUMBA_NAMES = (
    *("float16x2", "float16x4", "float32x2", "float32x4", "float64x2", "float64x4", "uint32x4"),
    *("float16x2_type", "float16x4_type", "float32x2_type", "float32x4_type"),
    *("float64x2_type", "float64x4_type", "uint32x4_type"),
)
_KERNEL_FUNCTIONS = (
    *("axpby", "clear", "copy", "copy_fragment", "copy_wait"),
    *("make_fragment_like", "make_tensor", "shared_array"),
)
if TYPE_CHECKING:
    from gpumath.device._kernel_functions import (
        axpby,
        clear,
        copy,
        copy_fragment,
        copy_wait,
        make_fragment_like,
        make_tensor,
        shared_array,
    )

    float16x2: Any
    float16x4: Any
    float32x2: Any
    float32x4: Any
    float64x2: Any
    float64x4: Any
    uint32x4: Any
    float16x2_type: Any
    float16x4_type: Any
    float32x2_type: Any
    float32x4_type: Any
    float64x2_type: Any
    float64x4_type: Any
    uint32x4_type: Any

__all__ = [
    "FFT",
    "INT_NP_TYPES",
    "MAX_ALIGNMENT",
    "MAX_SUPPORTED_CC",
    "REAL_NP_TYPES",
    "Accumulator",
    "Alignment",
    "Arrangement",
    "CholeskySolver",
    "Code",
    "CodeType",
    "Complex",
    "ComputeCapability",
    "DevicePipeline",
    "Dim3",
    "ISAVersion",
    "LQFactorize",
    "LQMultiply",
    "LUPivotSolver",
    "LUSolver",
    "Layout",
    "LeadingDimension",
    "LeastSquaresSolver",
    "Matmul",
    "OpaqueTensor",
    "Precision",
    "QRFactorize",
    "QRMultiply",
    "SharedStorageCalc",
    "SmallFloat",
    "Solver",
    "TilePipeline",
    "TransposeMode",
    "TriangularSolver",
    "Vector",
    "axpby",
    "bfloat16",
    "clear",
    "compile_blas_execute",
    "compile_fft_callback",
    "compile_fft_execute",
    "compile_solver_execute",
    "complex32",
    "complex64",
    "complex128",
    "copy",
    "copy_fragment",
    "copy_wait",
    "current_device_lto",
    "current_device_sm",
    "fft",
    "float8_e4m3fn",
    "float8_e5m2",
    "function_fingerprint",
    "half2",
    "half4",
    "make_fragment_like",
    "make_tensor",
    "matmul",
    "np_float16x2",
    "np_float16x4",
    "pipeline_extensions",
    "precompile",
    "shared_array",
    "solver_fatbin",
    "tfloat32",
]


def __getattr__(name: str) -> Any:
    if name in _NUMBA_NAMES:
        from gpumath.device._numba import _vectors

        return getattr(_vectors, name)
    if name in _KERNEL_FUNCTIONS:
        from gpumath.device import _kernel_functions

        # Numba must know of these functions before it compiles a kernel that calls one.
        if find_spec("numba_cuda"):
            from gpumath.device import _numba as _numba

        return getattr(_kernel_functions, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return [*__all__, *_NUMBA_NAMES]
