"""Types of accumulators: what differs between products that the block feeds and pipelined ones."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core.errors import TypingError
from numba.cuda.datamodel import models
from numba.cuda.extending import register_model
from numba.cuda.nvvmutils import call_sreg

from gpumath.device._descriptor import CompiledCode
from gpumath.device._numba._calls import call, link_of
from gpumath.device._numba._tensors import (
    LayoutType,
    TensorType,
    as_argument,
    call_tensor_function,
    new_fragment,
)
from gpumath.device._pipeline_code import PipelineCode
from gpumath.device._tensors import Layout

__all__ = ["AccumulatorType", "PipelinedAccumulatorType", "call_pipeline", "pipeline_argument"]

_INT = ir.IntType(32)


class AccumulatorType(TensorType):
    """Type of an accumulator of a product."""

    kind = "Accumulator"

    @property
    def fragment(self) -> TensorType:
        """Type of a fragment with the results."""
        layout = self.layout.value
        name = layout._tensor.replace("accumulator", "rmem")
        return TensorType(LayoutType(Layout(layout._matmul, name)))

    def build(self, context: Any, builder: Any) -> Any:
        """Return a new accumulator of zeros."""
        result = new_fragment(context, builder, self)
        for function in ("CLEAR", "CREATE"):
            call_tensor_function(context, builder, function, [(self, result)])
        return result

    def clear(self, context: Any, builder: Any, value: Any) -> None:
        """Set the results to zero."""
        call_tensor_function(context, builder, "CLEAR", [(self, value)])

    def finish(self, context: Any, builder: Any, value: Any) -> None:
        """Do what is needed before the results are read."""

    def is_active(self, context: Any, builder: Any, value: Any) -> Any:
        """Return whether the thread takes part in the product."""
        del value
        return self.ask(context, builder, "IS_THREAD_ACTIVE")

    def store(self, context: Any, builder: Any, value: Any, tensor: TensorType, to: Any) -> None:
        """Copy the results to a tensor in global memory."""
        results = self.results(context, builder, value)
        self.copy_if_active(context, builder, value, (self.fragment, results), (tensor, to))

    def results(self, context: Any, builder: Any, value: Any) -> Any:
        """Return the results in a new fragment."""
        self.finish(context, builder, value)
        fragment = new_fragment(context, builder, self.fragment)
        operands = [(self, value), (self.fragment, fragment)]
        call_tensor_function(context, builder, "COPY", operands)
        return fragment

    def copy_if_active(self, context: Any, builder: Any, value: Any, *operands: Any) -> None:
        """Copy the thread's elements between a fragment and a tensor in global memory."""
        with builder.if_then(self.is_active(context, builder, value)):
            self.copy(context, builder, value, *operands)

    def copy(self, context: Any, builder: Any, value: Any, *operands: Any) -> None:
        """Do so, if the thread is known to take part in the product."""
        del value
        call_tensor_function(context, builder, "COPY", list(operands))

    def numbers(
        self, context: Any, builder: Any, function: str, index: Any = None, count: int = 1
    ) -> list[Any]:
        """Call a function about the thread, or about one of its elements; return what it says."""
        pointer = types.CPointer(types.int32)
        results = [cgutils.alloca_once(builder, _INT) for _ in range(count)]
        addresses = list(results)
        if index is not None:
            addresses.insert(0, cgutils.alloca_once_value(builder, index))
        operands = [(pointer, address) for address in addresses]
        layouts = [self.fragment.layout.value]
        call_tensor_function(context, builder, function, operands, layouts=layouts)
        return [builder.load(result) for result in results]

    def ask(self, context: Any, builder: Any, function: str, index: Any = None) -> Any:
        """Return whether the answer of a function is yes."""
        answer = self.numbers(context, builder, function, index)[0]
        return builder.icmp_signed("!=", answer, answer.type(0))


class PipelinedAccumulatorType(AccumulatorType):
    """Type of an accumulator that pipelines feed.

    cuBLASDx makes it from the tile that feeds it first, has it finished before it is read, and
    copies its elements by that tile. So an accumulator has the address of the tile, and a phase.
    """

    NEW, FED, FINISHED = range(3)

    def build(self, context: Any, builder: Any) -> Any:
        memory = new_fragment(context, builder, self)
        struct = cgutils.create_struct_proxy(self)(context, builder, memory)
        struct.phase = cgutils.alloca_once(builder, _INT)
        struct.tile = cgutils.alloca_once(builder, ir.IntType(8).as_pointer())
        builder.store(_INT(self.NEW), struct.phase)
        return struct._getvalue()

    def feed(self, context: Any, builder: Any, value: Any, code: PipelineCode, tile: Any) -> None:
        """Add the product of a pipeline's tile."""
        _feeding(builder)[self] = code
        struct = cgutils.create_struct_proxy(self)(context, builder, value)
        operands = [pipeline_argument(context, builder, tile), (self, value)]
        with self._in_phase(builder, struct, self.NEW):
            call_pipeline(context, builder, code, "create_accumulator", operands)
        builder.store(_INT(self.FED), struct.phase)
        builder.store(tile, struct.tile)
        call_pipeline(context, builder, code, "execute", operands)

    def clear(self, context: Any, builder: Any, value: Any) -> None:
        struct = cgutils.create_struct_proxy(self)(context, builder, value)
        is_new = builder.icmp_signed("==", builder.load(struct.phase), _INT(self.NEW))
        with builder.if_then(builder.not_(is_new)):
            super().clear(context, builder, value)

    def finish(self, context: Any, builder: Any, value: Any) -> None:
        code = self._feeder(builder)
        struct = cgutils.create_struct_proxy(self)(context, builder, value)
        with self._in_phase(builder, struct, self.FED):
            call_pipeline(context, builder, code, "finish", [(self, value)])
            builder.store(_INT(self.FINISHED), struct.phase)

    def is_active(self, context: Any, builder: Any, value: Any) -> Any:
        del context, value
        # The threads that only copy come after those of the product, and then there is one
        # dimension.
        code = self._feeder(builder)
        if code.block_dim == code.matmul.block_dim:
            return ir.IntType(1)(1)
        thread = call_sreg(builder, "tid.x")
        return builder.icmp_unsigned("<", thread, thread.type(code.matmul.block_size))

    def store(self, context: Any, builder: Any, value: Any, tensor: TensorType, to: Any) -> None:
        if tensor.dtype != self.dtype:
            super().store(context, builder, value, tensor, to)
            return
        self.finish(context, builder, value)
        operands = [(self, value), (tensor, to)]
        with builder.if_then(self.is_active(context, builder, value)):
            call_pipeline(context, builder, self._feeder(builder), "store", operands)

    def results(self, context: Any, builder: Any, value: Any) -> Any:
        self.finish(context, builder, value)
        fragment = new_fragment(context, builder, self.fragment)
        operands = [(self, value), (self.fragment, fragment)]
        call_pipeline(context, builder, self._feeder(builder), "results", operands)
        return fragment

    def copy(self, context: Any, builder: Any, value: Any, *operands: Any) -> None:
        layouts = [given.layout.value for given, _ in operands]
        code, symbol = self._feeder(builder).copy_code(*layouts)
        tile = builder.load(cgutils.create_struct_proxy(self)(context, builder, value).tile)
        given = [pipeline_argument(context, builder, tile), *operands]
        _call(context, builder, code, symbol, given)

    def numbers(
        self, context: Any, builder: Any, function: str, index: Any = None, count: int = 1
    ) -> list[Any]:
        del context, builder, index, count
        msg = f"cuBLASDx does not say {function.lower()} of accumulators that pipelines feed"
        raise TypingError(msg)

    def _feeder(self, builder: Any) -> PipelineCode:
        """Return the pipeline that feeds the accumulators of this type in this function."""
        try:
            return _feeding(builder)[self]
        except KeyError:
            msg = (
                "an accumulator that pipelines feed is read before TilePipeline.execute; call that "
                "first, in the same function"
            )
            raise TypingError(msg) from None

    @staticmethod
    def _in_phase(builder: Any, struct: Any, phase: int) -> Any:
        return builder.if_then(builder.icmp_signed("==", builder.load(struct.phase), _INT(phase)))


@register_model(PipelinedAccumulatorType)
class _PipelinedAccumulatorModel(models.StructModel):
    def __init__(self, manager: Any, accumulator: PipelinedAccumulatorType) -> None:
        members = [
            ("address", types.voidptr),
            ("phase", types.CPointer(types.int32)),
            ("tile", types.CPointer(types.voidptr)),
        ]
        super().__init__(manager, accumulator, members)


# For each function that is compiled now, what feeds its accumulators: the type of an accumulator
# is known before the tile that feeds it.
_FEEDING: WeakKeyDictionary[Any, dict[PipelinedAccumulatorType, PipelineCode]] = WeakKeyDictionary()


def _feeding(builder: Any) -> dict[PipelinedAccumulatorType, PipelineCode]:
    return _FEEDING.setdefault(builder.module, {})


class _PipelineArgument(types.Type):
    """Type of a pipeline as libmathdx's functions take it."""

    def __init__(self) -> None:
        super().__init__(name="libmathdx_pipeline")


@register_model(_PipelineArgument)
class _PipelineArgumentModel(models.PrimitiveModel):
    def __init__(self, manager: Any, argument: _PipelineArgument) -> None:
        # The name that NVRTC gives to the struct, because linked functions must agree on it.
        struct = ir.global_context.get_identified_type("struct.libmathdx_pipeline")
        if struct.is_opaque:
            struct.set_body(ir.IntType(8).as_pointer())
        super().__init__(manager, argument, struct)


def pipeline_argument(context: Any, builder: Any, address: Any) -> tuple[Any, Any]:
    """Return the type and the value of a pipeline, or a tile, as libmathdx's functions take it."""
    argument = _PipelineArgument()
    struct = ir.Constant(context.get_value_type(argument), ir.Undefined)
    return argument, builder.insert_value(struct, address, 0)


def call_pipeline(
    context: Any, builder: Any, code: PipelineCode, name: str, operands: list[tuple[Any, Any]]
) -> None:
    """Call a function of pipelines with the types and the values of its arguments."""
    _call(context, builder, code.code(), code.symbol(name), operands)


def _call(
    context: Any, builder: Any, code: CompiledCode, symbol: str, operands: list[tuple[Any, Any]]
) -> None:
    passed = [
        as_argument(context, builder, given, value)
        if isinstance(given, TensorType)
        else (given, value)
        for given, value in operands
    ]
    arguments, values = zip(*passed, strict=True)
    link = link_of(code.symbols[0], code.ltoir)
    call(context, builder, symbol, types.void, tuple(arguments), list(values), link)
