"""FftPlan on the CPU: numbers, layouts, and refusals."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from gpumath.bindings.errors import NoDeviceError
from tests.bindings.fft_cases import assert_close, random_case


def empty_result(plan: core.FftPlan) -> Any:
    """Host memory in the plan's output layout."""
    dtype = np.dtype(plan.output_dtype)
    order = sorted(range(len(plan.output_shape)), key=lambda axis: -plan.output_strides[axis])
    packed = np.full([plan.output_shape[axis] for axis in order], np.nan, dtype)
    return packed.transpose(np.argsort(order))


def test_random_problems_twice_into_dirty_memory() -> None:
    rng = np.random.default_rng()
    for _ in range(500):
        case = random_case(rng)
        operand = case.view(case.base)
        before = operand.copy()
        plan = case.plan(operand, num_threads=int(rng.integers(1, 4)))
        result = empty_result(plan)
        for _ in range(2):
            result.fill(np.nan)
            plan.execute(operand, result, direction=case.direction)
            assert_close(result, case)
        np.testing.assert_array_equal(operand, before)


def test_in_place() -> None:
    rng = np.random.default_rng()
    base = (rng.standard_normal((6, 10, 4)) + 1j * rng.standard_normal((6, 10, 4))).astype(
        np.complex64
    )
    outside = base.copy()
    operand = base[1:5, ::2]
    wanted = np.fft.fftn(operand.astype(np.complex128), axes=(0, 1))
    plan = core.FftPlan(operand, axes=(0, 1), inplace=True)
    plan.execute(operand, operand)
    np.testing.assert_allclose(operand, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    outside[1:5, ::2] = base[1:5, ::2]
    np.testing.assert_array_equal(base, outside)


def test_addresses_work_like_operands() -> None:
    rng = np.random.default_rng()
    operand = rng.standard_normal((3, 50))
    plan = core.FftPlan(operand, axes=(1,))
    by_address, by_operand = empty_result(plan), empty_result(plan)
    plan.execute(operand.ctypes.data, by_address.ctypes.data)
    plan.execute(operand, by_operand)
    np.testing.assert_array_equal(by_address, by_operand)


def test_empty_batches_do_nothing() -> None:
    operand = np.empty((0, 8), np.complex128)
    plan = core.FftPlan(operand, axes=(1,))
    plan.execute(operand, np.empty(plan.output_shape, np.complex128))
    assert plan.library_calls == 0


def test_properties_say_what_was_planned() -> None:
    operand = np.zeros((4, 6), np.float32)
    plan = core.FftPlan(operand, axes=(-1,), num_threads=2)
    assert (plan.kind, plan.axes, plan.execution, plan.num_threads) == ("R2C", (1,), "cpu", 2)
    assert (plan.input_dtype, plan.output_dtype) == ("float32", "complex64")
    assert (plan.input_shape, plan.output_shape) == ((4, 6), (4, 4))
    assert plan.input_strides == (6, 1)
    assert plan.device_id is None
    assert plan.workspace_size == 0
    assert plan.accepts(np.ones((4, 6), np.float32), None)
    assert not plan.accepts(np.ones((4, 6), np.float64), None)
    assert not plan.accepts(np.ones((6, 4), np.float32).T, None)


@pytest.mark.parametrize(
    ("operand", "keywords", "error", "words"),
    [
        (np.zeros(4, np.int64), {}, ValueError, "int64"),
        (np.zeros(4, ">c8"), {}, ValueError, "byte order"),
        (np.zeros((), np.complex64), {}, ValueError, "no dimensions"),
        ([1.0, 2.0], {}, TypeError, "list"),
        (np.ma.masked_array(np.zeros(4)), {}, TypeError, "masked"),
        (np.zeros(4), {"kind": "C2C"}, ValueError, "complex operand"),
        (np.zeros(4, complex), {"kind": "R2C"}, ValueError, "real operand"),
        (np.zeros(4, complex), {"kind": "DCT"}, ValueError, "DCT"),
        (np.zeros((2, 3), complex), {"axes": (2,)}, ValueError, "axis 2 is out of range"),
        (np.zeros((2, 3), complex), {"axes": (0, -2)}, ValueError, "repeated"),
        (np.zeros((2, 3), complex), {"axes": ()}, ValueError, "empty"),
        (np.zeros((2, 0), complex), {"axes": (1,)}, ValueError, "at least one"),
        (np.zeros(1, complex), {"kind": "C2R"}, ValueError, "at least one"),
        (np.zeros(4), {"inplace": True}, ValueError, "C2C only"),
        (np.broadcast_to(np.zeros(4, complex), (2, 4)), {"inplace": True}, ValueError, "overlap"),
        (np.zeros(4, np.float16), {"execution": "cpu"}, ValueError, "single"),
        (np.zeros(4), {"num_threads": 0}, ValueError, "num_threads"),
        (np.zeros(4), {"execution": "tpu"}, ValueError, "cpu, cuda"),
        (np.zeros(4), {"last_axis_parity": "both"}, ValueError, "even, odd"),
    ],
)
def test_refusals_when_planning(
    operand: Any, keywords: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        core.FftPlan(operand, **keywords)


def test_refusals_when_executing() -> None:
    operand = np.zeros((4, 6), np.complex64)
    plan = core.FftPlan(operand)
    result = empty_result(plan)
    readonly = result.copy()
    readonly.flags.writeable = False
    for arguments, keywords, words in [
        ((operand[:2], result), {}, r"shape \(2, 6\).*shape \(4, 6\)"),
        ((operand, result.astype(np.complex128)), {}, "out is of type complex128.*type complex64"),
        ((operand, readonly), {}, "read-only"),
        ((operand, operand), {}, "must not be the same memory"),
        ((operand, result), {"direction": 2}, "direction is 2"),
    ]:
        with pytest.raises(ValueError, match=words):
            plan.execute(*arguments, **keywords)
    with pytest.raises(TypeError, match="stream"):
        plan.execute(operand, result, stream="default")
    real = core.FftPlan(np.zeros(4))
    with pytest.raises(ValueError, match="always Forward"):
        real.execute(np.zeros(4), empty_result(real), direction=1)


def test_unaligned_and_odd_byte_strides_are_refused() -> None:
    raw = np.zeros(8 * 9, np.uint8)
    unaligned = raw[1:65].view(np.complex64)
    with pytest.raises(ValueError, match="not aligned"):
        core.FftPlan(unaligned)
    records = np.zeros(4, np.dtype([("flag", np.uint8), ("value", "<c16")]))
    with pytest.raises(ValueError, match=r"stride of 17 bytes"):
        core.FftPlan(records["value"])


def test_cuda_without_a_gpu_says_how_to_go_on() -> None:
    if core.Device.count() > 0:
        pytest.skip("this machine has a CUDA device")
    for operand in (np.zeros(4), np.zeros((0, 4))):
        with pytest.raises(NoDeviceError, match='execution="cpu"'):
            core.FftPlan(operand, axes=(-1,), execution="cuda")


def test_plan_cache() -> None:
    core.plan_cache_clear()
    limit = core.plan_cache_info().limit
    operand = np.zeros(100, np.complex64)
    core.FftPlan(operand)
    core.FftPlan(np.ones(100, np.complex64))
    info = core.plan_cache_info()
    assert (info.hits, info.misses, info.size) == (1, 1, 1)
    core.FftPlan(operand, cached=False)
    core.FftPlan(operand, num_threads=7)
    assert core.plan_cache_info().size == 2
    for length in range(1, 3 * limit):
        core.FftPlan(np.zeros(length, np.complex64))
    assert core.plan_cache_info().size == limit
    try:
        core.set_plan_cache_limit(2)
        assert core.plan_cache_info().size == 2
        core.set_plan_cache_limit(0)
        core.FftPlan(operand)
        assert core.plan_cache_info().size == 0
    finally:
        core.set_plan_cache_limit(limit)


def test_threads_share_the_cache() -> None:
    core.plan_cache_clear()
    core.FftPlan(np.zeros(10, np.complex64))
    thread = threading.Thread(target=lambda: core.FftPlan(np.ones(10, np.complex64)))
    thread.start()
    thread.join()
    info = core.plan_cache_info()
    assert (info.hits, info.misses, info.size) == (1, 1, 1)


def test_plans_share_a_limit_of_their_memory() -> None:
    core.plan_cache_clear()
    before = core.plan_cache_info()
    try:
        core.FftPlan(np.zeros(2003))
        taken = core.plan_cache_info().host_memory
        assert taken > 2003 * 16
        core.set_plan_cache_limit(before.limit, memory_limit=10 * taken)
        for length in range(2004, 2050):
            core.FftPlan(np.zeros(length))
            info = core.plan_cache_info()
            assert info.memory_limit == 10 * taken
            assert info.host_memory <= 10 * taken
        assert info.size > 5
        core.FftPlan(np.zeros(1_000_003))
        info = core.plan_cache_info()
        assert (info.size, info.host_memory > 10 * taken) == (1, True), "it is kept alone"
        core.FftPlan(np.zeros(5))
        assert core.plan_cache_info().size == 1
        core.set_plan_cache_limit(before.limit)
        assert core.plan_cache_info().memory_limit is None
    finally:
        core.set_plan_cache_limit(before.limit, memory_limit=before.memory_limit)


def test_one_plan_in_many_threads() -> None:
    rng = np.random.default_rng()
    operand = rng.standard_normal((64, 1000)) + 1j * rng.standard_normal((64, 1000))
    plan = core.FftPlan(operand, axes=(1,))
    wanted = np.fft.fft(operand, axis=1)
    wrong = []

    def work() -> None:
        result = empty_result(plan)
        for _ in range(20):
            result.fill(np.nan)
            plan.execute(operand, result)
            if not np.allclose(result, wanted, rtol=0, atol=1e-9):
                wrong.append(result)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_views_describe_operands() -> None:
    array = np.zeros((4, 6, 2), np.complex64)
    view = core.TensorView(array[::2, ::-1])
    assert (view.shape, view.strides) == ((2, 6, 2), (24, -2, 1))
    assert (view.dtype, view.itemsize, view.device, view.device_id) == ("complex64", 8, "cpu", None)
    assert view.ptr == array[::2, ::-1].ctypes.data
    low, size = view.span
    assert (low, size) == (array.ctypes.data, 8 * (24 + 12))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert core.TensorView(frozen).readonly
    assert core.TensorView(np.empty((0, 3))).span[1] == 0
