"""Exceptions of gpumath.

Every class can be pickled, and none of them touches a CUDA library when it is built.
"""

from __future__ import annotations

from importlib import import_module

__all__ = [
    "CUDAError",
    "FunctionNotFoundError",
    "GpumathError",
    "InvalidStateError",
    "LibraryError",
    "LibraryNotFoundError",
    "NoDeviceError",
    "OutOfMemoryError",
    "UnsupportedLayoutError",
    "cuFFTError",
]


class GpumathError(Exception):
    """Base class of the exceptions that only gpumath raises."""


class LibraryNotFoundError(GpumathError, RuntimeError):
    """No usable file of a library was found.

    Attributes
    ----------
    library : str
        Module name of the library, such as ``"cufft"``.
    tried : tuple of (str, str, str)
        Every place that was looked at: search step, folder or file, and what was there.
    fix : str
        One command or step that makes the library available.
    """

    def __init__(
        self,
        message: str,
        library: str = "",
        tried: tuple[tuple[str, str, str], ...] = (),
        fix: str = "",
    ) -> None:
        super().__init__(message, library, tried, fix)
        self.library = library
        self.tried = tried
        self.fix = fix

    def __str__(self) -> str:
        return str(self.args[0])


class FunctionNotFoundError(GpumathError, RuntimeError):
    """The library is there, but its version lacks the function.

    Attributes
    ----------
    function : str
        Qualified name, such as ``"cufft.xt_exec"``.
    symbol : str
        The exported symbol that was looked up.
    path, version : str
        The library that lacks it.
    since, until : str
        First and last CUDA release, of those that gpumath's tables were read from, that have it.
    """

    def __init__(
        self,
        message: str,
        function: str = "",
        symbol: str = "",
        path: str = "",
        version: str = "",
        since: str = "",
        until: str = "",
    ) -> None:
        super().__init__(message, function, symbol, path, version, since, until)
        self.function = function
        self.symbol = symbol
        self.path = path
        self.version = version
        self.since = since
        self.until = until

    def __str__(self) -> str:
        return str(self.args[0])


class LibraryError(GpumathError):
    """A CUDA library returned a status other than success. Each library has a subclass.

    Attributes
    ----------
    status : int
        The status; a member of the library's enum, such as ``cufft.Result``, where it is known.
    function : str
        C name of the function that returned it, or an empty string.
    """

    # Name of the library's module, whose statuses are imported when the first error is built.
    _library = ""

    def __init__(self, status: int, function: str = "", context: str = "") -> None:
        super().__init__(status, function, context)
        tables = import_module(f"gpumath.bindings._generated.{self._library}")
        try:
            self.status: int = tables.Result(status)
        except ValueError:  # a status of a newer library than the table
            self.status = status
        self.function = function
        self.context = context
        self._meaning: str = tables.MEANINGS.get(status, "")

    def __str__(self) -> str:
        name = getattr(self.status, "name", "unknown status")
        text = f"{name} ({int(self.status)})"
        if self.function:
            text = f"{self.function}: {text}"
        if self._meaning:
            text = f"{text}: {self._meaning}"
        return f"{text} [{self.context}]" if self.context else text


class cuFFTError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """A cuFFT function failed; ``status`` is a `gpumath.bindings.cufft.Result`."""

    _library = "cufft"


class CUDAError(LibraryError):
    """A CUDA driver function failed; ``status`` is a `gpumath.bindings.driver.Result`."""

    _library = "driver"


class NoDeviceError(GpumathError, RuntimeError):
    """A GPU was asked for, and there is no driver or no device."""


class OutOfMemoryError(GpumathError, MemoryError):
    """Device or pinned host memory is exhausted."""


class InvalidStateError(GpumathError, RuntimeError):
    """The object is freed, not planned, or belongs to another process."""


class UnsupportedLayoutError(GpumathError, ValueError):
    """Valid input in a memory layout that no plan covers.

    Attributes
    ----------
    permutation : tuple of int
        Copy the operand with its axes in this order and the layout is supported.
    axes : tuple of int
        The transform axes of that copy.
    """

    def __init__(
        self, message: str, permutation: tuple[int, ...] = (), axes: tuple[int, ...] = ()
    ) -> None:
        super().__init__(message, permutation, axes)
        self.permutation = permutation
        self.axes = axes

    def __str__(self) -> str:
        return str(self.args[0])


_BY_LIBRARY = {error._library: error for error in (cuFFTError, CUDAError)}


def status_error(library: str, status: int, function: str = "", context: str = "") -> LibraryError:
    """Build the exception for a status of ``library``, without touching the library."""
    return _BY_LIBRARY[library](status, function, context)
