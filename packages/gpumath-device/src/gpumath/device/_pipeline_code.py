"""What libmathdx makes for the pipelines of a product: their sizes, and the code that uses them."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gpumath.bindings import mathdx, nvjitlink, nvrtc
from gpumath.bindings.mathdx import (
    CommondxValueType,
    CublasdxBlockSizeStrategy,
    CublasdxDeviceFunctionOption,
    CublasdxDeviceFunctionType,
    CublasdxDevicePipelineType,
    CublasdxMemorySpace,
    CublasdxPipelineTrait,
    CublasdxTilePipelineType,
)
from gpumath.bindings.nvjitlink import InputType
from gpumath.device._architecture import Dim3
from gpumath.device._code_cache import cached
from gpumath.device._descriptor import CompiledCode, Descriptor, compiled, explained, produce_ltoir
from gpumath.device._tensors import Layout, create_tensors
from gpumath.device._types import value_type_number

if TYPE_CHECKING:
    from gpumath.device._matmul import Matmul

__all__ = ["STRATEGIES", "PipelineCode", "TileCode", "contiguous_axis"]

STRATEGIES = {
    "fixed": CublasdxBlockSizeStrategy.FIXED,
    "heuristic": CublasdxBlockSizeStrategy.HEURISTIC,
}
# libmathdx's LIBMATHDX_RUNTIME: a number that is known when the kernel runs.
_AT_RUN_TIME = -(2**63)
_TRAITS = ("STORAGE_BYTES", "STORAGE_ALIGNMENT_BYTES", "BUFFER_SIZE", "BUFFER_ALIGNMENT_BYTES")
_ACCUMULATOR, _FRAGMENT, _GLOBAL = "suggested_accumulator_c", "suggested_rmem_c", "gmem_c"


class _Function(NamedTuple):
    """A function of cuBLASDx: its kind, and the tensors and pipelines that it is compiled for."""

    kind: str
    tensors: tuple[str, ...]
    pipelines: tuple[str, ...]


# All that kernels do with pipelines is compiled at once, which takes hardly longer than one
# function; the linker drops what a kernel does not call.
_FUNCTIONS = {
    "create": _Function("CREATE", (), ("device",)),
    "destroy": _Function("DESTROY", (), ("device",)),
    "create_tile": _Function("CREATE", (), ("tile",)),
    "destroy_tile": _Function("DESTROY", (), ("tile",)),
    "reset_tile": _Function("RESET", (), ("device", "tile")),
    "create_accumulator": _Function("CREATE", (_ACCUMULATOR,), ("tile",)),
    "execute": _Function("EXECUTE", (_ACCUMULATOR,), ("tile",)),
    "finish": _Function("FINISH_ACCUMULATION", (_ACCUMULATOR,), ()),
    "store": _Function("COPY", (_ACCUMULATOR, _GLOBAL), ()),
    "results": _Function("COPY", (_ACCUMULATOR, _FRAGMENT), ()),
    "copy_rmem": _Function("COPY", (_FRAGMENT, _GLOBAL), ("tile",)),
    "copy_gmem": _Function("COPY", (_GLOBAL, _FRAGMENT), ("tile",)),
}

# Called once, by one thread, for each pipeline. A matrix is its address, its shape, and its strides
# that are not 1.
_KERNELS = """
struct libmathdx_pipeline { void *address; };
struct matrix { const void *address; long long numbers[NUMBERS]; };
extern "C" __device__ void CREATE(libmathdx_pipeline, matrix, matrix);
extern "C" __device__ void DESTROY(libmathdx_pipeline);

extern "C" __global__ void create(
    void *pipeline, const void *a, const void *b, const long long *numbers)
{
    matrix left = {a}, right = {b};
    for (int i = 0; i < NUMBERS; i++) {
        left.numbers[i] = numbers[i];
        right.numbers[i] = numbers[NUMBERS + i];
    }
    CREATE(libmathdx_pipeline{pipeline}, left, right);
}

extern "C" __global__ void destroy(void *pipeline)
{
    DESTROY(libmathdx_pipeline{pipeline});
}
"""


class TileCode:
    """What kernels know of the part of a pipeline that one tile uses."""

    _constants = frozenset({"storage_bytes", "storage_alignment"})

    def __init__(self, pipeline: PipelineCode) -> None:
        self.pipeline = pipeline
        self._key = pipeline._key

    @property
    def storage_bytes(self) -> int:
        return self.pipeline.traits["tile"][0]

    @property
    def storage_alignment(self) -> int:
        return self.pipeline.traits["tile"][1]


class PipelineCode:
    """What kernels know of a pipeline: all but its matrices.

    Parameters
    ----------
    matmul : Matmul
        The product that the pipeline feeds.
    depth : int
        Number of tiles of a and b that are on the way at once.
    strategy : {'fixed', 'heuristic'}
        Whether the block has the threads of the product, or also some that only copy.
    rank : {2, 3}
        Number of dimensions of a and b.
    """

    _constants = frozenset(
        {
            *("buffer_size", "buffer_alignment", "storage_bytes", "storage_alignment"),
            "block_dim",
        }
    )

    def __init__(
        self,
        matmul: Matmul,
        depth: int,
        strategy: str,
        rank: int,
    ) -> None:
        self.matmul = matmul
        self.rank = rank
        self._options = (depth, strategy, rank)
        self._operators = matmul._operators("tensors")
        self._code_key = (*self._options, *sorted(self._operators.items()))
        self._key = (*self._options, *matmul._key)

    @cached_property
    def traits(self) -> dict[str, tuple[int, ...]]:
        """Sizes of the pipeline and of its tile, for which cuBLASDx compiles a program."""

        def ask() -> bytes:
            found: dict[str, Any] = {}
            with explained(repr(self)), self._handles() as (_, pipelines):
                handles = list(pipelines.values())
                mathdx.cublasdx_finalize_pipelines(len(handles), handles)
                for name, pipeline in pipelines.items():
                    read = mathdx.cublasdx_get_pipeline_trait_int64
                    found[name] = [read(pipeline, CublasdxPipelineTrait[t]) for t in _TRAITS]
                block = array("q", [0] * 3)
                trait = CublasdxPipelineTrait.BLOCK_DIM
                mathdx.cublasdx_get_pipeline_trait_int64s(pipelines["device"], trait, 3, block)
                found["block"] = list(block)
            return json.dumps(found).encode()

        found = json.loads(cached("pipeline-traits", self._code_key, ask))
        return {name: tuple(values) for name, values in found.items()}

    @property
    def storage_bytes(self) -> int:
        return self.traits["device"][0]

    @property
    def storage_alignment(self) -> int:
        return self.traits["device"][1]

    @property
    def buffer_size(self) -> int:
        return self.traits["device"][2]

    @property
    def buffer_alignment(self) -> int:
        return self.traits["device"][3]

    @property
    def block_dim(self) -> Dim3:
        return Dim3(*self.traits["block"])

    def __repr__(self) -> str:
        depth, strategy, _ = self._options
        return f"DevicePipeline({self.matmul!r}, {depth}, block_size_strategy={strategy!r})"

    def precompile(self) -> None:
        """Compile at once, each in a thread, what all kernels with this pipeline need."""
        from concurrent.futures import ThreadPoolExecutor  # takes long to import

        accumulator = Layout(self.matmul, _ACCUMULATOR)
        with ThreadPoolExecutor(3) as threads:
            work = (self.code, lambda: self.traits, lambda: accumulator.size)
            for done in [threads.submit(job) for job in work]:
                done.result()

    def code(self) -> CompiledCode:
        """Return the code of all functions of pipelines, whose names `symbol` returns."""
        return self._compiled(_FUNCTIONS, ())

    def copy_code(self, source: Layout, target: Layout) -> tuple[CompiledCode, str]:
        """Return the code that copies between a fragment and global memory, and its name in it.

        Its first argument is the pipeline of the tile.
        """
        name = f"copy_{source._memory}"
        value_types = (source._argument[1], target._argument[1])
        if value_types == (None, None):
            return self.code(), self.symbol(name)
        code = self._compiled({name: _FUNCTIONS[name]}, value_types)
        return code, code.symbols[0]

    def symbol(self, name: str) -> str:
        """Return the name of a function of `code`."""
        return self.code().symbols[list(_FUNCTIONS).index(name)]

    def _compiled(
        self, functions: dict[str, _Function], value_types: tuple[int | None, ...]
    ) -> CompiledCode:
        key = (*self._code_key, tuple(functions.items()), value_types)
        # Names that no other code has, so that any pieces can be linked together.
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        symbols = [f"gpumath_pipeline_{name}_{digest}" for name in functions]

        def compile_now() -> tuple[Sequence[str], Any, bytes]:
            with explained(repr(self)), self._handles() as (descriptor, pipelines):
                handles, made = [], []
                for function, symbol in zip(functions.values(), symbols, strict=True):
                    types = value_types or (None,) * len(function.tensors)
                    tensors = create_tensors(
                        descriptor, list(zip(function.tensors, types, strict=True))
                    )
                    made += tensors
                    fed = [pipelines[name] for name in function.pipelines]
                    handle = mathdx.cublasdx_create_device_function_with_pipelines(
                        descriptor.handle,
                        CublasdxDeviceFunctionType[function.kind],
                        *(len(tensors), tensors, len(fed), fed),
                    )
                    option = CublasdxDeviceFunctionOption.SYMBOL_NAME
                    mathdx.cublasdx_set_device_function_option_str(handle, option, symbol)
                    handles.append(handle)
                finalize = mathdx.cublasdx_finalize_device_functions
                isa, ltoir = produce_ltoir(
                    self.matmul.sm, lambda code: finalize(code, len(handles), handles)
                )
                for handle in handles:
                    mathdx.cublasdx_destroy_device_function(handle)
                for tensor in made:
                    mathdx.cublasdx_destroy_tensor(tensor)
            return symbols, isa, ltoir

        return compiled("pipeline", key, self.matmul.sm, compile_now)

    @contextmanager
    def _handles(self) -> Iterator[tuple[Descriptor, dict[str, int]]]:
        """Make the descriptor of the product, and the two pipelines, for a time."""
        depth, strategy, rank = self._options
        descriptor = Descriptor("cublasdx", self._operators)
        tensors = [_matrix(self.matmul, index, rank) for index in range(2)]
        device = mathdx.cublasdx_create_device_pipeline(
            descriptor.handle,
            CublasdxDevicePipelineType.SUGGESTED,
            depth,
            STRATEGIES[strategy],
            *tensors,
        )
        kind = CublasdxTilePipelineType.PIPELINE_DEFAULT
        tile = mathdx.cublasdx_create_tile_pipeline(descriptor.handle, kind, device)
        pipelines = [device, tile]
        try:
            yield descriptor, {"device": device, "tile": tile}
        finally:
            for pipeline in pipelines:
                mathdx.cublasdx_destroy_pipeline(pipeline)
            for tensor in tensors:
                mathdx.cublasdx_destroy_tensor(tensor)

    def kernels(self) -> bytes:
        """Return the machine code of the kernels ``create`` and ``destroy``."""
        code = self.code()
        names = {name.upper(): self.symbol(name) for name in ("create", "destroy")}
        # They run on the GPU of the matrices alone. Their instructions for descriptors of copies
        # are in no code for other GPUs, too.
        sm = self.matmul.sm
        architecture = f"{sm.major}{sm.minor}{sm.arch or 'a' * (sm >= (9, 0))}"

        def link() -> bytes:
            definitions = names | {"NUMBERS": str(2 * self.rank - 1)}
            ltoir = _compile(_KERNELS, f"-arch=compute_{architecture}", definitions)
            return _link([ltoir, code.ltoir], f"-arch=sm_{architecture}")

        key = (_KERNELS, nvjitlink.version(), architecture, *self._code_key)
        return cached("pipeline-kernels", key, link)


def contiguous_axis(matmul: Matmul, index: int) -> int:
    """Return the dimension of a (0) or b (1) whose elements are next to each other."""
    return int(matmul.arrangement is not None and matmul.arrangement[index] == "row_major")


def _matrix(matmul: Matmul, index: int, rank: int) -> int:
    """Describe a or b in global memory: any shape, and columns or rows that are contiguous."""
    strides = [_AT_RUN_TIME] * rank
    strides[contiguous_axis(matmul, index)] = 1
    return mathdx.cublasdx_create_tensor_strided(
        CublasdxMemorySpace.GMEM,
        CommondxValueType(value_type_number(matmul._value_types[index])),
        *(0, rank, [_AT_RUN_TIME] * rank, strides),
    )


def _compile(source: str, architecture: str, definitions: dict[str, str]) -> bytes:
    options = [architecture, "-rdc=true", "-dlto", *(f"-D{k}={v}" for k, v in definitions.items())]
    program = nvrtc.create_program(source, "pipeline.cu", 0, [], [])
    try:
        nvrtc.compile_program(program, len(options), options)
        code = bytearray(nvrtc.get_ltoir_size(program))
        nvrtc.get_ltoir(program, code)
        return bytes(code)
    finally:
        nvrtc.destroy_program(program)


def _link(pieces: list[bytes], architecture: str) -> bytes:
    options = ["-lto", "-optimize-unused-variables", architecture]
    linker = nvjitlink.create(len(options), options)
    try:
        for piece in pieces:
            nvjitlink.add_data(linker, InputType.LTOIR, piece, len(piece), "piece")
        nvjitlink.complete(linker)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
        nvjitlink.get_linked_cubin(linker, cubin)
        return bytes(cubin)
    finally:
        nvjitlink.destroy(linker)
