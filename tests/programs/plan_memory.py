"""Plans on a device with little memory."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from gpumath import fft, memory
from gpumath.bindings import core, errors
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks, driver, seen

MEBIBYTE = 1 << 20
# How many plans there are; how many the device has memory for.
made, limit = driver.driver_plans, driver.driver_most_plans


def plan(length: Any, cached: Any = True) -> Any:
    return core.FftPlan(np.ones(length, np.complex64), execution="cuda", cached=cached)


def refused(make: Any) -> Any:
    try:
        make()
    except errors.OutOfMemoryError as error:
        return isinstance(error, MemoryError), str(error)


def cached_plans_make_room(cached: bool) -> Any:
    limit(3)
    memory.empty(3)  # so that there is a pool
    for length in (4, 5, 6):
        plan(length)
    full = made(), core.plan_cache_info().size
    seen()
    kept = plan(7, cached=cached)
    info = core.plan_cache_info()
    return full, seen(), made(), info.size, info.misses, kept.input_shape


def internal_errors_where_memory_is_short(device_ids: list[int] | None) -> Any:
    limit(3)

    def plan(length: Any) -> Any:
        values = np.ones((length, length), np.complex64)
        execution = "cuda" if device_ids is None else fft.ExecutionCUDA(device_ids=device_ids)
        return fft.FFT(values, execution=execution)

    kept = [plan(length) for length in (32, 48, 64)]
    driver.driver_refuse_plans(5, MEBIBYTE)
    short = refused(lambda: plan(80))
    driver.driver_refuse_plans(5, 1000 * MEBIBYTE)
    try:
        plan(80)
    except errors.cuFFTError as error:
        other = error.status.name
    kept.clear()
    core.plan_cache_clear()
    driver.driver_refuse_plans(5, MEBIBYTE)
    return short, other, plan(80) is not None


def the_memory_of_the_cached_plans_is_told() -> Any:

    def told() -> Any:
        info = core.plan_cache_info()
        return info.size, info.device_memory

    def plan(shape: Any, axes: Any = None, **keywords: Any) -> Any:
        return core.FftPlan(np.ones(shape, np.complex64), axes, execution="cuda", **keywords)

    result = [told()]
    plan(4096)
    plan((2, 3, 4, 5))  # two plans of cuFFT, too small to be measured
    result.append(told())
    plan(4096)
    alone = plan(5000, cached=False)
    result.append(told())
    core.FftPlan(np.ones(6))
    result.append(told())
    core.set_plan_cache_limit(1)
    result.append(told())
    core.plan_cache_clear()
    result.append(told())
    del alone
    return result


def plans_in_use_stay_and_a_retry_works() -> Any:
    limit(3)
    kept = [plan(length) for length in (4, 5, 6)]
    messages = [refused(lambda: plan(7)) for _ in range(2)]
    alive = made(), core.plan_cache_info().size
    kept.pop()
    again = plan(7)
    data, area = core.allocate(1000), core.allocate(again.workspace_size)
    seen()
    for one in (*kept, again):
        one.execute(data.device_ptr, data.device_ptr + 512, workspace=area.device_ptr)
    return messages, alive, made(), seen()


def the_function_and_the_object() -> Any:
    limit(3)
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
    return bool(function and made_object), shape, shape_again, before, blocks()


if __name__ == "__main__":
    main(globals())
