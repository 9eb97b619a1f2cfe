"""A plan for which there is no memory: what gpumath keeps is given up first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver

# The device has memory for three plans.
SHORT = """
from gpumath import fft
from gpumath.bindings import errors

made, limit = driver.driver_plans, driver.driver_most_plans
limit(3)

def plan(length, cached=True):
    return core.FftPlan(np.ones(length, np.complex64), execution="cuda", cached=cached)

def refused(make):
    try:
        make()
    except errors.OutOfMemoryError as error:
        return isinstance(error, MemoryError), str(error)
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("cached", [True, False])
def test_cached_plans_make_room(driver: Path, cached: bool) -> None:
    code = f"""
{SHORT}
memory.empty(3)  # so that there is a pool
for length in (4, 5, 6):
    plan(length)
full = made(), core.plan_cache_info().size
seen()
kept = plan(7, cached={cached})
info = core.plan_cache_info()
result = full, seen(), made(), info.size, info.misses, kept.input_shape
"""
    full, steps, made, size, misses, shape = ordering_driver.run(driver, code)
    assert full == [3, 3]
    # The one that failed, and the three that made room.
    assert steps == [*["destroy a plan"] * 4, "trim"]
    assert (made, size, misses, shape) == (1, int(cached), 3 + cached, [7])


MEBIBYTE = 1 << 20


@pytest.mark.parametrize("device_ids", [None, [0, 1]])
def test_internal_errors_where_memory_is_short(driver: Path, device_ids: list[int] | None) -> None:
    """cuFFT reports them where it finds no memory for its code."""
    code = f"""
{SHORT}
def plan(length):
    values = np.ones((length, length), np.complex64)
    execution = "cuda" if {device_ids} is None else fft.ExecutionCUDA(device_ids={device_ids})
    return fft.FFT(values, execution=execution)

kept = [plan(length) for length in (32, 48, 64)]
driver.driver_refuse_plans(5, {MEBIBYTE})
short = refused(lambda: plan(80))
driver.driver_refuse_plans(5, {1000 * MEBIBYTE})
try:
    plan(80)
except errors.cuFFTError as error:
    other = error.status.name
kept.clear()
core.plan_cache_clear()
driver.driver_refuse_plans(5, {MEBIBYTE})
result = short, other, plan(80) is not None
"""
    short, other, done = ordering_driver.run(driver, code)
    left = MEBIBYTE - 3 * 4096
    assert short[0]
    assert f"cuFFT failed inside, and device 0 has {left} bytes of memory left" in short[1]
    assert other == "INTERNAL_ERROR"
    assert done


def test_the_memory_of_the_cached_plans_is_told(driver: Path) -> None:
    code = """
from gpumath import fft

def told():
    info = core.plan_cache_info()
    return info.size, info.device_memory

def plan(shape, axes=None, **keywords):
    return core.FftPlan(np.ones(shape, np.complex64), axes, execution="cuda", **keywords)

result = [told()]
plan(4)
plan((2, 3, 4, 5))  # two plans of cuFFT
result.append(told())
plan(4)
alone = plan(5, cached=False)
result.append(told())
core.FftPlan(np.ones(6))
result.append(told())
core.set_plan_cache_limit(1)
result.append(told())
core.plan_cache_clear()
result.append(told())
"""
    answers = ordering_driver.run(driver, code)
    page = 4096
    assert answers == [[0, 0], [2, 3 * page], [2, 3 * page], [3, 3 * page], [2, page], [0, 0]]


def test_plans_in_use_stay_and_a_retry_works(driver: Path) -> None:
    code = f"""
{SHORT}
kept = [plan(length) for length in (4, 5, 6)]
messages = [refused(lambda: plan(7)) for _ in range(2)]
alive = made(), core.plan_cache_info().size
kept.pop()
again = plan(7)
data, area = core.allocate(1000), core.allocate(again.workspace_size)
seen()
for one in (*kept, again):
    one.execute(data.device_ptr, data.device_ptr + 512, workspace=area.device_ptr)
result = messages, alive, made(), seen()
"""
    messages, alive, made, steps = ordering_driver.run(driver, code)
    for is_memory_error, text in messages:
        assert is_memory_error
        assert "cufftXtMakePlanMany" in text
        assert "[7] points" in text
    assert alive == [3, 0]
    assert made == 3
    assert steps == ["transform"] * 3


def test_the_function_and_the_object(driver: Path) -> None:
    code = f"""
{SHORT}
values = np.ones((2, 8), np.complex64)
held = [plan(length, cached=False) for length in (4, 5, 6)]
function = refused(lambda: fft.fft(values, axes=[1], execution="cuda"))
made_object = refused(lambda: fft.FFT(values, axes=[1], execution="cuda"))
before = blocks()
del held[0]
with fft.FFT(values, axes=[1], execution="cuda") as transform:
    transform.plan()
    shape = transform.execute().shape
shape_again = fft.fft(values, axes=[1], execution="cuda").shape
gc.collect()
result = bool(function and made_object), shape, shape_again, before, blocks()
"""
    refused, shape, shape_again, before, after = ordering_driver.run(driver, code)
    assert refused
    assert shape == shape_again == [2, 8]
    assert before == after == 0
