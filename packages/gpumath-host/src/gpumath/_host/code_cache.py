"""A cache of compiled device code on disk. Its keys are texts with all that the code depends on."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["CACHE_VARIABLE", "cached_code", "folder"]

CACHE_VARIABLE = "GPUMATH_CACHE_DIR"

# A file holds this header, then the digest of the code, then the code.
_MAGIC = b"gpumath code 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size
_SUFFIX = ".code"
# Limits the cache, because a program may compile new functions again and again.
_MAX_FILES = 1000


def cached_code(key: str | None, make: Callable[[], bytes]) -> bytes:
    """Return the cached code for ``key``, or call ``make`` and cache what it returns.

    Any number of processes may call this at once. Nothing is cached if ``key`` is None, if the
    cache is off, or if its folder cannot be written to.
    """
    place = folder()
    if key is None or place is None:
        return make()
    key = f"{_own_version()}\0{key}"
    file = place / (hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest() + _SUFFIX)
    code = _read(file)
    if code is None:
        code = make()
        # A full or read-only disk must not make the compilation fail.
        with contextlib.suppress(OSError):
            _write(file, code)
    return code


def folder() -> Path | None:
    """Return the folder of the cache; None if the cache is off, or the user has no home."""
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


@cache
def _own_version() -> str:
    try:
        return version("gpumath-host")
    except PackageNotFoundError:  # not installed, but found on PYTHONPATH
        return ""


def _read(file: Path) -> bytes | None:
    """Return the code in a file; None if the file is absent or damaged."""
    try:
        content = _content(file)
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_SIZE
    code = content[start:]
    if content[:start] != _MAGIC + hashlib.sha256(code).digest() or not code:
        return None
    # Mark the file as used, because the least recently used files are removed first.
    with contextlib.suppress(OSError):
        os.utime(file)
    return code


def _content(file: Path) -> bytes:
    """Return the bytes of a regular file; none of what is something else."""
    # To open a FIFO would wait for someone who writes to it.
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            return b""
        with open(number, "rb", closefd=False) as opened:
            return opened.read()
    finally:
        os.close(number)


def _write(file: Path, code: bytes) -> None:
    """Write a file atomically: no process ever reads a part of it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(number, "wb") as temporary:
            temporary.write(_MAGIC + hashlib.sha256(code).digest() + code)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
    _remove_oldest(file.parent)


def _remove_oldest(place: Path) -> None:
    files = [Path(entry) for entry in os.scandir(place) if entry.name.endswith(_SUFFIX)]
    if len(files) <= _MAX_FILES:
        return
    ages = []
    for file in files:
        with contextlib.suppress(FileNotFoundError):  # another process removed it
            ages.append((file.stat().st_mtime_ns, file))
    for _, file in sorted(ages)[: -_MAX_FILES * 3 // 4]:
        file.unlink(missing_ok=True)
