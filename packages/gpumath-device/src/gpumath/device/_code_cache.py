"""Keeps what libmathdx and NVRTC have compiled, because a compilation takes seconds.

The code is in the cache on disk that all packages share. The last few pieces stay in memory, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from gpumath.bindings import mathdx, nvrtc
from gpumath.bindings.code_cache import cached_code

__all__ = ["cached"]


class _Request(str):
    """A key. How to make what belongs to it is not compared."""

    produce: Callable[[], bytes]


# One piece of LTO-IR is about 2 MB.
@lru_cache(maxsize=64)
def _load(request: _Request) -> bytes:
    return cached_code(request, request.produce)


def cached(
    kind: str, key: tuple[object, ...], produce: Callable[[], bytes], *, libmathdx: bool = True
) -> bytes:
    """Return the result of an earlier call with this kind and key, or produce it now.

    Parameters
    ----------
    kind : str
        What the bytes are, such as ``'fft'``. The format of the bytes is the caller's.
    key : tuple
        All that the result depends on: numbers, texts, None, and tuples of them. The versions of
        this package, of NVRTC and of libmathdx are added here.
    produce : callable
        Makes the result, and takes long. Threads and processes that ask for the same result at once
        wait for one of them to produce it; for different results, they do not wait.
    libmathdx : bool, default: True
        Whether libmathdx makes it, and not NVRTC alone.
    """
    versions = (_own_version(), _compilers() if libmathdx else nvrtc.version())
    request = _Request((versions, kind, key))
    request.produce = produce
    return _load(request)


@cache
def _compilers() -> tuple[object, ...]:
    # The commit tells builds of the same version apart.
    return nvrtc.version(), mathdx.get_version_ex(), mathdx.mathdx_get_commit()


@cache
def _own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # takes long to import

    try:
        return f"gpumath-device {version('gpumath-device')}"
    except PackageNotFoundError:  # not installed, but found on PYTHONPATH
        return "gpumath-device"
