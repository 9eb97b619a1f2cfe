"""The progress line of long measurements: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios

import pytest

from tests.helpers.processes import arguments_of, result_of, start, with_tests

TARGET, STEPS = "progress.iterate", 12


def test_nothing_is_drawn_without_a_terminal() -> None:
    process = start(TARGET, STEPS)
    assert result_of(process) == STEPS
    assert process.stderr == ""


def test_a_line_on_a_terminal() -> None:
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    master, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (25, 80))
    process = subprocess.Popen(
        [sys.executable, "-P", *arguments_of(TARGET, STEPS)],
        env={**with_tests(os.environ), "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    drawn = b""
    try:
        while part := os.read(master, 4096):
            drawn += part
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert process.communicate(timeout=60)[0] == str(STEPS).encode()
    assert process.returncode == 0
    assert b"autotune" in drawn
    assert f"/{STEPS} ".encode() in drawn


def test_a_terminal_without_tqdm() -> None:
    assert result_of(start("progress.iterate_without_tqdm", STEPS)) == STEPS
