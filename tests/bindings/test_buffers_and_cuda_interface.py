"""Operands by the buffer protocol and by `__cuda_array_interface__`, as far as no GPU is needed."""

from __future__ import annotations

import array
import ctypes
import gc
import struct
import weakref
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core


def buffers() -> list[Any]:
    numbers = [1, 2, 3]
    return [
        (array.array("d", numbers), "float64", (3,), (1,)),
        (array.array("f", numbers), "float32", (3,), (1,)),
        (array.array("l", numbers), f"int{8 * struct.calcsize('l')}", (3,), (1,)),
        (array.array("B", numbers), "uint8", (3,), (1,)),
        (bytearray(4), "uint8", (4,), (1,)),
        (memoryview(array.array("d", [1, 2, 3, 4]))[::-2], "float64", (2,), (-2,)),
        (memoryview(bytearray(24)).cast("d", [3, 1]), "float64", (3, 1), (1, 1)),
        (memoryview(bytearray(8)).cast("d", []), "float64", (), ()),
        (array.array("d"), "float64", (0,), (1,)),
        ((ctypes.c_double * 3)(), "float64", (3,), (1,)),
        ((ctypes.c_float * 2 * 3)(), "float32", (3, 2), (2, 1)),
        ((ctypes.c_int64 * 3)(), "int64", (3,), (1,)),
        (ctypes.c_float(3), "float32", (), ()),
    ]


@pytest.mark.parametrize(("source", "dtype", "shape", "strides"), buffers())
def test_buffers(source: Any, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    view = core.TensorView(source)
    assert (view.dtype, view.shape, view.strides) == (dtype, shape, strides)
    assert (view.device, view.readonly) == ("cpu", False)
    back = np.asarray(core.Array.borrow(source))
    np.testing.assert_array_equal(back, np.asarray(source))
    if back.size:
        assert back.ctypes.data == view.ptr == np.asarray(source).ctypes.data


def test_bytes_are_read_only() -> None:
    assert core.TensorView(b"abc").readonly


UNSUPPORTED = [
    memoryview(bytearray(8)).cast("c"),
    (
        type("Pair", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int), ("b", ctypes.c_int)]})
        * 2
    )(),
    (ctypes.c_double.__ctype_be__ * 3)(),
    (ctypes.c_char_p * 2)(),
    (ctypes.c_longdouble * 2)(),
]


@pytest.mark.parametrize("source", UNSUPPORTED)
def test_unsupported_formats(source: Any) -> None:
    with pytest.raises(ValueError, match=r'element type ".*" is not supported'):
        core.TensorView(source)


def test_a_view_holds_the_buffer() -> None:
    numbers = array.array("d", [1, 2, 3])
    view = core.TensorView(numbers)
    with pytest.raises(BufferError):
        numbers.append(4)
    del view
    numbers.append(4)


def test_a_released_memoryview() -> None:
    view = memoryview(bytearray(8))
    view.release()
    with pytest.raises(ValueError, match="released memoryview"):
        core.TensorView(view)


def test_unaligned_buffers() -> None:
    with pytest.raises(ValueError, match="not aligned to 8 bytes, as float64 needs"):
        core.TensorView(memoryview(bytearray(17))[1:].cast("d"))


def test_a_cycle_through_a_buffer_is_collected() -> None:
    class Numbers(array.array):
        """An array that takes weak references and attributes."""

    numbers = Numbers("d", [1, 2])
    numbers.view = core.TensorView(numbers)
    alive = weakref.ref(numbers)
    del numbers
    gc.collect()
    assert alive() is None


class Cuda:
    """An object with a valid `__cuda_array_interface__`, apart from some changes."""

    def __init__(self, **changes: Any) -> None:
        self.interface = {
            "shape": (0, 3),
            "typestr": "<c8",
            "data": (0, False),
            "version": 3,
        } | changes

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.interface


def test_an_empty_array_on_a_gpu() -> None:
    view = core.TensorView(Cuda())
    assert (view.shape, view.strides, view.dtype) == ((0, 3), (3, 1), "complex64")
    assert (view.device, view.device_id, view.ptr, view.readonly) == ("cuda", 0, 0, False)


def test_strides_are_in_bytes() -> None:
    assert core.TensorView(Cuda(strides=(48, 16))).strides == (6, 2)
    assert core.TensorView(Cuda(strides=None)).strides == (3, 1)


def test_the_read_only_flag() -> None:
    assert core.TensorView(Cuda(data=(0, True))).readonly


@pytest.mark.parametrize(
    ("typestr", "dtype"), [("|b1", "bool"), ("<f2", "float16"), ("|u1", "uint8")]
)
def test_types(typestr: str, dtype: str) -> None:
    assert core.TensorView(Cuda(typestr=typestr)).dtype == dtype


WRONG = [
    ({"mask": Cuda()}, ValueError, "the operand has a mask, which would be ignored"),
    ({"typestr": ">f4"}, ValueError, "element type >f4 is not supported"),
    ({"typestr": "<V2"}, ValueError, "element type <V2 is not supported"),
    ({"typestr": ""}, ValueError, "element type  is not supported"),
    ({"typestr": None}, ValueError, "has no 'typestr'"),
    ({"typestr": 3}, TypeError, "str"),
    ({"shape": None}, ValueError, "has no 'shape'"),
    ({"shape": [3]}, TypeError, "tuple"),
    ({"shape": (-3,)}, ValueError, "the operand cannot be"),
    ({"shape": (3,)}, ValueError, "the operand cannot be: .* at address 0x0"),
    ({"shape": (2**60, 2**60), "data": (4096, False)}, ValueError, "the operand cannot be"),
    ({"data": None}, ValueError, "has no 'data'"),
    ({"data": 4096}, TypeError, "tuple"),
    ({"stream": 0}, ValueError, "has the stream 0, which is ambiguous"),
    ({"shape": (3, 3), "strides": (9, 3)}, ValueError, "stride of 9 bytes"),
]


@pytest.mark.parametrize(("changes", "error", "message"), WRONG)
def test_wrong_interfaces(changes: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        core.TensorView(Cuda(**changes))


def test_an_interface_that_is_no_dictionary() -> None:
    operand = Cuda()
    operand.interface = (1, 2)
    with pytest.raises(TypeError, match=r"is \(1, 2\); it has to be a dictionary"):
        core.TensorView(operand)


def test_an_interface_that_raises() -> None:
    class Raises:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        core.TensorView(Raises())


def test_objects_with_no_protocol() -> None:
    for operand in (3, "text", [1.0], None, object(), np.float64(1)):
        with pytest.raises(TypeError, match=r"__dlpack__, .* or the buffer protocol is needed"):
            core.TensorView(operand)
