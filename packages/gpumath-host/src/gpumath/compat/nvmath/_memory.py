"""Memory managers that get their streams as nvmath-python passes them."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from gpumath.bindings import core

__all__ = ["BaseCUDAMemoryManagerAsync"]


@runtime_checkable
class BaseCUDAMemoryManagerAsync(Protocol):
    """A source of device memory that follows the order of a stream.

    The method of a class that is derived from this one gets the stream as a ``cuda.core.Stream``,
    which ``cuda.core.DeviceMemoryResource.allocate`` takes, if cuda.core is installed; every other
    object with the method gets it as `gpumath.memory.BaseCUDAMemoryManagerAsync` says.
    """

    @abstractmethod
    def memalloc_async(self, size: int, stream: Any) -> Any:
        """Allocate ``size`` bytes of device memory in the order of a stream; return its owner."""
        raise NotImplementedError

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        allocate = vars(cls).get("memalloc_async")
        if callable(allocate):
            cls.memalloc_async = _with_stream_object(allocate)  # type: ignore[method-assign]


def _with_stream_object(allocate: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that hands gpumath's stream on as an object of cuda.core."""

    @functools.wraps(allocate)
    def memalloc_async(self: Any, size: int, stream: Any) -> Any:
        return allocate(self, size, _stream_object(stream))

    return memalloc_async


def _stream_object(stream: Any) -> Any:
    if not isinstance(stream, core.BorrowedStream):
        return stream  # the program called the method itself
    try:
        from cuda.core import Stream
    except ModuleNotFoundError:
        return stream
    return Stream.from_handle(int(stream))
