"""The older form: functions that return what kernels call as a function."""

from __future__ import annotations

from typing import Any

from gpumath.device._architecture import CodeType
from gpumath.device._arguments import as_code_type, one_of
from gpumath.device._descriptor import CompiledCode
from gpumath.device._fft import FFT
from gpumath.device._matmul import Matmul

__all__ = ["CallableFFT", "CallableMatmul", "fft", "matmul"]


class CallableFFT(FFT):
    """A transform that kernels call as ``transform(thread_data, shared)``; `fft` makes it."""

    @property
    def files(self) -> list[Any]:
        """Code for ``numba.cuda.jit(link=...)``, which links it also if it is not named there."""
        return _files(self._code("register_memory"))

    def __call__(self, data: Any, shared: Any = None) -> None:
        """Transform what the threads hold, inside a kernel, as `FFT.execute` does."""
        self.execute(data, shared)


class CallableMatmul(Matmul):
    """A product that kernels call as ``product(alpha, a, b, beta, c)``; `matmul` makes it."""

    @property
    def files(self) -> list[Any]:
        """Code for ``numba.cuda.jit(link=...)``, which links it also if it is not named there."""
        return _files(self._code("static_leading_dimensions"))

    @property
    def shared_memory_size(self) -> int:
        """Bytes of shared memory that a, b and c need, one after the other."""
        return self.get_shared_storage_size()

    @property
    def value_type(self) -> Any:
        """Type of the elements of c."""
        return self.c_value_type

    def __call__(self, *operands: Any) -> None:
        """Compute the product, inside a kernel, as `Matmul.execute` does."""
        self.execute(*operands)

    _constants = Matmul._constants | {"shared_memory_size", "value_type"}


def _files(code: CompiledCode) -> list[Any]:
    from gpumath.device._numba import _calls

    return [_calls.link_of(code.symbols[0], code.ltoir)]


def _is_callable(compiler: str | None) -> bool:
    return one_of("compiler", compiler, (None, "numba")) is not None


def _with_target(operators: dict[str, Any], code_type: CodeType | None) -> dict[str, Any]:
    if code_type is None:
        return operators
    if operators.get("sm") is not None:
        msg = "sm and code_type are given, and both say which GPUs the code is for; one is needed"
        raise ValueError(msg)
    return {**operators, "sm": as_code_type(code_type).cc}


def fft(
    *,
    compiler: str | None = None,
    code_type: CodeType | None = None,
    **operators: Any,
) -> FFT:
    """Describe a transform in the older form, where kernels call it as a function.

    Parameters
    ----------
    compiler : {None, 'numba'}
        ``'numba'`` for an object that kernels call. None for a description, as `FFT` makes it.
    code_type : CodeType, optional
        GPUs to compile for. Default: the current GPU.
    **operators
        Arguments of `FFT`.

    Returns
    -------
    FFT
        It has also ``files`` if the compiler is ``'numba'``.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> transform = device.fft(
    ...     fft_type="c2c",
    ...     size=128,
    ...     precision=np.float32,
    ...     direction="forward",
    ...     ffts_per_block=1,
    ...     elements_per_thread=2,
    ...     execution="Block",
    ...     code_type=device.CodeType("lto", device.ComputeCapability(9, 0)),
    ...     compiler="numba",
    ... )
    >>> transform.stride, transform.storage_size
    (64, 2)
    """
    return (CallableFFT if _is_callable(compiler) else FFT)(**_with_target(operators, code_type))


def matmul(
    *,
    compiler: str | None = None,
    code_type: CodeType | None = None,
    **operators: Any,
) -> Matmul:
    """Describe a matrix product in the older form, where kernels call it as a function.

    Parameters
    ----------
    compiler : {None, 'numba'}
        ``'numba'`` for an object that kernels call. None for a description, as `Matmul` makes it.
    code_type : CodeType, optional
        GPUs to compile for. Default: the current GPU.
    **operators
        Arguments of `Matmul`.

    Returns
    -------
    Matmul
        It has also ``files`` and ``shared_memory_size`` if the compiler is ``'numba'``.

    Raises
    ------
    ValueError
        An argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> product = device.matmul(
    ...     size=(32, 32, 32),
    ...     precision=np.float32,
    ...     data_type="real",
    ...     transpose_mode=device.TransposeMode("non_transposed", "transposed"),
    ...     execution="Block",
    ...     block_size=128,
    ...     code_type=device.CodeType("lto", device.ComputeCapability(9, 0)),
    ...     compiler="numba",
    ... )
    >>> product.shared_memory_size, product.a_dim
    (12288, (32, 32))
    """
    described = CallableMatmul if _is_callable(compiler) else Matmul
    return described(**_with_target(operators, code_type))
