"""A cache on disk of compiled device code, for every package that compiles.

The key of a piece of code is a text with all that the code depends on. Any number of processes and
threads may use the cache at once. ``GPUMATH_CACHE_DIR`` names its folder; ``off`` disables it.

Examples
--------
>>> from gpumath.bindings import code_cache
>>> code_cache.cached_code("compiler 1.0; source", lambda: b"compiled")
b'compiled'
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from gpumath.bindings.file_store import DamagedFileError, FileStore

__all__ = ["CACHE_VARIABLE", "cached_code", "folder"]

CACHE_VARIABLE = "GPUMATH_CACHE_DIR"

_LOCK_SUFFIX = ".lock"
# They limit the cache, because a program may compile new functions again and again.
_MAX_FILES = 1000
_MAX_BYTES = 1 << 30


def cached_code(key: str | None, make: Callable[[], bytes]) -> bytes:
    """Return the cached code for a key, or call ``make`` and cache what it returns.

    Of several processes and threads that ask for the same key at once, one calls ``make`` and the
    others wait for it. Nothing is cached if ``key`` is None, if the cache is off, or if its folder
    cannot be written to.

    Parameters
    ----------
    key : str or None
        All that the code depends on: the source, the options, and the versions of the compilers and
        of the package that calls them.
    make : callable
        It takes no argument and returns the code. It does not ask for the same key.

    Returns
    -------
    bytes
        The code, never a damaged one: a file whose digest is wrong is made again.

    Examples
    --------
    >>> from gpumath.bindings.code_cache import cached_code
    >>> cached_code(None, lambda: b"never cached")
    b'never cached'
    """
    place = folder()
    if key is None or place is None:
        return make()
    store = FileStore(place, b"gpumath code 1\n", ".code", _MAX_FILES, _MAX_BYTES)
    file = store.path_of(key)
    code = _read(store, file)
    if code is not None:
        return code
    with _locked(file.with_suffix(_LOCK_SUFFIX)):
        # Another process may have made it while this one waited.
        code = _read(store, file)
        if code is None:
            code = make()
            # A full or read-only disk must not make the compilation fail.
            with contextlib.suppress(OSError):
                store.write(file, code)
    return code


def folder() -> Path | None:
    """Return the folder of the cache; None if the cache is off, or the user has no home.

    Returns
    -------
    pathlib.Path or None
        The folder that ``GPUMATH_CACHE_DIR`` names, or ``gpumath`` in the user's folder for caches.

    Examples
    --------
    >>> from gpumath.bindings import code_cache
    >>> place = code_cache.folder()
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named == "off":
        return None
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    if os.path.isabs(home):
        return Path(home) / "gpumath"
    user = os.path.expanduser("~")
    # For a user without a home, expanduser returns "~".
    return Path(user) / ".cache" / "gpumath" if os.path.isabs(user) else None


def _read(store: FileStore, file: Path) -> bytes | None:
    """Return the code in a file; None if the file is absent or damaged."""
    try:
        return store.read(file)
    except DamagedFileError:
        return None  # it is replaced


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold a lock between processes and threads, where the file system has locks.

    The file is removed in the end. Who waits for it then, or makes a new one, finds the code in the
    cache, or at worst makes it a second time.
    """
    # Only Unix has it.
    import fcntl

    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):  # a network file system without locks
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
        # A process forked meanwhile has the file open, too, so closing it here would not unlock it.
        with contextlib.suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_UN)
        os.close(number)
