"""`core.Array` in host memory: what it says of itself, and how it lends its memory."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from tests.helpers.dlpack import content_of, name_of, take

NUMPY_TYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
OTHER_TYPES = {
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e8m0fnu": 1,
    "float4_e2m1fn_x2": 1,
    "complex32": 4,
}


def empty(shape: Any, dtype: Any = "float64", **keywords: Any) -> core.Array:
    return core.Array(shape, dtype, kind="host", **keywords)


def filled(shape: tuple[int, ...], dtype: str = "float64") -> tuple[core.Array, np.ndarray]:
    values = (np.random.default_rng().standard_normal(shape) * 50).astype(dtype)
    array = empty(shape, dtype)
    np.asarray(array)[...] = values
    return array, values


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4), (0,), (3, 0)])
def test_numpy_shares_the_memory(shape: tuple[int, ...], dtype: str) -> None:
    array, values = filled(shape, dtype)
    for seen in (np.asarray(array), np.from_dlpack(array)):
        assert (seen.dtype, seen.shape) == (values.dtype, values.shape)
        assert seen.ctypes.data == array.ptr or seen.size == 0
        np.testing.assert_array_equal(seen, values)
    if array.size:
        assert array.strides == tuple(s // values.itemsize for s in values.strides)
    assert (array.dtype, array.shape, array.nbytes) == (dtype, shape, values.nbytes)
    assert (array.size, array.ndim, array.itemsize) == (values.size, values.ndim, values.itemsize)
    assert (array.kind, array.device, array.device_id) == ("host", "cpu", None)
    assert (array.stream, array.readonly, array.ptr % 256) == (0, False, 0)


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_types_that_numpy_lacks(name: str) -> None:
    array = empty((2, 3), name)
    assert (array.dtype, array.itemsize, array.nbytes) == (
        name,
        *(OTHER_TYPES[name] * n for n in (1, 6)),
    )
    with pytest.raises(BufferError, match=f"no name for the element type {name}"):
        memoryview(array)
    with pytest.raises(TypeError, match=f"no name for the element type {name}"):
        np.asarray(array)
    assert core.TensorView(array).dtype == name


def test_dtype_objects() -> None:
    for dtype in (np.float32, np.dtype("float32"), "float32"):
        assert empty(3, dtype).dtype == "float32"


def test_an_integer_is_a_shape() -> None:
    assert empty(3).shape == (3,)
    assert empty(np.int64(3)).shape == (3,)
    assert empty([2, np.int32(3)]).shape == (2, 3)


def test_strides() -> None:
    array = empty((2, 3), "float32", strides=(1, 2))
    assert array.strides == (1, 2)
    np.asarray(array)[...] = [[1, 2, 3], [4, 5, 6]]
    assert np.asarray(array).flags.f_contiguous
    assert memoryview(array).f_contiguous
    assert np.from_dlpack(array).tolist() == [[1, 2, 3], [4, 5, 6]]
    flat = (ctypes.c_float * 6).from_address(array.ptr)
    assert list(flat) == [1, 4, 2, 5, 3, 6]


WRONG = [
    ({"shape": "3"}, TypeError, "shape is 3; an integer or a sequence of integers"),
    ({"shape": 2.0}, TypeError, "shape is 2.0; an integer or a sequence"),
    ({"shape": [2.0]}, TypeError, r"shape is \[2\.0\]; an integer or a sequence"),
    ({"shape": None}, TypeError, "shape is None"),
    ({"shape": -1}, ValueError, r"shape is \[-1\]; negative numbers"),
    ({"shape": 2**70}, ValueError, "exceeds the address space"),
    ({"shape": [2**40, 2**40]}, ValueError, "exceed the address space"),
    ({"shape": [1] * 65}, ValueError, "shape has 65 numbers; at most 64"),
    ({"dtype": "float31"}, ValueError, 'dtype is "float31"; allowed are bool, int8'),
    ({"dtype": object}, ValueError, 'dtype is "object"'),
    ({"dtype": None}, ValueError, 'dtype is "None"'),
    ({"kind": "gpu"}, ValueError, 'kind is "gpu"; allowed are device, pinned, managed, host'),
    ({"strides": [1, 1]}, ValueError, r"strides is \[1, 1\]; a shape of \[3\] needs as many"),
    ({"strides": [-1]}, ValueError, "negative numbers are not possible"),
    ({"stream": "s"}, TypeError, "stream is a str; an int"),
]


@pytest.mark.parametrize(("changes", "error", "message"), WRONG)
def test_wrong_arguments(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"shape": 3, "dtype": "float64", "kind": "host"} | changes
    shape, dtype = arguments.pop("shape"), arguments.pop("dtype")
    with pytest.raises(error, match=message):
        core.Array(shape, dtype, **arguments)


def test_too_much_memory() -> None:
    with pytest.raises(MemoryError, match=f"no {2**62} bytes of host memory"):
        empty(2**62, "uint8")


def test_the_buffer_protocol() -> None:
    array, values = filled((2, 3), "int32")
    view = memoryview(array)
    assert (view.format, view.itemsize, view.shape, view.strides) == ("i", 4, (2, 3), (12, 4))
    assert view.tolist() == values.tolist()
    assert not view.readonly
    assert bytes(array) == values.tobytes()


def test_a_strided_view_says_so() -> None:
    array = core.Array.borrow(np.arange(24.0).reshape(4, 6)[::2, ::-1])
    np.testing.assert_array_equal(np.asarray(array), np.arange(24.0).reshape(4, 6)[::2, ::-1])
    assert array.strides == (12, -1)
    assert not memoryview(array).contiguous
    with pytest.raises(BufferError, match="do not lie one behind another"):
        ctypes.pythonapi.PyObject_GetBuffer(
            ctypes.py_object(array), ctypes.create_string_buffer(200), 0
        )


def test_read_only_memory_stays_so() -> None:
    values = np.arange(3.0)
    values.flags.writeable = False
    array = core.Array.borrow(values)
    assert array.readonly
    assert memoryview(array).readonly
    assert not np.asarray(array).flags.writeable
    assert not np.from_dlpack(array).flags.writeable
    assert content_of(array.__dlpack__(max_version=(1, 0))).flags == 1
    with pytest.raises(BufferError, match="the array is read-only, which only DLPack"):
        array.__dlpack__()


def test_both_capsules() -> None:
    array, _ = filled((2, 3), "complex64")
    for keywords, name in [
        ({}, b"dltensor"),
        ({"max_version": (0, 8)}, b"dltensor"),
        ({"max_version": (1, 0)}, b"dltensor_versioned"),
        ({"max_version": (9, 3), "copy": False, "dl_device": (1, 0)}, b"dltensor_versioned"),
    ]:
        capsule = array.__dlpack__(**keywords)
        assert name_of(capsule) == name
        tensor = content_of(capsule).tensor
        assert (tensor.data, tensor.device_type, tensor.device_id) == (array.ptr, 1, 0)
        assert (tensor.code, tensor.bits, tensor.lanes, tensor.ndim) == (5, 64, 1, 2)
        assert (tensor.shape[:2], tensor.strides[:2]) == ([2, 3], [3, 1])
    assert array.__dlpack_device__() == (1, 0)


REFUSED = [
    ({"copy": True}, "a copy was asked for"),
    ({"dl_device": (2, 0)}, r"device \(2, 0\) was asked for, but the array is on \(1, 0\)"),
    ({"dl_device": (1, 1)}, r"device \(1, 1\) was asked for"),
    ({"stream": 1}, "stream is 1, but the array is in host memory"),
    ({"stream": 0}, "stream is 0"),
]


@pytest.mark.parametrize(("keywords", "message"), REFUSED)
def test_what_a_consumer_cannot_have(keywords: Any, message: str) -> None:
    with pytest.raises(BufferError, match=message):
        empty(3).__dlpack__(**keywords)


def test_host_memory_takes_no_stream() -> None:
    for stream in (None, -1):
        assert name_of(empty(3).__dlpack__(stream=stream)) == b"dltensor"


def test_host_memory_has_no_cuda_array_interface() -> None:
    assert not hasattr(empty(3), "__cuda_array_interface__")


class Owner(np.ndarray):
    """An array that takes weak references and attributes."""


def owner_of(size: int = 3) -> Any:
    return np.arange(float(size)).view(Owner)


def test_every_lender_keeps_the_memory() -> None:
    for lend in (
        np.asarray,
        np.from_dlpack,
        memoryview,
        core.TensorView,
        core.Array.borrow,
        lambda array: array.__dlpack__(),
        lambda array: array.__dlpack__(max_version=(1, 0)),
    ):
        values = owner_of()
        alive = weakref.ref(values)
        lent: Any = lend(core.Array.borrow(values))
        del values
        gc.collect()
        assert alive() is not None, lend
        del lent
        gc.collect()
        assert alive() is None, lend


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_the_consumer_gives_it_back_from_any_thread(max_version: Any) -> None:
    values = owner_of()
    alive = weakref.ref(values)
    content = take(core.Array.borrow(values).__dlpack__(max_version=max_version))
    del values
    gc.collect()
    assert alive() is not None
    # ctypes gives the GIL up for the call, as a thread that knows no Python has none.
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
        ctypes.cast(content.deleter, ctypes.c_void_p).value
    )
    thread = threading.Thread(target=deleter, args=(ctypes.addressof(content),))
    thread.start()
    thread.join()
    empty(1)
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("make", [core.TensorView, core.Array.borrow])
def test_cycles_are_collected(make: Any) -> None:
    values = owner_of()
    values.view_of_itself = make(values)
    alive = weakref.ref(values)
    del values
    gc.collect()
    assert alive() is None


def test_a_cycle_with_a_capsule_is_not_broken() -> None:
    values = owner_of()
    array = core.Array.borrow(values)
    values.mine = array
    consumer = np.from_dlpack(array)
    del values, array
    gc.collect()
    np.testing.assert_array_equal(consumer, [0, 1, 2])


def test_weak_references() -> None:
    array = empty(3)
    alive = weakref.ref(array)
    assert alive() is array
    del array
    assert alive() is None


def test_only_managed_memory_moves() -> None:
    array = empty(3)
    with pytest.raises(ValueError, match='of the kind "host"; only managed memory moves'):
        array.prefetch("cpu")
    with pytest.raises(ValueError, match="only managed memory moves"):
        array.advise("read_mostly")


def test_what_it_says() -> None:
    assert repr(empty((2, 3), "int8")) == (
        'Array(shape=[2, 3], dtype="int8", kind="host", device_id=None)'
    )
