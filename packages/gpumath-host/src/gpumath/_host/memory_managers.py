"""The protocols of memory managers that users can give as ``allocator``."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["BaseCUDAMemoryManager", "BaseCUDAMemoryManagerAsync", "check_allocator"]


@runtime_checkable
class BaseCUDAMemoryManager(Protocol):
    """A source of device memory. Any object with this method is one.

    What `memalloc` returns owns the memory, and frees it when it is deleted.
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

    What `memalloc_async` returns owns the memory. When it is deleted, it frees the memory in the
    order of that stream.
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
