"""Operands of any other library, and what they get back."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core
from tests.helpers.dlpack import OldProducer, Producer
from tests.helpers.references import assert_close, random_values


def borrowed(values: np.ndarray) -> memory.Array:
    return memory.from_dlpack(values)


def filled(values: np.ndarray) -> memory.Array:
    result = memory.empty(values.shape, values.dtype, kind="host")
    np.asarray(result)[...] = values
    return result


MAKERS = [Producer, OldProducer, memoryview, borrowed, filled]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_real_operands_there_and_back(make: Any, dtype: type) -> None:
    values = random_values((4, 6), dtype)
    half = fft.rfft(make(values), axes=[1])
    assert type(half) is memory.Array
    assert_close(np.asarray(half), values, "R2C", (1,))
    back = fft.irfft(half, axes=[1])
    assert (back.kind, back.dtype) == ("host", np.dtype(dtype).name)
    tolerance = 30 * np.finfo(dtype).eps
    np.testing.assert_allclose(np.asarray(back) / 6, values, rtol=tolerance, atol=tolerance)


LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, 1::3],
    "batch reversed": lambda a: a[::-1],
    "empty batch": lambda a: a[:0],
}


@pytest.mark.parametrize("make", [Producer, memoryview, borrowed])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(make: Any, layout: str) -> None:
    values = LAYOUTS[layout](random_values((6, 8), np.complex128))
    if make is memoryview:
        # memoryview() of NumPy's complex numbers has their format, which gpumath reads.
        assert memoryview(values).format == "Zd"
    result = fft.fft(make(values), axes=[1])
    assert result.shape == values.shape
    if values.size:
        assert_close(np.asarray(result), values, "C2C", (1,))


def test_arrays_of_the_standard_library() -> None:
    values = random_values((8,), np.float64)
    for operand in (array.array("d", values), (ctypes.c_double * 8)(*values)):
        assert_close(np.asarray(fft.rfft(operand)), values, "R2C", (0,))


def test_in_place() -> None:
    values = random_values((4, 8), np.complex64)
    operand = filled(values)
    result = fft.fft(operand, axes=[1], options={"inplace": True})
    assert result is operand
    assert_close(np.asarray(operand), values, "C2C", (1,))
    with pytest.raises(ValueError, match="needs an operand that is writable"):
        fft.fft(Producer(values, flags=1), options={"inplace": True})


def test_the_class() -> None:
    values = random_values((4, 8), np.complex64)
    others = random_values((4, 8), np.complex64)
    with fft.FFT(filled(values), axes=[1]) as transform:
        transform.plan()
        assert_close(np.asarray(transform.execute()), values, "C2C", (1,))
        transform.reset_operand(Producer(others))
        assert_close(np.asarray(transform.execute()), others, "C2C", (1,))
        with pytest.raises(ValueError, match="of the library numpy, and this FFT object was made"):
            transform.reset_operand(others)


def test_the_memory_is_given_back_after_the_call() -> None:
    source = Producer(random_values((8,), np.complex128))
    fft.fft(source)
    assert source.deleted == len(source.requests) > 0


def test_element_types_without_a_transform() -> None:
    message = "element type bfloat16 is not supported; float16, float32, .* convert it first"
    with pytest.raises(ValueError, match=message):
        fft.rfft(memory.empty(8, "bfloat16", kind="host"))
    with pytest.raises(ValueError, match="element type int32 is not supported"):
        fft.rfft(array.array("i", [1, 2, 3]))
    with pytest.raises(ValueError, match="element type uint8 is not supported"):
        fft.rfft(b"text")
    with pytest.raises(ValueError, match="the operand has no dimensions"):
        fft.rfft(memory.empty((), kind="host"))


def test_a_complex_operand_of_rfft() -> None:
    with pytest.raises(RuntimeError, match="rfft takes real operands, but this one is complex64"):
        fft.rfft(memoryview(np.ones(4, np.complex64)))


def test_a_mask_is_refused() -> None:
    class Masked:
        @property
        def __cuda_array_interface__(self) -> Any:
            data = {"shape": (0,), "typestr": "<c8", "data": (0, False), "version": 3}
            return data | {"mask": self}

    with pytest.raises(ValueError, match="the operand has a mask, which would be ignored"):
        fft.fft(Masked())


def test_types_that_others_add_to_numpy() -> None:
    types = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"):
        values = np.ones((4, 6), getattr(types, name))[::2]
        view = core.TensorView(values)
        assert (view.dtype, view.shape, view.ptr) == (name, (2, 6), values.ctypes.data)
        assert view.strides == tuple(s // values.itemsize for s in values.strides)
        assert memory.empty(3, getattr(types, name), kind="host").dtype == name
        with pytest.raises(ValueError, match=f"element type {name} is not supported"):
            fft.rfft(values)
    values.flags.writeable = False
    assert core.TensorView(values).readonly
    with pytest.raises(ValueError, match="element type float4_e2m1fn is not supported"):
        core.TensorView(np.ones(3, types.float4_e2m1fn))
