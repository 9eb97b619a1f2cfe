"""FftPlan, streams, events and memory on a CUDA device, with CuPy arrays and PyTorch tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from gpumath.bindings.errors import NoDeviceError, OutOfMemoryError
from tests.bindings.fft_cases import assert_close, random_case

pytestmark = pytest.mark.gpu


class Cupy:
    """The few functions of CuPy that the tests need."""

    def __init__(self) -> None:
        self.module: Any = pytest.importorskip("cupy", reason="CuPy is not installed")

    def array(self, host: Any) -> Any:
        return self.module.asarray(host)

    def result(self, plan: core.FftPlan) -> Any:
        order = sorted(range(len(plan.output_shape)), key=lambda axis: -plan.output_strides[axis])
        packed = self.module.full(
            [plan.output_shape[axis] for axis in order], np.nan, plan.output_dtype
        )
        return packed.transpose([int(axis) for axis in np.argsort(order)])

    def bytes(self, size: int) -> Any:
        return self.module.empty(max(size, 1), np.uint8)

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def host(self, array: Any) -> Any:
        return self.module.asnumpy(array)

    def stream(self) -> Any:
        return self.module.cuda.get_current_stream()


class Torch:
    """The few functions of PyTorch that the tests need."""

    def __init__(self) -> None:
        self.module: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

    def array(self, host: Any) -> Any:
        return self.module.from_numpy(host).cuda()

    def result(self, plan: core.FftPlan) -> Any:
        dtype = getattr(self.module, plan.output_dtype)
        result = self.module.empty_strided(
            plan.output_shape, plan.output_strides, dtype=dtype, device="cuda"
        )
        return result.fill_(float("nan"))

    def bytes(self, size: int) -> Any:
        return self.module.empty(size, dtype=self.module.uint8, device="cuda")

    def address(self, array: Any) -> int:
        return int(array.data_ptr())

    def host(self, array: Any) -> Any:
        return array.cpu().numpy()

    def stream(self) -> Any:
        return self.module.cuda.current_stream()


@pytest.fixture(params=[Cupy, Torch], ids=["cupy", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    return request.param()


def execute(library: Any, plan: core.FftPlan, operand: Any, direction: int = -1) -> Any:
    result = library.result(plan)
    workspace = library.bytes(plan.workspace_size)
    address = library.address(workspace) if plan.workspace_size else 0
    plan.execute(operand, result, direction=direction, stream=library.stream(), workspace=address)
    return library.host(result)


def test_random_problems_twice(library: Any) -> None:
    rng = np.random.default_rng()
    for _ in range(400):
        # PyTorch has no negative strides.
        case = random_case(rng, backwards=isinstance(library, Cupy))
        operand = case.view(library.array(case.base))
        before = library.host(operand).copy()
        plan = case.plan(operand)
        for _ in range(2):
            assert_close(execute(library, plan, operand, case.direction), case)
        np.testing.assert_array_equal(library.host(operand), before)


@pytest.mark.parametrize("length", [1, 2, 3, 97, 4096, 5999, 65537, 999_983, 2**20])
@pytest.mark.parametrize("kind", ["C2C", "R2C"])
def test_long_and_prime_lengths(library: Any, kind: str, length: int) -> None:
    rng = np.random.default_rng()
    host = rng.standard_normal(length)
    if kind == "C2C":
        host = host + 1j * rng.standard_normal(length)
    wanted = np.fft.rfft(host) if kind == "R2C" else np.fft.fft(host)
    operand = library.array(host)
    plan = core.FftPlan(operand)
    for _ in range(2):
        result = execute(library, plan, operand)
        assert np.abs(result - wanted).max() <= 1e-12 * np.abs(wanted).max() * (1 + np.log2(length))


@pytest.mark.parametrize("length", [1, 2, 64, 1024])
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
def test_half_precision(kind: str, length: int) -> None:
    library = Torch()
    torch = library.module
    rng = np.random.default_rng()
    odd = kind == "C2R" and length == 1
    points = length // 2 + 1 if kind == "C2R" else length
    if kind == "R2C":
        host = rng.standard_normal((3, points)).astype(np.float16)
        operand = torch.from_numpy(host).cuda()
        wanted = np.fft.rfft(host.astype(np.float64))
    else:
        pairs = rng.standard_normal((3, points, 2)).astype(np.float16)
        operand = torch.view_as_complex(torch.from_numpy(pairs).cuda())
        host = pairs[..., 0].astype(np.float64) + 1j * pairs[..., 1]
        wanted = np.fft.fft(host) if kind == "C2C" else np.fft.irfft(host, n=length, norm="forward")
    plan = core.FftPlan(operand, axes=(1,), kind=kind, last_axis_parity="odd" if odd else "even")
    result = torch.empty(plan.output_shape, dtype=getattr(torch, plan.output_dtype), device="cuda")
    workspace = library.bytes(plan.workspace_size)
    plan.execute(
        operand,
        result,
        direction=1 if kind == "C2R" else -1,
        workspace=workspace.data_ptr() if plan.workspace_size else 0,
    )
    got = (result.to(torch.complex64) if kind != "C2R" else result).cpu().numpy()
    assert np.abs(got - wanted).max() <= 2e-3 * (1 + np.log2(length)) * np.abs(wanted).max()


def test_more_than_two_to_the_31_elements() -> None:
    torch = Torch().module
    rows, length = 2**21 + 3, 1024
    free = core.Device(0).memory_info()[0]
    if free < 24 * 2**30:
        pytest.skip(f"24 GiB of device memory are needed, {free / 2**30:.0f} GiB are free")
    operand = torch.zeros((rows, length), dtype=torch.complex64, device="cuda")
    picked = [0, 1, rows // 2, rows - 1]
    rng = np.random.default_rng()
    host = rng.standard_normal((len(picked), length)) + 1j * rng.standard_normal(
        (len(picked), length)
    )
    operand[picked] = torch.from_numpy(host.astype(np.complex64)).cuda()
    plan = core.FftPlan(operand, axes=(1,), inplace=True)
    workspace = torch.empty(plan.workspace_size, dtype=torch.uint8, device="cuda")
    plan.execute(operand, operand, workspace=workspace.data_ptr() if plan.workspace_size else 0)
    wanted = np.fft.fft(host)
    result = operand[picked].cpu().numpy()
    assert np.abs(result - wanted).max() <= 1e-5 * np.abs(wanted).max()
    assert not operand[2 : rows // 2].any()


def test_half_precision_refuses_other_lengths() -> None:
    torch = Torch().module
    with pytest.raises(ValueError, match="powers of two"):
        core.FftPlan(torch.zeros(6, dtype=torch.float16, device="cuda"))


def test_unaligned_real_operands(library: Any) -> None:
    rng = np.random.default_rng()
    host = rng.standard_normal(1001).astype(np.float32)
    base = library.array(host)
    plan = core.FftPlan(base[1:])
    result = execute(library, plan, base[1:])
    wanted = np.fft.rfft(host[1:].astype(np.float64))
    assert np.abs(result - wanted).max() <= 1e-5 * np.abs(wanted).max()
    aligned = core.FftPlan(base[:1000])
    assert not aligned.accepts(base[1:], 0)
    with pytest.raises(ValueError, match="not a multiple of 8"):
        execute(library, aligned, base[1:])


def test_own_streams_events_and_memory(library: Any) -> None:
    rng = np.random.default_rng()
    host = (rng.standard_normal((16, 1024)) + 1j * rng.standard_normal((16, 1024))).astype(
        np.complex64
    )
    first, second = core.Stream(), core.Stream()
    block = core.allocate(host.nbytes, stream=first)
    core.copy(block.device_ptr, host.ctypes.data, host.nbytes, stream=first)
    operand = library.array(host)
    plan = core.FftPlan(operand, axes=(1,))
    result = library.result(plan)
    library.stream().synchronize()
    second.wait(first.record())
    plan.execute(block.device_ptr, result, stream=second)
    second.synchronize()
    np.testing.assert_allclose(library.host(result), np.fft.fft(host), rtol=0, atol=2e-3)
    block.free()
    with pytest.raises(RuntimeError, match="freed already"):
        block.free()


def test_memory_keeps_the_stream_in_whose_order_it_goes_back() -> None:
    stream = core.Stream()
    block = core.allocate(1 << 20, stream=stream)
    del stream
    block.free()
    other = core.allocate(1 << 20, stream=core.Stream())
    del other


def test_events_measure_time() -> None:
    stream = core.Stream()
    start, end = core.Event(timing=True), core.Event(timing=True)
    start.record(stream)
    block = core.allocate(1 << 26, stream=stream)
    core.copy(block.device_ptr, block.device_ptr + (1 << 25), 1 << 25, stream=stream)
    end.record(stream)
    end.synchronize()
    assert end.query()
    assert 0 < start.elapsed_ms(end) < 1000


def test_the_current_device_and_context_stay() -> None:
    torch = Torch().module
    before = torch.cuda.current_device()
    operand = torch.zeros(64, dtype=torch.complex64, device="cuda")
    execute(Torch(), core.FftPlan(operand, cached=False), operand)
    assert torch.cuda.current_device() == before


def test_out_of_memory_gives_back_what_it_gathered() -> None:
    device = core.Device(0)
    core.allocate(1 << 20).free()
    free = device.memory_info()[0]
    with pytest.raises(OutOfMemoryError, match=r"no \d+ bytes"):
        core.allocate(2 * device.total_memory)
    assert device.memory_info()[0] > free - (1 << 30)
    core.allocate(1 << 20).free()


def test_devices() -> None:
    device = core.Device(0)
    assert device.id == 0
    assert device.name
    assert device.compute_capability >= (5, 0)
    free, total = device.memory_info()
    assert 0 < free <= total <= device.total_memory
    with pytest.raises(NoDeviceError, match="numbered from 0"):
        core.Device(core.Device.count())


def test_an_operand_of_another_device_is_refused(library: Any) -> None:
    operand = library.array(np.zeros(8, np.complex64))
    for plan, operands in ((core.FftPlan, [operand]), (core.MatmulPlan, [operand, operand])):
        with pytest.raises(ValueError, match="device_id is 1"):
            plan(*operands, device_id=1)
    plan = core.FftPlan(operand)
    host = np.zeros(8, np.complex64)
    with pytest.raises(ValueError, match="in host memory"):
        plan.execute(host, library.result(plan))


def test_a_missing_workspace_is_refused(library: Any) -> None:
    operand = library.array(np.zeros(1000, np.complex64)[:997])
    plan = core.FftPlan(library.array(np.zeros((33,), np.complex64)), kind="C2R")
    assert plan.workspace_size > 0
    with pytest.raises(ValueError, match="workspace of"):
        plan.execute(library.array(np.zeros(33, np.complex64)), library.result(plan), direction=1)
    del operand
