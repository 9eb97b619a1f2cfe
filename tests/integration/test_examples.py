"""Every example runs, on the CPU where there is no GPU, and says what it should."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.repository import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*/[0-9]*.py"))


def run_example(path: Path, folder: Path) -> str:
    """Run an example in an empty folder and return what it prints."""
    command = [sys.executable, "-W", "error", str(path), str(folder)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_are_examples() -> None:
    assert {path.parent.name for path in EXAMPLES} >= {"host", "bindings"}


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
    output = run_example(ROOT / "examples" / "host" / "01_sunspots.py", tmp_path)
    found = re.search(r"solar cycle: ([\d.]+) years", output)
    assert found
    assert 10 < float(found[1]) < 12
    assert (tmp_path / "sunspots.png").exists()


@pytest.mark.gpu
def test_demo_uses_the_gpu(tmp_path: Path) -> None:
    output = run_example(ROOT / "examples" / "host" / "01_sunspots.py", tmp_path)
    assert re.search(r"^engine +: cufft$", output, re.MULTILINE), output


@pytest.mark.gpu
@pytest.mark.parametrize(
    "name", ["03_saxpy", "04_struct_argument", "05_texture", "06_link_time_optimization"]
)
def test_kernels_run_on_the_gpu(name: str, tmp_path: Path) -> None:
    output = run_example(ROOT / "examples" / "bindings" / f"{name}.py", tmp_path)
    assert "largest error" in output, output
