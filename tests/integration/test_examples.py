"""Every example runs, on the CPU where there is no GPU, and says what it should."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.callbacks import require_compilers, require_numba
from tests.helpers.repository import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("[0-9]*.py"))
FFT = ROOT / "examples" / "host" / "fft"
# What Numba and PyTorch warn of while they are imported is not ours to fix.
IMPORT_OTHERS = {"04_python_callback", "05_graph"}


def run_example(path: Path, folder: Path) -> str:
    """Run an example in an empty folder and return what it prints."""
    imports_others = path.stem in IMPORT_OTHERS or path.parent.name == "device"
    warnings = "default" if imports_others else "error"
    command = [sys.executable, "-W", warnings, str(path), str(folder)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_are_examples() -> None:
    assert {path.parent.name for path in EXAMPLES} >= {"fft", "bindings", "device"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_example_runs(path: Path, tmp_path: Path) -> None:
    assert run_example(path, tmp_path).strip()
    for plot in tmp_path.iterdir():
        content = plot.read_bytes()
        assert content.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", content[16:24])
        assert width > 1000
        assert height > 500


def test_solar_cycle(tmp_path: Path) -> None:
    output = run_example(FFT / "01_sunspots.py", tmp_path)
    found = re.search(r"solar cycle: ([\d.]+) years", output)
    assert found
    assert 10 < float(found[1]) < 12
    assert (tmp_path / "sunspots.png").exists()


def test_wave_packet(tmp_path: Path) -> None:
    output = run_example(FFT / "05_graph.py", tmp_path)
    positions = re.findall(r"the packet is at ([+-][\d.]+)", output)
    assert [float(position) for position in positions] == pytest.approx([-5, 5], abs=0.01)


def test_tone(tmp_path: Path) -> None:
    output = run_example(FFT / "06_threads.py", tmp_path)
    found = re.search(r"([\d.]+) Hz, (\d+) times the noise", output)
    assert found
    assert abs(float(found[1]) - 123.4) < 0.15
    assert int(found[2]) > 4


@pytest.mark.gpu
def test_band_pass_by_a_python_function(tmp_path: Path) -> None:
    require_numba()
    output = run_example(FFT / "04_python_callback.py", tmp_path)
    found = re.search(r"the solar cycle holds (\d+)% of the variance", output)
    assert found, output
    # By NumPy: see the example for the band.
    counts = np.loadtxt(ROOT / "examples/data/sunspots.csv", delimiter=",", skiprows=1)[-300:, 1]
    power = np.abs(np.fft.rfft(counts)) ** 2
    power[-1] /= 2
    assert int(found[1]) == round(100 * power[21:36].sum() / power[1:].sum())


ON_GPU = {
    "01_sunspots": r"^engine +: cufft$",
    "02_image": r"^engine +: cufft$",
    "03_deblurring": r"^filter +: an epilog of \d+ bytes",
    "05_graph": r"^steps +: replays of a CUDA graph$",
    "06_threads": r"^439 spectra by 4 threads on the cuda$",
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", ON_GPU)
def test_transforms_run_on_the_gpu(name: str, tmp_path: Path) -> None:
    if name == "03_deblurring":
        require_compilers()
    if name == "05_graph":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    output = run_example(FFT / f"{name}.py", tmp_path)
    assert re.search(ON_GPU[name], output, re.MULTILINE), output


@pytest.mark.gpu
@pytest.mark.parametrize(
    "name", ["03_saxpy", "04_struct_argument", "05_texture", "06_link_time_optimization"]
)
def test_kernels_run_on_the_gpu(name: str, tmp_path: Path) -> None:
    output = run_example(ROOT / "examples" / "bindings" / f"{name}.py", tmp_path)
    assert "largest error" in output, output
