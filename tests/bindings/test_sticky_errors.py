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
from gpumath.bindings import driver as cuda
from tests.helpers.device_uses import DeviceObjects, cpu_error, heard
objects = DeviceObjects()
address, stream = objects.on_device.ptr, objects.stream
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
result = first, {{name: heard(use) for name, use in objects.uses().items()}}
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
before = blocks(), driver.driver_plans()
seen()
del objects, stream
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
result = cpu_error(), core.Device.count(), core.Device(0).id
"""
    error, *others = ordering_driver.run(driver, code)
    assert error < 1e-10
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
result = first, [heard(use) for use in objects.uses().values()]
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
plan = core.FftPlan(objects.values, axes=[1], execution="cuda")
area = core.allocate(plan.workspace_size)
def run():
    plan.execute(address, address + 256, workspace=area.device_ptr)
driver.driver_break(719)
first = heard(run)
driver.driver_break(0)
result = first, heard(run)
"""
    first, later = ordering_driver.run(driver, code)
    assert first[:3] == ["cuFFTError", "cufftExecC2C", 6]
    assert later is None


def test_the_exception_can_be_pickled() -> None:
    first = errors.CUDAError(cuda.Result.ILLEGAL_ADDRESS, "cuStreamQuery")
    error = pickle.loads(pickle.dumps(errors.StickyError(first)))
    assert isinstance(error, RuntimeError)
    assert error.first.status is cuda.Result.ILLEGAL_ADDRESS
    assert str(error) == str(errors.StickyError(first))
