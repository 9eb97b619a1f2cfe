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

from tests.helpers.c_abi import OPEN_TABLE, require_compiler
from tests.helpers.repository import ROOT

RUN = ROOT / "examples" / "bindings" / "c_abi" / "run.py"
START = f"""
import json, runpy, sys
from array import array
from pathlib import Path
from gpumath.bindings import core
load = runpy.run_path({str(RUN)!r})["load"]
"""


def python(*arguments: str, **settings: str) -> str:
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
    build = f'import runpy; from pathlib import Path; runpy.run_path({str(RUN)!r})["build"]'
    python("-c", f"{build}({language!r}, Path({str(folder)!r}))")
    return [language, str(folder / "uniform.so")]


@pytest.fixture(scope="module")
def curand() -> list[str]:
    """Return the files of the CUDA runtime and of cuRAND that gpumath finds, or skip."""
    code = """
import json
import os
from gpumath.bindings import core
files = {library.name: library.path for library in core.libraries()}
print(json.dumps([files.get("runtime"), files.get("curand")]))
"""
    files: list[str] = json.loads(python("-c", code))
    if None in files:
        pytest.skip("gpumath finds no cuRAND with its CUDA runtime here: pip install nvidia-curand")
    return files


def test_it_draws_what_curand_draws(example: list[str], curand: list[str]) -> None:
    language, library = example
    seed, count = random.getrandbits(63), random.randrange(1, 5000)
    reference = f"""
import ctypes, json
curand = [ctypes.CDLL(file, ctypes.RTLD_GLOBAL) for file in {curand!r}][1]
generator, numbers = ctypes.c_void_p(), (ctypes.c_double * {count})()
assert curand.curandCreateGeneratorHost(ctypes.byref(generator), 161) == 0
assert curand.curandSetPseudoRandomGeneratorSeed(generator, ctypes.c_ulonglong({seed})) == 0
assert curand.curandGenerateUniformDouble(generator, numbers, ctypes.c_size_t({count})) == 0
print(json.dumps(list(numbers)))
"""
    code = f"""{START}
fill = load({language!r}, Path({library!r}))
numbers = array("d", bytes(8 * {count}))
fill({seed}, numbers)
print(json.dumps(list(numbers)))
"""
    expected: list[float] = json.loads(python("-c", reference))
    assert len(set(expected)) == count
    assert json.loads(python("-c", code)) == expected


def raised(example: list[str], statements: str, **settings: str) -> Any:
    """Return the class and text of what loading the example and calling it raises."""
    language, library = example
    code = f"""{START}{statements}
try:
    load({language!r}, Path({library!r}))(1, array("d", [0.0]))
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    return json.loads(python("-c", code, **settings))


def test_an_absent_library_is_an_exception_that_names_the_fix(example: list[str]) -> None:
    name, text = raised(example, "", GPUMATH_CURAND_PATH="/nowhere/libcurand.so.10")
    assert name == "RuntimeError"
    assert "/nowhere/libcurand.so.10: absent" in text
    assert "To fix it: correct GPUMATH_CURAND_PATH or unset it" in text


def test_another_version_of_the_table_is_refused(example: list[str]) -> None:
    other = "fake = Table.from_buffer_copy(api)\nfake.abi_version = 2\n"
    name, text = raised(example, f"{OPEN_TABLE}{other}core._C_API = capsule_of(fake)")
    assert name == "ImportError"
    assert text.startswith("built for version 1 of gpumath's C ABI")
    assert "has version 2" in text


def test_one_command_builds_and_runs(example: list[str], curand: list[str]) -> None:
    assert "numbers by cuRAND: mean 0.50" in python(str(RUN), example[0])
