"""Pipelines in kernels: a pipeline is an address in the GPU's memory, a tile one of the thread."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core.errors import TypingError
from numba.cuda.cudaimpl import lower_constant

from gpumath.device._numba._accumulator_types import (
    PipelinedAccumulatorType,
    call_pipeline,
    pipeline_argument,
)
from gpumath.device._numba._calls import Builder, array_address, device_method
from gpumath.device._numba._objects import ObjectType
from gpumath.device._pipeline_code import PipelineCode, TileCode
from gpumath.device._pipelines import DevicePipeline

__all__ = ["PIPELINE_ARGUMENT", "DevicePipelineType", "TilePipelineType"]

_INT = ir.IntType(32)
_BYTES = ir.IntType(8).as_pointer()


class DevicePipelineType(ObjectType):
    """Type of a pipeline, which kernels get as an argument. Its value is its address."""

    value: PipelineCode


class TilePipelineType(ObjectType):
    """Type of the tiles of a pipeline. Its value is the address of their state."""

    value: TileCode


# Type of the argument by which a kernel gets a pipeline.
PIPELINE_ARGUMENT = types.CPointer(types.uint8)


@lower_constant(DevicePipelineType)
def _lower_pipeline(context: Any, builder: Any, numba_type: Any, value: DevicePipeline) -> Any:
    del context, builder, numba_type, value
    msg = "a kernel gets a DevicePipeline as an argument, and not as a global variable"
    raise TypingError(msg)


@device_method(DevicePipelineType, "get_tile")
def _get_tile(
    pipeline: Any,
    smem: Any,
    blockIdx_x: Any,  # noqa: N803 - nvmath's name
    blockIdx_y: Any,  # noqa: N803 - nvmath's name
) -> tuple[Any, Builder]:
    code = pipeline.value
    if not isinstance(smem, types.Array):
        msg = f"smem of get_tile is {smem}; an array in shared memory is needed"
        raise TypingError(msg)
    positions = [blockIdx_x, blockIdx_y]
    _check_positions(code, "get_tile", positions)
    tile = TilePipelineType(TileCode(code))

    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        memory = ir.ArrayType(ir.IntType(8), tile.value.storage_bytes)
        storage = cgutils.alloca_once(builder, memory)
        storage.align = tile.value.storage_alignment
        address = builder.bitcast(storage, _BYTES)
        shared = builder.bitcast(array_address(context, builder, smem, values[1]), _BYTES)
        operands = [
            pipeline_argument(context, builder, values[0]),
            pipeline_argument(context, builder, address),
            (types.voidptr, shared),
            *_positions(context, builder, positions, values[2:]),
        ]
        call_pipeline(context, builder, code, "create_tile", operands)
        return address

    return tile, build


@device_method(DevicePipelineType, "reset_tile")
def _reset_tile(pipeline: Any, tile_pipeline: Any, idx: Any, idy: Any) -> tuple[Any, Builder]:
    code = pipeline.value
    is_tile = isinstance(tile_pipeline, TilePipelineType)
    if not is_tile or tile_pipeline.value.pipeline._key != code._key:
        msg = f"tile_pipeline of reset_tile is {tile_pipeline}; a tile of {code!r} is needed"
        raise TypingError(msg)
    positions = [idx, idy]
    _check_positions(code, "reset_tile", positions)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        operands = [
            pipeline_argument(context, builder, values[0]),
            pipeline_argument(context, builder, values[1]),
            *_positions(context, builder, positions, values[2:]),
        ]
        call_pipeline(context, builder, code, "reset_tile", operands)

    return types.void, build


def _check_positions(code: PipelineCode, name: str, positions: list[Any]) -> None:
    count = code.rank - 1
    for position in positions:
        numbers = list(position) if isinstance(position, types.BaseTuple) else [position]
        if len(numbers) != count or not all(isinstance(n, types.Integer) for n in numbers):
            needed = "an integer" if count == 1 else f"a tuple of {count} integers"
            msg = f"{name} gets {position} as a position; {needed} is needed"
            raise TypingError(msg)


def _positions(
    context: Any, builder: Any, positions: list[Any], values: list[Any]
) -> list[tuple[Any, Any]]:
    """Return the addresses of the numbers of each position."""
    addresses = []
    for position, value in zip(positions, values, strict=True):
        kinds, numbers = [position], [value]
        if isinstance(position, types.BaseTuple):
            kinds, numbers = list(position), cgutils.unpack_tuple(builder, value)
        memory = cgutils.alloca_once(builder, _INT, size=len(numbers))
        for index, (kind, number) in enumerate(zip(kinds, numbers, strict=True)):
            converted = context.cast(builder, number, kind, types.int32)
            builder.store(converted, builder.gep(memory, [_INT(index)]))
        addresses.append((types.CPointer(types.int32), memory))
    return addresses


@device_method(TilePipelineType, "execute")
def _execute(tile: Any, accumulator: Any) -> tuple[Any, Builder]:
    code = tile.value.pipeline
    fits = isinstance(accumulator, PipelinedAccumulatorType)
    if not fits or accumulator.layout.value._matmul._key != code.matmul._key:
        msg = f"accumulator of execute is {accumulator}; one of {code.matmul!r} is needed"
        raise TypingError(msg)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        accumulator.feed(context, builder, values[1], code, values[0])

    return types.void, build


@device_method(TilePipelineType, "_del")
def _del(tile: Any) -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> None:
        operands = [pipeline_argument(context, builder, values[0])]
        call_pipeline(context, builder, tile.value.pipeline, "destroy_tile", operands)

    return types.void, build
