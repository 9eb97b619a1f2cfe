"""Small files in a folder that many processes share, each with the content for one key.

A file is written under another name and then renamed, so that no process ever reads a part of it,
whoever writes or is killed at the same time. That needs no locks, which network file systems often
lack. A digest in the file finds damage.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CACHE_VARIABLE", "DamagedFileError", "FileStore", "cache_folder"]

CACHE_VARIABLE = "GPUMATH_CACHE_DIR"

_DIGEST_SIZE = hashlib.sha256().digest_size
_UNFINISHED = ".unfinished"
# What a killed process has left is removed after so many seconds.
_ABANDONED = 3600.0


class DamagedFileError(Exception):
    """A file of the store has other content than was written."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} is damaged, or no file of gpumath's")
        self.file = file


@dataclass(frozen=True)
class FileStore:
    """The files of one kind in a folder. Only writing makes the folder."""

    folder: Path
    header: bytes
    """First line of each file; a digest and the content follow."""
    suffix: str
    max_files: int
    """Number of files above which the quarter that was used least recently is removed."""

    def path_of(self, key: str) -> Path:
        """Return where the content for ``key`` is, or would be."""
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
        return self.folder / (digest + self.suffix)

    def read(self, file: Path) -> bytes | None:
        """Return the content of a file; None if it is absent or cannot be read.

        Raise DamagedFileError if it has no content of this kind.
        """
        try:
            whole = _regular_content(file)
        except OSError:
            return None
        start = len(self.header) + _DIGEST_SIZE
        content = whole[start:]
        if whole[:start] != self.header + hashlib.sha256(content).digest() or not content:
            raise DamagedFileError(file)
        # Mark the file as used, because the least recently used files are removed first.
        with contextlib.suppress(OSError):
            os.utime(file)
        return content

    def write(self, file: Path, content: bytes) -> None:
        """Write or replace a file; OSError if the folder or the disk does not allow it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=self.folder, suffix=_UNFINISHED)
        try:
            with os.fdopen(number, "wb") as temporary:
                temporary.write(self.header + hashlib.sha256(content).digest() + content)
            os.replace(name, file)
        except BaseException:
            os.unlink(name)
            raise
        self._limit()

    def files(self, suffix: str | None = None) -> list[Path]:
        """List the files of the store, or those in its folder with another ending."""
        ending = self.suffix if suffix is None else suffix
        try:
            return [Path(entry) for entry in os.scandir(self.folder) if entry.name.endswith(ending)]
        except OSError:
            return []

    def _limit(self) -> None:
        oldest = time.time() - _ABANDONED
        for age, file in _ages(self.files(_UNFINISHED)):
            if age < oldest:
                file.unlink(missing_ok=True)
        files = self.files()
        if len(files) > self.max_files:
            for _, file in sorted(_ages(files))[: -self.max_files * 3 // 4]:
                file.unlink(missing_ok=True)


def cache_folder() -> Path | None:
    """Return the user's folder for caches; None if caches are off, or the user has no home."""
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


def _regular_content(file: Path) -> bytes:
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


def _ages(files: list[Path]) -> list[tuple[float, Path]]:
    """Return the files with the times of their last use."""
    found = []
    for file in files:
        with contextlib.suppress(OSError):  # another process removed it
            found.append((file.stat().st_mtime, file))
    return found
