"""Transforms on several devices, whose cuFFT only puts the numbers into another order."""

from __future__ import annotations

import ctypes
import io
import logging
import os
import threading
import time
from typing import Any

import numpy as np

from gpumath import fft
from gpumath.bindings import core, errors
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks, driver, seen

driver.driver_descriptors.restype = ctypes.c_int


def left() -> tuple[int, int]:
    return blocks(), driver.driver_descriptors()


rng = np.random.default_rng()


def values(shape: Any, dtype: str) -> Any:
    numbers = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(dtype)


def put(numbers: Any, device: int | None) -> Any:
    if device is None:
        return numbers
    array = core.Array(numbers.shape, numbers.dtype, device_id=device)
    ctypes.memmove(array.ptr, numbers.ctypes.data, numbers.nbytes)
    return array


def get(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return array
    numbers = np.empty(array.shape, array.dtype)
    ctypes.memmove(numbers.ctypes.data, array.ptr, numbers.nbytes)
    return numbers


def plan(operand: Any, **keywords: Any) -> core.FftPlan:
    return core.FftPlan(operand, device_ids=[0, 1], **keywords)


def is_same(result: Any, numbers: Any) -> bool:
    return bool((get(result) == numbers).all())


def numbers_come_back_where_they_were(shape: tuple[int, ...], device: int | None) -> Any:
    same = []
    half = (*shape[:-1], shape[-1] // 2 + 1)
    for kind in ["C2C", "R2C", "C2R"][: 3 if len(shape) > 1 else 1]:
        for real, dtype in [("float32", "complex64"), ("float64", "complex128")]:
            points = half if kind == "C2R" else shape
            numbers = values(points, real if kind == "R2C" else dtype)
            operand = put(numbers, device)
            before = left()
            parity = "odd" if shape[-1] % 2 else "even"
            made = plan(operand, kind=kind, last_axis_parity=parity)
            for _ in range(2):
                direction = 1 if kind == "C2R" else -1
                result = get(made.run(operand, direction=direction))
                if kind == "R2C":
                    result = result.view(real)[..., : shape[-1]]
                if kind == "C2R":
                    numbers = numbers.view(real)[..., : shape[-1]]
                same.append(is_same(result, numbers))
                numbers = get(operand)
            same.append(left() == before)
            same.append(made.device_ids == (0, 1) and made.workspace_size > 1000)
    return same


def in_place_and_out(device: int | None) -> Any:
    numbers = values((33, 40), "complex64")
    operand, target = put(numbers, device), put(np.zeros_like(numbers), device)
    made = plan(operand, inplace=True)
    first = made.run(operand) is operand and is_same(operand, numbers)
    second = plan(operand, out=target).run(operand, target) is target
    return first, second, is_same(target, numbers)


def a_batch_is_shared_out() -> Any:
    operand = values((5, 7), "complex64")
    made = plan(operand, axes=[1])
    seen()
    made.run(operand)
    steps, alone = seen(), plan(values((1, 128), "complex64"), axes=[1])
    return steps, left(), made.library_calls, alone.library_calls


def copies_between_devices_are_direct(device: int | None) -> Any:
    operand = put(values((5, 7), "complex64"), device)
    made = plan(operand, axes=[1])
    seen()
    for _ in range(2):
        made.run(operand)
    return [step for step in seen() if step.startswith("open")], driver.driver_peers()


def plans_are_cached_by_their_devices() -> Any:
    operand, other = values((33, 40), "complex64"), put(values((33, 40), "complex64"), 1)
    for devices in ([0, 1], [1, 0], [0, 1]):
        core.FftPlan(operand, device_ids=devices)
    core.FftPlan(other, device_ids=[0, 1])
    core.FftPlan(operand, execution="cuda")
    info = core.plan_cache_info()
    return info.hits, info.misses


def the_current_context_is_the_same_afterwards() -> Any:
    driver.cuCtxPushCurrent_v2.argtypes = [ctypes.c_size_t]
    current, found = ctypes.c_size_t(), []
    operand = values((33, 40), "complex64")
    for context in (0, 4096, 4097, 77):
        if context:
            driver.cuCtxPushCurrent_v2(context)
        core.plan_cache_clear()
        plan(operand).run(operand)
        driver.cuCtxGetCurrent(ctypes.byref(current))
        found.append(current.value == context)
    return found


def errors_leave_nothing_behind() -> Any:
    operands = [values((33, 40), "complex64"), values((5, 7), "complex64")]
    plans = [plan(operands[0]), plan(operands[1], axes=[1])]
    found = []
    for made, operand in zip(plans, operands, strict=True):
        made.run(operand)
        before = left()
        driver.driver_break(1)
        try:
            made.run(operand)
        except Exception as error:
            found.append(type(error).__name__)
        driver.driver_break(0)
        made.run(operand)
        found.append(left() == before)
    del made, plans
    core.plan_cache_clear()
    return found, driver.driver_plans()


def nothing_is_freed_when_the_interpreter_exits() -> str:
    global kept
    kept = plan(values((33, 40), "complex64"))
    kept.run(values((33, 40), "complex64"))
    return "done"


def what_is_refused() -> Any:
    found = []

    def refused(operand: Any, **keywords: Any) -> None:
        before = left(), driver.driver_plans()
        try:
            core.FftPlan(operand, **keywords)
        except Exception as error:
            found.append(
                (type(error).__name__, str(error), (left(), driver.driver_plans()) == before)
            )

    fine = values((33, 40), "complex64")
    refused(fine, device_ids=[0])
    refused(fine, device_ids=[0, 0])
    refused(fine, device_ids=[0, 2])
    refused(fine, device_ids=[0, 1], device_id=0)
    refused(fine, device_ids=[0, 1], execution="cpu")
    refused(values((100,), "complex64"), device_ids=[0, 1])
    refused(values((1024,), "float64"), device_ids=[0, 1])
    refused(fine.T, device_ids=[0, 1])
    refused(fine, axes=[0], device_ids=[0, 1])
    refused(put(fine, 1), device_ids=[0, 2])
    return found


def the_functions_the_object_and_the_log() -> Any:
    text = io.StringIO()
    logger = logging.getLogger("several")
    logger.addHandler(logging.StreamHandler(text))
    logger.setLevel(logging.INFO)
    execution = fft.ExecutionCUDA(device_ids=[0, 1])
    operand, same = values((33, 40), "complex64"), []
    for one in (operand, put(operand, 1)):
        for kind in (execution, {"name": "cuda", "device_ids": [1, 0]}):
            result = fft.fft(one, execution=kind, options={"logger": logger})
            same.append(is_same(result, operand))
        with fft.FFT(one, execution=execution) as transform:
            transform.plan()
            same.append(is_same(transform.execute(), operand))
            transform.reset_operand(one)
            result = transform.execute(direction="inverse", stream=core.Stream(1))
            same.append(is_same(result, operand))
    try:
        fft.fft(operand, execution=execution, options={"memory_limit": 100})
    except errors.OutOfMemoryError as error:
        same.append("memory_limit=100" in str(error))
    return same, text.getvalue()


def no_plan_is_destroyed_under_another_ones_transform() -> Any:
    numbers = values((33, 40), "complex64")
    kept = [plan(numbers, cached=False), plan(numbers, cached=False)]
    answers = []

    def work() -> None:
        answers.append(is_same(kept[0].run(numbers), numbers))

    driver.driver_slow(1)
    thread = threading.Thread(target=work)
    thread.start()
    while not driver.driver_inside():
        time.sleep(0.001)
    kept.pop()
    inside, plans = driver.driver_inside(), [driver.driver_plans()]
    thread.join()
    driver.driver_slow(0)
    work()
    plans.append(driver.driver_plans())
    kept.clear()
    plans.append(driver.driver_plans())
    return answers, inside, plans, driver.driver_peers(), left()


def a_forked_child_is_told() -> Any:
    numbers = values((33, 40), "complex64")
    plans = [plan(numbers, cached=False) for _ in range(2)]
    driver.driver_slow(1)
    thread = threading.Thread(target=plans[0].run, args=(numbers,))
    thread.start()
    while not driver.driver_inside():
        time.sleep(0.001)
    children = []
    for one in plans:
        child = os.fork()
        if child == 0:
            try:
                one.run(numbers)
            except errors.InvalidStateError as error:
                os._exit(7 if "forked" in str(error) else 1)
            os._exit(2)
        children.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    thread.join()
    return children, is_same(plans[1].run(numbers), numbers)


if __name__ == "__main__":
    main(globals())
