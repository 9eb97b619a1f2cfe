"""Streams, devices and CUDA graphs: what a transform on the GPU leaves as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core, driver, errors
from tests.helpers.processes import assert_quiet, start
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.spaces import Space

pytestmark = pytest.mark.gpu


def library_stream(library: str) -> Any:
    if library == "cupy":
        import cupy

        return cupy.cuda.Stream(non_blocking=True)
    import torch

    return torch.cuda.Stream()


class OnlyProtocol:
    """A stream of no library in particular."""

    def __init__(self, handle: int) -> None:
        self.handle_ = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle_


@pytest.fixture(params=["own", "handle", "protocol", "core"])
def stream_form(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def stream(stream_form: str, gpu_space: Space) -> Iterator[Any]:
    if stream_form == "core":
        stream = core.Stream()
        yield stream
        stream.synchronize()
        return
    own = library_stream(gpu_space.library)
    handle = own.ptr if gpu_space.library == "cupy" else own.cuda_stream
    yield {"own": own, "handle": handle, "protocol": OnlyProtocol(handle)}[stream_form]
    own.synchronize()


def synchronize() -> None:
    core.Device(0).synchronize()


def test_any_stream_with_any_operand(gpu_space: Space, stream: Any) -> None:
    values = random_values((64, 1000), np.complex64)
    operand = gpu_space.array(values)
    synchronize()
    result = fft.fft(operand, axes=[1], stream=stream)
    synchronize()
    assert_close(gpu_space.numpy(result), values, "C2C", (1,))
    with fft.FFT(operand, axes=[1], stream=stream) as transform:
        transform.plan(stream=stream)
        # The workspace changes from one stream to another and back.
        for used in (stream, None, stream):
            result = transform.execute(stream=used)
            synchronize()
            assert_close(gpu_space.numpy(result), values, "C2C", (1,))


def test_a_stream_for_operands_in_host_memory(stream: Any) -> None:
    values = random_values((8, 100), np.complex128)
    result = fft.fft(values, axes=[1], execution="cuda", stream=stream)
    assert_close(result, values, "C2C", (1,))


def test_the_current_stream_of_the_library_is_used_and_kept(gpu_space: Space) -> None:
    values = random_values((64, 1000), np.complex64)
    operand = gpu_space.array(values)
    synchronize()
    own, other = library_stream(gpu_space.library), library_stream(gpu_space.library)
    if gpu_space.library == "cupy":
        import cupy

        with own:
            result = fft.fft(operand, axes=[1])
            fft.fft(operand, axes=[1], stream=other)
            assert cupy.cuda.get_current_stream() == own
            own.synchronize()
    else:
        import torch

        with torch.cuda.stream(own):
            result = fft.fft(operand, axes=[1])
            fft.fft(operand, axes=[1], stream=other)
            assert torch.cuda.current_stream() == own
            own.synchronize()
    other.synchronize()
    assert_close(gpu_space.numpy(result), values, "C2C", (1,))


def late_operand(library: str, values: Any) -> Any:
    """An array on the GPU that gets its values when the current stream has done much other work."""
    if library == "cupy":
        import cupy

        operand, work = cupy.zeros_like(cupy.asarray(values)), cupy.ones(1 << 26)
        source = cupy.asarray(values)
    else:
        import torch

        source = torch.from_numpy(values).cuda()
        operand, work = torch.zeros_like(source), torch.ones(1 << 26, device="cuda")
    synchronize()
    for _ in range(200):
        work *= 1.0001
    operand[...] = source
    return operand


def test_an_operand_made_on_the_current_stream_is_waited_for(gpu_space: Space, stream: Any) -> None:
    values = random_values((64, 1000), np.complex64)
    operand = late_operand(gpu_space.library, values)
    result = fft.fft(operand, axes=[1], stream=stream)
    synchronize()
    assert_close(gpu_space.numpy(result), values, "C2C", (1,))


def test_ordering_leaves_a_capture_intact() -> None:
    captured, other = core.Stream(), core.Stream()
    driver.stream_begin_capture(captured.handle, driver.StreamCaptureMode.THREAD_LOCAL)
    core.order_streams(other, captured)  # a graph waits for nothing outside of it
    with pytest.raises(errors.InvalidStateError, match="captured"):
        core.order_streams(captured, other)
    driver.graph_destroy(driver.stream_end_capture(captured.handle))
    for stream in (other, other.handle, 0, 1):
        core.order_streams(stream, stream)
        core.order_streams(captured, stream)
        core.order_streams(stream, captured)
    synchronize()


def test_blocking_waits_for_the_result(gpu_space: Space) -> None:
    operand = gpu_space.array(random_values((64, 1 << 16), np.complex64))
    stream = library_stream(gpu_space.library)
    synchronize()
    fft.fft(operand, axes=[1], stream=stream, options={"blocking": True})
    done = stream.done if gpu_space.library == "cupy" else stream.query()
    assert done


def test_an_execution_can_be_captured_in_a_graph() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    first, second = (random_values((16, 1024), np.complex64) for _ in range(2))
    operand = torch.from_numpy(first).cuda()
    with fft.FFT(operand, axes=[1]) as transform:
        transform.plan()
        warm_up = torch.cuda.Stream()
        warm_up.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm_up):
            transform.execute()
        torch.cuda.current_stream().wait_stream(warm_up)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = transform.execute()
        operand.copy_(torch.from_numpy(second))
        graph.replay()
        torch.cuda.synchronize()
        assert_close(result.cpu().numpy(), second, "C2C", (1,))


@pytest.mark.parametrize("without", [False, True])
def test_without_what_is_inside_cupy(without: bool) -> None:
    pytest.importorskip("cupy", reason="CuPy is not installed")
    assert_quiet(start("gpu_streams.short_ways_of_cupy", without))


@pytest.fixture
def two_devices() -> None:
    if core.Device.count() < 2:
        pytest.skip("there is only one CUDA device")


@pytest.mark.usefixtures("two_devices")
def test_an_operand_on_a_device_that_is_not_current(gpu_space: Space) -> None:
    values = random_values((16, 1000), np.complex64)
    if gpu_space.library == "cupy":
        import cupy

        with cupy.cuda.Device(1):
            operand = cupy.asarray(values)
        current = cupy.cuda.Device
    else:
        import torch

        operand = torch.from_numpy(values).to("cuda:1")
        current = torch.cuda.current_device
    before = int(current())
    for execution in (None, "cuda", fft.ExecutionCUDA(device_id=0)):
        result = fft.fft(operand, axes=[1], execution=execution)
        assert core.TensorView(result).device_id == 1
        assert int(current()) == before
        assert_close(gpu_space.numpy(result), values, "C2C", (1,))


@pytest.mark.usefixtures("two_devices")
def test_device_id_chooses_the_device_of_a_host_operand() -> None:
    values = random_values((16, 1000), np.complex64)
    for device_id in (0, 1):
        result = fft.fft(values, axes=[1], execution=fft.ExecutionCUDA(device_id=device_id))
        assert_close(result, values, "C2C", (1,))
