"""norm and n with the operands of every library, in every memory: the core scales and pads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core, errors
from tests.helpers.captures import PAIRS, Pair
from tests.helpers.cases import Case
from tests.helpers.elements import read, write
from tests.helpers.operands import NEAR_GPU, ON_HOST, Source, library, numpy_of
from tests.helpers.processes import assert_quiet, start
from tests.helpers.references import random_values, relative_error, tolerance

SOURCES = [
    *(pytest.param(source, id=str(source)) for source in ON_HOST),
    *(pytest.param(source, id=str(source), marks=pytest.mark.gpu) for source in NEAR_GPU),
]
WRITABLE = [source for source in SOURCES if source.values[0].library != "jax"]
WHOLE: Any = (...,)
STRIDED: Any = (slice(None, None, 2), slice(1, None, 3))
TYPES = ["float32", "float64", "complex64", "complex128"]


def transform(operand: Any, dtype: str, **keywords: Any) -> Any:
    function = fft.fft if dtype.startswith("complex") else fft.rfft
    return function(operand, axes=[1], **keywords)


def expected(values: np.ndarray, n: int | None = None, norm: Any = None) -> np.ndarray:
    wide = values.astype("c16" if values.dtype.kind == "c" else "f8")
    function = np.fft.fft if values.dtype.kind == "c" else np.fft.rfft
    result: np.ndarray = function(wide, n, axis=1, norm=norm or "backward")
    return result


def check(result: np.ndarray, values: np.ndarray, n: int | None = None, norm: Any = None) -> None:
    wanted = expected(values, n, norm)
    assert result.shape == wanted.shape
    points = values.shape[1] if n is None else n
    # Rounding the factor and multiplying by it are two more roundings.
    allowed = tolerance(values.dtype, points) + 2 * np.finfo(values.dtype).eps
    assert relative_error(result, wanted) <= allowed


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("layout", [WHOLE, STRIDED], ids=["contiguous", "strided"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("norm", ["ortho", "forward", "backward"])
def test_norm(source: Source, layout: Any, dtype: str, norm: Any) -> None:
    base = random_values((6, 24), dtype)
    operand = source.operand(base, layout)
    for _ in range(2):
        check(numpy_of(transform(operand, dtype, norm=norm)), base[layout], norm=norm)
    np.testing.assert_array_equal(read(operand), base[layout], "the operand has changed")


@pytest.mark.parametrize("source", WRITABLE)
@pytest.mark.parametrize("layout", [WHOLE, STRIDED], ids=["contiguous", "strided"])
def test_norm_into_out(source: Source, layout: Any) -> None:
    values = random_values((6, 24), "complex64")
    whole = np.full((12, 72), np.nan, "complex64") if layout is STRIDED else np.empty_like(values)
    operand, out = source.operand(values, WHOLE), source.operand(whole, layout)
    assert fft.fft(operand, axes=[1], norm="forward", out=out) is out
    check(read(out), values, norm="forward")


@pytest.mark.parametrize("source", WRITABLE)
def test_norm_in_place(source: Source) -> None:
    values = random_values((6, 24), "complex128")
    for keywords in ({"options": {"inplace": True}}, {}):
        operand = source.operand(values.copy(), WHOLE)
        out = None if keywords else operand
        assert fft.fft(operand, axes=[1], norm="ortho", out=out, **keywords) is operand
        check(read(operand), values, norm="ortho")


@pytest.mark.gpu
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("execution", ["cuda", "cpu"])
@pytest.mark.parametrize("blocking", ["auto", True])
def test_norm_on_the_other_side(source: Source, execution: str, blocking: Any) -> None:
    values = random_values((60, 2400), "complex64")
    operand, stream = source.operand(values, WHOLE), core.Stream()
    keywords: dict[str, Any] = {"execution": execution, "options": {"blocking": blocking}}
    result = fft.fft(operand, axes=[1], norm="ortho", stream=stream, **keywords)
    if blocking == "auto":
        stream.synchronize()
    check(numpy_of(result), values, norm="ortho")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("layout", [WHOLE, STRIDED], ids=["contiguous", "strided"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 5, 30])
def test_n(source: Source, layout: Any, dtype: str, n: int) -> None:
    base = random_values((6, 24), dtype)
    operand = source.operand(base, layout)
    for _ in range(2):
        check(numpy_of(transform(operand, dtype, n=n)), base[layout], n)
    np.testing.assert_array_equal(read(operand), base[layout], "the operand has changed")


@pytest.mark.parametrize("source", SOURCES)
def test_s_that_cuts_and_pads(source: Source) -> None:
    values = random_values((3, 6, 7), "complex64")
    result = fft.fftn(source.operand(values, WHOLE), (5, 2, 9), (0, 1, 2), "ortho")
    wanted = np.fft.fftn(values.astype("c16"), (5, 2, 9), (0, 1, 2), "ortho")
    assert relative_error(numpy_of(result), wanted) <= tolerance("complex64", 90)


@pytest.mark.gpu
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_scaling_is_captured(pair: Pair, kind: str) -> None:
    case, stream = Case(kind, (5, 1024), (1,)), pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    # The first call makes the plan.
    case.function(operand, **case.keywords, norm="ortho", out=out)
    write(out, case.blank())
    with pair.capture(stream) as captured:
        stream_argument = pair.argument(stream)
        case.function(operand, **case.keywords, norm="ortho", out=out, stream=stream_argument)
        with pytest.raises(errors.InvalidStateError, match="cut or padded by a copy"):
            case.function(operand, axes=[1], n=5000, stream=stream_argument)
    assert np.isnan(read(out)).all(), "the work was not captured, it ran"
    for _ in range(2):
        values = case.values()
        write(operand, values)
        captured.replay()
        case.check(read(out) * np.float32(np.sqrt(1024)), values)


@pytest.mark.gpu
@pytest.mark.parametrize("way", ["function", "plan"])
def test_the_first_scaling_of_a_process_is_captured(way: str) -> None:
    """The kernels are loaded while a stream of the process is captured in the strictest mode."""
    assert_quiet(start("graphs_gpu.the_first_scaling_of_a_process_is_captured", way))


def in_half(numbers: Any, factor: float) -> Any:
    """Half-precision numbers times a factor: in single precision, rounded once."""
    return (numbers.float() * np.float32(factor).item()).half()


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
@pytest.mark.parametrize("norm", ["ortho", "forward"])
@pytest.mark.parametrize("step", [1, 2])
def test_half_precision(norm: Any, step: int) -> None:
    torch = library("torch")
    factor = 1 / 32 if norm == "forward" else 32**-0.5
    reals = torch.randn(6, 32, dtype=torch.float32).to("cuda", torch.float16)
    pairs = torch.randn(6, 32, 2, dtype=torch.float32).to("cuda", torch.float16)
    for operand, function in ((reals, fft.rfft), (torch.view_as_complex(pairs), fft.fft)):
        points = 17 if function is fft.rfft else 32
        # Of the same strides: cuFFT rounds differently for others.
        plain, scaled = torch.zeros(2, 6, step * points, 2, dtype=torch.float16, device="cuda")
        function(operand, axes=[1], out=torch.view_as_complex(plain)[:, ::step])
        out = torch.view_as_complex(scaled)[:, ::step]
        assert function(operand, axes=[1], norm=norm, out=out) is out
        assert torch.equal(scaled[:, ::step], in_half(plain[:, ::step], factor))
        assert plain[:, ::step].any()
        if step > 1:
            assert not scaled[:, 1::step].any()


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
def test_half_precision_of_real_results() -> None:
    torch = library("torch")
    values = torch.randn(6, 32, dtype=torch.float32).to("cuda", torch.float16)
    half = fft.rfft(values, axes=[1])
    plain = fft.irfft(half, axes=[1])
    scaled = fft.irfft(half, axes=[1], norm="ortho")
    assert scaled.dtype is torch.float16
    assert torch.equal(scaled, in_half(plain, 32**-0.5))


@pytest.mark.gpu
def test_more_elements_than_an_int_counts() -> None:
    rows, n = (1 << 21) + 3, 1024
    size = rows * n * 8
    free, _ = core.Device().memory_info()
    if free < 1.5 * size:
        pytest.skip(f"the device has {free} bytes left, and this needs {size}")
    # Rows are independent of each other, so that most of them need no values.
    operand = core.Array((rows, n), "complex64")
    values = random_values((2, n), "complex64")
    places = [operand.ptr, operand.ptr + size - n * 8]
    for row, place in zip(values, places, strict=True):
        core.copy(place, row.ctypes.data, row.nbytes)
    fft.fft(operand, axes=[1], norm="forward", options={"inplace": True, "blocking": True})
    result = np.empty_like(values)
    for row, place in zip(result, places, strict=True):
        core.copy(row.ctypes.data, place, row.nbytes)
    core.synchronize_stream(0)
    check(result, values, norm="forward")


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
@pytest.mark.parametrize("batch", [1, 5])
def test_norm_on_two_devices(kind: str, batch: int) -> None:
    if core.Device.count() < 2:
        pytest.skip("there is only one CUDA device")
    case = Case(kind, (batch, 96, 64), (1, 2))
    values = case.values()
    execution = fft.ExecutionCUDA(device_ids=[0, 1])
    for place in ("numpy", "gpumath"):
        source = Source(place, "cpu" if place == "numpy" else "device")
        operand = source.operand(values.copy(), WHOLE)
        plain = case.function(operand, **case.keywords, execution=execution)
        scaled = case.function(operand, **case.keywords, norm="ortho", execution=execution)
        root = np.sqrt(96 * 64)
        case.check(numpy_of(plain), values)
        error = relative_error(numpy_of(scaled) * root, numpy_of(plain))
        assert error <= tolerance("float32", 96 * 64)
