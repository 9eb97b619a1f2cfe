"""The file-size checker tells hand-written from generated files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools import file_sizes


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_only_long_hand_written_files_are_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name, lines in [
        ("src/short.py", 500),
        ("src/long.py", 501),
        ("src/generated/cufft.rs", 2000),
        ("ignored.py", 2000),
        ("notes.md", 2000),
    ]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n" * lines)
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    found = file_sizes.too_long(file_sizes.hand_written(tmp_path))
    assert [(path.name, lines) for path, lines in found] == [("long.py", 501)]
