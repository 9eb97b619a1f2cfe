"""After an error that ruins CUDA, everybody hears of the first one, and nothing is freed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from gpumath.bindings import driver as cuda
from gpumath.bindings import errors
from tests.helpers import ordering_driver

ALIKE = ("ILLEGAL_ADDRESS", "ASSERT", "MISALIGNED_ADDRESS", "LAUNCH_FAILED", "ECC_UNCORRECTABLE")

KEPT = """
from gpumath import fft
from gpumath.bindings import errors
from gpumath.bindings import driver as cuda

values = np.ones((4, 8), np.complex64)
stream, event = core.Stream(), core.Event()
kept = [memory.empty(3, kind=kind) for kind in ("device", "pinned", "managed", "host")]
kept += [array.__dlpack__() for array in kept]
transform = fft.FFT(values, axes=[1], execution="cuda")
transform.plan()
transform.execute()
device_array = kept[0]
address = device_array.ptr

USES = {
    "stream": core.Stream,
    "event": core.Event,
    "record": event.record,
    "query": event.query,
    "wait for an event": event.synchronize,
    "wait for a stream": stream.synchronize,
    "wait, whatever happens": lambda: core.synchronize_stream(stream, interruptible=False),
    "wait for a device": core.Device(0).synchronize,
    "memory": core.Device(0).memory_info,
    "order": lambda: core.order_streams(stream, 70),
    "allocate": lambda: core.allocate(100),
    "copy": lambda: core.copy(address, address + 8, 8),
    "array": lambda: memory.empty(3),
    "pinned array": lambda: memory.empty(3, kind="pinned"),
    "view": lambda: core.TensorView(device_array, stream=71),
    "capsule": lambda: device_array.__dlpack__(stream=71),
    "plan": lambda: core.FftPlan(values, execution="cuda"),
    "function": lambda: fft.fft(values, execution="cuda"),
    "execute": transform.execute,
}

def heard(use):
    try:
        use()
    except errors.StickyError as error:
        return type(error).__name__, error.first.function, int(error.first.status), str(error)
    except errors.LibraryError as error:
        return type(error).__name__, error.function, int(error.status), str(error)
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


def test_every_use_names_the_first_error(driver: Path) -> None:
    code = f"""
{KEPT}
driver.driver_break(700)
first = heard(stream.synchronize)
driver.driver_break(719)
result = first, {{name: heard(use) for name, use in USES.items()}}
"""
    first, later = ordering_driver.run(driver, code)
    assert first[:3] == ["CUDAError", "cuStreamQuery", 700]
    for name, heard in later.items():
        assert heard is not None, name
        kind, function, status, text = heard
        assert (kind, function, status) == ("StickyError", "cuStreamQuery", 700), name
        assert "cuStreamQuery: ILLEGAL_ADDRESS (700)" in text
        assert "Start a new process" in text


def test_nothing_is_freed_and_nothing_is_said_afterwards(driver: Path) -> None:
    code = f"""
{KEPT}
driver.driver_break(700)
heard(stream.synchronize)
USES.clear()
before = blocks(), driver.driver_plans()
seen()
del transform, stream, event, kept, device_array
core.plan_cache_clear()
lines = seen()
sys.stdout.write(json.dumps([lines, before, (blocks(), driver.driver_plans())]))
"""
    process = ordering_driver.start(driver, code)
    assert (process.returncode, process.stderr) == (0, "")
    lines, before, after = json.loads(process.stdout)
    assert lines == []
    assert before == after


def test_the_cpu_still_computes(driver: Path) -> None:
    code = f"""
{KEPT}
driver.driver_break(700)
heard(stream.synchronize)
numbers = np.random.default_rng().standard_normal(30)
given = fft.rfft(numbers)
host = memory.empty(30, kind="host")
np.asarray(host)[...] = numbers
error = float(abs(given - np.fft.rfft(numbers)).max())
error = max(error, float(abs(np.asarray(fft.rfft(host)) - given).max()))
result = error, core.Device.count(), core.Device(0).id
"""
    error, *others = ordering_driver.run(driver, code)
    assert error < 1e-12
    assert others == [2, 0]


@pytest.mark.parametrize("name", ALIKE)
def test_errors_that_the_bindings_report_count_too(driver: Path, name: str) -> None:
    status = int(cuda.Result[name])
    code = f"""
{KEPT}
from gpumath.bindings import runtime
driver.driver_break({status})
first = heard(runtime.device_synchronize), heard(lambda: cuda.stream_synchronize(70))
driver.driver_break(0)
result = *first, heard(core.Stream), heard(lambda: cuda.stream_synchronize(70))
"""
    in_runtime, in_driver, later, bare = ordering_driver.run(driver, code)
    assert in_runtime[:3] == ["CUDARuntimeError", "cudaDeviceSynchronize", status]
    assert in_driver[:3] == ["CUDAError", "cuStreamSynchronize", status]
    assert later[:3] == ["StickyError", "cudaDeviceSynchronize", status]
    assert bare is None, "the bindings always ask the library itself"


@pytest.mark.parametrize("status", [1, 400, 701, 709, 999])
def test_other_errors_of_the_bindings_pass(driver: Path, status: int) -> None:
    code = f"""
{KEPT}
driver.driver_break({status})
first = heard(lambda: cuda.stream_synchronize(70))
driver.driver_break(0)
result = first, [heard(use) for use in USES.values()]
"""
    first, later = ordering_driver.run(driver, code)
    assert first[:3] == ["CUDAError", "cuStreamSynchronize", status]
    assert later == [None] * len(later)


def test_a_destroyed_primary_context_counts(driver: Path) -> None:
    code = f"""
{KEPT}
driver.driver_break(709)
result = heard(lambda: core.copy(address, address + 8, 8)), heard(core.Stream)
"""
    first, later = ordering_driver.run(driver, code)
    assert first[:3] == ["CUDAError", "cuMemcpyAsync", 709]
    assert later[:3] == ["StickyError", "cuMemcpyAsync", 709]


def test_a_library_that_failed_is_not_the_end(driver: Path) -> None:
    code = f"""
{KEPT}
plan = core.FftPlan(values, axes=[1], execution="cuda")
area = core.allocate(plan.workspace_size)
def run():
    plan.execute(address, address + 256, workspace=area.device_ptr)
driver.driver_break(719)
first = heard(run)
driver.driver_break(0)
result = first, heard(run)
"""
    first, later = ordering_driver.run(driver, code)
    assert first[:3] == ["cuFFTError", "cufftXtExec", 6]
    assert later is None


def test_the_exception_can_be_pickled() -> None:
    first = errors.CUDAError(cuda.Result.ILLEGAL_ADDRESS, "cuStreamQuery")
    error = pickle.loads(pickle.dumps(errors.StickyError(first)))
    assert isinstance(error, RuntimeError)
    assert error.first.status is cuda.Result.ILLEGAL_ADDRESS
    assert str(error) == str(errors.StickyError(first))
