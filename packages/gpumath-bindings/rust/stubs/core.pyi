"""Devices, memory, operand views and compiled plans: what the host library is built on."""

from collections.abc import Callable, Sequence
from logging import Logger, LoggerAdapter
from typing import Any, Literal, Self, final

from typing_extensions import disjoint_base

_C_API: object  # a PyCapsule
_Stream = Any  # an int, or an object with __cuda_stream__, .cuda_stream, .ptr or .handle
_Qualifier = tuple[str, bool, int, int, int]
_Callback = Any  # an object with .ltoir, .size and .data

@final
class Library:
    """A CUDA library that the loader found."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def cuda_major(self) -> int | None: ...
    @property
    def origin(self) -> str: ...

def libraries() -> list[Library]: ...
def has(name: str) -> bool: ...
def search_report() -> dict[str, Any]: ...

@final
class TensorView:
    """An operand as an address, an element type, a layout and a device; keeps the operand alive."""

    def __new__(cls, operand: object, *, stream: _Stream | None = None) -> TensorView: ...
    @property
    def ptr(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> Literal["cpu", "cuda"]: ...
    @property
    def device_id(self) -> int | None: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def span(self) -> tuple[int, int]: ...

@final
class Array:
    """An N-D array in memory that gpumath owns, or borrows from another library."""

    def __new__(
        cls,
        shape: int | Sequence[int],
        dtype: Any,
        *,
        kind: Literal["device", "pinned", "managed", "host"] = "device",
        device_id: int = 0,
        stream: _Stream | None = None,
        strides: Sequence[int] | None = None,
    ) -> Array: ...
    @staticmethod
    def borrow(operand: object, /, *, stream: _Stream | None = None) -> Array: ...
    @property
    def ptr(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def kind(self) -> Literal["device", "pinned", "managed", "host"]: ...
    @property
    def device(self) -> Literal["cpu", "cuda"]: ...
    @property
    def device_id(self) -> int | None: ...
    @property
    def stream(self) -> int: ...
    @property
    def readonly(self) -> bool: ...
    def prefetch(self, device: int | Literal["cpu"], *, stream: _Stream | None = None) -> None: ...
    def advise(
        self,
        advice: Literal["read_mostly", "preferred_location", "accessed_by"],
        device: int | Literal["cpu"] | None = None,
        *,
        on: bool = True,
    ) -> None: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...  # a PyCapsule
    def __dlpack_device__(self) -> tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    # Always raises: NumPy asks for it where the buffer protocol was refused.
    def __array__(self, dtype: object = None, copy: object = None) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

_Norm = Literal["backward", "ortho", "forward"]

@final
class Workspace:
    """Device memory that executions work in, kept between executions on one stream."""

    def __new__(cls, allocator: object | None = None) -> Workspace: ...
    def release(self) -> None: ...

@final
class FftPlan:
    """A Fourier transform of one shape, layout and element type, ready to run.

    It holds no workspace.
    """

    def __new__(
        cls,
        operand: object,
        axes: Sequence[int] | None = None,
        kind: Literal["C2C", "R2C", "C2R"] | None = None,
        *,
        execution: Literal["cpu", "cuda"] | None = None,
        device_id: int | None = None,
        num_threads: int | None = None,
        inplace: bool = False,
        last_axis_parity: Literal["even", "odd"] = "even",
        result_layout: Literal["optimized", "natural"] = "optimized",
        cached: bool = True,
        out: object | None = None,
        stream: _Stream | None = None,
        prolog: _Callback | None = None,
        epilog: _Callback | None = None,
        device_ids: Sequence[int] | None = None,
    ) -> FftPlan: ...
    @staticmethod
    def transform(
        operand: object,
        axes: Sequence[int] | None = None,
        kind: Literal["C2C", "R2C", "C2R"] | None = None,
        out: object | None = None,
        direction: int = -1,
        norm: _Norm | None = None,
        execution: Literal["cpu", "cuda"] | None = None,
        *,
        device_id: int | None = None,
        num_threads: int | None = None,
        inplace: bool = False,
        last_axis_parity: Literal["even", "odd"] = "even",
        result_layout: Literal["optimized", "natural"] = "optimized",
        may_overwrite: bool = False,
    ) -> Any: ...
    @property
    def kind(self) -> str: ...
    @property
    def axes(self) -> tuple[int, ...]: ...
    @property
    def execution(self) -> Literal["cpu", "cuda"]: ...
    @property
    def engine(self) -> str: ...
    @property
    def device_id(self) -> int | None: ...
    @property
    def device_ids(self) -> tuple[int, ...] | None: ...
    @property
    def num_threads(self) -> int | None: ...
    @property
    def inplace(self) -> bool: ...
    @property
    def problem(self) -> FftProblem: ...
    @property
    def input_shape(self) -> tuple[int, ...]: ...
    @property
    def input_strides(self) -> tuple[int, ...]: ...
    @property
    def input_dtype(self) -> str: ...
    @property
    def output_shape(self) -> tuple[int, ...]: ...
    @property
    def output_strides(self) -> tuple[int, ...]: ...
    @property
    def output_dtype(self) -> str: ...
    @property
    def workspace_size(self) -> int: ...
    @property
    def library_calls(self) -> int: ...
    def passes(self) -> list[FftPass]: ...
    @property
    def copies(self) -> int: ...
    def accepts(self, operand: object, device_id: int | None) -> bool: ...
    def fits(self, operand: object, out: object | None = None) -> bool: ...
    def execute(
        self,
        input: object,
        output: object,
        *,
        direction: int = -1,
        stream: _Stream | None = None,
        workspace: int = 0,
        norm: _Norm | None = None,
    ) -> None: ...
    def run(
        self,
        operand: object,
        out: object | None = None,
        direction: int = -1,
        stream: _Stream | None = None,
        workspace: Workspace | None = None,
        blocking: bool = False,
        norm: _Norm | None = None,
    ) -> Any: ...
    def empty_result(self, operand: object, stream: _Stream | None = None) -> Any: ...

@final
class MatmulPlan:
    """A product ``alpha * a @ b + beta * c`` of operands of some layouts, ready to run.

    It holds no workspace.
    """

    def __new__(
        cls,
        a: object,
        b: object,
        c: object | None = None,
        *,
        inputs: dict[str, Any] | None = None,
        execution: Literal["cpu", "cuda"] | None = None,
        device_id: int | None = None,
        device_ids: Sequence[int] | None = None,
        num_threads: int | None = None,
        out: object | None = None,
        stream: _Stream | None = None,
        conjugate: tuple[bool, bool] = (False, False),
        epilog: int | None = None,
        inplace: bool = False,
        compute_type: int | None = None,
        scale_type: str | None = None,
        result_type: str | None = None,
        aux_type: str | None = None,
        result_amax: bool = False,
        aux_amax: bool = False,
        block_scaling: bool = False,
        emulation_strategy: int | None = None,
        mantissa_bit_count: bool = False,
        sm_count_target: int = 0,
        fast_accumulation: bool = False,
        limit: int = 1,
        reduction_scheme_mask: int | None = None,
        max_waves_count: float = 0.0,
        numerical_impl_mask: int | None = None,
        max_workspace: int | None = None,
        algorithm: bytes | None = None,
        handle: int = 0,
    ) -> MatmulPlan: ...
    @staticmethod
    def multiply(
        a: object,
        b: object,
        c: object | None = None,
        alpha: object | None = None,
        beta: object | None = None,
        out: object | None = None,
        epilog: int | None = None,
        inputs: dict[str, Any] | None = None,
        execution: Literal["cpu", "cuda"] | None = None,
        takes_host_memory: bool = True,
    ) -> Any: ...
    @property
    def device_id(self) -> int | None: ...
    @property
    def device_ids(self) -> tuple[int, ...] | None: ...
    @property
    def engine(self) -> str: ...
    @property
    def workspace_size(self) -> int: ...
    @property
    def library_calls(self) -> int: ...
    @property
    def copies(self) -> int: ...
    @property
    def algorithms(self) -> list[tuple[bytes, int, float]]: ...
    @property
    def other_ways(self) -> list[bytes]: ...
    @property
    def compute_type(self) -> int: ...
    @property
    def dtypes(self) -> list[str]: ...
    @property
    def extents(self) -> list[int]: ...
    @property
    def result_shape(self) -> tuple[int, ...]: ...
    @property
    def result_strides(self) -> tuple[int, ...]: ...
    @property
    def auxiliary_outputs(self) -> tuple[str, ...]: ...
    def check_scalars(self, alpha: object | None, beta: object | None) -> None: ...
    def run(
        self,
        a: object,
        b: object,
        out: object | None = None,
        stream: _Stream | None = None,
        workspace: Workspace | None = None,
        blocking: bool = False,
        *,
        c: object | None = None,
        inputs: dict[str, Any] | None = None,
        alpha: object | None = None,
        beta: object | None = None,
    ) -> Any: ...

@disjoint_base
class MatmulExecutor:
    """Base of classes that execute one product many times.

    What their users repeat costs no Python code.
    """

    def __new__(cls, *_arguments: object, **_keywords: object) -> Self: ...
    @property
    def _operands(self) -> tuple[Any, ...]: ...
    @_operands.setter
    def _operands(self, operands: Sequence[Any]) -> None: ...
    def _prepare(
        self,
        plan: MatmulPlan,
        alpha: object | None,
        beta: object | None,
        setting: tuple[str, int | None, Workspace, bool, Logger | LoggerAdapter[Any]],
    ) -> None: ...
    def _unprepare(self) -> None: ...
    def _try_reset(self, *operands: object) -> bool: ...
    def execute(
        self,
        *,
        algorithm: Any = None,
        release_workspace: bool = False,
        stream: _Stream | None = None,
        out: object | None = None,
    ) -> Any: ...

@final
class StructuredMatmulPlan:
    """Products of matrices of some shapes, structures, layouts and element type, ready to run.

    It holds no workspace.
    """

    def __new__(
        cls,
        a: object,
        b: object,
        c: object | None = None,
        *,
        qualifiers: Sequence[tuple[_Qualifier, _Qualifier]] | None = None,
        scalars: Sequence[tuple[object, object]] | None = None,
        inplace: bool = False,
        execution: Literal["cpu", "cuda"] | None = None,
        device_id: int | None = None,
        device_ids: Sequence[int] | None = None,
        num_threads: int | None = None,
        out: object | None = None,
        stream: _Stream | None = None,
    ) -> StructuredMatmulPlan: ...
    @staticmethod
    def multiply(
        a: object,
        b: object,
        c: object | None = None,
        alpha: object | None = None,
        beta: object | None = None,
        out: object | None = None,
        execution: Literal["cpu", "cuda"] | None = None,
        num_threads: int | None = None,
        qualifiers: tuple[_Qualifier, _Qualifier] | None = None,
    ) -> Any: ...
    @property
    def device_id(self) -> int | None: ...
    @property
    def device_ids(self) -> tuple[int, ...] | None: ...
    @property
    def engine(self) -> str: ...
    @property
    def workspace_size(self) -> int: ...
    def accepts(self, a: object, b: object, c: object | None = None) -> bool: ...
    def check_scalars(self, alpha: object | None, beta: object | None) -> None: ...
    def run(
        self,
        a: object,
        b: object,
        c: object | None = None,
        alpha: object | None = None,
        beta: object | None = None,
        out: object | None = None,
        stream: _Stream | None = None,
        workspace: Workspace | None = None,
        blocking: bool = False,
    ) -> Any: ...

@disjoint_base
class StructuredMatmulExecutor:
    """Base of classes that compute one product many times.

    What their users repeat costs no Python code.
    """

    def __new__(cls, *_arguments: object, **_keywords: object) -> Self: ...
    @property
    def _operands(self) -> tuple[Any, ...]: ...
    @_operands.setter
    def _operands(self, operands: Sequence[Any]) -> None: ...
    def _reset(self, operands: Sequence[object]) -> bool: ...
    def _prepare(
        self,
        plan: StructuredMatmulPlan,
        alpha: object | None,
        beta: object | None,
        setting: tuple[str, int | None, Workspace, bool, Logger | LoggerAdapter[Any]],
        is_list: bool,
    ) -> None: ...
    def _unprepare(self) -> None: ...
    def execute(self, *, stream: _Stream | None = None, out: object | None = None) -> Any: ...

@disjoint_base
class FftExecutor:
    """Base of classes that execute one plan many times.

    What their users repeat costs no Python code.
    """

    def __new__(cls, *_arguments: object, **_keywords: object) -> Self: ...
    _operand: Any
    def _prepare(
        self,
        plan: FftPlan,
        direction: int,
        is_free: bool,
        setting: tuple[str, int | None, Workspace, bool, Logger | LoggerAdapter[Any]],
    ) -> None: ...
    def _unprepare(self) -> None: ...
    def execute(
        self,
        direction: Literal["forward", "inverse"] | int | None = None,
        stream: _Stream | None = None,
        release_workspace: bool = False,
        out: object | None = None,
    ) -> Any: ...
    def reset_operand(self, operand: object, *, stream: _Stream | None = None) -> None: ...

def fft_direction(direction: object, kind: str) -> int: ...

@final
class FftProblem:
    """What a plan is made for: a transform of operands of one shape, layout and element type."""

    def __new__(
        cls,
        shape: Sequence[int],
        dtype: str,
        strides: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        kind: Literal["C2C", "R2C", "C2R"] | None = None,
        *,
        inplace: bool = False,
        last_axis_parity: Literal["even", "odd"] = "even",
        result_layout: Literal["optimized", "natural"] = "optimized",
        output_strides: Sequence[int] | None = None,
        unaligned: bool = False,
    ) -> FftProblem: ...
    @property
    def kind(self) -> str: ...
    @property
    def axes(self) -> tuple[int, ...]: ...
    @property
    def inplace(self) -> bool: ...
    @property
    def unaligned(self) -> bool: ...
    @property
    def input_shape(self) -> tuple[int, ...]: ...
    @property
    def input_strides(self) -> tuple[int, ...]: ...
    @property
    def input_dtype(self) -> str: ...
    @property
    def output_shape(self) -> tuple[int, ...]: ...
    @property
    def output_strides(self) -> tuple[int, ...]: ...
    @property
    def output_dtype(self) -> str: ...
    def passes(self, *, device_id: int | None = None) -> list[FftPass]: ...
    @property
    def copies(self) -> int: ...
    def workspace_size(self, work_area: int, *, device_id: int | None = None) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]: ...

@final
class FftPass:
    """One of the cuFFT plans of a transform, in the terms of cuFFT's advanced data layout."""

    @property
    def kind(self) -> str: ...
    @property
    def extents(self) -> tuple[int, ...]: ...
    @property
    def input_embed(self) -> tuple[int, ...]: ...
    @property
    def input_stride(self) -> int: ...
    @property
    def input_distance(self) -> int: ...
    @property
    def output_embed(self) -> tuple[int, ...]: ...
    @property
    def output_stride(self) -> int: ...
    @property
    def output_distance(self) -> int: ...
    @property
    def batch(self) -> int: ...

def convolve(
    operand: object,
    filter: object,
    axes: Sequence[int],
    starts: Sequence[int],
    shape: Sequence[int],
    *,
    stream: _Stream | None = None,
) -> Any: ...
def cosine_step(
    operand: object,
    transform: int,
    points: int,
    axis: int,
    is_before: bool,
    *,
    is_sine: bool = False,
    scale: float = 1.0,
    first: float = 1.0,
    last: float = 1.0,
    has_parts: bool = False,
    num_threads: int | None = None,
    stream: _Stream | None = None,
) -> Any: ...
def cosine_transform(
    operand: object,
    transform: int,
    axis: int,
    *,
    is_sine: bool = False,
    scale: float = 1.0,
    before: tuple[float, float] = (1.0, 1.0),
    after: tuple[float, float] = (1.0, 1.0),
    num_threads: int | None = None,
) -> Any | None: ...
def resized(
    operand: object,
    shape: Sequence[int],
    *,
    starts: Sequence[int] | None = None,
    order: Literal["K", "C"] = "K",
    stream: _Stream | None = None,
) -> Any: ...
def multiply_spectra(target: object, left: object, right: object, factor: float = 1.0) -> None: ...
def join_pieces(target: object, pieces: object, axis: int, skipped: int) -> None: ...
def usable_cores() -> int: ...

@final
class PlanCacheInfo:
    @property
    def hits(self) -> int: ...
    @property
    def misses(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def host_memory(self) -> int: ...
    @property
    def device_memory(self) -> int: ...
    @property
    def memory_limit(self) -> int | None: ...

def plan_cache_info() -> PlanCacheInfo: ...
def plan_cache_clear() -> None: ...
def set_plan_cache_limit(limit: int, *, memory_limit: int | None = None) -> None: ...

@final
class Device:
    def __new__(cls, device_id: int = 0) -> Device: ...
    @staticmethod
    def count() -> int: ...
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def compute_capability(self) -> tuple[int, int]: ...
    @property
    def total_memory(self) -> int: ...
    def memory_info(self) -> tuple[int, int]: ...
    def synchronize(self) -> None: ...

def driver_version() -> str: ...

@final
class Stream:
    def __new__(cls, device_id: int = 0) -> Stream: ...
    @property
    def handle(self) -> int: ...
    @property
    def device_id(self) -> int: ...
    def __cuda_stream__(self) -> tuple[int, int]: ...
    def synchronize(self) -> None: ...
    def record(self) -> Event: ...
    def wait(self, event: Event) -> None: ...

def stream_handle(stream: _Stream) -> int: ...
def order_streams(first: _Stream, then: _Stream, *, device_id: int = 0) -> None: ...
def synchronize_stream(
    stream: _Stream, *, device_id: int = 0, interruptible: bool = True
) -> None: ...
def is_capturing(stream: _Stream, *, device_id: int = 0) -> bool: ...
def current_stream(operand: object) -> int: ...

@final
class Event:
    def __new__(cls, device_id: int = 0, *, timing: bool = False) -> Event: ...
    @property
    def handle(self) -> int: ...
    @property
    def device_id(self) -> int: ...
    def record(self, stream: _Stream | None = None) -> None: ...
    def query(self) -> bool: ...
    def synchronize(self) -> None: ...
    def elapsed_ms(self, end: Event) -> float: ...

def _close() -> None: ...
def _status_text(library: str, status: int, function: str, context: str) -> str: ...

@final
class MemoryPointer:
    """A block of device memory and what frees it."""

    def __new__(
        cls, device_ptr: int, size: int, finalizer: Callable[[], object] | None = None
    ) -> MemoryPointer: ...
    @property
    def device_ptr(self) -> int: ...
    @property
    def size(self) -> int: ...
    def free(self) -> None: ...

def allocate(size: int, *, device_id: int = 0, stream: _Stream | None = None) -> MemoryPointer: ...
def copy(
    destination: int, source: int, size: int, *, device_id: int = 0, stream: _Stream | None = None
) -> None: ...
