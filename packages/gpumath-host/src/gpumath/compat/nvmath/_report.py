"""What a program asked of nvmath, what answered, how often, and how long that took."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpumath.bindings import core

__all__ = ["Report"]


@dataclasses.dataclass
class _Calls:
    served_by: str
    count: int = 0
    raised: int = 0
    seconds: float = 0.0
    """Time of the calls that returned."""


class _CountingType(type):
    """The type of counting classes: instances of the class that they count are theirs as well.

    A program that uses gpumath beside nvmath has such instances.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        # A class that a program derives has no `_counted` of its own.
        return issubclass(subclass, vars(cls).get("_counted", ())) or (
            super().__subclasscheck__(subclass)
        )


class Report:
    """Counts and times calls from a program; calls of gpumath inside them are not counted again.

    Only the process's own calls are counted: a forked child begins with none.
    Its method `observe` is for `gpumath.compat.nvmath._facade.set_observer`.
    """

    def __init__(self) -> None:
        self._calls: dict[str, _Calls] = {}
        self._missing: dict[str, int] = {}
        self._served: dict[int, tuple[Any, Any]] = {}  # gpumath's own, too, so that it stays there
        self._lock = threading.Lock()
        self._thread = threading.local()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Forget what was counted, in a forked child, where another thread may hold the lock."""
        self._lock = threading.Lock()
        self._missing.clear()
        for calls in self._calls.values():
            calls.count, calls.raised, calls.seconds = 0, 0, 0.0

    def observe(self, name: str, value: Any) -> Any:
        """Note what is missing; return functions and classes such that their calls are counted."""
        if value is None:
            with self._lock:
                self._missing[name] = self._missing.get(name, 0) + 1
            return None
        if name.startswith("nvmath.device."):
            return value  # kernels are compiled from these very objects
        # One object stays one object, whatever the names under which it is served.
        return self._served.setdefault(id(value), (value, self._counted(name, value)))[1]

    def _counted(self, name: str, value: Any) -> Any:
        if inspect.isclass(value):
            return self._counting_class(name, value) if _has_phases(value) else value
        if not callable(value):
            return value
        module, _, own = name.rpartition(".")
        served_by = getattr(value, "__module__", None) or module
        served_by = f"{_public(served_by)}.{getattr(value, '__name__', own)}"
        return self._counting(module, own, served_by, value)

    def _counting_class(self, name: str, value: type) -> type:
        """Return a subclass whose constructor and public methods are counted."""
        module, _, own = name.rpartition(".")
        served_by = f"{_public(value.__module__)}.{value.__name__}"
        methods: dict[str, Any] = {
            "__doc__": value.__doc__,
            "__module__": module,
            "__qualname__": own,
            "_counted": value,
        }
        for member in ("__init__", *(one for one in dir(value) if not one.startswith("_"))):
            found = inspect.getattr_static(value, member)
            suffix = "" if member == "__init__" else f".{member}"
            names = module, f"{own}{suffix}", f"{served_by}{suffix}"
            if isinstance(found, staticmethod):
                methods[member] = staticmethod(self._counting(*names, found.__func__))
            elif callable(found):
                methods[member] = self._counting(*names, found)
        return _CountingType(own, (value,), methods)

    def _counting(
        self, module: str, own: str, served_by: str, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Return a function that counts the calls of ``own``, a name in nvmath's ``module``."""
        calls = self._calls.setdefault(f"{module}.{own}", _Calls(served_by))

        @functools.wraps(function)
        def counted(*arguments: Any, **keywords: Any) -> Any:
            if getattr(self._thread, "is_inside", False):
                return function(*arguments, **keywords)
            self._thread.is_inside = True
            start = time.perf_counter()
            try:
                result = function(*arguments, **keywords)
            except BaseException:
                with self._lock:
                    calls.raised += 1
                raise
            else:
                with self._lock:
                    calls.count += 1
                    calls.seconds += time.perf_counter() - start
                return result
            finally:
                self._thread.is_inside = False

        # Pickles name a function by these, and another process finds it there, not counted.
        counted.__module__, counted.__qualname__ = module, own
        return counted

    def __str__(self) -> str:
        """Return the report as a table, the calls that took longest first."""
        made = [(name, calls) for name, calls in self._calls.items() if calls.count]
        made.sort(key=lambda item: -item[1].seconds)
        total = sum(calls.count for _, calls in made)
        lines = [
            f"gpumath answered {total} calls of nvmath in this process; times are those that the "
            "host waited"
        ]
        width = max((len(name) for name, _ in made), default=0)
        for name, calls in made:
            each = 1e3 * calls.seconds / calls.count
            lines.append(
                f"  {calls.count:8d} calls {1e3 * calls.seconds:12.3f} ms {each:12.3f} ms each  "
                f"{name:{width}}  by {calls.served_by}"
            )
        lines += [
            f"{calls.raised} calls raised an error: {name}"
            for name, calls in self._calls.items()
            if calls.raised
        ]
        lines += [f"missing, asked for {n} times: {name}" for name, n in self._missing.items()]
        if "multiprocessing.popen_fork" in sys.modules:  # imported when a process is started
            lines.append("calls in the processes that multiprocessing started are not counted")
        if libraries := _open_libraries():
            lines.append(
                "CUDA libraries that are open in this process; other packages, such as PyTorch, "
                "open some, too, so calls need not have used them:"
            )
            lines += [f"  {library}" for library in libraries]
        else:
            computed = ": the CPU computed all answered calls" if total else ""
            lines.append(f"no CUDA library was opened{computed}")
        return "\n".join(lines)


def _open_libraries() -> list[str]:
    """Return the CUDA libraries that the process has opened."""
    try:
        mapped = Path("/proc/self/maps").read_text()
    except OSError:  # another system than Linux
        mapped = ""
    return [
        f"{library.name} {library.version}, {library.path}"
        for library in core.libraries()
        if os.path.realpath(library.path) in mapped
    ]


def _public(module: str) -> str:
    """Return the name of the public module that a module belongs to."""
    return ".".join(part for part in module.split(".") if not part.startswith("_"))


def _has_phases(value: type) -> bool:
    """Say whether a class does work, unlike options, enumerations, exceptions and protocols."""
    if issubclass(value, enum.Enum | BaseException) or dataclasses.is_dataclass(value):
        return False
    return callable(getattr(value, "execute", None))
