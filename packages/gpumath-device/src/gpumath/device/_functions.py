"""The older form: functions that return what kernels call as a function."""

from __future__ import annotations

from typing import Any

from gpumath.device._architecture import CodeType
from gpumath.device._arguments import as_code_type, one_of
from gpumath.device._fft import FFT

__all__ = ["CallableFFT", "fft"]


class CallableFFT(FFT):
    """A transform that kernels call as ``transform(thread_data, shared)``; `fft` makes it."""

    @property
    def files(self) -> list[Any]:
        """Code for ``numba.cuda.jit(link=...)``, which links it also if it is not named there."""
        from gpumath.device._numba import _calls

        code = self._code("register_memory")
        return [_calls.link_of(code.symbols[0], code.ltoir)]

    def __call__(self, data: Any, shared: Any = None) -> None:
        """Transform what the threads hold, inside a kernel, as `FFT.execute` does."""
        self.execute(data, shared)


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
    one_of("compiler", compiler, (None, "numba"))
    if code_type is not None:
        operators["sm"] = as_code_type(code_type).cc
    return (CallableFFT if compiler else FFT)(**operators)
