"""Autotuning that lasts: what one process has measured, others use.

On a GPU, and on a stand-in for one, where only the measurement is left out.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath._host.tuning_database import TuningDatabase
from gpumath.linalg import advanced
from gpumath.linalg.advanced import tuning
from tests.helpers import ordering_driver
from tests.helpers.processes import arguments_of, result_of, start, with_tests

LOGGER = logging.getLogger("tests.tuning")
SIZES = (40, 24, 32)
Tune = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that processes of this test use."""
    monkeypatch.setattr(tuning, "_of_process", None)
    monkeypatch.setenv("GPUMATH_TUNING_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture(params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def tuned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tune:
    """Tune in a process of its own; check the product, and return what happened."""
    driver = None
    if request.param == "stand-in":
        source = ordering_driver.SOURCE.with_name("tuning_driver.c")
        driver = ordering_driver.build(tmp_path_factory.mktemp("driver"), source)

    def tune(**settings: str) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            if driver is None:
                process = start("tuning_gpu.tune", *SIZES)
            else:
                process = ordering_driver.start(driver, "tuning_stand_in.tune", *SIZES)
        found: dict[str, Any] = result_of(process)
        assert found["error"] < 1e-5
        return found

    return tune


def has_measured(found: dict[str, Any]) -> bool:
    return any(text.startswith("autotuned") for text in found["log"])


def test_another_process_does_not_measure_again(folder: Path, tuned: Tune) -> None:
    first, second = tuned(), tuned()
    assert has_measured(first)
    assert not has_measured(second)
    assert second["planned"] == second["tuned"] == first["tuned"]
    ((key, entry),) = TuningDatabase(folder).entries(LOGGER)
    assert entry.algorithm.hex() == first["tuned"]
    assert entry.median_ms > 0
    assert key.library.startswith("cublasLt 1")
    again = tuned(GPUMATH_TUNING="renew")
    assert has_measured(again)
    off = tuned(GPUMATH_TUNING="off")
    assert has_measured(off)
    assert TuningDatabase(folder).sizes()[0] == 1


@pytest.mark.gpu
def test_two_processes_that_tune_at_once(folder: Path) -> None:
    command = [sys.executable, "-P", *arguments_of("tuning_gpu.tune", *SIZES, 30)]
    environment = with_tests(os.environ)
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)
    ]
    found = [json.loads(process.communicate(timeout=100)[0]) for process in processes]
    assert all(one["error"] < 1e-5 for one in found)
    ((_, entry),) = TuningDatabase(folder).entries(LOGGER)
    assert entry.algorithm.hex() in {one["tuned"] for one in found}


def test_a_frozen_database(folder: Path, tuned: Tune) -> None:
    missing = tuned(GPUMATH_TUNING="frozen")
    assert not has_measured(missing)
    assert any("has nothing for this product" in text for text in missing["log"])
    assert TuningDatabase(folder).sizes()[0] == 0
    first = tuned()
    frozen = tuned(GPUMATH_TUNING="frozen")
    assert not has_measured(frozen)
    assert frozen["planned"] == first["tuned"]


@pytest.mark.gpu
def test_a_frozen_database_that_has_to_be_complete(folder: Path) -> None:
    a = np.ones((16, 16), np.float32)
    with (
        tuning.using(mode="frozen", missing="error"),
        advanced.Matmul(a, a) as product,
        pytest.raises(tuning.MissingTuningError, match="has nothing for this product"),
    ):
        product.plan()


def test_what_does_not_fit_is_not_used(folder: Path, tuned: Tune) -> None:
    """Truncated entries, those for another cuBLASLt, and algorithms that it does not know."""
    tuned()
    database = TuningDatabase(folder)
    ((key, entry),) = database.entries(LOGGER)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-5])
    assert has_measured(tuned())
    assert database.sizes() == (1, file.stat().st_size, 1)
    database.clear()
    database.keep(replace(key, library="cublasLt 120000"), entry.algorithm, 1.0)
    assert has_measured(tuned())
    assert database.sizes()[0] == 2
    for wrong in (bytes(64), b"short"):
        database.keep(key, wrong, 1.0)
        found = tuned()
        assert has_measured(found)
        assert any("does not fit" in text for text in found["log"])


def test_a_folder_that_cannot_be_written_to(folder: Path, tuned: Tune) -> None:
    (folder / "file").touch()
    found = tuned(GPUMATH_TUNING_DIR=str(folder / "file" / "tuning"))
    assert has_measured(found)
    assert any("is not kept on disk" in text for text in found["log"])
