"""Workspace from the user's memory manager, and when it is freed."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core
from tests.helpers.managers import AsyncManager, Counted, Manager
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

pytestmark = pytest.mark.gpu

# A prime length, for which cuFFT needs a workspace.
LENGTH = 4099


@pytest.fixture(params=[Manager, AsyncManager])
def manager(request: pytest.FixtureRequest) -> Counted:
    return request.param()


def workspace_size(operand: Any) -> int:
    size = core.FftPlan(operand, axes=[1], execution="cuda").workspace_size
    if size == 0:
        pytest.fail(f"this cuFFT needs no workspace for length {LENGTH}: choose another length")
    return size


def test_the_function_gives_the_workspace_back(space: Space, manager: Counted) -> None:
    if space.execution == "cpu":
        pytest.skip("a transform on the CPU needs no device memory")
    values = random_values((3, LENGTH), np.complex64)
    operand = space.array(values)
    result = fft.fft(operand, axes=[1], execution="cuda", options={"allocator": manager})
    assert_close(space.numpy(result), values, "C2C", (1,))
    assert manager.requests == [workspace_size(operand)]
    assert manager.in_use == 0


def test_the_object_keeps_the_workspace_until_told_otherwise(
    gpu_space: Space, manager: Counted
) -> None:
    values = random_values((3, LENGTH), np.complex64)
    operand = gpu_space.array(values)
    with fft.FFT(operand, axes=[1], options={"allocator": manager}) as transform:
        transform.plan()
        assert manager.requests == []
        for _ in range(3):
            assert_close(gpu_space.numpy(transform.execute()), values, "C2C", (1,))
        assert (len(manager.requests), manager.in_use) == (1, 1)
        transform.execute(release_workspace=True)
        assert (len(manager.requests), manager.in_use) == (1, 0)
        result = transform.execute()
        assert (len(manager.requests), manager.in_use) == (2, 1)
    assert manager.in_use == 0
    assert_close(gpu_space.numpy(result), values, "C2C", (1,))


def test_an_object_that_is_only_dropped_gives_the_workspace_back(manager: Counted) -> None:
    values = random_values((3, LENGTH), np.complex64)
    transform = fft.FFT(values, axes=[1], execution="cuda", options={"allocator": manager})
    transform.plan()
    transform.execute()
    assert manager.in_use == 1
    del transform
    assert manager.in_use == 0


def test_a_manager_sees_the_stream() -> None:
    manager = AsyncManager()
    stream = core.Stream()
    values = random_values((3, LENGTH), np.complex64)
    fft.fft(values, axes=[1], execution="cuda", stream=stream, options={"allocator": manager})
    [seen] = manager.streams
    assert int(seen) == seen.handle == seen.__cuda_stream__()[1] == stream.handle


class FailingManager:
    def memalloc(self, size: int) -> Any:
        msg = f"no {size} bytes today"
        raise MemoryError(msg)


class NamelessManager:
    def memalloc(self, size: int) -> Any:
        return object()


class CrookedManager(Counted):
    def memalloc(self, size: int) -> Any:
        block = self.pointer(size + 8, 0)
        return memory.MemoryPointer(block.device_ptr + 8, size, block.free)


FAILURES = [
    (FailingManager(), MemoryError, "bytes today"),
    (NamelessManager(), TypeError, "without any of the attributes device_ptr, device_pointer"),
    (CrookedManager(), ValueError, "not aligned to 256 bytes"),
]


@pytest.mark.parametrize(("manager", "error", "message"), FAILURES)
def test_after_a_failed_allocation_the_object_can_be_used(
    space: Space, manager: Any, error: type[Exception], message: str
) -> None:
    if space.execution == "cpu":
        pytest.skip("a transform on the CPU needs no device memory")
    operand = space.array(random_values((3, LENGTH), np.complex64))
    options = {"allocator": manager}
    with fft.FFT(operand, axes=[1], execution="cuda", options=options) as transform:
        transform.plan()
        for _ in range(2):
            with pytest.raises(error, match=message):
                transform.execute()
    if isinstance(manager, CrookedManager):
        gc.collect()
        assert manager.in_use == 0


@pytest.mark.parametrize("name", ["device_ptr", "device_pointer", "ptr", "pointer"])
def test_pointers_of_other_libraries(name: str) -> None:
    class Pointer:
        def __init__(self, block: core.MemoryPointer) -> None:
            self.block = block
            setattr(self, name, block.device_ptr)

    class PointerManager:
        def memalloc(self, size: int) -> Any:
            return Pointer(core.allocate(size))

    values = random_values((3, LENGTH), np.complex64)
    result = fft.fft(values, axes=[1], execution="cuda", options={"allocator": PointerManager()})
    assert_close(result, values, "C2C", (1,))
