"""Where the results of `Matmul.autotune` are kept, so that they last beyond the process.

`Matmul.autotune` measures algorithms once for each problem, version of cuBLASLt and kind of device,
and writes the fastest one into a folder. Later `Matmul.plan` and `Matmul.autotune` of any process
take it from there, without a measurement.

The environment variable ``GPUMATH_TUNING`` sets the mode at the start, and ``GPUMATH_TUNING_DIR``
the folder. By default the mode is ``"read-write"``, and the folder is ``tuning`` in the user's
cache, which ``GPUMATH_CACHE_DIR`` can name. ``GPUMATH_CACHE_DIR=off`` without a folder of its own
turns this off too.

Examples
--------
>>> import tempfile
>>> from gpumath.linalg.advanced import tuning
>>> with tempfile.TemporaryDirectory() as folder, tuning.using(folder=folder):
...     tuning.statistics().entries
0
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from gpumath._host.tuning_database import TuningDatabase
from gpumath.bindings import code_cache

__all__ = [
    "MissingTuningError",
    "Mode",
    "TuningSettings",
    "TuningStatistics",
    "clear",
    "configure",
    "export_entries",
    "import_entries",
    "settings",
    "statistics",
    "using",
]

Mode = Literal["off", "read-write", "renew", "frozen"]

_MODES = get_args(Mode)
_MODE_VARIABLE, _FOLDER_VARIABLE = "GPUMATH_TUNING", "GPUMATH_TUNING_DIR"


class MissingTuningError(LookupError):
    """A frozen tuning database has no entry for a problem, and ``missing`` is ``'error'``."""


@dataclass(frozen=True, kw_only=True)
class TuningSettings:
    """How `Matmul.plan` and `Matmul.autotune` use the tuning database.

    Parameters
    ----------
    mode : {'off', 'read-write', 'renew', 'frozen'}
        ``'off'``: nothing is read or written. ``'read-write'``: entries are used, and
        `Matmul.autotune` measures and writes what is missing. ``'renew'``: `Matmul.autotune`
        measures everything and replaces entries. ``'frozen'``: entries are used, and nothing is
        measured or written.
    folder : Path or None
        Where the entries are; None if there is no place for them, which is as ``'off'``.
    missing : {'heuristic', 'error'}
        What a frozen database does without an entry: go on with the order in which cuBLASLt's
        heuristic lists the algorithms, and log a warning; or raise `MissingTuningError`.

    Raises
    ------
    ValueError
        ``mode`` or ``missing`` is not an allowed value.

    Examples
    --------
    >>> from gpumath.linalg.advanced import tuning
    >>> with tuning.using(mode="frozen"):
    ...     tuning.settings().mode
    'frozen'
    """

    mode: Mode = "read-write"
    folder: Path | None = None
    missing: Literal["heuristic", "error"] = "heuristic"

    def __post_init__(self) -> None:
        """Refuse values that are not allowed."""
        if self.mode not in _MODES:
            msg = f"mode is {self.mode!r}; allowed are {', '.join(map(repr, _MODES))}"
            raise ValueError(msg)
        if self.missing not in ("heuristic", "error"):
            msg = f"missing is {self.missing!r}; allowed are 'heuristic', 'error'"
            raise ValueError(msg)


@dataclass(frozen=True)
class TuningStatistics:
    """What the folder of a tuning database holds.

    Parameters
    ----------
    folder : Path or None
        The folder; None if there is no place for one.
    entries : int
        Number of entries. Above 10,000, those that were used least recently are removed.
    size_bytes : int
        Bytes of all entries.
    damaged : int
        Number of damaged files that were found and renamed; `clear` removes them.
    """

    folder: Path | None
    entries: int
    size_bytes: int
    damaged: int


def settings() -> TuningSettings:
    """Return the settings that apply here: those of `using`, else those of the process.

    Raises
    ------
    ValueError
        The environment variable ``GPUMATH_TUNING`` is not the name of a mode.

    Examples
    --------
    >>> from gpumath.linalg.advanced import tuning
    >>> tuning.settings().missing
    'heuristic'
    """
    chosen = _here.get() or _of_process
    return chosen if chosen is not None else _from_environment()


def configure(
    *,
    mode: Mode | None = None,
    folder: str | os.PathLike[str] | None = None,
    missing: Literal["heuristic", "error"] | None = None,
) -> TuningSettings:
    """Change the settings of the process. What is not given stays as it is.

    Parameters
    ----------
    mode, missing
        As for `TuningSettings`.
    folder : path, optional
        Folder for the entries. It is made when the first entry is written.

    Returns
    -------
    TuningSettings
        The new settings.

    Raises
    ------
    ValueError
        ``mode`` or ``missing`` is not an allowed value, or ``folder`` is empty.

    Examples
    --------
    >>> from gpumath.linalg.advanced import tuning
    >>> tuning.configure(mode="read-write").mode
    'read-write'
    """
    global _of_process
    _of_process = _changed(_of_process or _from_environment(), mode, folder, missing)
    return _of_process


@contextmanager
def using(
    *,
    mode: Mode | None = None,
    folder: str | os.PathLike[str] | None = None,
    missing: Literal["heuristic", "error"] | None = None,
) -> Iterator[TuningSettings]:
    """Change the settings in a ``with`` block, for this thread or task alone.

    The parameters and errors are those of `configure`.

    Examples
    --------
    >>> from gpumath.linalg.advanced import tuning
    >>> with tuning.using(mode="off"):
    ...     pass  # plans here are as if nothing had been tuned
    """
    chosen = _changed(settings(), mode, folder, missing)
    token = _here.set(chosen)
    try:
        yield chosen
    finally:
        _here.reset(token)


def statistics() -> TuningStatistics:
    """Return what the folder of the tuning database holds.

    Examples
    --------
    >>> import tempfile
    >>> from gpumath.linalg.advanced import tuning
    >>> with tempfile.TemporaryDirectory() as folder, tuning.using(folder=folder):
    ...     tuning.statistics().size_bytes
    0
    """
    folder = settings().folder
    if folder is None:
        return TuningStatistics(None, 0, 0, 0)
    return TuningStatistics(folder, *TuningDatabase(folder).sizes())


def export_entries(file: str | os.PathLike[str]) -> int:
    """Write all entries into one file, to take them to other machines with such devices.

    Parameters
    ----------
    file : path
        File of JSON to write or replace.

    Returns
    -------
    int
        Number of entries.

    Raises
    ------
    ValueError
        There is no folder.
    OSError
        The file cannot be written.
    """
    return _database().export_to(Path(file), _LOGGER)


def import_entries(file: str | os.PathLike[str]) -> int:
    """Add the entries of an exported file that are missing, or newer than those in the folder.

    Parameters
    ----------
    file : path
        File that `export_entries` wrote.

    Returns
    -------
    int
        Number of entries that were added or replaced.

    Raises
    ------
    ValueError
        The file is damaged or of another format, in which case nothing of it is added; or there is
        no folder.
    OSError
        The file cannot be read, or the folder cannot be written to.
    """
    return _database().import_from(Path(file), _LOGGER)


def clear() -> int:
    """Remove all entries; return how many there were.

    Raises
    ------
    ValueError
        There is no folder.
    OSError
        The folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from gpumath.linalg.advanced import tuning
    >>> with tempfile.TemporaryDirectory() as folder, tuning.using(folder=folder):
    ...     tuning.clear()
    0
    """
    return _database().clear()


def _database() -> TuningDatabase:
    folder = settings().folder
    if folder is None:
        msg = f"tuning has no folder; name one by configure(folder=...) or {_FOLDER_VARIABLE}"
        raise ValueError(msg)
    return TuningDatabase(folder)


def _changed(
    base: TuningSettings,
    mode: Mode | None,
    folder: str | os.PathLike[str] | None,
    missing: Literal["heuristic", "error"] | None,
) -> TuningSettings:
    # It would be the working directory, which nobody means by an empty text.
    if folder is not None and not os.fspath(folder):
        msg = f"folder is {folder!r}; name a folder, or leave it out to keep the one that is set"
        raise ValueError(msg)
    return replace(
        base,
        mode=base.mode if mode is None else mode,
        folder=base.folder if folder is None else Path(folder),
        missing=base.missing if missing is None else missing,
    )


def _from_environment() -> TuningSettings:
    mode: Any = os.environ.get(_MODE_VARIABLE) or "read-write"
    if mode not in _MODES:
        allowed = ", ".join(map(repr, _MODES))
        msg = f"the environment variable {_MODE_VARIABLE} is {mode!r}; allowed are {allowed}"
        raise ValueError(msg)
    named, cache = os.environ.get(_FOLDER_VARIABLE), code_cache.folder()
    own = None if cache is None else cache / "tuning"
    return TuningSettings(mode=mode, folder=Path(named) if named else own)


_LOGGER = logging.getLogger()
_of_process: TuningSettings | None = None
_here: ContextVar[TuningSettings | None] = ContextVar("gpumath tuning", default=None)
