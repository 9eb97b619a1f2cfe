"""A driver, a runtime and a cuFFT without a GPU, which show what is ordered after what."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cuda_wheels import run_python

SOURCE = Path(__file__).with_suffix(".c")
_ROOT = SOURCE.parents[2]


def build(folder: Path, source: Path = SOURCE) -> Path:
    """Compile the driver, or another one that can be told the same, or skip."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler named cc")
    library = folder / f"lib{source.stem}.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run([compiler, *flags, "-o", str(library), str(source)], check=True)
    return library


def run(library: Path, code: str) -> Any:
    """Run code in a new interpreter with this driver; the value of `result` is returned."""
    process = start(library, f"{code}\nsys.stdout.write(json.dumps(result))")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def start(library: Path, code: str, first: str = "") -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter with this driver.

    `seen()` returns what the driver was asked since the last time, and `blocks()` how many blocks
    of memory are in use. `driver` has what else the tests can tell it. `first` runs before gpumath
    is imported.
    """
    script = f"""
{first}
import ctypes, gc, json, os, sys
import numpy as np
sys.path.insert(1, {str(_ROOT)!r})
from gpumath import memory
from gpumath.bindings import core

driver = ctypes.CDLL({str(library)!r})
driver.driver_text.restype = ctypes.c_char_p
blocks, ready = driver.driver_blocks, driver.driver_ready

def seen():
    gc.collect()
    text = driver.driver_text().decode()
    driver.driver_clear()
    return text.split(";")[:-1]

{code}
"""
    names = ("DRIVER", "CUFFT", "RUNTIME")
    return run_python(
        ["-W", "ignore", "-c", script], {f"GPUMATH_{name}_PATH": library for name in names}
    )
