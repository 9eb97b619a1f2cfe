"""Scripts in processes of their own, with the settings of the tests' own process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Like `ordering_driver.start`: `tests.helpers` can be imported.
_PRELUDE = f"""
import atexit, gc, json, os, sys
import numpy as np
sys.path.insert(1, {str(ROOT)!r})
"""


def run_script(code: str, timeout: int = 120) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter; warnings of other libraries are not shown."""
    command = [sys.executable, "-P", "-W", "ignore", "-c", f"{_PRELUDE}\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def assert_quiet(process: subprocess.CompletedProcess[str], output: str = "") -> None:
    """Check that a process ended well, and wrote nothing but this."""
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout == output
