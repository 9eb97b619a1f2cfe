"""Fourier transforms inside kernels, by cuFFTDx: what to compute, its traits, and its code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from gpumath.bindings import mathdx
from gpumath.device._architecture import Code, CodeType, ComputeCapability, Dim3
from gpumath.device._arguments import as_code_type, instance_of, one_of
from gpumath.device._descriptor import CompiledCode, compiled_execute
from gpumath.device._fft_operators import APIS, KNOBS, FFTOperators, knob_values
from gpumath.device._kernel_functions import only_in_kernels
from gpumath.device._types import value_type_of

__all__ = ["FFT", "compile_fft_execute"]


class FFT(FFTOperators):
    """A Fourier transform that a thread, or the threads of a block, compute inside a kernel.

    The object is used in a kernel as it is: its traits are constants there, and its method
    `execute` transforms what the threads hold. Nothing has to be linked. Transforms are not
    scaled.

    Parameters
    ----------
    size : int
        Number of points: a product of small primes. With libmathdx 0.4.2, any up to 8192 a block.
    precision : {numpy.float16, numpy.float32, numpy.float64}
        Type of real and imaginary parts.
    fft_type : {'c2c', 'r2c', 'c2r'}
        Complex to complex, real to complex or complex to real.
    execution : {'Block', 'Thread'}
        Whether the threads of a block work on a transform together, or each thread on its own.
    sm : ComputeCapability or int, optional
        GPUs to compile for, such as ``ComputeCapability(9, 0)`` or 90. Default: the current GPU.
    direction : {'forward', 'inverse'}, optional
        Needed for ``'c2c'``.
    ffts_per_block : int or 'suggested', optional
        How many transforms a block computes at once. Default: 1, or 2 in half precision.
    elements_per_thread : int or 'suggested', optional
        How many points each thread of a block holds. Default: what cuFFTDx suggests.
    real_fft_options : dict, optional
        ``complex_layout`` (``'natural'``, ``'packed'`` or ``'full'``) and ``real_mode``
        (``'normal'`` or ``'folded'``) of a real transform.

    Attributes
    ----------
    storage_size : int
        Length of a thread's array, in elements of ``value_type``.
    value_type, input_type, output_type : type, Complex or Vector
        Types of the elements of a thread's array, and of those that it reads and writes.
    stride : int
        Distance of the points of a thread: thread t holds points t, t + stride, …. Load those
        below ``input_length``, and store those below ``output_length``: others do not exist.
    block_dim : Dim3 or None
        Threads of a block.
    shared_memory_size : int or None
        Bytes of shared memory that a block needs.
    implicit_type_batching : int
        How many transforms share an element of ``value_type``: 2 in half precision.

    Raises
    ------
    ValueError
        An argument is not allowed, or cuFFTDx does not support this transform on these GPUs; the
        message names the nearest that works.
    gpumath.bindings.errors.LibraryNotFoundError
        libmathdx or NVRTC is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> fft = device.FFT(
    ...     size=128,
    ...     precision=np.float32,
    ...     fft_type="c2c",
    ...     execution="Block",
    ...     direction="forward",
    ...     elements_per_thread=8,
    ...     sm=90,
    ... )
    >>> fft.block_dim, fft.storage_size, fft.shared_memory_size
    (Dim3(x=16, y=1, z=1), 8, 1024)
    """

    @cached_property
    def elements_per_thread(self) -> int:
        """Number of points that a thread holds."""
        return self._descriptor.integer("ELEMENTS_PER_THREAD")

    @cached_property
    def ffts_per_block(self) -> Any:
        """Number of transforms that a block computes at once. None for a thread's transform."""
        return self._block_trait("FFTS_PER_BLOCK")

    @cached_property
    def shared_memory_size(self) -> Any:
        """Bytes of shared memory that a block needs. None for a thread's transform."""
        return self._block_trait("SHARED_MEMORY_SIZE")

    @cached_property
    def block_dim(self) -> Any:
        """Threads of a block, a `Dim3`. None for a thread's transform."""
        if self._execution == "Thread":
            return None
        return Dim3(*self._descriptor.integers("BLOCK_DIM", 3))

    @cached_property
    def storage_size(self) -> int:
        """Length of a thread's array, in elements of ``value_type``."""
        return self._descriptor.integer("STORAGE_SIZE")

    @cached_property
    def stride(self) -> int:
        """Distance of the points of a thread."""
        return self._descriptor.integer("STRIDE")

    @cached_property
    def implicit_type_batching(self) -> int:
        """How many transforms share an element of ``value_type``."""
        return self._descriptor.integer("IMPLICIT_TYPE_BATCHING")

    @cached_property
    def input_length(self) -> int:
        """How many elements of ``input_type`` a transform reads."""
        return self._descriptor.integer("INPUT_LENGTH")

    @cached_property
    def output_length(self) -> int:
        """How many elements of ``output_type`` a transform writes."""
        return self._descriptor.integer("OUTPUT_LENGTH")

    @cached_property
    def input_elements_per_thread(self) -> int:
        """How many elements of ``input_type`` a thread reads at most."""
        return self._descriptor.integer("INPUT_ELEMENTS_PER_THREAD")

    @cached_property
    def output_elements_per_thread(self) -> int:
        """How many elements of ``output_type`` a thread writes at most."""
        return self._descriptor.integer("OUTPUT_ELEMENTS_PER_THREAD")

    @property
    def value_type(self) -> Any:
        """Type of the elements of a thread's array."""
        return self._value_type("VALUE_TYPE")

    @property
    def input_type(self) -> Any:
        """Type of the elements that a transform reads."""
        return self._value_type("INPUT_TYPE")

    @property
    def output_type(self) -> Any:
        """Type of the elements that a transform writes."""
        return self._value_type("OUTPUT_TYPE")

    @property
    def extensions(self) -> Any:
        """Not supported, as in nvmath-python: an ``FFT`` needs no extensions of Numba's.

        Raises
        ------
        NotImplementedError
            Always.
        """
        msg = "an FFT has no extensions; it is used in a kernel without any"
        raise NotImplementedError(msg)

    def valid(self, *knobs: str) -> list[tuple[int, ...]]:
        """Return the values that cuFFTDx supports for knobs of a block's transform.

        Parameters
        ----------
        *knobs : {'ffts_per_block', 'elements_per_thread'}
            Knobs.

        Returns
        -------
        list of tuple of int
            Combinations of their values, the best first.

        Raises
        ------
        ValueError
            A knob has another name, or a thread computes the transform.

        Examples
        --------
        >>> import numpy as np
        >>> from gpumath import device
        >>> fft = device.FFT(128, np.float32, "c2c", "Block", direction="forward", sm=90)
        >>> (8,) in fft.valid("elements_per_thread")
        True
        """
        for knob in knobs:
            one_of("knob", knob, tuple(KNOBS))
        if not knobs or self._execution == "Thread":
            msg = "valid() needs a knob" if not knobs else "execution='Thread' has no knobs"
            raise ValueError(msg)
        return knob_values(self._descriptor, knobs)

    def execute(self, data: Any, shared: Any = None) -> None:
        """Transform what the threads hold, inside a kernel.

        A thread transforms its own array, ``execute(thread_data)``. A block transforms what its
        threads hold in their arrays, ``execute(thread_data, shared)``, or what is in shared memory,
        ``execute(shared)``, where each transform's points stand in their order.

        Parameters
        ----------
        data : array
            Array of the thread with ``storage_size`` elements of ``value_type``, or of a block
            without the second argument its shared memory. It holds the input before, and the result
            afterwards.
        shared : array, optional
            Shared memory of the block, ``shared_memory_size`` bytes, that the threads exchange
            points through.

        Raises
        ------
        RuntimeError
            It is called outside of a kernel.
        """
        del data, shared
        only_in_kernels("FFT.execute")

    def _block_trait(self, name: str) -> int | None:
        return None if self._execution == "Thread" else self._descriptor.integer(name)

    def _value_type(self, trait: str) -> Any:
        number = mathdx.CufftdxTraitType[trait]
        handle = self._descriptor.handle
        return value_type_of(mathdx.cufftdx_get_trait_commondx_data_type(handle, number))

    def _code(self, api: str, target: ComputeCapability | None = None) -> CompiledCode:
        """Return the code of `execute`, with or without shared memory of its own."""
        return compiled_execute("cufftdx", self._operators(api), target or self._sm, self)

    @property
    def _key(self) -> tuple[object, ...]:
        return (*sorted(self._operators().items()), str(self._sm))

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device import _numba

        return _numba.type_of(self)

    _constants = frozenset(
        {
            *("size", "precision", "fft_type", "execution", "direction", "sm"),
            *("ffts_per_block", "elements_per_thread", "storage_size", "shared_memory_size"),
            *("stride", "block_dim", "implicit_type_batching"),
            *("value_type", "input_type", "output_type", "input_length", "output_length"),
            *("input_elements_per_thread", "output_elements_per_thread"),
        }
    )


def compile_fft_execute(
    fft: FFT,
    code_type: CodeType | Sequence[Any],
    execute_api: Literal["register_memory", "shared_memory"] | None = None,
) -> tuple[Code, str]:
    """Compile a transform to LTO-IR, for kernels that another compiler makes.

    The function has C's calling convention. Its arguments are the addresses of the thread's array,
    and of a block's shared memory; with ``'shared_memory'`` only that of shared memory.

    Parameters
    ----------
    fft : FFT
        The transform.
    code_type : CodeType
        ``CodeType("lto", ComputeCapability(9, 0))`` or a tuple like it.
    execute_api : {'register_memory', 'shared_memory'}, optional
        Whether a block transforms what is in the arrays of its threads, or in shared memory.
        Default: ``'register_memory'``.

    Returns
    -------
    code : Code
        The LTO-IR.
    symbol : str
        Name of the function in it.

    Raises
    ------
    TypeError
        ``fft`` is no `FFT`.
    ValueError
        Another argument is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> fft = device.FFT(8, np.float32, "c2c", "Thread", direction="forward", sm=90)
    >>> code, symbol = device.compile_fft_execute(fft, ("lto", (9, 0)))
    >>> symbol.startswith("cufftdx_execute")
    True
    """
    instance_of("fft", fft, FFT)
    wanted = as_code_type(code_type)
    if execute_api is not None:
        if fft.execution == "Thread":
            msg = f"execute_api is {execute_api!r}, but it is for execution='Block' only"
            raise ValueError(msg)
        one_of("execute_api", execute_api, tuple(APIS))
    code = fft._code(execute_api or "register_memory", wanted.cc)
    return Code(wanted, code.isa_version, code.ltoir), code.symbols[0]
