"""Compiled device code on disk, by the text that says all it depends on."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["CACHE_VARIABLE", "cached_code", "folder"]

CACHE_VARIABLE = "GPUMATH_CACHE_DIR"

# Files hold this, the digest of the code, and the code.
_MAGIC = b"gpumath code 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size
_SUFFIX = ".code"
# A program that compiles a new function again and again must not fill the disk.
_MAX_FILES = 1000


def cached_code(key: str | None, make: Callable[[], bytes]) -> bytes:
    """Return the code for a key from disk, or what ``make`` returns, which is then kept there.

    Any number of processes may do so at once. Without a key, and where the folder cannot be used,
    nothing is kept.
    """
    place = folder()
    if key is None or place is None:
        return make()
    key = f"{_own_version()}\0{key}"
    file = place / (hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest() + _SUFFIX)
    code = _read(file)
    if code is None:
        code = make()
        # A full or read-only disk is no reason to fail.
        with contextlib.suppress(OSError):
            _write(file, code)
    return code


def folder() -> Path | None:
    """Folder of the cache; None if it is switched off."""
    named = os.environ.get(CACHE_VARIABLE)
    if named == "off":
        return None
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of the XDG folders ignores relative paths.
    if os.path.isabs(home):
        return Path(home) / "gpumath"
    user = os.path.expanduser("~")
    # There are users without a home.
    return Path(user) / ".cache" / "gpumath" if os.path.isabs(user) else None


@cache
def _own_version() -> str:
    try:
        return version("gpumath-host")
    except PackageNotFoundError:  # not installed, but found on PYTHONPATH
        return ""


def _read(file: Path) -> bytes | None:
    """Return the code in a file; None if there is no whole one."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_SIZE
    code = content[start:]
    if content[:start] != _MAGIC + hashlib.sha256(code).digest() or not code:
        return None
    # The oldest files go first.
    with contextlib.suppress(OSError):
        os.utime(file)
    return code


def _write(file: Path, code: bytes) -> None:
    """Write a file such that no process ever sees a part of it."""
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
