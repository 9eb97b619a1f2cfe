"""Every library's operands, in every memory, with every library's stream: docs/operands.md."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core
from tests.helpers.elements import read
from tests.helpers.operands import NEAR_GPU, ON_HOST, STREAMS, Source, numpy_of, stream_of
from tests.helpers.references import assert_close, random_values

SOURCES = [
    *(pytest.param(source, id=str(source)) for source in ON_HOST),
    *(pytest.param(source, id=str(source), marks=pytest.mark.gpu) for source in NEAR_GPU),
]
LAYOUTS: dict[str, Any] = {
    "contiguous": (...,),
    "strided": (slice(None, None, 2), slice(1, None, 3)),
    "zero-size": (slice(0, 0), ...),
    "0-d": (1, 2, ...),
}
DTYPES = ["float32", "float64", "complex64", "complex128"]


def assert_is_alike(result: Any, source: Source) -> None:
    """Check the class of a result and the kind of its memory."""
    if source.library in ("numpy", "cupy", "torch"):
        assert type(result).__module__.partition(".")[0] == source.library
    else:
        assert type(result) is memory.Array
        assert result.kind == ("device" if source.is_on_gpu else "host")
    assert core.TensorView(result).device == ("cuda" if source.is_on_gpu else "cpu")


def transform(operand: Any, dtype: str, **keywords: Any) -> tuple[Any, str]:
    if dtype.startswith("complex"):
        return fft.fft(operand, axes=[1], **keywords), "C2C"
    return fft.rfft(operand, axes=[1], **keywords), "R2C"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts_and_element_types(source: Source, layout: str, dtype: str) -> None:
    base = random_values((6, 24), dtype)
    values = base[LAYOUTS[layout]]
    operand = source.operand(base, LAYOUTS[layout])
    if layout == "0-d":
        with pytest.raises(ValueError, match="the operand has no dimensions"):
            transform(operand, dtype)
        return
    for _ in range(2):
        result, kind = transform(operand, dtype)
        assert_is_alike(result, source)
        if layout == "zero-size":
            assert tuple(result.shape) == (0, 24 if kind == "C2C" else 13)
        else:
            assert_close(numpy_of(result), values, kind, (1,))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_element_types_without_a_transform(source: Source, dtype: str) -> None:
    operand = source.operand(np.ones((3, 4), dtype), (...,))
    with pytest.raises(ValueError, match=f"element type {dtype} is not supported"):
        fft.rfft(operand)


@pytest.mark.gpu
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("layout", ["contiguous", "strided", "zero-size"])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_any_stream_with_any_operand(source: Source, name: str, layout: str, dtype: str) -> None:
    base = random_values((60, 2400), dtype)
    values = base[LAYOUTS[layout]]
    operand = source.operand(base, LAYOUTS[layout])
    stream = stream_of(name)
    result, kind = transform(operand, dtype, stream=stream, execution="cuda")
    assert_close_or_empty(result, values, kind)


@pytest.mark.gpu
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["none", "core", "torch"])
def test_the_cpu_with_any_operand(source: Source, name: str) -> None:
    base = random_values((6, 24), "complex64")
    stream = stream_of(name)
    for layout in ("contiguous", "strided", "zero-size"):
        values = base[LAYOUTS[layout]]
        operand = source.operand(base, LAYOUTS[layout])
        result, kind = transform(operand, "complex64", stream=stream, execution="cpu")
        assert_is_alike(result, source)
        assert_close_or_empty(result, values, kind)


@pytest.mark.gpu
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("execution", ["cuda", "cpu"])
def test_in_place(source: Source, execution: str) -> None:
    base = random_values((6, 24), "complex64")
    values = base.copy()
    operand = source.operand(base, (...,))
    options = {"inplace": True}
    if source.library == "jax":
        with pytest.raises(ValueError, match="needs an operand that is writable"):
            fft.fft(operand, axes=[1], options=options, execution=execution)
        return
    result = fft.fft(operand, axes=[1], options=options, execution=execution)
    assert result is operand
    if source.library == "numba":
        core.Device().synchronize()
        assert_close(operand.copy_to_host(), values, "C2C", (1,))
    else:
        assert_close(numpy_of(result), values, "C2C", (1,))


def blank_result(source: Source, shape: tuple[int, ...], dtype: str) -> Any:
    """An array for the result of an operand like this."""
    if dtype.startswith("complex"):
        return source.operand(np.full(shape, np.nan, dtype), (...,))
    half = (*shape[:-1], shape[-1] // 2 + 1)
    result_dtype = {"float32": "complex64", "float64": "complex128"}[dtype]
    return source.operand(np.full(half, np.nan, result_dtype), (...,))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("layout", ["contiguous", "strided", "zero-size"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_into_out(source: Source, layout: str, dtype: str) -> None:
    base = random_values((6, 24), dtype)
    values = base[LAYOUTS[layout]]
    operand = source.operand(base, LAYOUTS[layout])
    out = blank_result(source, values.shape, dtype)
    if source.library == "jax":
        with pytest.raises(ValueError, match=r"\bout\b.*(read-only|writable)"):
            transform(operand, dtype, out=out)
        return
    for _ in range(2):
        result, kind = transform(operand, dtype, out=out)
        assert result is out
        if values.size:
            assert_close(read(out), values, kind, (1,))
    np.testing.assert_array_equal(read(operand), values, "the operand has changed")


@pytest.mark.gpu
@pytest.mark.parametrize("source", [s for s in SOURCES if s.values[0].library != "jax"])
@pytest.mark.parametrize("execution", ["cuda", "cpu"])
@pytest.mark.parametrize("name", STREAMS)
def test_into_out_on_any_stream(source: Source, execution: str, name: str) -> None:
    base = random_values((60, 2400), "complex64")
    operand = source.operand(base, (...,))
    out = blank_result(source, base.shape, "complex64")
    stream = stream_of(name)
    result, kind = transform(operand, "complex64", stream=stream, execution=execution, out=out)
    assert result is out
    assert_close(read(out), base, kind, (1,))


def assert_close_or_empty(result: Any, values: np.ndarray, kind: str) -> None:
    if values.size:
        assert_close(numpy_of(result), values, kind, (1,))
    else:
        assert result.shape[0] == 0
