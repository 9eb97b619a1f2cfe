"""Prologs and epilogs of `gpumath.fft` on a GPU: operands, user data, streams, graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.callbacks import require_numba
from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.references import random_values, reference, relative_error, tolerance

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

pytestmark = pytest.mark.gpu

LENGTH = 256

WINDOW = """
__device__ float2 prolog(const float2 *x, unsigned long long i, const float *window, void *)
{ float w = window[i % 256]; return make_float2(w * x[i].x, w * x[i].y); }
"""


def filtered(data: Any, offset: int, value: Any, response: Any, _: Any) -> None:
    # Scaled for the way back, too.
    data[offset] = value * response[offset % 256] / 256


def window_prolog(space: Space) -> tuple[Any, Any, np.ndarray]:
    window = np.hanning(LENGTH).astype(np.float32)
    memory = space.array(window)
    code = fft.compile_prolog(WINDOW, "complex64", "float32")
    return fft.DeviceCallable(code, data=core.TensorView(memory).ptr), memory, window


def filter_epilog(space: Space) -> tuple[Any, Any, np.ndarray]:
    require_numba()
    response = random_values((LENGTH,), np.complex64)
    memory = space.array(response)
    code = fft.compile_epilog(filtered, "complex64", "complex64")
    return fft.DeviceCallable(code, data=core.TensorView(memory).ptr), memory, response


def assert_is(result: np.ndarray, expected: np.ndarray) -> None:
    assert relative_error(result, expected) <= 2 * tolerance(np.complex64, LENGTH)


def test_window_and_filter_in_one_pass(gpu_space: Space) -> None:
    prolog, window_memory, window = window_prolog(gpu_space)
    epilog, response_memory, response = filter_epilog(gpu_space)
    values = random_values((20, LENGTH), np.complex64)
    expected = reference(values * window, "C2C", (1,)) * response / LENGTH
    with fft.FFT(gpu_space.array(values), axes=[1]) as transform:
        transform.plan(prolog=prolog, epilog=epilog)
        for _ in range(2):
            result = transform.execute()
            gpu_space.assert_is_alike(result)
            assert_is(gpu_space.numpy(result), expected)
        other = random_values((20, LENGTH), np.complex64)
        transform.reset_operand(gpu_space.array(other))
        expected = reference(other * window, "C2C", (1,)) * response / LENGTH
        assert_is(gpu_space.numpy(transform.execute()), expected)
        # Planned again, without.
        transform.plan()
        assert_is(gpu_space.numpy(transform.execute()), reference(other, "C2C", (1,)))
    del window_memory, response_memory


def test_functions(gpu_space: Space) -> None:
    prolog, memory, window = window_prolog(gpu_space)
    values = random_values((4, LENGTH), np.complex64)
    operand = gpu_space.array(values)
    for given in (prolog, {"ltoir": prolog.ltoir, "data": prolog.data}):
        result = fft.fft(operand, axes=[1], prolog=given)
        assert_is(gpu_space.numpy(result), reference(values * window, "C2C", (1,)))
    result = fft.ifft(operand, axes=[1], prolog=prolog)
    assert_is(gpu_space.numpy(result), reference(values * window, "C2C", (1,), inverse=True))
    assert_is(gpu_space.numpy(fft.fft(operand, axes=[1])), reference(values, "C2C", (1,)))
    del memory


def test_there_and_back_with_a_filter_between(gpu_space: Space) -> None:
    # A low pass of real signals: an epilog of the way there, a scale on the way back.
    keep = """
__device__ void epilog(double2 *out, unsigned long long i, double2 x, void *, void *)
{ out[i] = i % 129 < 20 ? x : make_double2(0, 0); }
"""
    scale = """
__device__ void epilog(double *out, unsigned long long i, double x, void *, void *)
{ out[i] = x / 256; }
"""
    values = random_values((7, LENGTH), np.float64)
    low = fft.DeviceCallable(fft.compile_epilog(keep, "complex128", None))
    scaled = fft.DeviceCallable(fft.compile_epilog(scale, "float64", None))
    spectrum = fft.rfft(gpu_space.array(values), axes=[1], epilog=low)
    result = gpu_space.numpy(fft.irfft(spectrum, axes=[1], epilog=scaled))
    expected = np.fft.rfft(values)
    expected[:, 20:] = 0
    assert relative_error(result, np.fft.irfft(expected)) <= 2 * tolerance(np.float64, LENGTH)


def test_norm_scales_what_the_epilog_has_stored(gpu_space: Space) -> None:
    shift = """
__device__ void epilog(float2 *out, unsigned long long i, float2 x, void *, void *)
{ out[i] = make_float2(x.x + 8, x.y); }
"""
    values = random_values((4, LENGTH), np.complex64)
    shifted = fft.DeviceCallable(fft.compile_epilog(shift, "complex64", None))
    for norm, factor in (("forward", 1 / LENGTH), ("ortho", LENGTH**-0.5), ("backward", 1)):
        operand = gpu_space.array(values)
        result = fft.fft(operand, axes=[1], epilog=shifted, norm=norm)
        expected = (reference(values, "C2C", (1,)) + 8) * factor
        assert_is(gpu_space.numpy(result), expected)


def test_operands_in_host_memory() -> None:
    values = random_values((4, LENGTH), np.complex64)
    window = np.hanning(LENGTH).astype(np.float32)
    block = core.allocate(window.nbytes)
    core.copy(block.device_ptr, window.ctypes.data, window.nbytes)
    core.Device(0).synchronize()
    code = fft.compile_prolog(WINDOW, "complex64", "float32")
    prolog = fft.DeviceCallable(code, data=block.device_ptr)
    result = fft.fft(values, axes=[1], execution="cuda", prolog=prolog)
    assert_is(result, reference(values * window, "C2C", (1,)))
    with pytest.raises(ValueError, match="runs on the CPU"):
        fft.fft(values, axes=[1], prolog=prolog)


def test_captured_in_a_graph() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    first, second = (random_values((16, LENGTH), np.complex64) for _ in range(2))
    operand = torch.from_numpy(first).cuda()
    window = torch.hann_window(LENGTH, periodic=False, device="cuda")
    code = fft.compile_prolog(WINDOW, "complex64", "float32")
    with fft.FFT(operand, axes=[1]) as transform:
        transform.plan(prolog=fft.DeviceCallable(code, data=window.data_ptr()))
        warm_up = torch.cuda.Stream()
        warm_up.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm_up):
            transform.execute()
        torch.cuda.current_stream().wait_stream(warm_up)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = transform.execute()
        operand.copy_(torch.from_numpy(second))
        for values, factor in ((second, 1), (second, 3)):
            window.copy_(factor * torch.hann_window(LENGTH, periodic=False))
            graph.replay()
            torch.cuda.synchronize()
            expected = reference(values * factor * np.hanning(LENGTH), "C2C", (1,))
            assert_is(result.cpu().numpy(), expected)


def test_device_functions_of_callbacks_from_two_processes() -> None:
    # Numba gives both helpers the same name; linked together, each has to keep its own.
    require_numba()
    pieces = {
        phase: fft.DeviceCallable(
            bytes.fromhex(in_fresh_process("callbacks_gpu.compiled", phase, factor))
        )
        for phase, factor in (("prolog", 3.0), ("epilog", 5.0))
    }
    values = random_values((LENGTH,), np.complex64)
    result = fft.fft(values, execution="cuda", **pieces)
    assert_is(result, 15 * reference(values, "C2C", (0,)))


@pytest.mark.parametrize("name", ["prolog", "epilog"])
def test_what_is_no_callback(gpu_space: Space, name: str) -> None:
    operand = gpu_space.array(random_values((8,), np.complex64))
    cases: list[tuple[Any, type[Exception], str]] = [
        (b"code", TypeError, "Compile a function first"),
        ({"code": b""}, TypeError, "has no field 'code'"),
        (fft.DeviceCallable(), ValueError, "has no code"),
        ({"ltoir": 0x1000}, ValueError, "pass size"),
    ]
    for given, exception, message in cases:
        with pytest.raises(exception, match=message):
            fft.fft(operand, **{name: given})
        with fft.FFT(operand) as transform, pytest.raises(exception, match=message):
            transform.plan(**{name: given})
