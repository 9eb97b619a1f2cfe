"""Options of products, preferences of their plans, and scales of narrow operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeVar

from gpumath._host.arguments import checked_flag, checked_integer
from gpumath._host.fields import from_fields
from gpumath._host.memory_managers import BaseCUDAMemoryManager, BaseCUDAMemoryManagerAsync
from gpumath._host.options import Logger, OperationOptions
from gpumath.linalg.advanced._types import dtype_name

__all__ = [
    "MatmulEpilogPreferences",
    "MatmulOptions",
    "MatmulPlanPreferences",
    "MatmulQuantizationScales",
    "resolve_preferences",
    "resolve_scales",
]


@dataclass
class MatmulOptions(OperationOptions):
    """Choices about a product of matrices.

    Wherever it is accepted, a dictionary of its fields is accepted too.

    Parameters
    ----------
    inplace : bool, default: False
        Write the result to ``c``, which must have its shape and element type.
    compute_type : gpumath.bindings.cublas.ComputeType, optional
        What is computed in. By default float32 for operands of at most 32 bits, float64 for those
        of 64, and int32 for int8 with a result of int8 or int32. The emulated types,
        ``COMPUTE_32F_EMULATED_16BFX9`` and ``COMPUTE_64F_EMULATED_FIXEDPOINT``, allow cuBLASLt to
        emulate: whether it does, `Algorithm.is_emulated` says.
    scale_type : cudaDataType, str or dtype, optional
        Type of ``alpha`` and ``beta``. It follows from the others; give it to choose float16
        computation for float16 operands.
    result_type : cudaDataType, str or dtype, optional
        Element type of the result. By default that of ``c`` or of ``a``, and int32 for int8.
    result_amax : bool, default: False
        Find the largest magnitude in a result of an 8-bit floating-point type, before it is scaled.
    block_scaling : bool, default: False
        Scale blocks of the operands instead of whole ones: MXFP8 for operands of 8-bit
        floating-point types, NVFP4 for ``float4_e2m1fn_x2``. It needs a GPU of compute capability
        10.0. The scales of the blocks of a narrow result are returned as ``d_out_scale``.
    sm_count_target : int, default: 0
        Multiprocessors that the product should use; 0 for all.
    fast_accumulation : bool, default: False
        Add up products of 8-bit floating-point numbers faster and less exactly.
    device_id : int, default: 0
        CUDA device for operands in host memory.
    handle : int, optional
        A ``cublasLtHandle_t`` to use. By default gpumath has one for each thread and device.
    logger : logging.Logger or logging.LoggerAdapter, optional
        Where to log; the root logger by default.
    memory_limit : int, float or str, default: '80%'
        Most device memory that the workspace may take: bytes, a fraction of the device's memory, or
        text such as ``"80%"`` or ``"0.5 GiB"``. Only algorithms that do with it are considered;
        `gpumath.bindings.errors.OutOfMemoryError` says that copies of operands need more.
    blocking : {'auto', True}, default: 'auto'
        ``'auto'`` returns as soon as the work is enqueued if the operands are on the GPU, and when
        the result is there otherwise; ``True`` always waits for the result.
    allocator : BaseCUDAMemoryManager or BaseCUDAMemoryManagerAsync, optional
        Source of the workspace on the GPU. By default it is the memory pool of the operands'
        library, and gpumath's own pool for operands in host memory.
    emulation_strategy : {'default', 'performant', 'eager'}, optional
        When cuBLASLt emulates, for the emulated compute types: where it takes less time, or
        wherever it can. Needs cuBLASLt 13.1.
    mantissa_bit_count : bool, default: False
        For ``COMPUTE_64F_EMULATED_FIXEDPOINT``: return how many bits of the mantissa the emulation
        retained as ``mantissa_bit_count``, -1 if cuBLASLt did not emulate. Needs cuBLASLt 13.1.

    Raises
    ------
    ValueError
        A value is not among the allowed ones.
    TypeError
        A value has a wrong type.

    Examples
    --------
    >>> from gpumath.linalg.advanced import MatmulOptions
    >>> MatmulOptions(result_type="float32", memory_limit="1 GiB").result_type
    'float32'
    """

    inplace: bool = False
    compute_type: int | None = None
    scale_type: Any = None
    result_type: Any = None
    result_amax: bool = False
    block_scaling: bool = False
    sm_count_target: int = 0
    fast_accumulation: bool = False
    device_id: int = 0
    handle: int | None = None
    logger: Logger | None = None
    memory_limit: int | float | str | None = "80%"
    blocking: Literal["auto", True] = "auto"
    allocator: BaseCUDAMemoryManager | BaseCUDAMemoryManagerAsync | None = None
    emulation_strategy: Literal["default", "performant", "eager"] | None = None
    mantissa_bit_count: bool = False

    def check(self) -> None:
        """Raise ValueError or TypeError if a field has a value that is not allowed."""
        flags = ("inplace", "result_amax", "block_scaling", "fast_accumulation")
        for field in (*flags, "mantissa_bit_count"):
            self._check_choice(field, (False, True))
        self._check_choice("emulation_strategy", (None, "default", "performant", "eager"))
        for field in ("sm_count_target", "device_id"):
            checked_integer(f"MatmulOptions: {field}", getattr(self, field))
        if self.compute_type is not None:
            checked_integer("MatmulOptions: compute_type", self.compute_type)
        if self.handle is not None:
            checked_integer("MatmulOptions: handle", self.handle, bits=64)
        dtype_name("scale_type", self.scale_type)
        dtype_name("result_type", self.result_type)
        super().check()


@dataclass(kw_only=True)
class MatmulEpilogPreferences:
    """Choices about what an epilog writes beside the result.

    Parameters
    ----------
    aux_type : cudaDataType, str or dtype, optional
        Element type of ``gelu_aux``; by default that of the result, and that of ``c`` for a result
        of an 8-bit floating-point type.
    aux_amax : bool, default: False
        Find the largest magnitude in ``gelu_aux``.

    Examples
    --------
    >>> from gpumath.linalg.advanced import MatmulEpilogPreferences
    >>> MatmulEpilogPreferences(aux_type="float16").aux_amax
    False
    """

    aux_type: Any = None
    aux_amax: bool = False

    def __post_init__(self) -> None:
        """Refuse values that are not allowed."""
        self._as_choices()

    def _as_choices(self) -> dict[str, Any]:
        """Return the arguments that the core's plans have for these preferences."""
        return {
            "aux_type": dtype_name("aux_type", self.aux_type),
            "aux_amax": checked_flag("MatmulEpilogPreferences: aux_amax", self.aux_amax),
        }


@dataclass(kw_only=True)
class MatmulPlanPreferences:
    """What cuBLASLt chooses the algorithms of a plan by.

    Parameters
    ----------
    reduction_scheme_mask : MatmulReductionScheme, optional
        Ways to add up parts of a sum that are allowed; all by default.
    max_waves_count : float, default: 0.0
        Leave out algorithms that fill the GPU more often than this; 0 for no limit.
    numerical_impl_mask : MatmulNumericalImplFlags, optional
        Ways to compute that are allowed; all by default.
    limit : int, default: 8
        Number of algorithms to ask for.
    epilog : MatmulEpilogPreferences or dict, optional
        What an epilog writes beside the result.

    Raises
    ------
    ValueError
        A number is out of range.
    TypeError
        A value has a wrong type.

    Examples
    --------
    >>> from gpumath.linalg.advanced import MatmulPlanPreferences
    >>> MatmulPlanPreferences(limit=3).max_waves_count
    0.0
    """

    reduction_scheme_mask: int | None = None
    max_waves_count: float = 0.0
    numerical_impl_mask: int | None = None
    limit: int = 8
    epilog: MatmulEpilogPreferences | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse values that are not allowed."""
        self.as_choices()

    def as_choices(self) -> dict[str, Any]:
        """Return the arguments that the core's plans have for these preferences."""
        epilog = _resolved(MatmulEpilogPreferences, "preferences.epilog", self.epilog)
        waves: object = self.max_waves_count
        if isinstance(waves, bool) or not isinstance(waves, Real):
            msg = f"MatmulPlanPreferences: max_waves_count is {waves!r}; a number is needed"
            raise TypeError(msg)
        count = float(waves)
        if not count >= 0:
            msg = (
                f"MatmulPlanPreferences: max_waves_count is {waves!r}; a number of at least 0 is "
                "needed"
            )
            raise ValueError(msg)
        return {
            "reduction_scheme_mask": self._mask("reduction_scheme_mask", bits=32),
            "max_waves_count": count,
            "numerical_impl_mask": self._mask("numerical_impl_mask", bits=64),
            "limit": checked_integer("MatmulPlanPreferences: limit", self.limit, lowest=1),
            **epilog._as_choices(),
        }

    def _mask(self, field: str, bits: int) -> int | None:
        value = getattr(self, field)
        if value is None:
            return None
        return checked_integer(f"MatmulPlanPreferences: {field}", value, bits=bits)


@dataclass(kw_only=True)
class MatmulQuantizationScales:
    """What the elements of 8-bit floating-point operands and results are multiplied by.

    Parameters
    ----------
    a, b, c : number or array, optional
        Scales of the operands: numbers, or arrays of one float32 element in the operands' memory.
        Those of ``a`` and ``b`` are needed. With the option ``block_scaling``, these are vectors
        with a scale for each block, in the order that `helpers.matmul.to_block_scale` makes: of
        type uint8 for MXFP8, float8_e4m3fn for NVFP4.
    d : number or array, optional
        What the result is multiplied by before it is rounded; needed if it has 8 bits. With the
        option ``block_scaling``, only a result of ``float4_e2m1fn_x2`` can have one.

    Examples
    --------
    >>> from gpumath.linalg.advanced import MatmulQuantizationScales
    >>> MatmulQuantizationScales(a=0.5, b=2).d is None
    True
    """

    a: Any = None
    b: Any = None
    c: Any = None
    d: Any = None


def resolve_preferences(preferences: object) -> MatmulPlanPreferences:
    """Turn the user's ``preferences`` argument into an object."""
    return _resolved(MatmulPlanPreferences, "preferences", preferences)


def resolve_scales(scales: object) -> MatmulQuantizationScales:
    """Turn the user's ``quantization_scales`` argument into an object."""
    return _resolved(MatmulQuantizationScales, "quantization_scales", scales)


T = TypeVar("T")


def _resolved(cls: type[T], name: str, given: object) -> T:
    if given is None:
        return cls()
    if isinstance(given, cls):
        return given
    if isinstance(given, Mapping):
        return from_fields(cls, name, given)
    msg = (
        f"{name} is a {type(given).__name__}; {cls.__name__}, a dictionary of its fields, or None "
        "is accepted"
    )
    raise TypeError(msg)
