"""Small libraries under NVIDIA's names, compiled from C, and damaged files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CUFFT = """
int cufftGetProperty(int which, int *value)
{ static const int numbers[] = {12, 5, 0}; *value = numbers[which]; return 0; }
int cufftExecC2C(void) { return 0; }
"""


def compiled(file: Path, source: str) -> Path:
    """Compile C to a shared library, or skip."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("there is no C compiler")
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(file)]
    subprocess.run(command, input=source, text=True, check=True)
    return file


def cut(file: Path) -> Path:
    """Cut a file in the middle, as an interrupted download does."""
    os.truncate(file, file.stat().st_size // 2)
    return file


def cut_cufft(file: Path) -> Path:
    """Make a cuFFT that would end the process if it was opened."""
    return cut(compiled(file, f"char payload[1 << 20] = {{1}}; {CUFFT}"))
