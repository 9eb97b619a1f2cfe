"""Every wrong use gives an exception that says what is wrong and what to do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core, errors

A = np.ones((3, 4), np.complex64)


def unaligned() -> np.ndarray:
    return np.frombuffer(bytes(33), np.uint8)[1:].view(np.complex128)


def stride_of_nine_bytes() -> np.ndarray:
    return np.zeros(4, [("value", np.complex64), ("flag", np.int8)])["value"]


class Unknown:
    """Not an array."""


OPERANDS = [
    (fft.fft, [1, 2], r"a builtins\.list; a NumPy array, a CuPy array, a PyTorch tensor, or"),
    (fft.fft, None, r"builtins\.NoneType; a NumPy array"),
    (fft.fft, Unknown(), r"Unknown; a NumPy array"),
    (fft.fft, np.complex64(1), r"numpy\.complex64; a NumPy array"),
    (fft.fft, np.ma.ones(4, np.complex64), "masked array, and its mask would be ignored"),
    (fft.fft, np.ones(4), "needs a complex operand, and this one is float64; use rfft"),
    (fft.ifft, np.ones(4, np.float32), "needs a complex operand, and this one is float32"),
    (fft.irfft, np.ones(4), "needs a complex operand, and this one is float64"),
    (fft.rfft, np.ones(4, np.int64), "element type int64 is not supported; .* convert it first"),
    (fft.rfft, np.ones(4, bool), "element type bool is not supported"),
    (fft.rfft, np.ones(4, np.float16), "single and double precision; convert the operand"),
    (fft.fft, np.ones(4, np.clongdouble), "element type complex256 is not supported"),
    (fft.fft, np.ones(4, ">c8"), "element type >c8 is not supported; .* machine's byte order"),
    (fft.fft, np.ones(4, object), "element type object is not supported"),
    (fft.fft, np.array(1j), "the operand has no dimensions"),
    (fft.fft, np.ones((3, 0), np.complex64), "axis 1 would be transformed over 0 points"),
    (fft.irfft, np.ones(1, np.complex64), "axis 0 would be transformed over 0 points"),
    (fft.fft, unaligned(), "is not aligned to 8 bytes, as complex128 needs; copy it first"),
    (fft.fft, stride_of_nine_bytes(), "stride of 9 bytes, .* not a multiple .* copy it first"),
]


@pytest.mark.parametrize(("function", "operand", "message"), OPERANDS)
def test_operands(function: Any, operand: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(operand)


def test_a_complex_operand_of_rfft() -> None:
    with pytest.raises(RuntimeError, match="rfft takes real operands, but this one is complex64"):
        fft.rfft(A)


AXES = [
    ([2], ValueError, "axis 2 is out of range for an operand with 2 dimensions; axes go from -2"),
    ([-3], ValueError, "axis -3 is out of range"),
    ([0, 0], ValueError, "axis 0 is repeated"),
    ([1, -1], ValueError, "axis 1 is repeated"),
    ([], ValueError, "axes is empty; name at least one axis"),
    ([2**70], ValueError, "a sequence of integers"),
    (1, TypeError, "axes is 1; a sequence of integers, such as"),
    ([1.0], TypeError, r"axes is \[1\.0\]; a sequence of integers"),
    ("01", TypeError, "axes is '01'; a sequence of integers"),
]


@pytest.mark.parametrize(("axes", "error", "message"), AXES)
def test_axes(axes: Any, error: type[Exception], message: str) -> None:
    for use in (fft.fft, fft.FFT):
        with pytest.raises(error, match=message):
            use(A, axes=axes)


LENGTHS = [
    (fft.fft, {"n": 3, "axes": 0}, "axes is 0; a sequence of integers, such as"),
    (fft.fft, {"n": 3, "axes": "0"}, "axes is '0'; a sequence of integers"),
    (fft.fft, {"s": (3, 3), "axes": {0, 1}}, "axes is {0, 1}; a sequence of integers"),
    (fft.fft, {"n": 3, "axes": [None]}, r"axes is \[None\]; a sequence of integers"),
    (fft.fft, {"s": 3, "axes": [0]}, "s is 3; a sequence of integers"),
    (fft.fftn, {"s": 3}, "s is 3; a sequence of integers"),
    (fft.fft2, {"s": (3, 2.5)}, r"s is \(3, 2\.5\); a sequence of integers"),
]


@pytest.mark.parametrize(("function", "keywords", "message"), LENGTHS)
def test_lengths_and_their_axes(function: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        function(A, **keywords)


def test_lengths_of_what_has_no_dimensions() -> None:
    for keywords in ({"n": -1}, {"s": (-1,)}, {"n": 4}):
        with pytest.raises(ValueError, match="axis 0 is out of range for an operand with 0 dim"):
            fft.fft(np.array(1j), axes=[0], **keywords)  # type: ignore[arg-type]  # as given


OPTIONS = [
    (3, TypeError, "options is a int; FFTOptions, a dictionary of its fields, or None is accepted"),
    (
        {"inplce": True},
        TypeError,
        "options has no field 'inplce'; FFTOptions has fft_type, inplace",
    ),
    ({"fft_type": "Z2Z"}, ValueError, "fft_type is 'Z2Z'; allowed are None, 'C2C', 'R2C', 'C2R'"),
    ({"inplace": 1}, ValueError, "inplace is 1; allowed are False, True"),
    ({"last_axis_parity": 2}, ValueError, "last_axis_parity is 2; allowed are 'even', 'odd'"),
    (
        {"result_layout": "C"},
        ValueError,
        "result_layout is 'C'; allowed are 'natural', 'optimized'",
    ),
    ({"blocking": False}, ValueError, "blocking is False; allowed are 'auto', True"),
    (
        {"logger": "root"},
        TypeError,
        r"logger is a str; a logging\.Logger, .*Adapter or None is needed",
    ),
    ({"allocator": object()}, TypeError, r"memalloc\(size\) or memalloc_async\(size, stream\)"),
]


@pytest.mark.parametrize(("options", "error", "message"), OPTIONS)
def test_options(options: Any, error: type[Exception], message: str) -> None:
    for use in (fft.fft, fft.FFT):
        with pytest.raises(error, match=message):
            use(A, options=options)


def test_the_kind_of_a_function_and_that_of_its_options_have_to_agree() -> None:
    with pytest.raises(ValueError, match="fft_type is 'C2R', and this function does C2C"):
        fft.fft(A, options={"fft_type": "C2R"})
    fft.fft(A, options={"fft_type": "C2C"})


def test_the_kind_has_to_fit_the_operand() -> None:
    with pytest.raises(ValueError, match="R2C transform needs a real operand"):
        fft.FFT(A, options={"fft_type": "R2C"})


EXECUTIONS = [
    (3, "execution is a int; ExecutionCPU, ExecutionCUDA, 'cpu', 'cuda'"),
    ("gpu", "execution is 'gpu'; 'cpu' and 'cuda' are allowed"),
    ({"name": "tpu"}, "execution is 'tpu'; 'cpu' and 'cuda' are allowed"),
    ({"name": "cpu", "num_threads": 0}, "num_threads is 0; an integer of at least 1 is needed"),
    ({"name": "cpu", "num_threads": "2"}, "num_threads is '2'; an integer"),
    ({"name": "cuda", "device_id": -1}, "device_id is -1; an integer of at least 0 is needed"),
]


def test_an_execution_without_a_name_is_the_operand_s() -> None:
    for use in (fft.fft, fft.FFT):
        for execution in ({"device_id": 0}, {"name": "cpu", "device_id": 0}):
            with pytest.raises(
                TypeError, match=r"'cpu' has no field 'device_id'; ExecutionCPU has"
            ):
                use(A, execution=execution)
    key = fft.FFT.create_key(A, execution={"num_threads": 3})
    assert key.execution == fft.ExecutionCPU(num_threads=3)
    on_gpu = fft.FFT.create_key_from_metadata((8,), "complex64", "cuda", execution={"device_id": 2})
    assert on_gpu.execution == fft.ExecutionCUDA(device_id=2)


@pytest.mark.parametrize("name", ["CPU", "Cpu", {"name": "CPU"}])
def test_names_of_executions_in_capitals(name: Any) -> None:
    np.testing.assert_array_equal(fft.fft(A, execution=name), fft.fft(A, execution="cpu"))


def test_directions_of_functions() -> None:
    np.testing.assert_array_equal(fft.fft(A, direction="inverse"), fft.ifft(A))
    np.testing.assert_array_equal(fft.ifft(A, direction=fft.FFTDirection.FORWARD), fft.fft(A))
    np.testing.assert_array_equal(fft.rfft(A.real, direction=-1), fft.rfft(A.real))
    np.testing.assert_array_equal(fft.irfft(A, direction="inverse"), fft.irfft(A))
    for function, operand, direction in ((fft.rfft, A.real, "inverse"), (fft.irfft, A, "forward")):
        with pytest.raises(ValueError, match="is always"):
            function(operand, direction=direction)
    with pytest.raises(ValueError, match="direction is 'sideways'"):
        fft.fft(A, direction="sideways")


@pytest.mark.parametrize(("execution", "message"), EXECUTIONS)
def test_executions(execution: Any, message: str) -> None:
    for use in (fft.fft, fft.FFT):
        with pytest.raises(ValueError, match=message):
            use(A, execution=execution)


STREAMS = [
    ("fast", TypeError, "stream is a str; an int"),
    (True, TypeError, "stream is a bool"),
    (1.5, TypeError, "stream is a float"),
    (-1, ValueError, "stream is -1; a cudaStream_t is an address"),
]


@pytest.mark.parametrize(("stream", "error", "message"), STREAMS)
def test_streams(stream: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fft.fft(A, stream=stream)
    with pytest.raises(error, match=message):
        fft.FFT(A, stream=stream)
    with fft.FFT(A) as transform:
        for use in (transform.plan, transform.execute):
            with pytest.raises(error, match=message):
                use(stream=stream)
            transform.plan()
        with pytest.raises(error, match=message):
            transform.reset_operand(A, stream=stream)


@pytest.mark.parametrize("direction", ["up", 0, 2, 1.5, object()])
def test_directions(direction: Any) -> None:
    with fft.FFT(A) as transform:
        with pytest.raises(ValueError, match=r"direction is .*; FFTDirection.FORWARD, .* allowed"):
            transform.plan(direction=direction)
        transform.plan()
        with pytest.raises(ValueError, match=r"direction is .*; FFTDirection.FORWARD, .* allowed"):
            transform.execute(direction)


def test_directions_of_transforms_that_have_only_one() -> None:
    for operand, kind, wrong in [(np.ones(4), "R2C", "inverse"), (A, "C2R", "forward")]:
        with fft.FFT(operand, options={"fft_type": kind}) as transform:
            transform.plan()
            with pytest.raises(ValueError, match=f"but a {kind} transform is always"):
                transform.execute(wrong)
            with pytest.raises(ValueError, match=f"but a {kind} transform is always"):
                transform.plan(direction=wrong)


def test_another_direction_than_planned() -> None:
    with fft.FFT(A) as transform:
        transform.plan(direction="forward")
        transform.execute(direction=-1)
        with pytest.raises(
            ValueError, match=r"direction is INVERSE, but plan\(\) was told FORWARD"
        ):
            transform.execute(direction="inverse")


def test_a_gpu_that_is_not_there() -> None:
    try:
        count = core.Device.count()
    except errors.GpumathError:
        count = 0
    if count:
        with pytest.raises((errors.NoDeviceError, ValueError), match=str(count)):
            fft.fft(A, execution=fft.ExecutionCUDA(device_id=count))
        return
    for execution in ("cuda", fft.ExecutionCUDA(), {"name": "cuda", "device_id": 3}):
        for use in (fft.fft, fft.FFT):
            with pytest.raises(errors.NoDeviceError, match='execution="cpu"'):
                use(A, execution=execution)


@pytest.mark.parametrize(
    "error",
    [
        fft.InvalidFFTState("this FFT object is freed"),
        fft.UnsupportedLayoutError("no plan", permutation=(1, 0), axes=(0,)),
        errors.NoDeviceError("no GPU"),
    ],
)
def test_errors_can_be_pickled(error: Exception) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_what_the_errors_are() -> None:
    assert issubclass(fft.InvalidFFTState, RuntimeError)
    assert issubclass(fft.UnsupportedLayoutError, ValueError)


def test_nothing_is_kept_alive_by_an_error() -> None:
    import gc
    import weakref

    operand = np.ones((3, 4), np.complex64)
    reference = weakref.ref(operand)
    with pytest.raises(ValueError, match="out of range"):
        fft.FFT(operand, axes=[5])
    del operand
    gc.collect()
    assert reference() is None
