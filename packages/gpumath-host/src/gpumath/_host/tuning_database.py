"""A database of the fastest algorithms that were measured: one small file for each problem."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path
from typing import Any

from gpumath._host.options import Logger
from gpumath.bindings.file_store import DamagedFileError, FileStore

__all__ = ["TunedAlgorithm", "TuningDatabase", "TuningKey"]

# Other formats get another suffix, so that programs of different versions share a folder.
_FORMAT = "gpumath tuning 1"
_SUFFIX = ".tuning-1"
_DAMAGED = ".damaged"
_MAX_ENTRIES = 10_000
_MAX_ALGORITHM_BYTES = 4096


@dataclass(frozen=True)
class TuningKey:
    """Everything that decides which algorithm is the fastest."""

    problem: str
    """Text with all that the choice of algorithms depends on, the same in every process."""
    library: str
    """Name and version of the library whose algorithm it is."""
    device: str
    """Name, compute capability and number of multiprocessors."""

    def text(self) -> str:
        """Return one text for the three, which differs where one of them does."""
        return json.dumps([self.problem, self.library, self.device])


@dataclass(frozen=True)
class TunedAlgorithm:
    """The fastest algorithm for a problem, and how and when that was found out."""

    algorithm: bytes
    """The library's own description of the algorithm."""
    median_ms: float
    """Median of the measured GPU times, in milliseconds."""
    tuned_at: str
    """Time of the measurement in UTC, as ISO 8601 writes it."""


class TuningDatabase:
    """The entries in a folder. Any number of processes may read and write them at once."""

    def __init__(self, folder: Path) -> None:
        header = f"{_FORMAT}\n".encode()
        self.folder = folder
        self._store = FileStore(folder, header, _SUFFIX, _MAX_ENTRIES)

    def find(self, key: TuningKey, logger: Logger) -> TunedAlgorithm | None:
        """Return the entry for ``key``; None if there is none that is whole."""
        entry = self._read(self._store.path_of(key.text()), logger)
        # Somebody may have renamed a file.
        return entry[1] if entry is not None and entry[0] == key else None

    def keep(self, key: TuningKey, algorithm: bytes, median_ms: float) -> None:
        """Add or replace an entry; OSError if the folder or the disk does not allow it."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        self._write(key, TunedAlgorithm(algorithm, median_ms, now))

    def entries(self, logger: Logger) -> list[tuple[TuningKey, TunedAlgorithm]]:
        """Return all entries that are whole."""
        found = (self._read(file, logger) for file in sorted(self._store.files()))
        return [entry for entry in found if entry is not None]

    def sizes(self) -> tuple[int, int, int]:
        """Count the entries, their bytes, and the damaged files that are kept aside."""
        files = self._store.files()
        size = 0
        for file in files:
            with contextlib.suppress(OSError):
                size += file.stat().st_size
        return len(files), size, len(self._store.files(_DAMAGED))

    def clear(self) -> int:
        """Remove all entries and what is kept aside; return the number of entries."""
        files = self._store.files()
        for file in [*files, *self._store.files(_DAMAGED)]:
            file.unlink(missing_ok=True)
        return len(files)

    def export_to(self, file: Path, logger: Logger) -> int:
        """Write all entries into one file of JSON; return how many there are."""
        entries = [_as_fields(*entry) for entry in self.entries(logger)]
        text = json.dumps({"format": _FORMAT, "entries": entries}, indent=1)
        file.write_text(text + "\n", encoding="utf-8")
        return len(entries)

    def import_from(self, file: Path, logger: Logger) -> int:
        """Add the entries of an exported file that are newer; return how many were added."""
        added = 0
        for key, tuned in _exported_entries(file):
            own = self.find(key, logger)
            if own is None or own.tuned_at < tuned.tuned_at:
                self._write(key, tuned)
                added += 1
        return added

    def _read(self, file: Path, logger: Logger) -> tuple[TuningKey, TunedAlgorithm] | None:
        try:
            content = self._store.read(file)
            return None if content is None else _from_fields(_parsed(content))
        except (DamagedFileError, ValueError) as error:
            aside = file.with_name(file.name + _DAMAGED)
            # In a read-only folder the file stays, and is ignored each time.
            with contextlib.suppress(OSError):
                os.replace(file, aside)
            logger.warning("an entry of the tuning database is ignored: %s", error)
            return None

    def _write(self, key: TuningKey, tuned: TunedAlgorithm) -> None:
        fields = _as_fields(key, tuned)
        _from_fields(fields)
        self._store.write(self._store.path_of(key.text()), json.dumps(fields).encode())


def _as_fields(key: TuningKey, tuned: TunedAlgorithm) -> dict[str, Any]:
    return {**asdict(key), **asdict(tuned), "algorithm": tuned.algorithm.hex()}


def _parsed(text: str | bytes) -> Any:
    """Read JSON; ValueError if it is none, or nested too deep for the parser."""
    try:
        return json.loads(text)
    except RecursionError:
        msg = "it is nested too deep"
        raise ValueError(msg) from None


def _from_fields(fields: Any) -> tuple[TuningKey, TunedAlgorithm]:
    """Make an entry of what JSON gave; ValueError if that is none."""
    try:
        texts = [fields[name] for name in ("problem", "library", "device", "tuned_at")]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        # Texts of times are compared, which only those of one time zone can be.
        if datetime.fromisoformat(texts[3]).utcoffset() != timedelta(0):
            raise ValueError
        algorithm, median = bytes.fromhex(fields["algorithm"]), float(fields["median_ms"])
    except (TypeError, KeyError, ValueError):
        msg = f"{str(fields)[:100]!r} is no entry of a tuning database"
        raise ValueError(msg) from None
    if not 0 < len(algorithm) <= _MAX_ALGORITHM_BYTES:
        msg = f"the algorithm of an entry has {len(algorithm)} bytes"
        raise ValueError(msg)
    if not (isfinite(median) and median >= 0):
        msg = f"the median of an entry is {median} ms"
        raise ValueError(msg)
    return TuningKey(*texts[:3]), TunedAlgorithm(algorithm, median, texts[3])


def _exported_entries(file: Path) -> list[tuple[TuningKey, TunedAlgorithm]]:
    """Read an exported file; ValueError if it is not whole, so that nothing of it is used."""
    try:
        content = _parsed(file.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise TypeError
        listed = list(content["entries"])
    except (ValueError, TypeError, KeyError):
        msg = f"{file} is damaged, or was not exported from a tuning database of this format"
        raise ValueError(msg) from None
    return [_from_fields(fields) for fields in listed]
