"""`gpumath.memory.empty` and `from_dlpack` without a GPU."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from gpumath import memory
from gpumath.bindings import core
from tests.helpers.operands import library
from tests.helpers.references import random_values


def test_empty() -> None:
    array = memory.empty((2, 3), kind="host")
    assert type(array) is memory.Array
    assert (array.shape, array.dtype, array.kind) == ((2, 3), "float64", "host")
    np.asarray(array)[...] = 3
    assert np.from_dlpack(array).tolist() == [[3, 3, 3], [3, 3, 3]]


def test_without_a_gpu_only_host_memory() -> None:
    if core.Device.count():
        pytest.skip("there is a CUDA device")
    for kind in ("device", "pinned", "managed"):
        with pytest.raises(RuntimeError, match=r"there is no NVIDIA driver|sees no CUDA device"):
            memory.empty(3, kind=kind)


LAYOUTS: dict[str, Any] = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, 1::3],
    "reversed": lambda a: a[::-1, ::-2],
    "zero-size": lambda a: a[:0],
    "0-d": lambda a: a[1, 2, ...],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_there_and_back(layout: str) -> None:
    values = LAYOUTS[layout](random_values((5, 7), np.complex64))
    array = memory.from_dlpack(values)
    assert (array.shape, array.ptr) == (values.shape, values.ctypes.data)
    for back in (np.asarray(array), np.from_dlpack(array)):
        np.testing.assert_array_equal(back, values)
        if values.size:
            assert back.strides == values.strides
            assert back.ctypes.data == values.ctypes.data
            back.flat[0] = 7
            assert values.flat[0] == 7


REFUSED = [
    ([1.0], "the operand is a builtins.list; a NumPy array"),
    (np.float64(1), "the operand is a numpy.float64"),
    (np.ma.ones(3), "masked array"),
    (np.ones(3, ">f8"), "element type >f8 is not supported"),
    (np.ones(3, object), "element type object is not supported"),
    (np.ones(3, "M8[s]"), "is not supported"),
    (np.ones(3, "S3"), "is not supported"),
    (np.ones(3, [("a", "f8")]), "is not supported"),
    (np.frombuffer(bytes(17), np.uint8)[1:].view(np.float64), "is not aligned to 8 bytes"),
]


@pytest.mark.parametrize(("operand", "message"), REFUSED)
def test_what_cannot_be_borrowed(operand: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        memory.from_dlpack(operand)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
@pytest.mark.parametrize(
    "dtype", ["float32", "complex128", "int64", "uint8", "bool", "float16", "bfloat16", "complex32"]
)
def test_torch_there_and_back(dtype: str) -> None:
    torch = library("torch")
    theirs = (torch.arange(12).reshape(3, 4) % 2).to(getattr(torch, dtype))[::2, 1:]
    ours = memory.from_dlpack(theirs)
    assert (ours.dtype, ours.ptr, ours.shape) == (dtype, theirs.data_ptr(), (2, 3))
    assert ours.strides == theirs.stride()
    pointer = theirs.data_ptr()
    del theirs
    gc.collect()
    back = torch.from_dlpack(ours)
    del ours
    gc.collect()
    assert (back.dtype, back.data_ptr()) == (getattr(torch, dtype), pointer)
    expected = (torch.arange(12).reshape(3, 4) % 2)[::2, 1:]
    assert torch.equal(back.to(torch.complex64).real.long(), expected)


def test_torch_refuses_gradients_and_lazy_bits() -> None:
    torch = library("torch")
    with pytest.raises(ValueError, match=r"call its\s+detach\(\) first"):
        memory.from_dlpack(torch.ones(3, requires_grad=True))
    with pytest.raises(ValueError, match="lazy conjugation"):
        memory.from_dlpack(torch.ones(3, dtype=torch.complex64).conj())


def test_the_read_only_wrapper_of_torch() -> None:
    torch = library("torch")
    wrapper = getattr(torch.utils.dlpack, "ReadOnlyTensorWrapper", None)
    if wrapper is None:
        pytest.skip("this PyTorch has no ReadOnlyTensorWrapper")
    tensor = torch.arange(3.0)
    view = core.TensorView(wrapper(tensor))
    assert (view.ptr, view.readonly) == (tensor.data_ptr(), True)


def test_many_threads_share_one_array() -> None:
    values = random_values((1000,), np.float64)
    array = memory.from_dlpack(values)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(500):
                for lend in (np.asarray, np.from_dlpack, memory.from_dlpack):
                    np.testing.assert_array_equal(np.asarray(lend(array)), values)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
