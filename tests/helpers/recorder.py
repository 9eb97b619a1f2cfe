"""A library that writes down its arguments: what only a GPU would show of real libraries."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cuda_wheels import run_python
from tests.helpers.processes import arguments_of, result_of

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


def run(library: Path, target: str, *arguments: Any, **settings: str) -> Any:
    """Return what a function of tests/programs returns, where this library is cuFFT and the driver.

    tests/programs/support/recording.py has what the program can ask the recorder.
    """
    paths = {"GPUMATH_CUFFT_PATH": library, "GPUMATH_DRIVER_PATH": library}
    return result_of(run_python([*arguments_of(target, *arguments)], {**paths, **settings}))
