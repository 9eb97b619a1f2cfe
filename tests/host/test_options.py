"""Options, executions and memory managers as objects."""

from __future__ import annotations

import dataclasses
import logging
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core, errors
from tests.helpers.references import assert_close, random_values


def test_defaults() -> None:
    options = fft.FFTOptions()
    assert dataclasses.asdict(options) == {
        "fft_type": None,
        "inplace": False,
        "last_axis_parity": "even",
        "result_layout": "optimized",
        "logger": None,
        "blocking": "auto",
        "allocator": None,
        "memory_limit": None,
    }
    assert fft.ExecutionCUDA().device_id == 0
    assert fft.ExecutionCPU().num_threads is None
    assert (fft.ExecutionCUDA.name, fft.ExecutionCPU.name) == ("cuda", "cpu")
    assert (fft.FFTDirection.FORWARD, fft.FFTDirection.INVERSE) == (-1, 1)


def test_executions_are_frozen_and_take_keywords_only() -> None:
    for execution in (fft.ExecutionCPU(num_threads=2), fft.ExecutionCUDA(device_id=1)):
        field = dataclasses.fields(execution)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(execution, field, 3)
        with pytest.raises(TypeError):
            type(execution)(2)
        assert pickle.loads(pickle.dumps(execution)) == execution


@pytest.mark.parametrize("given", [[0, 1], (0, 1), range(2)])
def test_several_devices(given: Sequence[int]) -> None:
    execution = fft.ExecutionCUDA(device_ids=given)
    assert (execution.device_id, execution.device_ids) == (None, (0, 1))
    assert repr(execution) == "ExecutionCUDA(device_ids=(0, 1))"
    same = fft.ExecutionCUDA(device_ids=(0, 1))
    assert execution == same == pickle.loads(pickle.dumps(execution)) == dataclasses.replace(same)
    assert hash(execution) == hash(same)
    assert execution != fft.ExecutionCUDA(device_ids=[1, 0])
    assert repr(fft.ExecutionCUDA()) == "ExecutionCUDA(device_id=0)"


@pytest.mark.parametrize(
    "wrong", [[], [0], [0, 0], [0, 1, 0], [0, -1], [0, True], [0, "1"], [0, 1.0], "01", 2, {0, 1}]
)
def test_devices_that_cannot_be(wrong: object) -> None:
    with pytest.raises(ValueError, match="device_ids"):
        fft.ExecutionCUDA(device_ids=wrong)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(ValueError, match="device_ids"):
        fft.fft(np.ones(64, np.complex64), execution={"name": "cuda", "device_ids": wrong})


def test_one_device_or_several() -> None:
    for device_id in (0, 1):
        with pytest.raises(ValueError, match="both given"):
            fft.ExecutionCUDA(device_id=device_id, device_ids=[0, 1])
    with pytest.raises(TypeError, match="'cpu' has no field 'device_ids'"):
        fft.fft(np.ones(64, np.complex64), execution={"name": "cpu", "device_ids": [0, 1]})


def test_more_devices_than_there_are() -> None:
    count = core.Device.count()
    for values, axes in ((np.ones((64, 64), np.complex64), None), (np.ones((0, 4)), [1])):
        execution = fft.ExecutionCUDA(device_ids=[0, 63])
        with pytest.raises(errors.NoDeviceError, match=f"this process sees {count} CUDA device"):
            fft.FFT(values, axes=axes, execution=execution)


def test_options_are_checked_again_when_they_are_used() -> None:
    options = fft.FFTOptions()
    options.result_layout = "C"  # type: ignore[assignment]  # that is the test
    with pytest.raises(ValueError, match="result_layout is 'C'"):
        fft.fft(np.ones(4, np.complex64), options=options)


@pytest.mark.parametrize(
    "execution",
    [None, "cpu", fft.ExecutionCPU(), {"name": "cpu"}, {"name": "cpu", "num_threads": 1}],
)
@pytest.mark.parametrize(
    "options",
    [
        None,
        {},
        {"result_layout": "natural"},
        fft.FFTOptions(logger=logging.getLogger("test_options"), blocking=True),
    ],
)
def test_forms_of_options_and_execution(execution: object, options: object) -> None:
    values = random_values((3, 8), np.complex128)
    result = fft.fft(values, axes=[1], execution=execution, options=options)
    assert_close(result, values, "C2C", (1,))


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"result_layout": "natural"},
        {"inplace": True},
        {"last_axis_parity": "odd"},
        fft.FFTOptions(result_layout="natural", last_axis_parity="odd"),
    ],
)
def test_options_do_the_same_whether_or_not_the_call_is_logged(
    options: Any, inverse: bool, caplog: pytest.LogCaptureFixture
) -> None:
    values = random_values((5, 6, 7), np.complex128)
    is_real = inverse and "odd" in str(options)
    call = fft.irfft if is_real else fft.ifft if inverse else fft.fft
    expected = values.copy()
    with caplog.at_level(logging.INFO):
        expected = call(expected, axes=[1], options=options, execution="cpu")
    assert "planned in" in caplog.text
    result = call(values, axes=[1], options=options, execution={"num_threads": 2})
    assert (result is values) == ("'inplace': True" in str(options))
    assert result.strides == expected.strides
    np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


class Manager:
    def memalloc(self, size: int) -> object:
        raise NotImplementedError


class AsyncManager:
    def memalloc_async(self, size: int, stream: object) -> object:
        raise NotImplementedError


@pytest.mark.parametrize("manager", [Manager(), AsyncManager()])
def test_memory_managers_are_recognised_and_not_used_on_the_cpu(manager: object) -> None:
    values = random_values((8,), np.complex128)
    result = fft.fft(values, options={"allocator": manager})
    assert_close(result, values, "C2C", (0,))


def test_a_class_is_no_memory_manager() -> None:
    with pytest.raises(TypeError, match="memalloc"):
        fft.FFTOptions(allocator=Manager)  # type: ignore[arg-type]  # that is the test


def test_protocols() -> None:
    assert isinstance(Manager(), memory.BaseCUDAMemoryManager)
    assert isinstance(AsyncManager(), memory.BaseCUDAMemoryManagerAsync)
    assert not isinstance(Manager(), memory.BaseCUDAMemoryManagerAsync)


def test_memory_pointer_frees_once() -> None:
    freed = []
    pointer = memory.MemoryPointer(4096, 16, lambda: freed.append(1))
    assert (pointer.device_ptr, pointer.size) == (4096, 16)
    pointer.free()
    assert freed == [1]
    with pytest.raises(RuntimeError):
        pointer.free()
    del pointer
    assert freed == [1]
