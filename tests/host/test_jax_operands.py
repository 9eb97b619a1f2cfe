"""JAX arrays on the CPU, in both directions. Those on a GPU are in test_operand_matrix.py."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core
from tests.helpers.operands import library
from tests.helpers.references import assert_close, random_values

pytest.importorskip("jax", reason="JAX is not installed")
jax = library("jax")


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def on_cpu(values: Any) -> Any:
    return jax.device_put(values, jax.devices("cpu")[0])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(8,), (4, 6), (2, 3, 5), (0, 4)])
def test_transforms(shape: tuple[int, ...], dtype: type) -> None:
    values = random_values(shape, dtype)
    result = fft.fft(on_cpu(values), axes=[len(shape) - 1])
    assert type(result) is memory.Array
    back = jax.dlpack.from_dlpack(result)
    assert (back.shape, back.dtype) == (shape, dtype)
    if values.size:
        assert back.unsafe_buffer_pointer() == result.ptr
        assert_close(np.asarray(back), values, "C2C", (len(shape) - 1,))


def test_real_transforms() -> None:
    values = random_values((4, 6), np.float32)
    half = fft.rfft(on_cpu(values), axes=[1])
    assert_close(np.asarray(half), values, "R2C", (1,))
    back = fft.irfft(jax.dlpack.from_dlpack(half), axes=[1])
    np.testing.assert_allclose(np.asarray(back) / 6, values, rtol=1e-5, atol=1e-5)


def test_what_a_jax_array_is() -> None:
    x = on_cpu(np.arange(6.0).reshape(2, 3))
    view = core.TensorView(x)
    assert (view.ptr, view.dtype) == (x.unsafe_buffer_pointer(), "float64")
    assert (view.shape, view.strides, view.device) == ((2, 3), (3, 1), "cpu")
    assert core.TensorView(jax.numpy.ones(3, jax.numpy.bfloat16)).dtype == "bfloat16"
    assert core.TensorView(jax.numpy.ones(3, jax.numpy.float8_e4m3fn)).dtype == "float8_e4m3fn"


def test_jax_arrays_are_never_written_to() -> None:
    x = on_cpu(random_values((8,), np.complex64))
    assert core.TensorView(x).readonly
    assert memory.from_dlpack(x).readonly
    with pytest.raises(ValueError, match="needs an operand that is writable"):
        fft.fft(x, options={"inplace": True})


def test_the_element_type_of_a_result_that_is_not_there_yet() -> None:
    """JAX computes while Python goes on; its result is waited for."""
    x = on_cpu(random_values((300, 300), np.complex128))
    y = x
    for _ in range(4):
        y = y @ x
    result = fft.fft(y, axes=[1])
    assert_close(np.asarray(result), np.asarray(y), "C2C", (1,))


def test_jax_keeps_our_memory() -> None:
    array = memory.empty((64,), "float32", kind="host")
    np.asarray(array)[:] = np.arange(64)
    x = jax.dlpack.from_dlpack(array)
    assert x.unsafe_buffer_pointer() == array.ptr
    del array
    gc.collect()
    held = [memory.empty((64,), "float32", kind="host") for _ in range(20)]
    for other in held:
        np.asarray(other)[:] = -1
    np.testing.assert_array_equal(np.asarray(x), np.arange(64))


def test_we_keep_memory_of_jax() -> None:
    values = random_values((1000,), np.float64)
    x = on_cpu(values) * 1
    alive = weakref.ref(x)
    array = memory.from_dlpack(x)
    del x
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(np.asarray(array), values)
    del array
    gc.collect()
    assert alive() is None


def test_a_deleted_array() -> None:
    x = on_cpu(random_values((8,), np.complex64))
    x.delete()
    # JAX itself refuses, with one or the other.
    with pytest.raises((RuntimeError, TypeError)):
        fft.fft(x)


def test_tracers_are_no_operands() -> None:
    with pytest.raises(Exception, match=r"(?i)tracer|traced"):
        jax.jit(lambda x: fft.fft(x))(on_cpu(np.ones(4, np.complex64)))
