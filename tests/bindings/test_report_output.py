"""Where the report is written to, and an import that cannot work."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import gpumath.bindings
from tests.helpers.cuda_wheels import run_python
from tests.helpers.fake_libraries import CUFFT, compiled

REPORT = ["-P", "-m", "gpumath.bindings"]


def test_paths_that_stdout_cannot_write(tmp_path: Path) -> None:
    file = compiled(tmp_path / "größe-数学" / "libcufft.so.12", CUFFT)
    settings = {"GPUMATH_CUFFT_PATH": file, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process = run_python(["-m", "gpumath.bindings"], settings)
    assert process.returncode == 0, process.stderr
    assert r"gr\xf6\xdfe-\u6570\u5b66" in process.stdout
    assert process.stderr == ""


def test_a_reader_that_has_left() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [sys.executable, *REPORT], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (process.returncode, process.stderr) == (0, "")


def test_a_full_disk() -> None:
    for option in ([], ["--json"]):
        with open("/dev/full", "w") as stdout:
            process = subprocess.run(
                [sys.executable, *REPORT, *option],
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        text = "the report could not be written: No space left on device\n"
        assert (process.returncode, process.stderr) == (1, text)


def test_no_stdout_at_all() -> None:
    command = f'exec "{sys.executable}" {" ".join(REPORT)} >&-'
    process = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")


def test_an_import_from_a_zip_file_says_why_not(tmp_path: Path) -> None:
    package = Path(gpumath.bindings.__file__).parent
    archive = tmp_path / "site.zip"
    with zipfile.ZipFile(archive, "w") as file:
        # Python sees a package without an __init__.py only where its folder has an entry.
        file.mkdir("gpumath")
        for source in sorted(package.rglob("*.py")):
            file.write(source, Path("gpumath", "bindings") / source.relative_to(package))
    for name in ("gpumath.bindings", "gpumath.bindings.core", "gpumath.bindings.errors"):
        code = f"import sys; sys.path[:0] = [{str(archive)!r}]; import {name}"
        process = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
        )
        assert f"cannot be imported from a zip file ({archive})" in process.stderr
