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


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


def test_every_use_names_the_first_error(driver: Path) -> None:
    first, later = ordering_driver.run(driver, "sticky_errors.every_use_names_the_first_error")
    assert first[:3] == ["CUDAError", "cuStreamQuery", 700]
    for name, heard in later.items():
        assert heard is not None, name
        kind, function, status, text = heard
        assert (kind, function, status) == ("StickyError", "cuStreamQuery", 700), name
        assert "cuStreamQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700)" in text
        assert "Start a new process" in text


def test_nothing_is_freed_and_nothing_is_said_afterwards(driver: Path) -> None:
    process = ordering_driver.start(
        driver, "sticky_errors.nothing_is_freed_and_nothing_is_said_afterwards"
    )
    assert (process.returncode, process.stderr) == (0, "")
    lines, before, after = json.loads(process.stdout)
    assert lines == []
    assert before == after


def test_the_cpu_still_computes(driver: Path) -> None:
    error, *others = ordering_driver.run(driver, "sticky_errors.the_cpu_still_computes")
    assert error < 1e-10
    assert others == [2, 0]


@pytest.mark.parametrize("name", ALIKE)
def test_errors_that_the_bindings_report_count_too(driver: Path, name: str) -> None:
    status = int(cuda.Result[name])
    in_runtime, in_driver, later, bare = ordering_driver.run(
        driver, "sticky_errors.errors_that_the_bindings_report_count_too", status
    )
    assert in_runtime[:3] == ["CUDARuntimeError", "cudaDeviceSynchronize", status]
    assert in_driver[:3] == ["CUDAError", "cuStreamSynchronize", status]
    assert later[:3] == ["StickyError", "cudaDeviceSynchronize", status]
    assert bare is None, "the bindings always ask the library itself"


@pytest.mark.parametrize("status", [1, 400, 701, 709, 999])
def test_other_errors_of_the_bindings_pass(driver: Path, status: int) -> None:
    first, later = ordering_driver.run(
        driver, "sticky_errors.other_errors_of_the_bindings_pass", status
    )
    assert first[:3] == ["CUDAError", "cuStreamSynchronize", status]
    assert later == [None] * len(later)


def test_a_destroyed_primary_context_counts(driver: Path) -> None:
    first, later = ordering_driver.run(driver, "sticky_errors.a_destroyed_primary_context_counts")
    assert first[:3] == ["CUDAError", "cuMemcpyAsync", 709]
    assert later[:3] == ["StickyError", "cuMemcpyAsync", 709]


def test_a_library_that_failed_is_not_the_end(driver: Path) -> None:
    first, later = ordering_driver.run(driver, "sticky_errors.a_library_that_failed_is_not_the_end")
    assert first[:3] == ["cuFFTError", "cufftExecC2C", 6]
    assert later is None


def test_the_exception_can_be_pickled() -> None:
    first = errors.CUDAError(cuda.Result.ILLEGAL_ADDRESS, "cuStreamQuery")
    error = pickle.loads(pickle.dumps(errors.StickyError(first)))
    assert isinstance(error, RuntimeError)
    assert error.first.status is cuda.Result.ILLEGAL_ADDRESS
    assert str(error) == str(errors.StickyError(first))
