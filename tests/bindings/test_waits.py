"""Ctrl-C ends a wait, but not where the caller says that it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver

# What tests/programs/waits.py can wait for.
WAITS = ["stream", "handle", "event", "device", "managed array"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(driver: Path, wait: str) -> None:
    assert ordering_driver.run(driver, "waits.ctrl_c_ends_a_wait", wait) is True


@pytest.mark.parametrize("wait", WAITS)
def test_other_signals_are_handled_meanwhile(driver: Path, wait: str) -> None:
    assert ordering_driver.run(driver, "waits.other_signals_are_handled_meanwhile", wait) == [1]


def test_a_wait_that_must_not_end_early(driver: Path) -> None:
    assert ordering_driver.run(driver, "waits.a_wait_that_must_not_end_early") == 0


@pytest.mark.parametrize("wait", WAITS)
def test_threads_wait_and_others_run(driver: Path, wait: str) -> None:
    assert ordering_driver.run(driver, "waits.threads_wait_and_others_run", wait) == [True] * 4


@pytest.mark.parametrize("wait", WAITS)
def test_an_error_ends_a_wait(driver: Path, wait: str) -> None:
    assert ordering_driver.run(driver, "waits.an_error_ends_a_wait", wait) == ["CUDAError", 1]


def test_ctrl_c_waits_for_a_transfer(driver: Path) -> None:
    assert ordering_driver.run(driver, "waits.ctrl_c_waits_for_a_transfer") == 0
