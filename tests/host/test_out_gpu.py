"""`out` on the GPU: what an execution into it allocates, and in which order it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.cases import KINDS, Case
from tests.helpers.operands import stream_of
from tests.helpers.references import random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

pytestmark = pytest.mark.gpu


def allocations(library: str, work: Callable[[], object]) -> int:
    """How often the library's pool is asked for memory while `work` runs."""
    if library == "torch":
        import torch

        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        work()
        return int(torch.cuda.memory_stats()["allocation.all.allocated"] - before)
    import cupy

    class Counter(cupy.cuda.MemoryHook):
        name = "counter"
        count = 0

        def malloc_preprocess(self, **details: Any) -> None:
            self.count += 1

    counter = Counter()
    with counter:
        work()
    return counter.count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1024, 4099])
def test_nothing_is_allocated(gpu_space: Space, kind: str, length: int) -> None:
    """The object has its workspace since the first execution; with a new result it is one block."""
    case = Case(kind, (5, length), (1,))
    values = case.values()
    operand, out = gpu_space.array(values), gpu_space.array(case.blank())
    with fft.FFT(operand, **case.keywords) as transform:
        transform.plan()
        transform.execute(out=out)
        library = gpu_space.library
        assert allocations(library, lambda: transform.execute(out=out)) == 0
        assert allocations(library, transform.execute) == 1
    case.check(gpu_space.numpy(out), values)


@pytest.mark.parametrize("name", ["handle", "core", "cupy", "torch", "numba"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_current_stream_does_to_out_comes_first(
    gpu_space: Space, kind: str, name: str
) -> None:
    """Work that was submitted before still writes to `out`; the transform's stream waits for it."""
    case = Case(kind, (64, 1024), (1,))
    values = case.values()
    operand, out = gpu_space.array(values), gpu_space.array(case.blank())
    work = gpu_space.array(np.ones(1 << 26, np.float32))
    stream = stream_of(name)
    case.function(operand, **case.keywords, out=out)
    core.Device(0).synchronize()
    for _ in range(200):
        work *= 1.0001
    out[...] = float("nan")
    case.function(operand, **case.keywords, stream=stream, out=out)
    core.Device(0).synchronize()
    case.check(gpu_space.numpy(out), values)


@pytest.mark.parametrize("columns", [1024, 1025])
@pytest.mark.parametrize("kind", ["R2C", "C2R"])
def test_real_numbers_that_are_not_aligned_like_complex_ones(
    gpu_space: Space, kind: str, columns: int
) -> None:
    case = Case(kind, (8, columns), (1,))
    values = case.values()
    real = gpu_space.array(np.full((8, columns + 1), np.nan, np.float32))[:, 1:]
    assert core.TensorView(real).ptr % 8 == 4
    if kind == "C2R":
        operand, out = gpu_space.array(values), real
    else:
        operand, out = real, gpu_space.array(case.blank())
        operand[...] = gpu_space.array(values)
    for _ in range(2):
        case.function(operand, **case.keywords, out=out)
        case.check(gpu_space.numpy(out), values)
        out[...] = float("nan")


def test_one_out_for_many_operands(gpu_space: Space) -> None:
    """In stream order, without waiting in between."""
    batch = [random_values((16, 4099), np.complex64) for _ in range(10)]
    operands = [gpu_space.array(values) for values in batch]
    whole = gpu_space.array(np.full((10, 16, 4099), np.nan, np.complex64))
    with fft.FFT(operands[0], axes=[1]) as transform:
        transform.plan()
        for operand, out in zip(operands, whole, strict=True):
            transform.reset_operand(operand)
            transform.execute(out=out)
    result = gpu_space.numpy(whole)
    for values, part in zip(batch, result, strict=True):
        Case("C2C", (16, 4099), (1,)).check(part, values)
