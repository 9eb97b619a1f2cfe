"""Forked children of a process with many threads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.fake_libraries import CUFFT, compiled

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def test_children_of_searching_threads_do_not_hang(tmp_path: Path) -> None:
    # Each search takes as long as the file that it fails to open: most forks meet a search.
    slow = "#include <unistd.h>\n__attribute__((constructor)) void slow(void) { usleep(20000); }"
    compiled(tmp_path / "libcufft.so.12", CUFFT)
    compiled(tmp_path / "libcurand.so.10", slow + " int nothing;")
    settings = {"GPUMATH_CUDA_PATH": tmp_path}
    assert in_fresh_process("forks.children", 24, settings=settings) == [0] * 24
