"""Device memory from the operand's library or from the user's memory manager."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from gpumath._host.libraries import ArrayLibrary
from gpumath._host.stream import BorrowedStream, refuse_capture
from gpumath.bindings import core

__all__ = ["BaseCUDAMemoryManager", "BaseCUDAMemoryManagerAsync", "Workspace", "check_allocator"]

_ADDRESS_NAMES = ("device_ptr", "device_pointer", "ptr", "pointer")
_ALIGNMENT = 256

# Memory that could not be waited for: the GPU may still use it, so it is never given back.
_STRANDED: list[object] = []


@runtime_checkable
class BaseCUDAMemoryManager(Protocol):
    """A source of device memory. Any object with this method is one.

    What `memalloc` returns owns the memory, and gives it back when it is deleted.
    """

    def memalloc(self, size: int) -> Any:
        """Allocate device memory.

        Parameters
        ----------
        size : int
            Number of bytes.

        Returns
        -------
        object
            Owner of the memory, with its address, aligned to 256 bytes, as the attribute
            ``device_ptr``, ``device_pointer``, ``ptr`` or ``pointer``: a `MemoryPointer`, or a
            pointer of CuPy, Numba or RMM.
        """


@runtime_checkable
class BaseCUDAMemoryManagerAsync(Protocol):
    """A source of device memory that follows the order of a stream.

    What `memalloc_async` returns owns the memory, and gives it back in the order of that stream
    when it is deleted.
    """

    def memalloc_async(self, size: int, stream: Any) -> Any:
        """Allocate device memory in the order of a stream.

        Parameters
        ----------
        size : int
            Number of bytes.
        stream : int
            The ``cudaStream_t``; it also has the attribute ``handle`` and ``__cuda_stream__()``.

        Returns
        -------
        object
            As for `BaseCUDAMemoryManager.memalloc`.
        """


def check_allocator(allocator: object) -> None:
    """Raise TypeError unless ``allocator`` is None or a memory manager."""
    if allocator is None:
        return
    is_manager = isinstance(allocator, BaseCUDAMemoryManager | BaseCUDAMemoryManagerAsync)
    if isinstance(allocator, type) or not is_manager:
        msg = (
            f"allocator is {allocator!r}; an object with the method memalloc(size) or "
            "memalloc_async(size, stream) is needed"
        )
        raise TypeError(msg)


class Workspace:
    """Device memory that an operation needs while it runs, kept between runs on one stream."""

    __slots__ = ("_allocator", "_block", "_device_id", "_library", "_size", "_stream")

    def __init__(self, library: ArrayLibrary, allocator: Any = None) -> None:
        self._library = library
        self._allocator = allocator
        self._block: tuple[int, object] | None = None
        self._size = self._stream = self._device_id = 0

    def __call__(
        self, _operand: object, size: int, device_id: int, stream: int, captured: bool
    ) -> tuple[int, object]:
        """Address and owner of at least ``size`` bytes for work on ``stream``.

        What is captured into a graph gets memory of its own, which belongs to the graph: the graph
        may run when this object is gone.
        """
        if captured:
            return self._allocate_in_graph(size, device_id, stream)
        place = (device_id, stream)
        if self._block is None or self._size < size or place != (self._device_id, self._stream):
            self.release()
            self._block = self._allocate(size, device_id, stream)
            self._size, self._device_id, self._stream = size, device_id, stream
        return self._block

    def release(self) -> None:
        """Give the memory back when the work on it is done."""
        block, self._block = self._block, None
        if block is None or self._allocator is None or _is_async(self._allocator):
            return
        # A manager that knows no streams may reuse the memory at once.
        try:
            refuse_capture(self._stream, self._device_id, "memory is given back", "do it later")
            core.synchronize_stream(self._stream, device_id=self._device_id, interruptible=False)
        except Exception:
            _STRANDED.append(block)
            raise

    def _allocate(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        if self._allocator is None:
            return self._library.workspace(size, device_id, stream)
        if _is_async(self._allocator):
            if not isinstance(stream, BorrowedStream):
                stream = BorrowedStream(stream)
            owner = self._allocator.memalloc_async(size, stream)
        else:
            owner = self._allocator.memalloc(size)
        return _address_of(owner, self._allocator), owner

    def _allocate_in_graph(self, size: int, device_id: int, stream: int) -> tuple[int, object]:
        if self._allocator is None:
            block = core.allocate(size, device_id=device_id, stream=stream)
            return block.device_ptr, block
        if not _is_async(self._allocator):
            refuse_capture(
                stream,
                device_id,
                "the allocator knows no streams",
                "give one with memalloc_async(size, stream), or none",
            )
        return self._allocate(size, device_id, stream)

    def __del__(self) -> None:
        """Release what a forgotten free() left."""
        with suppress(Exception):
            self.release()


def _is_async(allocator: object) -> bool:
    return hasattr(allocator, "memalloc_async")


def _address_of(owner: object, allocator: object) -> int:
    for name in _ADDRESS_NAMES:
        value = getattr(owner, name, None)
        if value is not None:
            # Numba's pointers are ctypes objects.
            address = int(getattr(value, "value", value))
            if address % _ALIGNMENT:
                msg = (
                    f"the allocator {allocator!r} gave the address {address:#x}, which is not "
                    f"aligned to {_ALIGNMENT} bytes"
                )
                raise ValueError(msg)
            return address
    msg = (
        f"the allocator {allocator!r} returned a {type(owner).__name__} without any of the "
        f"attributes {', '.join(_ADDRESS_NAMES)}"
    )
    raise TypeError(msg)
