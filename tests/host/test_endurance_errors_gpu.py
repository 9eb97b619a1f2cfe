"""Kernels that fail, waits that are interrupted, and memory that runs out: each in a process."""

from __future__ import annotations

import json

import pytest

from gpumath.bindings import driver
from tests.helpers.processes import assert_quiet, start

pytestmark = pytest.mark.gpu


# What fails: the kernel, and the statuses that tell of it.
FAILURES = {
    "unmapped": ["ILLEGAL_ADDRESS"],
    "misaligned": ["MISALIGNED_ADDRESS"],
    # Architectures differ in what they call it.
    "trapped": ["LAUNCH_FAILED", "ILLEGAL_INSTRUCTION", "ASSERT"],
}
# What hears of it first: an exception, and the function that it names.
FIRST = {
    "stream": ["CUDAError", "cuStreamQuery"],
    "stream, come what may": ["CUDAError", "cuStreamSynchronize"],
    "event": ["CUDAError", "cuEventQuery"],
    "device": ["CUDAError", "cuCtxSynchronize"],
    "driver": ["CUDAError", "cuCtxSynchronize"],
    "runtime": ["CUDARuntimeError", "cudaDeviceSynchronize"],
}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("kernel", FAILURES)
def test_after_a_kernel_that_failed(kernel: str, first: str) -> None:
    process = start("endurance_errors_gpu.after_a_kernel_that_failed", kernel, first)
    assert (process.returncode, process.stderr) == (0, "")
    heard, later, error = json.loads(process.stdout)
    assert error < 1e-10
    assert heard[:2] == FIRST[first]
    assert heard[2] in [driver.Result[name] for name in FAILURES[kernel]]
    for name, what in later.items():
        assert what is not None, name
        assert what[:3] == ["StickyError", *heard[1:3]], (name, what)
        assert "Start a new process" in what[3]


def test_other_libraries_do_not_hide_it() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    process = start("endurance_errors_gpu.other_libraries_do_not_hide_it")
    assert process.returncode == 0, process.stderr
    first, later, freed = json.loads(process.stdout)
    assert later[:3] == ["StickyError", first[1], first[2]]
    assert freed is None


# What tests/programs/endurance_errors_gpu.py can wait for.
WAITS = ["stream", "handle", "event", "device", "managed array", "blocking"]
UNINTERRUPTIBLE = ["asked for", "transfer"]


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(wait: str) -> None:
    assert_quiet(start("endurance_errors_gpu.ctrl_c_ends_a_wait", wait))


@pytest.mark.parametrize("wait", UNINTERRUPTIBLE)
def test_ctrl_c_waits_for_the_work(wait: str) -> None:
    assert_quiet(start("endurance_errors_gpu.ctrl_c_waits_for_the_work", wait))


def test_no_memory_for_a_plan() -> None:
    assert_quiet(start("endurance_errors_gpu.no_memory_for_a_plan", timeout=200))


def test_no_memory_for_the_first_plan_of_a_process() -> None:
    """cuFFT reports an internal error then, as its code finds no memory."""
    assert_quiet(
        start("endurance_errors_gpu.no_memory_for_the_first_plan_of_a_process", timeout=200)
    )


def test_no_memory_for_a_result_or_a_workspace() -> None:
    assert_quiet(start("endurance_errors_gpu.no_memory_for_a_result_or_a_workspace", timeout=200))
