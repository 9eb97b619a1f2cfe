"""A plan for which there is no memory: what gpumath keeps is given up first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver

# The device has memory for three plans.


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("cached", [True, False])
def test_cached_plans_make_room(driver: Path, cached: bool) -> None:
    full, steps, made, size, misses, shape = ordering_driver.run(
        driver, "plan_memory.cached_plans_make_room", cached
    )
    assert full == [3, 3]
    # The one that failed, and the three that made room.
    assert steps == [*["destroy a plan"] * 4, "trim"]
    assert (made, size, misses, shape) == (1, int(cached), 3 + cached, [7])


MEBIBYTE = 1 << 20


@pytest.mark.parametrize("device_ids", [None, [0, 1]])
def test_internal_errors_where_memory_is_short(driver: Path, device_ids: list[int] | None) -> None:
    """cuFFT reports them where it finds no memory for its code."""
    short, other, done = ordering_driver.run(
        driver, "plan_memory.internal_errors_where_memory_is_short", device_ids
    )
    left = MEBIBYTE - 3 * 4096
    assert short[0]
    assert "CUFFT_INTERNAL_ERROR (5)" in short[1]
    assert f"device 0 has only {left} bytes of memory left" in short[1]
    assert other == "INTERNAL_ERROR"
    assert done


def test_the_memory_of_the_cached_plans_is_told(driver: Path) -> None:
    answers = ordering_driver.run(driver, "plan_memory.the_memory_of_the_cached_plans_is_told")
    page, small = 4096, 64 << 10
    both = page + 2 * small
    assert answers == [[0, 0], [2, both], [2, both], [3, both], [2, page], [0, 0]]


def test_plans_in_use_stay_and_a_retry_works(driver: Path) -> None:
    messages, alive, made, steps = ordering_driver.run(
        driver, "plan_memory.plans_in_use_stay_and_a_retry_works"
    )
    for is_memory_error, text in messages:
        assert is_memory_error
        assert "cufftXtMakePlanMany" in text
        assert "[7] points" in text
    assert alive == [3, 0]
    assert made == 3
    assert steps == ["transform"] * 3


def test_the_function_and_the_object(driver: Path) -> None:
    refused, shape, shape_again, before, after = ordering_driver.run(
        driver, "plan_memory.the_function_and_the_object"
    )
    assert refused
    assert shape == shape_again == [2, 8]
    assert before == after == 0
