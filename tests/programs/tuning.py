"""Processes that write a tuning database at once, or until they are killed."""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import sys
from pathlib import Path
from typing import Any

from gpumath._host.tuning_database import TuningDatabase, TuningKey
from tests.programs.support.entry import main


def key_of(number: int) -> TuningKey:
    return TuningKey(f"problem {number}", "cublasLt 130100", "device")


def algorithm_of(number: int, writer: str) -> bytes:
    """Return 64 bytes by which a reader can tell that the entry is whole."""
    start = f"{number} {writer} ".encode().ljust(32)
    return start + hashlib.sha256(start).digest()


def write(folder: str, writer: str, count: int) -> list[bool]:
    """Write and read `count` entries; return whether each was whole when it was read."""
    database, logger = TuningDatabase(Path(folder)), logging.getLogger()
    whole = []
    for number in range(count):
        database.keep(key_of(number), algorithm_of(number, writer), float(number))
        found = database.find(key_of(number), logger)
        whole.append(found is not None and is_whole(found.algorithm, number))
    return whole


def is_whole(algorithm: bytes, number: int) -> bool:
    start = algorithm[:32]
    return (
        start.startswith(f"{number} ".encode()) and algorithm[32:] == hashlib.sha256(start).digest()
    )


def write_until_killed(folder: str) -> None:
    """Write entries as fast as possible; one line on standard output says that it has begun."""
    database = TuningDatabase(Path(folder))
    for turn in itertools.count():
        for number in range(20):
            database.keep(key_of(number), algorithm_of(number, f"turn {turn}"), 1.0)
        if turn == 0:
            sys.stdout.write("begun\n")
            sys.stdout.flush()


def use_read_only(folder: str) -> Any:
    """Read an entry and twice a damaged one, then write, as a user who may not write there."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    database, logger = TuningDatabase(Path(folder)), logging.getLogger()
    records: list[logging.LogRecord] = []
    logger.addFilter(lambda record: records.append(record) is None)
    found = [database.find(key_of(number), logger) for number in (1, 2, 2)]
    texts = [None if one is None else one.algorithm.decode() for one in found]
    try:
        database.keep(key_of(3), b"algorithm", 1.0)
    except OSError as error:
        return texts, len(records), type(error).__name__
    return texts, len(records), None


if __name__ == "__main__":
    main(globals())
