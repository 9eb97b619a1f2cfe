"""The CPU engine where memory is short, where threads are many, and when it is interrupted."""

from __future__ import annotations

import os

import pytest

from tests.helpers.processes import needs_refused_memory, result_of, start


@pytest.fixture(autouse=True)
def no_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's own library for matrices starts threads, too."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")


@pytest.mark.parametrize("length", [4_999_999, 5_000_000, 1 << 21, 2_097_143])
def test_transforms_with_little_memory(length: int) -> None:
    """4,999,999 is the product of two primes; 2,097,143 is a prime."""
    mebibytes = [8, 40, 80, 160, 240, 320, 2000]
    outcomes = result_of(start("cpu_limits.transforms_with_little_memory", length, mebibytes))
    for name, left, outcome in outcomes:
        assert outcome == "done" or outcome.startswith("MemoryError"), (name, left, outcome)
        if left == max(mebibytes):
            assert outcome == "done", (name, outcome)
    assert any("bytes of host memory" in outcome for _, _, outcome in outcomes)


def test_products_with_little_memory() -> None:
    outcomes = result_of(start("cpu_limits.products_with_little_memory", [8, 14, 20, 30, 2000]))
    assert all(text == "done" or text.startswith("MemoryError") for text in outcomes)
    assert any("this product needs" in text for text in outcomes)
    assert outcomes[-1] == "done"


@pytest.mark.parametrize("library", ["embedded", None])
def test_small_stacks(monkeypatch: pytest.MonkeyPatch, library: str | None) -> None:
    """Threads of Python may have stacks of any size; those of other programs have 128 KiB."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")  # cuBLASLt needs more
    if library is not None:
        monkeypatch.setenv("GPUMATH_BLAS_CPU_LIBRARY", library)
    count, wrong = result_of(start("small_stacks.right_on_a_small_stack", 96))
    assert count > 300
    assert wrong == {}


def test_operands_that_no_memory_holds() -> None:
    """An operand may be one element, again and again."""
    needs_refused_memory()
    assert len(result_of(start("cpu_limits.operands_that_no_memory_holds", timeout=60))) == 12


def test_factors_that_no_memory_holds() -> None:
    needs_refused_memory()
    text, outcome = result_of(start("cpu_limits.factors_that_no_memory_holds", timeout=60))
    assert "a factor in a wider type needs" in text
    assert outcome == "interrupted"


@pytest.mark.parametrize("what", ["matmul", "fft"])
def test_signals_end_long_work(what: str) -> None:
    undone, works_again = result_of(start("cpu_limits.interrupted", what))
    assert undone
    assert works_again


def test_threads_are_few_and_end() -> None:
    most, when_idle, (at_fork, in_child, right) = result_of(start("cpu_limits.thread_counts"))
    cores = os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()
    assert most <= (cores or 1) + 4
    assert when_idle == 1
    assert at_fork == 1
    assert in_child <= (cores or 1) + 4
    assert right
