"""The database of tuned algorithms: several processes, damage, other versions, limits."""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath._host.tuning_database import TuningDatabase, TuningKey
from tests.helpers.processes import arguments_of, result_of, start, with_tests
from tests.programs.tuning import algorithm_of, is_whole, key_of

LOGGER = logging.getLogger("tests.tuning")


@pytest.fixture
def database(tmp_path: Path) -> TuningDatabase:
    return TuningDatabase(tmp_path / "tuning")


def begin(function: str, *arguments: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", *arguments_of(f"tuning.{function}", *arguments)]
    return subprocess.Popen(command, env=with_tests(os.environ), stdout=subprocess.PIPE)


def only_file(database: TuningDatabase) -> Path:
    (file,) = (path for path in database.folder.iterdir() if path.suffix == ".tuning-1")
    return file


def test_an_entry_is_found_again(database: TuningDatabase) -> None:
    algorithm, median = secrets.token_bytes(64), float(np.random.default_rng().random())
    assert database.find(key_of(1), LOGGER) is None
    assert not database.folder.exists()
    database.keep(key_of(1), algorithm, median)
    found = TuningDatabase(database.folder).find(key_of(1), LOGGER)
    assert found is not None
    assert (found.algorithm, found.median_ms) == (algorithm, median)
    database.keep(key_of(1), algorithm[::-1], median)
    assert [entry[1].algorithm for entry in database.entries(LOGGER)] == [algorithm[::-1]]
    assert database.folder.stat().st_mode & 0o777 == 0o700


def test_each_part_of_the_key_counts(database: TuningDatabase) -> None:
    key = key_of(1)
    others = [
        replace(key, problem="problem 2"),
        replace(key, library="cublasLt 130200"),
        replace(key, device="another device"),
        TuningKey("", key.problem, key.library + key.device),
    ]
    database.keep(key, b"algorithm", 1.0)
    for number, other in enumerate(others):
        assert database.find(other, LOGGER) is None
        database.keep(other, b"%d" % number, 1.0)
    assert database.sizes()[0] == 5
    found = database.find(key, LOGGER)
    assert found is not None
    assert found.algorithm == b"algorithm"


def test_processes_that_write_at_once(database: TuningDatabase) -> None:
    """Nothing is lost, and what a reader finds was written by one of the processes."""
    count = 100
    writers = [begin("write", str(database.folder), f"writer {one}", count) for one in range(3)]
    results = [json.loads(process.communicate(timeout=100)[0]) for process in writers]
    assert all(process.returncode == 0 for process in writers)
    assert results == [[True] * count] * 3
    assert len(database.entries(LOGGER)) == count
    assert {path.suffix for path in database.folder.iterdir()} == {".tuning-1"}


def test_killed_writers_damage_nothing(database: TuningDatabase) -> None:
    rng = np.random.default_rng()
    for _ in range(4):
        process = begin("write_until_killed", str(database.folder))
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(float(rng.uniform(0, 0.05)))
        process.kill()
        process.communicate(timeout=60)
    for number in range(20):
        found = database.find(key_of(number), LOGGER)
        assert found is not None
        assert is_whole(found.algorithm, number)
    assert database.sizes()[2] == 0
    # What the killed ones have left is removed when it is old.
    left = database.folder / "killed.part"
    left.write_bytes(b"part")
    os.utime(left, (0, 0))
    database.keep(key_of(1), b"algorithm", 1.0)
    assert not left.exists()


DAMAGES = ["empty", "truncated", "one bit", "longer", "other file", "other JSON", "renamed", "FIFO"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_kept_aside(
    database: TuningDatabase, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    database.keep(key_of(1), algorithm_of(1, "whole"), 1.0)
    file = only_file(database)
    whole = file.read_bytes()
    position = int(np.random.default_rng().integers(len(whole)))
    changed = bytearray(whole)
    changed[position] ^= 1 << position % 8
    contents = {
        "empty": b"",
        "truncated": whole[:position],
        "one bit": bytes(changed),
        "longer": whole + b"\0",
        "other file": secrets.token_bytes(200),
    }
    if damage == "other JSON":
        database._store.write(file, b'{"problem": 1}')
    elif damage == "renamed":
        database.keep(key_of(2), algorithm_of(2, "other"), 1.0)
        (other,) = (path for path in database.folder.iterdir() if path != file)
        os.replace(other, file)
    elif damage == "FIFO":
        file.unlink()
        os.mkfifo(file)
    else:
        file.write_bytes(contents[damage])
    assert database.find(key_of(1), LOGGER) is None
    if damage != "renamed":  # which is whole, but for another problem
        assert database.sizes() == (0, 0, 1)
        assert "entry of the tuning database is ignored" in caplog.text
        assert not file.exists()
    database.keep(key_of(1), b"again", 1.0)
    found = database.find(key_of(1), LOGGER)
    assert found is not None
    assert found.algorithm == b"again"


def test_a_folder_that_cannot_be_written_to() -> None:
    """Entries are read; damage is reported each time, because nothing can be renamed."""
    # Not pytest's folder, which other users may not enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        database = TuningDatabase(folder)
        for number in (1, 2):
            database.keep(key_of(number), b"algorithm", 1.0)
        for file in folder.iterdir():
            file.chmod(0o444)
        damaged = database._store.path_of(key_of(2).text())
        damaged.write_bytes(b"")
        folder.chmod(0o555)
        found, warnings, refusal = result_of(start("tuning.use_read_only", name))
        folder.chmod(0o755)
        assert found == ["algorithm", None, None]
        assert warnings == 2
        assert refusal == "PermissionError"
        assert damaged.exists()


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    database = TuningDatabase(tmp_path / "file")
    assert database.find(key_of(1), LOGGER) is None
    assert database.sizes() == (0, 0, 0)
    with pytest.raises(OSError):
        database.keep(key_of(1), b"algorithm", 1.0)


def test_the_number_of_entries_is_limited(
    database: TuningDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = database._store
    monkeypatch.setattr(small, "max_files", 40)
    for number in range(40):
        database.keep(key_of(number), b"algorithm", 1.0)
        os.utime(small.path_of(key_of(number).text()), (number, number))
    assert database.find(key_of(0), LOGGER) is not None  # which makes it the newest
    database.keep(key_of(40), b"algorithm", 1.0)
    assert database.sizes()[0] == 30
    assert database.find(key_of(0), LOGGER) is not None
    assert database.find(key_of(1), LOGGER) is None


def test_export_and_import(database: TuningDatabase, tmp_path: Path) -> None:
    """The newer of two entries for a problem stays."""
    for number in range(3):
        database.keep(key_of(number), b"first", float(number))
    file, other = tmp_path / "tuning.json", TuningDatabase(tmp_path / "other")
    other.keep(key_of(0), b"own", 1.0)
    assert database.export_to(file, LOGGER) == 3
    assert other.import_from(file, LOGGER) == 2
    assert other.import_from(file, LOGGER) == 0
    algorithms = {key.problem[-1]: tuned.algorithm for key, tuned in other.entries(LOGGER)}
    assert algorithms == {"0": b"own", "1": b"first", "2": b"first"}
    database.keep(key_of(1), b"second", 1.0)
    database.export_to(file, LOGGER)
    assert other.import_from(file, LOGGER) == 1
    assert {tuned.algorithm for _, tuned in other.entries(LOGGER)} == {b"own", b"second", b"first"}
    assert database.clear() == 3
    assert database.import_from(file, LOGGER) == 3
    assert database.sizes()[0] == 3


def test_a_file_that_is_nested_too_deep_is_damaged(
    database: TuningDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "tuning.json"
    file.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is damaged, or was not exported"):
        database.import_from(file, LOGGER)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(format="gpumath tuning 2"),
        lambda content: content["entries"].append({"problem": "p"}),
        lambda content: content["entries"][1].update(algorithm="0x"),
        lambda content: content["entries"][1].update(algorithm=""),
        lambda content: content["entries"][1].update(algorithm="00" * 5000),
        lambda content: content["entries"][1].update(median_ms=float("nan")),
        lambda content: content["entries"][1].update(median_ms="fast"),
        lambda content: content["entries"][1].update(tuned_at="yesterday"),
        lambda content: content["entries"][1].update(tuned_at="2026-11-22T10:00:00"),
        lambda content: content["entries"][1].update(tuned_at="2026-11-22T10:00:00+01:00"),
        lambda content: content["entries"][1].update(device=3),
        lambda content: content.pop("entries"),
    ],
)
def test_nothing_is_imported_from_a_damaged_file(
    database: TuningDatabase, tmp_path: Path, change: Any
) -> None:
    for number in range(2):
        database.keep(key_of(number), b"algorithm", 1.0)
    file, other = tmp_path / "tuning.json", TuningDatabase(tmp_path / "other")
    database.export_to(file, LOGGER)
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"is damaged|no entry|bytes|median"):
        other.import_from(file, LOGGER)
    file.write_text(file.read_text()[:-20])
    with pytest.raises(ValueError, match="is damaged"):
        other.import_from(file, LOGGER)
    assert other.sizes()[0] == 0


def test_what_cannot_be_read_back_is_not_written(database: TuningDatabase) -> None:
    for algorithm, median in ((b"", 1.0), (b"1", float("nan")), (b"1" * 5000, 1.0)):
        with pytest.raises(ValueError):
            database.keep(key_of(1), algorithm, median)
    assert not database.folder.exists()
