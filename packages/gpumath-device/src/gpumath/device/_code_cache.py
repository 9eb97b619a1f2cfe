"""Keeps what libmathdx and NVRTC have compiled, because a compilation takes seconds.

The code is in the cache on disk that all packages share. The last few pieces stay in memory, too.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from gpumath.bindings import mathdx, nvrtc
from gpumath.bindings.code_cache import cached_code

__all__ = ["cached"]

# One piece of LTO-IR is about 2 MB.
_MAX_IN_MEMORY = 64

_in_memory: OrderedDict[str, bytes] = OrderedDict()
_lock = threading.Lock()


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
    text = repr((versions, kind, key))
    with _lock:
        found = _in_memory.get(text)
        if found is not None:
            _in_memory.move_to_end(text)
            return found
    code = cached_code(text, produce)
    with _lock:
        _in_memory[text] = code
        while len(_in_memory) > _MAX_IN_MEMORY:
            _in_memory.popitem(last=False)
    return code


@cache
def _compilers() -> tuple[object, ...]:
    # The commit tells builds of the same version apart.
    return nvrtc.version(), mathdx.get_version_ex(), mathdx.mathdx_get_commit()


@cache
def _own_version() -> str:
    try:
        return f"gpumath-device {version('gpumath-device')}"
    except PackageNotFoundError:  # not installed, but found on PYTHONPATH
        return "gpumath-device"
