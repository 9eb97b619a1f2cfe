"""The compilers that build what uses the C ABI, and a module that does."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from gpumath.bindings import core

PROBE = Path(__file__).with_name("c_abi_probe.cpp")


def require_compiler(name: str) -> str:
    """Return the path of a C or C++ compiler that finds Python's headers, or skip."""
    compiler = shutil.which(name)
    if compiler is None:
        pytest.skip(f"there is no compiler named {name}")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        pytest.skip(f"Python's headers are not in {sysconfig.get_path('include')}")
    return compiler


def build_probe(folder: Path) -> Path:
    """Compile the probe with every warning an error, or skip."""
    library = folder / "c_abi_probe.so"
    includes = [f"-I{core.get_include()}", f"-I{sysconfig.get_path('include')}"]
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wno-cast-function-type", "-Werror"]
    command = [require_compiler("c++"), *flags, "-shared", "-fPIC", "-pthread", *includes]
    subprocess.run([*command, "-o", str(library), str(PROBE)], check=True)
    return library
