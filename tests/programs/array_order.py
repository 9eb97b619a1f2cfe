"""Arrays in all memories: who waits for whom, and when the memory is freed."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from gpumath import memory
from gpumath.bindings import core
from tests.helpers.dlpack import Producer, exchange_class
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks, seen


class Cuda:
    def __init__(self, array: Any, stream: int) -> None:
        self.array = array
        self.stream = stream

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.array.__cuda_array_interface__ | {"stream": self.stream}


def device_array() -> tuple[Any, Any, dict[str, int]]:
    """Return an array on a stream; NumPy's like it, and what else DLPack says of the array."""
    array = memory.empty((3, 4), "complex64", stream=70)
    seen()
    return array, np.empty((3, 4), np.complex64), {"data": array.ptr, "device_type": 2}


def the_life_of_an_array(kind: str) -> Any:
    array = memory.empty((3, 4), "complex64", kind=kind)
    before = blocks()
    del array
    return seen(), before, blocks()


def the_stream_lives_as_long_as_the_memory(kind: str, stream: Any) -> Any:
    array = memory.empty(3, kind=kind, stream=core.Stream())
    capsule = array.__dlpack__(max_version=(1, 0), stream=stream)
    handle = array.stream
    del array
    between = seen()
    del capsule
    return handle, between, seen()


def the_consumer_waits(kind: str, stream: Any) -> Any:
    array = memory.empty(3, kind=kind, stream=70)
    seen()
    array.__dlpack__(stream=stream)
    return seen()


def what_a_consumer_cannot_have() -> Any:
    def refused(kind: Any, **asked: Any) -> Any:
        try:
            memory.empty(3, kind=kind).__dlpack__(**asked)
        except BufferError as error:
            return str(error)

    return [
        refused("device", stream=0),
        refused("device", stream=-2),
        refused("device", dl_device=(1, 0)),
        refused("device", dl_device=(2, 1)),
        refused("pinned", stream=1),
        refused("managed", dl_device=(13, 1)),
        refused("device", copy=True),
    ]


def the_cpu_waits_for_managed_memory() -> Any:
    array = memory.empty(3, kind="managed", stream=70)
    seen()
    np.from_dlpack(array, device="cpu")[:] = 5
    return seen(), np.asarray(array).tolist(), seen()


def advice_and_prefetch() -> Any:
    array = memory.empty(3, kind="managed", stream=70)
    seen()
    array.prefetch("cpu")
    array.prefetch(1, stream=71)
    array.advise("read_mostly")
    array.advise("preferred_location", "cpu")
    array.advise("accessed_by", 1, on=False)
    memory.empty(0, kind="managed").prefetch(0)
    return seen()[:5]


def work_waits_for_the_operand() -> Any:
    array, values, fields = device_array()
    operands = [Cuda(array, 60), array, exchange_class(stream=50)(values, **fields)]
    result = []
    for operand in operands:
        view = core.TensorView(operand)
        quiet = seen()
        view = core.TensorView(operand, stream=77)
        result.append((view.device, view.device_id, quiet, seen()))
    return result


def which_stream_a_producer_is_told() -> Any:
    _array, values, fields = device_array()
    source = Producer(values, **fields)
    for keywords in ({}, {"stream": 0}, {"stream": 2}, {"stream": core.Stream()}):
        core.TensorView(source, **keywords)
    return [request["stream"] for request in source.requests]


def borrowed_arrays_wait_too() -> Any:
    array, _, _ = device_array()
    borrowed = memory.from_dlpack(Cuda(array, 60), stream=77)
    waits = seen()
    kept = array.ptr == borrowed.ptr
    del array
    result = waits, kept, borrowed.stream, borrowed.device_id, blocks(), seen()
    del borrowed
    result += (blocks(),)
    return result


def too_much_memory() -> Any:
    result = []
    for kind in ("device", "pinned", "managed"):
        try:
            memory.empty(1 << 50, "uint8", kind=kind)
        except MemoryError as error:
            result.append((str(error), memory.empty(8, kind=kind).nbytes))
    return result


def a_forked_child_frees_nothing() -> Any:
    kept = [memory.empty(3, kind=kind) for kind in ("device", "pinned", "managed", "host")]
    kept += [array.__dlpack__() for array in kept]
    seen()
    child = os.fork()
    if child == 0:
        kept.clear()
        os._exit(len(seen()))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), seen(), blocks()


def arrays_that_outlive_the_interpreter() -> Any:
    sys.kept = [memory.empty(3, kind=kind) for kind in ("device", "pinned", "managed", "host")]
    sys.capsules = [array.__dlpack__() for array in sys.kept]
    return blocks()


if __name__ == "__main__":
    main(globals())
