"""The C++, Cython and Rust examples of the C ABI are built and run."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.helpers.c_abi import require_compiler
from tests.helpers.processes import arguments_of, with_tests
from tests.helpers.repository import ROOT

RUN = ROOT / "examples" / "bindings" / "c_abi" / "run.py"


def python(*arguments: str, **settings: str) -> str:
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(
        command,
        env=with_tests({**os.environ, **settings}),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def result_of(function: str, *arguments: Any, **settings: str) -> Any:
    """Return what a function of tests/programs/c_abi_examples.py returns."""
    answer = python(*arguments_of(f"c_abi_examples.{function}", *arguments), **settings)
    return json.loads(answer or "null")


@pytest.fixture(scope="module", params=["cpp", "cython", "rust"])
def example(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Build an example; return its language and library."""
    language = str(request.param)
    if language == "rust":
        if shutil.which("rustc") is None:
            pytest.skip("there is no Rust compiler named rustc")
    else:
        require_compiler("c++" if language == "cpp" else "cc")
    if language == "cython" and importlib.util.find_spec("Cython") is None:
        pytest.skip("Cython is not installed")
    folder = tmp_path_factory.mktemp(language)
    python(*arguments_of("c_abi_examples.build", language, str(folder)))
    return [language, str(folder / "uniform.so")]


@pytest.fixture(scope="module")
def curand() -> list[str]:
    """Return the files of the CUDA runtime and of cuRAND that gpumath finds, or skip."""
    files: list[str] = result_of("libraries")
    if None in files:
        pytest.skip("gpumath finds no cuRAND with its CUDA runtime here: pip install nvidia-curand")
    return files


def test_it_draws_what_curand_draws(example: list[str], curand: list[str]) -> None:
    seed, count = random.getrandbits(63), random.randrange(1, 5000)
    expected: list[float] = result_of("numbers_of_curand", curand, seed, count)
    assert len(set(expected)) == count
    assert result_of("numbers_of_the_example", *example, seed, count) == expected


def test_an_absent_library_is_an_exception_that_names_the_fix(example: list[str]) -> None:
    name, text = result_of("raised", *example, GPUMATH_CURAND_PATH="/nowhere/libcurand.so.10")
    assert name == "RuntimeError"
    assert "/nowhere/libcurand.so.10: absent" in text
    assert "To fix it: correct GPUMATH_CURAND_PATH or unset it" in text


def test_another_version_of_the_table_is_refused(example: list[str]) -> None:
    name, text = result_of("raised_with_another_version", *example)
    assert name == "ImportError"
    assert text.startswith("built for version 1 of gpumath's C ABI")
    assert "has version 2" in text


def test_one_command_builds_and_runs(example: list[str], curand: list[str]) -> None:
    assert "numbers by cuRAND: mean 0.50" in python(str(RUN), example[0])
