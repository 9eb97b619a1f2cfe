"""Pipelines: they bring tiles of large matrices to a product inside a kernel, ahead of time."""

from __future__ import annotations

import ctypes
import weakref
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from gpumath.bindings import core, driver, mathdx, nvrtc
from gpumath.device._architecture import Dim3
from gpumath.device._arguments import as_count, one_of
from gpumath.device._kernel_functions import only_in_kernels
from gpumath.device._matmul_types import element_size
from gpumath.device._pipeline_code import STRATEGIES, PipelineCode, TileCode, contiguous_axis

if TYPE_CHECKING:
    from gpumath.device._matmul import Matmul

__all__ = ["DevicePipeline", "TilePipeline", "pipeline_extensions"]

_OLDEST_CC = (7, 5)
_OLDEST_LIBMATHDX = (0, 4)
_OLDEST_TOOLKIT = (13, 0)
_OLDEST_TOOLKIT_OF_BLACKWELL = (13, 1)


class DevicePipeline:
    """Brings tiles of two matrices on the GPU to a product, while it computes earlier tiles.

    `Matmul.suggest_device_pipeline` makes it. A kernel gets it as an argument, if it is compiled
    with ``cuda.jit(extensions=device.pipeline_extensions)``, and asks it for the tiles of its
    block. From Hopper on, the GPU's unit for copies (TMA) brings the tiles.

    Parameters
    ----------
    mm : Matmul
        The product of one tile of a and one of b, made ``with_pipeline=True``.
    pipeline_depth : int
        Number of tiles of a and b that are on the way at once; 0 for as many as fit.
    a, b : array
        The matrices, m × k and k × n, on one GPU: any array that has ``__dlpack__`` or
        ``__cuda_array_interface__``. Their sizes are multiples of the tiles'. A third dimension
        counts matrices. The pipeline keeps them alive, and reads them whenever it is used.
    block_size_strategy : {'fixed', 'heuristic'}
        Whether the block of the kernel has the threads of the product, or more threads, which only
        copy, where that is faster: see ``block_dim``.

    Attributes
    ----------
    block_dim : Dim3
        Threads of a block of the kernel.
    buffer_size, buffer_alignment : int
        Size and alignment of the block's shared memory, in bytes.
    storage_bytes, storage_alignment : int
        Size and alignment of the pipeline itself in the GPU's memory, in bytes.
    a_strides, b_strides : tuple of int
        Distances of the elements of the matrices, in elements.

    Raises
    ------
    ValueError
        An argument is not allowed, or cuBLASDx does not support this pipeline.
    RuntimeError
        The CUDA toolkit or libmathdx is too old for pipelines.
    gpumath.bindings.errors.LibraryNotFoundError
        libmathdx, NVRTC or nvJitLink is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> product = device.Matmul(
    ...     size=(128, 128, 64),
    ...     precision=device.Precision(np.float16, np.float16, np.float32),
    ...     data_type="real",
    ...     arrangement=("row_major", "col_major", "row_major"),
    ...     block_dim=(256, 1, 1),
    ...     alignment=(16, 16, 16),
    ...     sm=90,
    ...     with_pipeline=True,
    ... )
    >>> def for_kernels(a, b):  # arrays on the GPU
    ...     return product.suggest_device_pipeline(4, a, b, block_size_strategy="heuristic")
    """

    def __init__(
        self,
        mm: Matmul,
        pipeline_depth: int,
        a: Any,
        b: Any,
        *,
        block_size_strategy: Literal["fixed", "heuristic"] = "fixed",
    ) -> None:
        _check_product(mm)
        one_of("block_size_strategy", block_size_strategy, tuple(STRATEGIES))
        deepest = pipeline_depth == 0 and pipeline_depth is not False
        depth = 0 if deepest else as_count("pipeline_depth", pipeline_depth)
        self.mm = mm
        self.a, self.b = a, b
        self._views = [core.TensorView(matrix) for matrix in (a, b)]
        _check_matrices(mm, self._views)
        self._code = self._code_of_depth(depth, block_size_strategy)
        self._code.precompile()
        self._address = self._create()

    def _code_of_depth(self, depth: int, strategy: str) -> PipelineCode:
        """Return the code for a depth; 0 stands for as many tiles as fit and as there are."""
        mm, (rows, *_) = self.mm, self._views
        tiles, rank = rows.shape[1] // mm.size[2], len(rows.shape)
        if depth > tiles:
            msg = f"pipeline_depth is {depth}; at most the number of tiles, {tiles}, is needed"
            raise ValueError(msg)
        code = PipelineCode(mm, depth, strategy, rank)
        if depth == 0:
            sizes = [element_size(value_type) for value_type in mm._value_types]
            fitting = code.buffer_size // (mm.a_size * sizes[0] + mm.b_size * sizes[1])
            if fitting > tiles:
                return PipelineCode(mm, tiles, strategy, rank)
        return code

    def _create(self) -> int:
        """Make the pipeline in the memory of the GPU, and return its address."""
        gpu = self._views[0].device_id or 0
        _check_gpu(self.mm, gpu)
        kernels = self._code.kernels()
        context = driver.device_primary_ctx_retain(driver.device_get(gpu))
        with _current(context):
            module = driver.module_load_data(kernels)
            memory = driver.mem_alloc(self._code.storage_bytes + self._code.storage_alignment)
            address = memory + -memory % self._code.storage_alignment
            weakref.finalize(self, _destroy, gpu, context, module, memory, address)
            numbers = array("q")
            for index, view in enumerate(self._views):
                numbers.extend(view.shape)
                numbers.extend(_other_strides(self.mm, index, view))
            on_gpu = driver.mem_alloc(len(numbers) * numbers.itemsize)
            driver.memcpy_htod(on_gpu, numbers.buffer_info()[0], len(numbers) * numbers.itemsize)
            _launch(module, "create", address, *(view.ptr for view in self._views), on_gpu)
            driver.mem_free(on_gpu)
        return address

    @property
    def block_dim(self) -> Dim3:
        """Threads of a block of the kernel."""
        return self._code.block_dim

    @property
    def buffer_size(self) -> int:
        """Bytes of shared memory that a block needs."""
        return self._code.buffer_size

    @property
    def buffer_alignment(self) -> int:
        """What the address of the shared memory is a multiple of, in bytes."""
        return self._code.buffer_alignment

    @property
    def storage_bytes(self) -> int:
        """Bytes of the pipeline itself."""
        return self._code.storage_bytes

    @property
    def storage_alignment(self) -> int:
        """What the address of the pipeline is a multiple of, in bytes."""
        return self._code.storage_alignment

    @property
    def a_strides(self) -> tuple[int, ...]:
        """Distances of the elements of a, in elements."""
        return self._views[0].strides

    @property
    def b_strides(self) -> tuple[int, ...]:
        """Distances of the elements of b, in elements."""
        return self._views[1].strides

    def get_tile(
        self,
        smem: Any,
        blockIdx_x: Any,  # noqa: N803 - nvmath's name
        blockIdx_y: Any,  # noqa: N803 - nvmath's name
    ) -> TilePipeline:
        """Return the tiles of a row and a column of tiles of the result, inside a kernel.

        All threads of the block call it.

        Parameters
        ----------
        smem : array
            Shared memory of ``buffer_size`` bytes, aligned to ``buffer_alignment``.
        blockIdx_x, blockIdx_y : int or tuple of int
            Which rows of a, and which columns of b, counted in tiles. With matrices of three
            dimensions, each is a pair, whose second number says which matrix.
        """
        del smem, blockIdx_x, blockIdx_y
        only_in_kernels("DevicePipeline.get_tile")

    def reset_tile(self, tile_pipeline: TilePipeline, idx: Any, idy: Any) -> None:
        """Make the tiles those of another row and column, inside a kernel.

        Parameters
        ----------
        tile_pipeline : TilePipeline
            What `get_tile` has returned.
        idx, idy : int or tuple of int
            As for `get_tile`.
        """
        del tile_pipeline, idx, idy
        only_in_kernels("DevicePipeline.reset_tile")

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device import _numba

        return _numba.type_of(self)


class TilePipeline:
    """The tiles of a and b that one tile of the result needs; `DevicePipeline.get_tile` makes it.

    Parameters
    ----------
    device_pipeline : DevicePipeline
        The pipeline.

    Attributes
    ----------
    storage_bytes, storage_alignment : int
        Size and alignment of its state in the registers and the memory of a thread, in bytes.
    """

    def __init__(self, device_pipeline: DevicePipeline) -> None:
        self._code = TileCode(device_pipeline._code)

    @property
    def storage_bytes(self) -> int:
        """Bytes of its state."""
        return self._code.storage_bytes

    @property
    def storage_alignment(self) -> int:
        """What the address of its state is a multiple of, in bytes."""
        return self._code.storage_alignment

    def execute(self, accumulator: Any) -> None:
        """Add the product of all tiles to an accumulator, inside a kernel.

        Parameters
        ----------
        accumulator : Accumulator
            What ``mm.suggest_accumulator()`` has returned.
        """
        del accumulator
        only_in_kernels("TilePipeline.execute")

    def _del(self) -> None:
        """End the use of the shared memory, inside a kernel, so that it can be used again."""
        only_in_kernels("TilePipeline._del")


class _PipelinesAsArguments:
    """Tells Numba how a kernel gets a pipeline as an argument."""

    def prepare_args(self, ty: Any, val: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
        del stream, retr
        if not isinstance(val, DevicePipeline):
            return ty, val
        from gpumath.device import _numba

        return _numba.PIPELINE_ARGUMENT, val._address


pipeline_extensions = [_PipelinesAsArguments()]


def _check_product(mm: Matmul) -> None:
    if not mm.with_pipeline:
        msg = f"{mm!r} has no pipeline; with_pipeline=True is needed"
        raise ValueError(msg)
    if mm.arrangement is None or mm.execution != "Block":
        msg = f"{mm!r} has no pipelines; arrangement and execution='Block' are needed"
        raise ValueError(msg)
    if mm.sm[:2] < _OLDEST_CC:
        msg = f"pipelines need GPUs of compute capability 7.5 or newer; {mm!r} is for {mm.sm}"
        raise ValueError(msg)
    if mathdx.get_version_ex() < _OLDEST_LIBMATHDX:
        found = ".".join(map(str, mathdx.get_version_ex()))
        msg = (
            f"pipelines need libmathdx 0.4, and {found} is installed. "
            "To fix it: pip install 'nvidia-libmathdx-cu13>=0.4'"
        )
        raise RuntimeError(msg)
    is_blackwell = mm.sm[0] >= 10
    oldest = _OLDEST_TOOLKIT_OF_BLACKWELL if is_blackwell else _OLDEST_TOOLKIT
    if nvrtc.version() < oldest:
        found, needed = (".".join(map(str, v)) for v in (nvrtc.version(), oldest))
        gpus = " on compute capability 10.0 and newer" if is_blackwell else ""
        msg = (
            f"pipelines{gpus} need CUDA {needed}, and NVRTC is of CUDA {found}. "
            f"To fix it: pip install 'nvidia-cuda-nvrtc>={needed}'"
        )
        raise RuntimeError(msg)


def _check_matrices(mm: Matmul, views: list[core.TensorView]) -> None:
    m, n, k = mm.size
    tiles = ((m, k), (k, n))
    for index, (view, tile) in enumerate(zip(views, tiles, strict=True)):
        _check_matrix(mm, index, view, tile)
    a, b = views
    if a.shape[1] != b.shape[0] or a.shape[2:] != b.shape[2:]:
        msg = f"a and b have the shapes {a.shape} and {b.shape}, which do not fit together"
        raise ValueError(msg)
    if a.device_id != b.device_id:
        msg = f"a is on GPU {a.device_id} and b on GPU {b.device_id}; one GPU is needed"
        raise ValueError(msg)


def _check_matrix(mm: Matmul, index: int, view: core.TensorView, tile: tuple[int, int]) -> None:
    name = "ab"[index]
    if view.device != "cuda":
        msg = f"{name} is in the memory of the CPU; an array on a GPU is needed"
        raise ValueError(msg)
    shape, strides = view.shape, view.strides
    if len(shape) not in (2, 3) or any(n % t for n, t in zip(shape, tile, strict=False)):
        msg = f"{name} has the shape {shape}; multiples of the tile's sizes, {tile}, are needed"
        raise ValueError(msg)
    if not all(shape):
        msg = f"{name} has the shape {shape}; an array with elements is needed"
        raise ValueError(msg)
    size = element_size(mm._value_types[index])
    if view.itemsize != size:
        msg = f"{name} has elements of {view.itemsize} bytes; {size} bytes are needed"
        raise ValueError(msg)
    if strides[contiguous_axis(mm, index)] != 1:
        arrangement = "contiguous rows" if contiguous_axis(mm, index) else "contiguous columns"
        msg = f"{name} has the strides {strides}, in elements; {arrangement} are needed"
        raise ValueError(msg)
    alignment = mm.alignment[index]
    distances = [view.ptr, *(stride * size for stride in _other_strides(mm, index, view))]
    if any(distance % alignment for distance in distances):
        msg = (
            f"the address of {name} or its strides, {strides}, are no multiples of {alignment} "
            "bytes, which is the product's alignment"
        )
        raise ValueError(msg)


def _other_strides(mm: Matmul, index: int, view: core.TensorView) -> list[int]:
    """Return all strides but that of the dimension that is contiguous."""
    contiguous = contiguous_axis(mm, index)
    return [stride for axis, stride in enumerate(view.strides) if axis != contiguous]


def _check_gpu(mm: Matmul, gpu: int) -> None:
    found = core.Device(gpu).compute_capability
    fits = found == mm.sm[:2] if mm.sm.arch else found >= mm.sm[:2]
    if not fits:
        msg = f"{mm!r} is for GPUs of {mm.sm}, and the matrices are on one of {found}"
        raise ValueError(msg)


@contextmanager
def _current(context: int) -> Iterator[None]:
    driver.ctx_push_current(context)
    try:
        yield
    finally:
        driver.ctx_pop_current()


def _launch(module: int, name: str, *addresses: int) -> None:
    function = driver.module_get_function(module, name)
    arguments = (addresses, (ctypes.c_void_p,) * len(addresses))
    driver.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments)
    driver.ctx_synchronize()


def _destroy(gpu: int, context: int, module: int, memory: int, address: int) -> None:
    """Destroy a pipeline, after all kernels that may use it have ended."""
    with _current(context):
        driver.ctx_synchronize()
        _launch(module, "destroy", address)
        driver.mem_free(memory)
        driver.module_unload(module)
    driver.device_primary_ctx_release(driver.device_get(gpu))
