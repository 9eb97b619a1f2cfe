"""Where tuned algorithms are kept, and whether they are used: settings, environment, files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from gpumath._host.tuning_database import TuningDatabase, TuningKey
from gpumath.linalg.advanced import tuning
from tests.helpers.processes import result_of, start


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the settings of this test name."""
    monkeypatch.setattr(tuning, "_of_process", None)
    monkeypatch.setenv("GPUMATH_TUNING_DIR", str(tmp_path / "tuning"))
    return tmp_path / "tuning"


def test_the_environment_sets_the_start(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tuning.settings() == tuning.TuningSettings(mode="read-write", folder=folder)
    monkeypatch.setenv("GPUMATH_TUNING", "frozen")
    assert tuning.settings().mode == "frozen"
    monkeypatch.setenv("GPUMATH_TUNING", "fast")
    with pytest.raises(ValueError, match="variable GPUMATH_TUNING is 'fast'; allowed are 'off'"):
        tuning.settings()
    monkeypatch.delenv("GPUMATH_TUNING")
    monkeypatch.delenv("GPUMATH_TUNING_DIR")
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path))
    assert tuning.settings().folder == tmp_path / "tuning"
    monkeypatch.setenv("GPUMATH_CACHE_DIR", "off")
    assert tuning.settings().folder is None
    assert tuning.statistics() == tuning.TuningStatistics(None, 0, 0, 0)
    for use in (tuning.clear, lambda: tuning.export_entries(tmp_path / "file")):
        with pytest.raises(ValueError, match="tuning has no folder; name one by configure"):
            use()


def test_another_process_starts_with_the_environment(folder: Path) -> None:
    assert result_of(start("tuning_settings.of_the_process")) == [
        "read-write",
        str(folder),
    ]


def test_a_block_changes_its_own_thread_alone(folder: Path) -> None:
    seen: list[Any] = []
    with tuning.using(mode="frozen") as chosen:
        assert tuning.settings() is chosen
        with tuning.using(missing="error"):
            inner = tuning.settings()
            thread = threading.Thread(target=lambda: seen.append(tuning.settings().mode))
            thread.start()
            thread.join()
        assert (inner.mode, inner.missing, inner.folder) == ("frozen", "error", folder)
        assert tuning.settings() is chosen
    assert tuning.settings().mode == "read-write"
    assert seen == ["read-write"]


def test_the_process_changes_every_thread(tmp_path: Path, folder: Path) -> None:
    assert tuning.configure(mode="off").folder == folder
    assert tuning.configure(folder=tmp_path) == tuning.TuningSettings(mode="off", folder=tmp_path)
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(tuning.settings()))
    thread.start()
    thread.join()
    assert seen == [tuning.settings()]


def test_wrong_settings_change_nothing(folder: Path) -> None:
    wrong: Any = "sometimes"
    with pytest.raises(ValueError, match="mode is 'sometimes'; allowed are 'off', 'read-write'"):
        tuning.configure(mode=wrong)
    with (
        pytest.raises(ValueError, match="missing is 'sometimes'; allowed are 'heuristic'"),
        tuning.using(missing=wrong),
    ):
        pass
    with pytest.raises(ValueError, match="folder is ''; name a folder"):
        tuning.configure(folder="")
    assert tuning.settings() == tuning.TuningSettings(folder=folder)


def test_statistics_and_files(tmp_path: Path, folder: Path) -> None:
    assert tuning.statistics() == tuning.TuningStatistics(folder, 0, 0, 0)
    assert tuning.clear() == 0
    for number in range(3):
        key = TuningKey(f"problem {number}", "cublasLt 1", "device")
        TuningDatabase(folder).keep(key, b"algorithm", 1.0)
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert tuning.statistics() == tuning.TuningStatistics(folder, 3, size, 0)
    assert tuning.export_entries(tmp_path / "tuned.json") == 3
    with tuning.using(folder=tmp_path / "other"):
        assert tuning.import_entries(tmp_path / "tuned.json") == 3
        assert tuning.clear() == 3
    with pytest.raises(FileNotFoundError):
        tuning.import_entries(tmp_path / "nothing.json")
    assert tuning.statistics().entries == 3
