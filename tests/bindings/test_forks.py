"""Forked children of a process with many threads."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.fake_libraries import CUFFT, compiled

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def settings(folder: Path, milliseconds: int) -> dict[str, Path]:
    """Write libraries, of which one cannot be opened, and takes a while to fail."""
    slow = f"__attribute__((constructor)) void slow(void) {{ usleep({milliseconds}000); }}"
    compiled(folder / "libcufft.so.12", CUFFT)
    compiled(folder / "libcurand.so.10", f"#include <unistd.h>\n{slow} int nothing;")
    return {"GPUMATH_CUDA_PATH": folder}


def test_children_of_searching_threads_do_not_hang(tmp_path: Path) -> None:
    # Most forks meet a search.
    statuses = in_fresh_process("forks.children", 24, settings=settings(tmp_path, 20))
    assert statuses == [0] * 24


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "__register_atfork"), reason="this C library is not glibc"
)
def test_a_child_of_a_fork_at_the_first_use_does_not_hang(tmp_path: Path) -> None:
    # The search is still under way when the process forks.
    program, slow = "forks.child_of_a_fork_at_the_first_use", settings(tmp_path, 600)
    assert in_fresh_process(program, settings=slow) == 0
