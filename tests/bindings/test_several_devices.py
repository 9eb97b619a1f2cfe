"""Transforms on several devices: where the numbers go, and what is left of it.

The driver and cuFFT are stand-ins, whose transform of several devices only puts the numbers into
the order that cuFFT would.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("device", [None, 0, 1])
@pytest.mark.parametrize("shape", [(128,), (33, 40), (32, 35, 37)])
def test_numbers_come_back_where_they_were(
    driver: Path, shape: tuple[int, ...], device: int | None
) -> None:
    same = ordering_driver.run(
        driver, "several_devices.numbers_come_back_where_they_were", shape, device
    )
    assert same
    assert all(same)


@pytest.mark.parametrize("device", [None, 1])
def test_in_place_and_out(driver: Path, device: int | None) -> None:
    assert ordering_driver.run(driver, "several_devices.in_place_and_out", device) == [True] * 3


def test_a_batch_is_shared_out(driver: Path) -> None:
    steps, left, calls, alone = ordering_driver.run(driver, "several_devices.a_batch_is_shared_out")
    assert (left, calls, alone) == ([0, 0], 2, 1)
    streams = {step.rsplit(maxsplit=1)[1] for step in steps if step.startswith("copy on")}
    assert len(streams) == 2
    for stream in streams:
        order = [step.split(" on ")[0] for step in steps if step.endswith(stream)]
        assert order[:5] == ["allocate"] * 3 + ["copy"] * 2
        assert order[5].startswith("synchronize")
        assert order[6:] == ["free"] * 3
    # Both devices work before the first result is waited for.
    assert steps.index("transform") < len(steps) - 1 - steps[::-1].index("transform")
    results = [index for index, step in enumerate(steps) if step.startswith("copy on")][2:]
    assert results[0] > max(index for index, step in enumerate(steps) if step == "transform")


@pytest.mark.parametrize("device", [None, 0, 1])
def test_copies_between_devices_are_direct(driver: Path, device: int | None) -> None:
    expected = [[], 0] if device is None else [[f"open to {1 - device}"], 1]
    assert (
        ordering_driver.run(driver, "several_devices.copies_between_devices_are_direct", device)
        == expected
    )


def test_plans_are_cached_by_their_devices(driver: Path) -> None:
    found = ordering_driver.run(driver, "several_devices.plans_are_cached_by_their_devices")
    assert found == [2, 3]


def test_the_current_context_is_the_same_afterwards(driver: Path) -> None:
    assert (
        ordering_driver.run(driver, "several_devices.the_current_context_is_the_same_afterwards")
        == [True] * 4
    )


def test_errors_leave_nothing_behind(driver: Path) -> None:
    found, plans = ordering_driver.run(driver, "several_devices.errors_leave_nothing_behind")
    assert found == ["OutOfMemoryError", True, "CUDAError", True]
    assert plans == 0


def test_nothing_is_freed_when_the_interpreter_exits(driver: Path) -> None:
    process = ordering_driver.start(
        driver, "several_devices.nothing_is_freed_when_the_interpreter_exits"
    )
    assert (process.returncode, process.stdout) == (0, '"done"'), process.stderr


def test_what_is_refused(driver: Path) -> None:
    found = ordering_driver.run(driver, "several_devices.what_is_refused")
    expected = [
        ("ValueError", "from 2 to 16 distinct"),
        ("ValueError", "0 is repeated"),
        ("NoDeviceError", "this process sees 2 CUDA devices"),
        ("ValueError", "neither device_id nor"),
        ("ValueError", "neither device_id nor"),
        ("ValueError", "power of two of at least 64"),
        ("ValueError", "complex numbers to complex numbers only"),
        ("UnsupportedLayoutError", "C-contiguous"),
        ("UnsupportedLayoutError", "last axes"),
        ("ValueError", "the operand is on CUDA device 1"),
    ]
    assert len(found) == len(expected)
    for (name, text, nothing_left), (wanted, part) in zip(found, expected, strict=True):
        assert name == wanted
        assert part in text
        assert nothing_left


def test_the_functions_the_object_and_the_log(driver: Path) -> None:
    same, log = ordering_driver.run(driver, "several_devices.the_functions_the_object_and_the_log")
    assert len(same) == 9
    assert all(same)
    assert "by cufft on the CUDA devices 0, 1" in log
    assert "spread over the CUDA devices (0, 1)" in log


def test_no_plan_is_destroyed_under_another_ones_transform(driver: Path) -> None:
    """With a plan, cuFFT takes the devices' access to each other from all plans."""
    answers, inside, plans, peers, left = ordering_driver.run(
        driver, "several_devices.no_plan_is_destroyed_under_another_ones_transform"
    )
    assert answers == [True, True]
    assert inside, "the deletion has waited"
    assert plans == [2, 1, 0]
    assert peers == 1
    assert left == [0, 0]


def test_a_forked_child_is_told(driver: Path) -> None:
    """Also while another thread transforms, whose locks the child finds taken."""
    assert ordering_driver.run(driver, "several_devices.a_forked_child_is_told") == [[7, 7], True]
