"""Says by name what kernels of numba-cuda-mlir cannot use."""

from __future__ import annotations

from typing import Any, NoReturn

from numba_cuda_mlir.extending import overload, overload_method, typing_registry
from numba_cuda_mlir.numba_cuda.core.errors import TypingError
from numba_cuda_mlir.numba_cuda.extending import typeof_impl

from gpumath.device import _kernel_functions
from gpumath.device._pipelines import DevicePipeline
from gpumath.device._random_function import KernelFunction
from gpumath.device._solver import Solver
from gpumath.device._solver_properties import Composed
from gpumath.device._tensors import Layout

__all__ = ["refuse"]

_FUNCTIONS = (
    *("axpby", "clear", "copy", "copy_fragment", "copy_wait"),
    *("make_fragment_like", "make_tensor", "shared_array"),
)
_METHODS = (
    *(f"{kind}_layout_smem_{matrix}" for kind in ("get", "suggest") for matrix in "abc"),
    *(f"get_layout_gmem_{matrix}" for matrix in "abc"),
    *("get_layout_rmem_c", "suggest_layout_rmem_c", "get_accumulator", "suggest_accumulator"),
)


def _refusal(name: str) -> TypingError:
    return TypingError(
        f"{name} is not in kernels of numba-cuda-mlir, which have transforms and products of "
        "arrays. Kernels of numba-cuda have it: from numba import cuda"
    )


def _refuse_call(name: str) -> Any:
    def resolve(*arguments: Any) -> NoReturn:
        del arguments
        raise _refusal(name)

    return resolve


def refuse(matmul_type: type) -> None:
    """Register the refusals; the type is that of products."""
    for kind in (Solver, Composed, Layout, DevicePipeline, KernelFunction):

        @typeof_impl.register(kind)
        def _refuse_value(value: Any, context: Any) -> NoReturn:
            del context
            raise _refusal(getattr(value, "__name__", type(value).__name__))

    for name in _FUNCTIONS:
        overload(getattr(_kernel_functions, name), strict=False, typing_registry=typing_registry)(
            _refuse_call(name)
        )
    for name in _METHODS:
        overload_method(matmul_type, name, strict=False, typing_registry=typing_registry)(
            _refuse_call(f"Matmul.{name}")
        )
