"""Small files in a folder that many processes share, each with the content for one key.

A file is written under another name and then renamed, so that no process ever reads a part of it,
whoever writes or is killed at the same time. That needs no locks, which network file systems often
lack. A digest in the file finds damage.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> from gpumath.bindings.file_store import FileStore
>>> with tempfile.TemporaryDirectory() as folder:
...     store = FileStore(Path(folder), b"notes 1:", ".note")
...     store.write(store.path_of("a key"), b"content")
...     store.read(store.path_of("a key"))
b'content'
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from pathlib import Path

__all__ = ["DamagedFileError", "FileStore"]

_DIGEST_SIZE = hashlib.sha256().digest_size
_PART_SUFFIX = ".part"
# What a process that was killed has left, once it is old.
_LEFTOVERS = (".lock", _PART_SUFFIX)
_ABANDONED_SECONDS = 24 * 3600


class DamagedFileError(Exception):
    """A file of a store has other content than was written, or is no file of that store.

    Attributes
    ----------
    file : pathlib.Path
        The file.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.file = file

    def __str__(self) -> str:
        return f"{self.file} is damaged, or no file of gpumath's"


class FileStore:
    """The files of one kind in a folder, which is made when the first one is written.

    Parameters
    ----------
    folder : pathlib.Path
        The folder, which other stores may share.
    header : bytes
        What each file begins with. The digest of the content and the content follow.
    suffix : str
        Ending of the names of the files.
    max_files, max_bytes : int
        Limits. A write that exceeds one removes the files that were used least recently, down to
        three quarters of it.
    """

    def __init__(
        self,
        folder: Path,
        header: bytes,
        suffix: str,
        max_files: int = 1000,
        max_bytes: int = 1 << 30,
    ) -> None:
        self.folder = folder
        self.header = header
        self.suffix = suffix
        self.max_files = max_files
        self.max_bytes = max_bytes

    def path_of(self, key: str) -> Path:
        """Return where the content for a key is, or would be."""
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
        return self.folder / (digest + self.suffix)

    def read(self, file: Path) -> bytes | None:
        """Return the content of a file, and mark the file as used.

        Returns
        -------
        bytes or None
            None if the file is absent or cannot be read.

        Raises
        ------
        DamagedFileError
            The file has no whole content of this kind.
        """
        try:
            whole = _regular_content(file)
        except OSError:
            return None
        start = len(self.header) + _DIGEST_SIZE
        content = whole[start:]
        if whole[:start] != self.header + hashlib.sha256(content).digest() or not content:
            raise DamagedFileError(file)
        with contextlib.suppress(OSError):
            os.utime(file)
        return content

    def write(self, file: Path, content: bytes) -> None:
        """Write or replace a file; OSError if the folder or the disk does not allow it."""
        import tempfile  # takes long to import

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(suffix=_PART_SUFFIX, dir=self.folder)
        try:
            with os.fdopen(number, "wb") as temporary:
                temporary.write(self.header + hashlib.sha256(content).digest() + content)
            os.replace(name, file)
        except BaseException:
            os.unlink(name)
            raise
        self._remove_oldest()

    def files(self, suffix: str | None = None) -> list[Path]:
        """List the files of the store, or those in its folder with another ending."""
        ending = self.suffix if suffix is None else suffix
        try:
            return [Path(entry) for entry in os.scandir(self.folder) if entry.name.endswith(ending)]
        except OSError:
            return []

    def _remove_oldest(self) -> None:
        """Remove what was not used for the longest time, if the store is over one of its limits."""
        files = []
        abandoned_since = time.time() - _ABANDONED_SECONDS
        for entry in os.scandir(self.folder):
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                state = entry.stat()
                if entry.name.endswith(self.suffix):
                    files.append((state.st_mtime_ns, state.st_size, Path(entry)))
                elif entry.name.endswith(_LEFTOVERS) and state.st_mtime < abandoned_since:
                    os.unlink(entry)
        size = sum(size for _, size, _ in files)
        if len(files) <= self.max_files and size <= self.max_bytes:
            return
        files.sort(reverse=True)
        # Below the limits, so that it is not the next file's turn to remove files again.
        while files and (len(files) > self.max_files * 3 // 4 or size > self.max_bytes * 3 // 4):
            _, removed, file = files.pop()
            size -= removed
            file.unlink(missing_ok=True)


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
