"""The scripts for nvmath-python's API run with gpumath, and agree with NumPy.

On a machine that has nvmath-python too, `tests/compat/compare.py` compares the two.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.callbacks import require_numba
from tests.helpers.repository import ROOT

FOLDER = ROOT / "tests" / "compat"
SCRIPTS = sorted(
    path.stem for area in ("fft", "linalg", "advanced") for path in FOLDER.glob(f"{area}_*.py")
)
# Algorithms and narrow types are cuBLASLt's; callbacks, half precision and streams are cuFFT's.
ON_GPU_ALONE = {"advanced_narrow", "advanced_phases", "fft_callbacks", "fft_half", "fft_streams"}
ON_CPU = sorted({*SCRIPTS} - ON_GPU_ALONE)


def compare(*arguments: str) -> None:
    command = [sys.executable, str(FOLDER / "compare.py"), "--packages", "gpumath", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "agree" in done.stdout


@pytest.mark.parametrize("script", ON_CPU)
def test_on_the_cpu(script: str) -> None:
    compare("--library", "numpy", "--execution", "cpu", script)


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_on_the_gpu(script: str, library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    if script == "fft_half" and library != "torch":
        pytest.skip("CuPy has no complex numbers in half precision")
    if script == "fft_callbacks":
        require_numba()
    compare("--library", library, script)
