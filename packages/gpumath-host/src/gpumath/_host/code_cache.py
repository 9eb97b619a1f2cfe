"""A cache of compiled device code on disk. Its keys are texts with all that the code depends on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpumath._host.file_store import CACHE_VARIABLE, DamagedFileError, FileStore, cache_folder

__all__ = ["CACHE_VARIABLE", "cached_code"]

# Limits the cache, because a program may compile new functions again and again.
_MAX_FILES = 1000


def cached_code(key: str | None, make: Callable[[], bytes]) -> bytes:
    """Return the cached code for ``key``, or call ``make`` and cache what it returns.

    Any number of processes may call this at once. Nothing is cached if ``key`` is None, if the
    cache is off, or if its folder cannot be written to.
    """
    folder = cache_folder()
    if key is None or folder is None:
        return make()
    store = FileStore(folder, b"gpumath code 1\n", ".code", _MAX_FILES)
    file = store.path_of(f"{_own_version()}\0{key}")
    code = _read(store, file)
    if code is None:
        code = make()
        # A full or read-only disk must not make the compilation fail.
        with contextlib.suppress(OSError):
            store.write(file, code)
    return code


def _read(store: FileStore, file: Path) -> bytes | None:
    try:
        return store.read(file)
    except DamagedFileError:
        return None  # it is replaced


@cache
def _own_version() -> str:
    try:
        return version("gpumath-host")
    except PackageNotFoundError:  # not installed, but found on PYTHONPATH
        return ""
