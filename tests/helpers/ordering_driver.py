"""CUDA libraries without a GPU, which show what is ordered after what."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cuda_wheels import run_python
from tests.helpers.processes import arguments_of, result_of

SOURCE = Path(__file__).with_suffix(".c")


def build(folder: Path, source: Path = SOURCE) -> Path:
    """Compile the driver, or another one that can be told the same, or skip."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler named cc")
    library = folder / f"lib{source.stem}.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run([compiler, *flags, "-o", str(library), str(source)], check=True)
    return library


def run(library: Path, target: str, *arguments: Any) -> Any:
    """Return what a function of tests/programs returns, in a new interpreter with this driver."""
    return result_of(start(library, target, *arguments))


def start(library: Path, target: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Call a function of tests/programs, "program.function", in a new interpreter with this driver.

    tests/programs/support/ordering.py has what the program can ask the driver and tell it.
    """
    names = ("DRIVER", "CUBLAS", "CUBLASLT", "CUFFT", "RUNTIME")
    settings: dict[str, Path | str] = {f"GPUMATH_{name}_PATH": library for name in names}
    return run_python(["-W", "ignore", *arguments_of(target, *arguments)], settings)
