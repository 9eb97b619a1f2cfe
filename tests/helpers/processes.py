"""Programs of tests/programs in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def arguments_of(
    target: str, *arguments: Any, folders: list[Path] | None = None
) -> tuple[str, str]:
    """Return what an interpreter is told, so that it calls a function of a program.

    Parameters
    ----------
    target : str
        ``"program.function"``, of tests/programs/``program``.py.
    *arguments
        The function's arguments, which JSON can express.
    folders : list of Path, optional
        The whole of sys.path while the function runs; the program's own imports come before it.
    """
    program, _, function = target.partition(".")
    paths = None if folders is None else [str(folder) for folder in folders]
    file = ROOT / "tests" / "programs" / f"{program}.py"
    return str(file), json.dumps([function, arguments, paths])


def with_tests(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which programs can import `tests`."""
    named = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": os.pathsep.join([*([named] if named else []), str(ROOT)])}


def start(
    target: str, *arguments: Any, warnings: str = "ignore", timeout: int = 120
) -> subprocess.CompletedProcess[str]:
    """Call a function of a program in a new interpreter, with the settings of the tests' process.

    `warnings` is the interpreter's option -W; those of other libraries are of no interest.
    """
    return subprocess.run(
        [sys.executable, "-P", "-W", warnings, *arguments_of(target, *arguments)],
        env=with_tests(os.environ),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def result_of(process: subprocess.CompletedProcess[str]) -> Any:
    """Return what the function of a program returned; fail if its process did."""
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout or "null")


def needs_refused_memory() -> None:
    """Skip a test where the system promises any memory, and ends processes that use too much."""
    setting = Path("/proc/sys/vm/overcommit_memory")
    if setting.exists() and setting.read_text().strip() == "1":
        pytest.skip(f"no memory is refused: {setting} is 1")


def assert_quiet(process: subprocess.CompletedProcess[str], output: str = "") -> None:
    """Check that a process ended well, and wrote nothing but this."""
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout == output
