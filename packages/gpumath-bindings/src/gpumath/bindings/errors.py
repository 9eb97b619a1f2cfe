"""Exceptions of gpumath.

All of them can be pickled, and building one calls no CUDA library.

Examples
--------
>>> from gpumath.bindings import cufft, errors
>>> error = errors.cuFFTError(cufft.Result.INVALID_SIZE, "cufftPlan1d")
>>> error.status
<Result.INVALID_SIZE: 8>
>>> str(error)
'cufftPlan1d: CUFFT_INVALID_SIZE (8): a transform size or a batch is not supported'
"""

from __future__ import annotations

from importlib import import_module
from operator import index

__all__ = [
    "CUDAError",
    "CUDARuntimeError",
    "FunctionNotFoundError",
    "GpumathError",
    "InvalidStateError",
    "LibMathDxError",
    "LibraryError",
    "LibraryNotFoundError",
    "NVRTCError",
    "NoDeviceError",
    "OutOfMemoryError",
    "StickyError",
    "UnsupportedLayoutError",
    "cuBLASError",
    "cuBLASLtError",
    "cuFFTError",
    "cuRANDError",
    "cuSOLVERError",
    "cuSPARSEError",
    "nvJitLinkError",
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
        Every place that was searched: the search step, the folder or file, and what was there.
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
        File and version of the library that lacks the function.
    since, until : str
        First and last CUDA release that have the function, among those that gpumath knows.
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
    """A CUDA library returned a status other than success; each library has a subclass.

    Attributes
    ----------
    status : int
        The status: a member of the library's enum, such as ``cufft.Result``, or the bare number of
        a status that gpumath does not know.
    function : str
        C name of the function that returned it, or an empty string.
    """

    # The generated module with the statuses, which is imported when the first error is built.
    _statuses = ""

    def __init__(self, status: int, function: str = "", context: str = "") -> None:
        if not self._statuses:
            msg = f"{type(self).__name__} is the base of the libraries' classes; make one of those"
            raise TypeError(msg)
        try:
            status = index(status)
        except TypeError:
            msg = f"status is {status!r}; the number of a status is needed"
            raise TypeError(msg) from None
        super().__init__(status, function, context)
        tables = import_module(f"gpumath.bindings._generated.{self._statuses}")
        try:
            self.status: int = tables.STATUS(status)
        except ValueError:  # the library is newer than the table
            self.status = status
        self.function = function
        self.context = context

    @classmethod
    def check(cls, status: int) -> None:
        """Raise the exception unless ``status`` is success.

        Parameters
        ----------
        status : int
            The status that a function of the library returned.
        """
        if status:
            raise cls(status)

    def __str__(self) -> str:
        text = import_module("gpumath.bindings._core").core._status_text
        return str(text(self._statuses, self.status, self.function, self.context))


class cuBLASError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """A cuBLAS or cublasXt function failed; ``status`` is a `gpumath.bindings.cublas.Status`."""

    _statuses = "cublas"


class cuBLASLtError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """A cuBLASLt function failed; ``status`` is a `gpumath.bindings.cublas.Status`."""

    _statuses = "cublas"


class cuFFTError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """A cuFFT function failed; ``status`` is a `gpumath.bindings.cufft.Result`."""

    _statuses = "cufft"


class cuRANDError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """A cuRAND function failed; ``status`` is a `gpumath.bindings.curand.Status`."""

    _statuses = "curand"


class cuSOLVERError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """A cuSOLVER function failed; ``status`` is a `gpumath.bindings.cusolver.Status`."""

    _statuses = "cusolver"


class cuSPARSEError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """A cuSPARSE function failed; ``status`` is a `gpumath.bindings.cusparse.Status`."""

    _statuses = "cusparse"


class CUDAError(LibraryError):
    """A CUDA driver function failed; ``status`` is a `gpumath.bindings.driver.Result`."""

    _statuses = "driver"


class CUDARuntimeError(LibraryError):
    """A CUDA runtime function failed; ``status`` is a `gpumath.bindings.runtime.Error`."""

    _statuses = "runtime"


class NVRTCError(LibraryError):
    """An NVRTC function failed; ``status`` is a `gpumath.bindings.nvrtc.Result`."""

    _statuses = "nvrtc"


class nvJitLinkError(LibraryError):  # noqa: N801 - the library's own spelling, as in nvmath-python
    """An nvJitLink function failed; ``status`` is a `gpumath.bindings.nvjitlink.Result`."""

    _statuses = "nvjitlink"


class LibMathDxError(LibraryError):
    """A libmathdx function failed; ``status`` is a `mathdx.CommondxStatusType`."""

    _statuses = "mathdx"


class NoDeviceError(GpumathError, RuntimeError):
    """A GPU was asked for, and there is no driver or no device."""


class OutOfMemoryError(GpumathError, MemoryError):
    """Device or pinned host memory is exhausted."""


class InvalidStateError(GpumathError, RuntimeError):
    """The object is freed, not planned, or belongs to another process."""


class StickyError(GpumathError, RuntimeError):
    """An earlier error has made CUDA unusable for the rest of the process.

    After a kernel has used a wrong address, failed an assertion or the like, NVIDIA's driver
    refuses all further work of the process, and everything in device memory is lost. gpumath then
    raises this error at once, without asking the driver. Start a new process, and look for the
    cause in the kernels that ran before ``first`` was reported, because the function that reports
    such an error is seldom the one that caused it.

    Attributes
    ----------
    first : CUDAError or CUDARuntimeError
        The first report of the error, with its ``status`` and the ``function`` that returned it.

    Examples
    --------
    >>> from gpumath.bindings import driver, errors
    >>> first = errors.CUDAError(driver.Result.ILLEGAL_ADDRESS, "cuStreamSynchronize")
    >>> errors.StickyError(first).first.function
    'cuStreamSynchronize'
    """

    def __init__(self, first: LibraryError) -> None:
        super().__init__(first)
        self.first = first

    def __str__(self) -> str:
        return (
            "CUDA cannot be used in this process any more: an earlier call reported an error that "
            f"outlasts it ({self.first}). Start a new process"
        )


class UnsupportedLayoutError(GpumathError, ValueError):
    """The input is valid, but no plan covers its memory layout.

    Attributes
    ----------
    message : str
        What is wrong, and which copy helps.
    permutation : tuple of int
        Order of the axes in a copy of the operand that a plan covers.
    axes : tuple of int
        Axes of that copy that the operation works along.
    """

    def __init__(
        self, message: str, permutation: tuple[int, ...] = (), axes: tuple[int, ...] = ()
    ) -> None:
        super().__init__(message, permutation, axes)
        self.message = message
        self.permutation = permutation
        self.axes = axes

    def __str__(self) -> str:
        return self.message


_BY_MODULE: dict[str, type[LibraryError]] = {
    "cublas": cuBLASError,
    "cublasLt": cuBLASLtError,
    "cublasXt": cuBLASError,
    "cufft": cuFFTError,
    "curand": cuRANDError,
    "cusolver": cuSOLVERError,
    "cusolverDn": cuSOLVERError,
    "cusolverMg": cuSOLVERError,
    "cusolverRf": cuSOLVERError,
    "cusolverSp": cuSOLVERError,
    "cusparse": cuSPARSEError,
    "driver": CUDAError,
    "mathdx": LibMathDxError,
    "nvjitlink": nvJitLinkError,
    "nvrtc": NVRTCError,
    "runtime": CUDARuntimeError,
}


def status_error(module: str, status: int, function: str = "", context: str = "") -> LibraryError:
    """Return the exception for a status of ``module``, without calling the library."""
    return _BY_MODULE[module](status, function, context)


def sticky_error(module: str, status: int, function: str) -> StickyError:
    """Return the exception for a use of CUDA after a sticky error, without calling the library."""
    return StickyError(status_error(module, status, function))
