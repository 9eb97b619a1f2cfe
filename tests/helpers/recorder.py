"""A library that writes down its arguments: what only a GPU would show of real libraries."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cuda_wheels import run_python

SOURCE = Path(__file__).with_suffix(".c")


def build(folder: Path) -> Path:
    """Compile the library, or skip."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler named cc")
    library = folder / "librecorder.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run([compiler, *flags, "-o", str(library), str(SOURCE)], check=True)
    return library


def run(library: Path, code: str, **settings: str) -> Any:
    """Run code in a new interpreter where this library is cuFFT and the driver.

    `record(call, ...)` calls and returns what was written down; the value of `result` is returned.
    """
    script = f"""
import ctypes, json, sys
from gpumath.bindings import cufft, driver

recorder = ctypes.CDLL({str(library)!r})
recorder.recorder_text.restype = ctypes.c_char_p

def record(function, *arguments, **keywords):
    returned = function(*arguments, **keywords)
    return recorder.recorder_text().decode(), returned

{code}
sys.stdout.write(json.dumps(result))
"""
    paths = {"GPUMATH_CUFFT_PATH": library, "GPUMATH_DRIVER_PATH": library}
    process = run_python(["-c", script], {**paths, **settings})
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)
