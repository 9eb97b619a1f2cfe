"""`__dlpack__` of other libraries: what is read, who keeps what, and what breaks the rules."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from tests.helpers.dlpack import OldProducer, Producer, exchange_class, new_capsule

PRODUCERS = [Producer, OldProducer]


def values_of(view: Any) -> np.ndarray:
    """Copy the elements of a view in host memory, found by address and strides alone."""
    array = core.Array.borrow(view) if not isinstance(view, core.TensorView) else view
    size = np.dtype(array.dtype).itemsize
    import ctypes

    low, count = array.span
    memory = (ctypes.c_char * count).from_address(low)
    strides = [size * stride for stride in array.strides]
    return np.ndarray(array.shape, array.dtype, memory, array.ptr - low, strides).copy()


def random(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    generator = np.random.default_rng()
    return (generator.standard_normal(shape) * 50).astype(dtype)


LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, 1::3],
    "reversed": lambda a: a[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1], (3, 7)),
    "one row": lambda a: a[2],
    "0-d": lambda a: a[2, 3],
}


@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int16", "uint8", "bool", "float16"])
def test_layouts_and_types(producer: Any, layout: str, dtype: str) -> None:
    values = np.asarray(LAYOUTS[layout](random((5, 7), dtype)))
    source = producer(values)
    view = core.TensorView(source)
    assert (view.dtype, view.shape) == (dtype, values.shape)
    assert view.strides == tuple(s // values.itemsize for s in values.strides)
    assert (view.device, view.device_id, view.readonly) == ("cpu", None, False)
    np.testing.assert_array_equal(values_of(view), values)


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (0, 0)])
def test_zero_elements(shape: tuple[int, ...]) -> None:
    view = core.TensorView(Producer(np.empty(shape), data=None))
    assert (view.shape, view.ptr, view.span[1]) == (shape, 0, 0)


def test_no_strides_mean_c_order() -> None:
    values = random((3, 4, 5), "float64")
    view = core.TensorView(Producer(values, strides=None))
    assert view.strides == (20, 5, 1)


def test_the_offset_counts() -> None:
    values = random((6,), "float64")
    source = Producer(values, byte_offset=16, shape=(np.ctypeslib.ctypes.c_int64 * 1)(4))
    np.testing.assert_array_equal(values_of(core.TensorView(source)), values[2:])


NAMED = [
    ((4, 16, 1), "bfloat16", 2),
    ((10, 8, 1), "float8_e4m3fn", 1),
    ((12, 8, 1), "float8_e5m2", 1),
    ((14, 8, 1), "float8_e8m0fnu", 1),
    ((17, 4, 2), "float4_e2m1fn_x2", 1),
    ((5, 32, 1), "complex32", 4),
]


@pytest.mark.parametrize(("number", "name", "size"), NAMED)
def test_types_that_numpy_lacks(number: tuple[int, int, int], name: str, size: int) -> None:
    values = np.zeros(4, f"u{size}")
    code, bits, lanes = number
    view = core.TensorView(Producer(values, code=code, bits=bits, lanes=lanes))
    assert (view.dtype, view.itemsize) == (name, size)


UNSUPPORTED = [
    ({"code": 2, "bits": 32, "lanes": 4}, "element type float32x4 is not supported"),
    ({"code": 0, "bits": 4}, "element type int4 is not supported"),
    ({"code": 17, "bits": 4}, "element type DLPack code 17 of 4 bits is not supported"),
    ({"code": 3, "bits": 64}, "element type opaque64 is not supported"),
    ({"code": 200, "bits": 8}, "DLPack code 200 of 8 bits"),
    ({"code": 2, "bits": 32, "lanes": 0}, "element type float32x0 is not supported"),
]
IMPOSSIBLE = [
    ({"ndim": -1}, "invalid: it has -1 dimensions"),
    ({"ndim": 65}, "invalid: it has 65 dimensions"),
    ({"shape": None}, "invalid: it has 2 dimensions and no shape"),
    ({"data": None}, "the operand cannot be: .* at address 0x0"),
    ({"data": 2**64 - 8}, "the operand cannot be"),
    ({"device_type": 4}, "device of DLPack type 4; CPU and CUDA memory"),
    ({"data": 4097}, "address 0x1001 is not aligned to 8 bytes, as float64 needs"),
]


@pytest.mark.parametrize(("fields", "message"), UNSUPPORTED + IMPOSSIBLE)
def test_what_cannot_be_is_refused_and_given_back(fields: dict[str, Any], message: str) -> None:
    source = Producer(random((2, 3), "float64"), **fields)
    with pytest.raises(ValueError, match=message):
        core.TensorView(source)
    assert source.deleted == 1


@pytest.mark.parametrize("shape", [(-1, 3), (2**62, 2**62), (2**40, 2**40)])
def test_impossible_shapes(shape: tuple[int, ...]) -> None:
    from ctypes import c_int64

    source = Producer(random((2, 3), "float64"), shape=(c_int64 * 2)(*shape), strides=None)
    with pytest.raises(ValueError, match="the operand cannot be"):
        core.TensorView(source)
    assert source.deleted == 1


def test_the_read_only_flag() -> None:
    assert core.TensorView(Producer(random((3,), "float64"), flags=1)).readonly
    assert not core.TensorView(Producer(random((3,), "float64"), flags=0)).readonly


def test_a_silent_copy_is_refused() -> None:
    source = Producer(random((3,), "float64"), flags=2)
    with pytest.raises(BufferError, match="gave a copy"):
        core.TensorView(source)
    assert source.deleted == 1


def test_what_is_asked_for() -> None:
    new, old = Producer(random((3,), "float64")), OldProducer(random((3,), "float64"))
    core.TensorView(new)
    core.TensorView(old)
    assert new.requests == [{"max_version": (1, 1)}]
    assert old.requests == [{"stream": None}]


def test_another_major_version_is_given_back() -> None:
    source = Producer(random((3,), "float64"), version=(2, 5))
    with pytest.raises(BufferError, match=r"version is 2\.5; version 1 was asked for"):
        core.TensorView(source)
    assert source.deleted == 1


@pytest.mark.parametrize("producer", PRODUCERS)
def test_the_memory_is_kept_as_long_as_the_view(producer: Any) -> None:
    source = producer(random((3,), "float64"))
    view = core.TensorView(source)
    assert source.deleted == 0
    del view
    assert source.deleted == 1
    array = core.Array.borrow(source)
    borrowed = np.asarray(array)
    del array
    gc.collect()
    assert source.deleted == 1
    np.testing.assert_array_equal(borrowed, source.values)
    del borrowed
    assert source.deleted == 2


def test_the_producer_goes_first() -> None:
    source = Producer(random((3,), "float64"))
    counts = weakref.ref(source)
    array = core.Array.borrow(source)
    del source
    gc.collect()
    kept = counts()
    assert kept is not None
    np.testing.assert_array_equal(np.asarray(array), kept.values)
    del array
    assert kept.deleted == 1


def test_no_deleter() -> None:
    class Silent(Producer):
        def __dlpack__(self, **keywords: Any) -> Any:
            from tests.helpers.dlpack import _DELETER, content_of

            capsule = super().__dlpack__(**keywords)
            content_of(capsule).deleter = _DELETER()
            return capsule

    source = Silent(random((3,), "float64"))
    del source
    assert core.TensorView(Silent(random((3,), "float64"))).shape == (3,)


def test_a_capsule_is_taken_once() -> None:
    source = Producer(random((3,), "float64"))
    capsule = source.__dlpack__()

    class Lends:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **keywords: Any) -> Any:
            return capsule

    first = core.TensorView(Lends())
    with pytest.raises(ValueError, match=r"used_dltensor_versioned.* cannot be used again"):
        core.TensorView(Lends())
    assert source.deleted == 0
    del first
    assert source.deleted == 1


class Hostile:
    """A producer whose `__dlpack__` and `__dlpack_device__` return or raise what the test says."""

    def __init__(self, capsule: Any, device: Any = (1, 0)) -> None:
        self.capsule = capsule
        self.device = device

    def __dlpack_device__(self) -> Any:
        if isinstance(self.device, BaseException):
            raise self.device
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        if isinstance(self.capsule, BaseException):
            raise self.capsule
        return self.capsule


HOSTILE = [
    (Hostile(None), TypeError, "returned a NoneType; it has to be a capsule"),
    (Hostile(3), TypeError, "returned a int; it has to be a capsule"),
    (Hostile(np.zeros(3)), TypeError, "returned a numpy.ndarray"),
    (Hostile(new_capsule(8, b"something")), ValueError, 'capsule named "something"'),
    (Hostile(KeyError("mine")), KeyError, "mine"),
    (Hostile(TypeError("mine")), TypeError, "mine"),
    (Hostile(KeyboardInterrupt("mine")), KeyboardInterrupt, "mine"),
    (Hostile(None, None), TypeError, "returned None; it has to be a pair of integers"),
    (Hostile(None, (1, 0, 0)), TypeError, "it has to be a pair of integers"),
    (Hostile(None, ("cpu", 0)), TypeError, "it has to be a pair of integers"),
    (Hostile(None, ZeroDivisionError("mine")), ZeroDivisionError, "mine"),
]


@pytest.mark.parametrize(("operand", "error", "message"), HOSTILE)
def test_hostile_producers(operand: Any, error: type[BaseException], message: str) -> None:
    for _ in range(2):
        with pytest.raises(error, match=message):
            core.TensorView(operand)


def test_a_deleter_that_raises_disturbs_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    class Raises(Producer):
        def _delete(self, address: int) -> None:
            super()._delete(address)
            raise RuntimeError("from the deleter")

    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(unraisable.exc_value))
    source = Raises(random((3,), "float64"))
    core.TensorView(source)
    assert source.deleted == 1
    assert [str(error) for error in seen] == ["from the deleter"]


def test_many_threads() -> None:
    source = Producer(random((100,), "complex64"))
    rounds, count = 200, 4
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(rounds):
                array = core.Array.borrow(source)
                np.testing.assert_array_equal(np.asarray(array), source.values)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert failures == []
    assert source.deleted == len(source.requests) == rounds * count


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_exchange_api_of_any_class(layout: str) -> None:
    values = np.asarray(LAYOUTS[layout](random((5, 7), "float32")))
    source: Any = exchange_class()(values)
    view = core.TensorView(source)
    np.testing.assert_array_equal(values_of(view), values)
    assert (source.exchanged, source.deleted, view.readonly) == (1, 0, False)
    del view
    assert source.deleted == 1


def test_the_flags_of_the_exchange_api() -> None:
    assert core.TensorView(exchange_class()(random((3,), "float64"), flags=1)).readonly
    for changes in ({"flags": 2}, {"version": (2, 0)}):
        source = exchange_class()(random((3,), "float64"), **changes)
        with pytest.raises(BufferError, match=r"gave a copy|version 1 was asked for"):
            core.TensorView(source)
        assert source.deleted == 1


@pytest.mark.parametrize("keywords", [{"major": 2}, {"has_function": False}])
def test_another_version_of_the_exchange_api(keywords: Any) -> None:
    source: Any = exchange_class(**keywords)(random((3,), "float64"))
    view = core.TensorView(source)
    assert (source.exchanged, len(source.requests)) == (0, 1)
    np.testing.assert_array_equal(values_of(view), source.values)


def test_a_failure_of_the_exchange_api() -> None:
    source = exchange_class(status=-1)(random((3,), "float64"))
    with pytest.raises(TypeError, match="no memory that can be addressed"):
        core.TensorView(source)


def test_an_attribute_that_is_no_exchange_api() -> None:
    class Confused(Producer):
        __dlpack_c_exchange_api__ = "no capsule"

    source = Confused(random((3,), "float64"))
    np.testing.assert_array_equal(values_of(core.TensorView(source)), source.values)
