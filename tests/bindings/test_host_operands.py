"""Transforms on a GPU of operands in host memory: that every byte gets there and back in time.

The driver and cuFFT are stand-ins, whose work is done as late as it may be, and whose transform
inverts every bit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver

MIB = 1 << 20


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = ordering_driver.SOURCE.with_name("copying_driver.c")
    return ordering_driver.build(tmp_path_factory.mktemp("driver"), source)


def test_every_size_and_alignment(driver: Path) -> None:
    same = ordering_driver.run(driver, "host_operands.every_size_and_alignment")
    assert len(same) == 8 * 3 * 4 + 1
    assert all(same)


def test_many_threads_at_once(driver: Path) -> None:
    same = ordering_driver.run(driver, "host_operands.many_threads_at_once")
    assert len(same) == 8 * 3 + 1
    assert all(same)


def test_pinned_memory_is_copied_directly(driver: Path) -> None:
    found = ordering_driver.run(driver, "host_operands.pinned_memory_is_copied_directly")
    assert found == [True, 2, 1, True]


def test_without_pinned_memory(driver: Path) -> None:
    found = ordering_driver.run(driver, "host_operands.without_pinned_memory")
    assert found == [True, 2, 0, 0, True, True, 1]


def test_gaps_stay(driver: Path) -> None:
    assert all(ordering_driver.run(driver, "host_operands.gaps_stay"))


def test_errors_leave_nothing_behind(driver: Path) -> None:
    found = ordering_driver.run(driver, "host_operands.errors_leave_nothing_behind")
    assert found == [True, 1, 0, 0]


def test_a_forked_child_is_told(driver: Path) -> None:
    assert ordering_driver.run(driver, "host_operands.a_forked_child_is_told") == [7] * 5


def test_functions_and_objects_use_it(driver: Path) -> None:
    assert ordering_driver.run(driver, "host_operands.functions_and_objects_use_it") == [True] * 7


def test_what_does_not_fit_is_refused(driver: Path) -> None:
    messages, copies = ordering_driver.run(driver, "host_operands.what_does_not_fit_is_refused")
    assert len(messages) == 8
    assert copies == 0
