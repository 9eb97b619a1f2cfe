"""Memory managers that fail at a chosen call, and what must hold after that."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from gpumath import fft, memory
from gpumath.bindings import core


class Unusual(BaseException):
    """An exception that `except Exception` does not catch."""


ERRORS: dict[str, type[BaseException]] = {
    "MemoryError": MemoryError,
    "ValueError": ValueError,
    "OSError": OSError,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "GeneratorExit": GeneratorExit,
    "Unusual": Unusual,
}


class _Speechless:
    """A pointer whose address raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    @property
    def device_ptr(self) -> int:
        raise self._error


class _Named:
    """A pointer with this address."""

    def __init__(self, address: object) -> None:
        self.device_ptr = address


NOTHING_WRONG = object()
# What a manager may give by mistake, and what is raised then.
WRONG: dict[str, tuple[object, type[BaseException]]] = {
    "None": (None, TypeError),
    "a number": (4096, TypeError),
    "text": ("memory", TypeError),
    "an object": (object(), TypeError),
    "no address": (_Named(None), TypeError),
    "a list as address": (_Named([4096]), TypeError),
    "text as address": (_Named("memory"), ValueError),
    "a crooked address": (_Named(4100), ValueError),
    "an interrupt": (_Speechless(KeyboardInterrupt()), KeyboardInterrupt),
    "an error": (_Speechless(OSError("no address")), OSError),
}


class Manager:
    """Memory of the core's pool, counted; the request with the number `fails_at` goes wrong."""

    def __init__(self) -> None:
        self.requests = self.in_use = self.fails_at = 0
        self.error: BaseException | None = None
        self.wrong: object = None

    def memory(self, size: int, stream: Any) -> Any:
        self.requests += 1
        if self.requests == self.fails_at:
            if self.error is not None:
                raise self.error
            return self.wrong
        block = core.allocate(size, stream=stream)
        self.in_use += 1

        def give_back() -> None:
            self.in_use -= 1
            block.free()

        return memory.MemoryPointer(block.device_ptr, size, give_back)


class SyncManager(Manager):
    def memalloc(self, size: int) -> Any:
        return self.memory(size, 0)


class AsyncManager(Manager):
    def memalloc_async(self, size: int, stream: Any) -> Any:
        return self.memory(size, stream)


MANAGERS = {"sync": SyncManager, "async": AsyncManager}


def by_function(operand: Any, manager: Manager, **keywords: Any) -> Any:
    """Two calls of the function, whose second result is returned."""
    keywords["options"] = {"allocator": manager}
    fft.fft(operand, axes=[1], **keywords)
    return fft.fft(operand, axes=[1], **keywords)


def by_object(operand: Any, manager: Manager, **keywords: Any) -> Any:
    """Four runs of an object, with the workspace released in between."""
    stream = keywords.pop("stream", None)
    with fft.FFT(operand, axes=[1], options={"allocator": manager}, **keywords) as transform:
        transform.plan()
        transform.execute(stream=stream)
        transform.execute(stream=stream, release_workspace=True)
        transform.execute(stream=stream, release_workspace=True)
        return transform.execute(stream=stream)


FORMS: dict[str, Callable[..., Any]] = {"function": by_function, "object": by_object}
# How many requests each form makes.
REQUESTS = {"function": 2, "object": 3}


def collect(manager: Manager) -> None:
    """Collect garbage, if that may be what keeps memory in use."""
    if manager.in_use:
        gc.collect()


def fail_everywhere(
    manager: Manager,
    run: Callable[[], Any],
    check: Callable[[Any], None],
    error: type[BaseException],
    wrong: object = NOTHING_WRONG,
) -> int:
    """Fail at each request in turn, until a run makes fewer; return how many that were.

    The manager raises `error` or, if it returns something `wrong`, gpumath does.
    """
    position = 0
    while True:
        position += 1
        manager.requests, manager.fails_at = 0, position
        manager.error = error("at request", position) if wrong is NOTHING_WRONG else None
        manager.wrong = wrong
        try:
            result = run()
        except BaseException as caught:
            assert type(caught) is error, repr(caught)
            assert manager.error in (None, caught)
            # The traceback holds the frames, and what they hold.
            caught.__traceback__ = None
        else:
            assert manager.requests < position
            check(result)
            return position - 1
        manager.error = None
        collect(manager)
        assert manager.in_use == 0, f"{manager.in_use} blocks are lost at request {position}"
        manager.fails_at = 0
        check(run())
        collect(manager)
        assert manager.in_use == 0
