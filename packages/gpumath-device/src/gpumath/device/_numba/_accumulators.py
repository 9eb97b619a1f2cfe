"""Accumulators in kernels, and the methods of products that return layouts and accumulators."""

from __future__ import annotations

from typing import Any

from numba.cuda import cgutils, types
from numba.cuda.core.errors import TypingError

from gpumath.device._numba._accumulator_types import AccumulatorType, PipelinedAccumulatorType
from gpumath.device._numba._calls import Builder, device_method
from gpumath.device._numba._matmul import MatmulType
from gpumath.device._numba._tensors import (
    LayoutType,
    TensorType,
    axpby,
    build_fragment,
    call_tensor_function,
    default_leading_dimension,
    new_fragment,
)
from gpumath.device._tensors import Layout


def _layout_method(name: str, tensor: str) -> None:
    @device_method(MatmulType, name)
    def resolve(matmul: Any, leading_dimension: Any = None) -> tuple[Any, Builder]:
        layout = LayoutType(Layout(matmul.value, tensor))
        if leading_dimension is not None and not layout.has_leading_dimension:
            msg = f"{name} has no leading dimension; get_layout_gmem_a, _b and _c have"
            raise TypingError(msg)

        def build(context: Any, builder: Any, values: list[Any]) -> Any:
            struct = cgutils.create_struct_proxy(layout)(context, builder)
            if layout.has_leading_dimension:
                default = default_leading_dimension(layout.value)
                struct.ld = (
                    context.get_constant(types.int64, default)
                    if leading_dimension is None
                    else context.cast(builder, values[1], leading_dimension, types.int64)
                )
            return struct._getvalue()

        return layout, build


for _matrix in "abc":
    for _memory in ("gmem", "smem"):
        _layout_method(f"get_layout_{_memory}_{_matrix}", f"{_memory}_{_matrix}")
    _layout_method(f"suggest_layout_smem_{_matrix}", f"suggested_smem_{_matrix}")
_layout_method("get_layout_rmem_c", "rmem_c")
_layout_method("suggest_layout_rmem_c", "suggested_rmem_c")


def _accumulator_method(name: str, tensor: str) -> None:
    @device_method(MatmulType, name)
    def resolve(matmul: Any) -> tuple[Any, Builder]:
        pipelined = matmul.value.with_pipeline
        if pipelined and not tensor.startswith("suggested"):
            msg = (
                f"pipelines of {matmul.value} do not feed {name}(); suggest_accumulator() is needed"
            )
            raise TypingError(msg)
        accumulator_type = PipelinedAccumulatorType if pipelined else AccumulatorType
        accumulator = accumulator_type(LayoutType(Layout(matmul.value, tensor)))

        def build(context: Any, builder: Any, values: list[Any]) -> Any:
            del values
            return accumulator.build(context, builder)

        return accumulator, build


_accumulator_method("get_accumulator", "accumulator_c")
_accumulator_method("suggest_accumulator", "suggested_accumulator_c")


@device_method(AccumulatorType, "get_results")
def _get_results(accumulator: Any, out: Any = None) -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        if out is None:
            return accumulator.results(context, builder, values[0])
        accumulator.finish(context, builder, values[0])
        operands = [(accumulator, values[0]), (out, values[1])]
        call_tensor_function(context, builder, "COPY", operands)
        return values[1]

    return out or accumulator.fragment, build


@device_method(AccumulatorType, "clear")
def _clear(accumulator: Any) -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> None:
        accumulator.clear(context, builder, values[0])

    return types.void, build


def _build_integer(number: int) -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        del builder, values
        return context.get_constant(types.int64, number)

    return types.int64, build


@device_method(AccumulatorType, "size")
def _size(accumulator: Any) -> tuple[Any, Builder]:
    return _build_integer(accumulator.fragment.layout.value.size)


@device_method(AccumulatorType, "get_alignment")
def _get_alignment(accumulator: Any) -> tuple[Any, Builder]:
    return _build_integer(accumulator.layout.value._matmul.alignment.c)


@device_method(AccumulatorType, "make_empty_fragment")
def _make_empty_fragment(accumulator: Any) -> tuple[Any, Builder]:
    return build_fragment(accumulator.fragment)


@device_method(AccumulatorType, "partition_and_copy")
def _partition_and_copy(accumulator: Any, src: Any, dst: Any) -> tuple[Any, Builder]:
    memories = {getattr(tensor, "memory", None) for tensor in (src, dst)}
    if memories != {"gmem", "rmem"}:
        msg = f"partition_and_copy gets {src} and {dst}; a fragment and a tensor in gmem are needed"
        raise TypingError(msg)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        operands = ((src, values[1]), (dst, values[2]))
        accumulator.copy_if_active(context, builder, values[0], *operands)

    return types.void, build


@device_method(AccumulatorType, "make_partition_and_copy")
def _make_partition_and_copy(accumulator: Any, src: Any) -> tuple[Any, Builder]:
    _check_global("make_partition_and_copy", src)
    fragment = accumulator.fragment
    if src.dtype != fragment.dtype:
        own = src.layout.value._value_type
        fragment = TensorType(LayoutType(fragment.layout.value._like(own)))

    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        result = new_fragment(context, builder, fragment)
        operands = ((src, values[1]), (fragment, result))
        accumulator.copy_if_active(context, builder, values[0], *operands)
        return result

    return fragment, build


@device_method(AccumulatorType, "partition_and_store")
def _partition_and_store(accumulator: Any, tensor: Any) -> tuple[Any, Builder]:
    _check_global("partition_and_store", tensor)

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        accumulator.store(context, builder, values[0], tensor, values[1])

    return types.void, build


@device_method(AccumulatorType, "axpby")
def _axpby(accumulator: Any, alpha: Any, beta: Any, tensor: Any) -> tuple[Any, Builder]:
    _check_global("axpby", tensor)
    fragment = accumulator.fragment

    def build(context: Any, builder: Any, values: list[Any]) -> None:
        results = accumulator.results(context, builder, values[0])
        old = new_fragment(context, builder, fragment)
        in_memory, held = (tensor, values[3]), (fragment, old)
        accumulator.copy_if_active(context, builder, values[0], in_memory, held)
        given = (alpha, fragment, beta, fragment)
        axpby(context, builder, given, [values[1], results, values[2], old])
        accumulator.copy_if_active(context, builder, values[0], held, in_memory)

    return types.void, build


def _check_global(name: str, tensor: Any) -> None:
    if getattr(tensor, "memory", None) != "gmem":
        msg = f"{name} gets {tensor}; a tensor in global memory is needed"
        raise TypingError(msg)


def _index(context: Any, builder: Any, given: Any, value: Any) -> Any:
    return context.cast(builder, value, given, types.int32)


@device_method(AccumulatorType, "map_fragment_index")
def _map_fragment_index(accumulator: Any, fragment_index: Any) -> tuple[Any, Builder]:
    pair = types.UniTuple(types.int32, 2)

    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        index = _index(context, builder, fragment_index, values[1])
        function = "MAP_IDX2CRD_PARTITIONER"
        numbers = accumulator.numbers(context, builder, function, index, 2)
        return context.make_tuple(builder, pair, numbers)

    return pair, build


@device_method(AccumulatorType, "is_index_in_bounds")
def _is_index_in_bounds(accumulator: Any, index: Any) -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        number = _index(context, builder, index, values[1])
        return accumulator.ask(context, builder, "IS_INDEX_IN_BOUNDS", number)

    return types.boolean, build


@device_method(AccumulatorType, "is_thread_active")
def _is_thread_active(accumulator: Any) -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        return accumulator.is_active(context, builder, values[0])

    return types.boolean, build


@device_method(AccumulatorType, "is_predicated")
def _is_predicated(accumulator: Any) -> tuple[Any, Builder]:
    def build(context: Any, builder: Any, values: list[Any]) -> Any:
        del values
        return accumulator.ask(context, builder, "IS_PREDICATED")

    return types.boolean, build
