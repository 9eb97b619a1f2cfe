"""Ever new shapes: neither memory nor threads pile up.

An attempt makes transforms and products of some hundred shapes that were not there before. What the
process has taken since the first attempt stays below the limit of the plan cache.
"""

from __future__ import annotations

import gc
import os

import numpy as np

from gpumath import fft, linalg
from gpumath.bindings import core
from tests.helpers.mixed_calls import resident_bytes

CALLS = 300
# Bytes that plans may take.
LIMIT = 256 << 20
# Work memory that the process keeps for large transforms, that each thread keeps for small ones,
# and what the allocator of the system does not give back.
KEPT = (64 + 16) << 20

first_seen: list[int] = []


def attempt(seed: int) -> None:
    """Transform and multiply in new shapes, and compare what the process has."""
    core.set_plan_cache_limit(core.plan_cache_info().limit, memory_limit=LIMIT)
    rng = np.random.default_rng(seed)
    for _ in range(CALLS):
        shape = tuple(int(extent) for extent in rng.integers(1, 90, rng.integers(1, 4)))
        if rng.random() < 0.02:
            shape = (int(rng.integers(1, 300_000)),)
        operand = np.ones(shape, rng.choice(["f4", "f8", "c8", "c16"]))
        axis = int(rng.integers(len(shape)))
        execution = fft.ExecutionCPU(num_threads=int(rng.integers(1, 300)))
        if operand.dtype.kind == "c":
            result = fft.fft(operand, axes=[axis], execution=execution)
            sums = result.take(0, axis)
        else:
            result = fft.rfft(operand, axes=[axis], execution=execution)
            sums = result.take(0, axis)
        assert np.allclose(sums, shape[axis])
        if len(shape) == 2 and operand.dtype.kind == "f":
            product = linalg.matmul(operand, operand.T, execution=execution)
            assert np.allclose(product, shape[1])
    gc.collect()
    threads = len(os.listdir("/proc/self/task"))
    assert threads <= (os.cpu_count() or 1) + 4, f"{threads} threads"
    info = core.plan_cache_info()
    assert info.host_memory <= LIMIT
    first_seen.append(resident_bytes())
    taken = first_seen[-1] - first_seen[0]
    assert taken <= LIMIT + KEPT, f"{taken >> 20} MiB more than at first"
    del first_seen[1:]
