"""NVIDIA's wheels in the test environment, and fresh processes that search for them."""

from __future__ import annotations

import ctypes
import os
import site
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gpumath.bindings
from tests.helpers.processes import arguments_of, result_of, with_tests

# Below the `nvidia` package folder, by CUDA major.
CUFFT_FILES = {12: "cufft/lib/libcufft.so.11", 13: "cu13/lib/libcufft.so.12"}
CUFFT_WHEELS = {12: "nvidia-cufft-cu12", 13: "nvidia-cufft"}
# Files and wheels of other libraries, in the same order.
_FILES = {
    "cusolver": {12: "cusolver/lib/libcusolver.so.11", 13: "cu13/lib/libcusolver.so.12"},
    "cusolverMg": {12: "cusolver/lib/libcusolverMg.so.11", 13: "cu13/lib/libcusolverMg.so.12"},
    "curand": {12: "curand/lib/libcurand.so.10", 13: "cu13/lib/libcurand.so.10"},
    "cusparse": {12: "cusparse/lib/libcusparse.so.12", 13: "cu13/lib/libcusparse.so.12"},
}
_WHEELS = {12: "nvidia-{}-cu12", 13: "nvidia-{}"}
# The folder that gpumath is installed into.
_HOME = str(Path(gpumath.bindings.__file__).parents[2])
# What has a say in the search, apart from the folders of sys.path.
SETTINGS = (
    "CONDA_PREFIX",
    "CUDA_HOME",
    "CUDA_PATH",
    "GPUMATH_CUDA_PATH",
    "GPUMATH_CUFFT_PATH",
    "GPUMATH_CURAND_PATH",
    "GPUMATH_CUSOLVERMG_PATH",
    "GPUMATH_CUSOLVER_PATH",
    "GPUMATH_CUSPARSE_PATH",
    "GPUMATH_DRIVER_PATH",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
)


def package_folder(cuda_major: int) -> Path:
    """Return the package folder that holds the cuFFT wheel of a CUDA major, or skip.

    It is an entry of sys.path, or the folder that GPUMATH_TEST_CU12 or GPUMATH_TEST_CU13 names.
    """
    named = os.environ.get(f"GPUMATH_TEST_CU{cuda_major}")
    for folder in [*([named] if named else []), *sys.path]:
        if (Path(folder) / "nvidia" / CUFFT_FILES[cuda_major]).is_file():
            return Path(folder).resolve()
    pytest.skip(f"the wheel {CUFFT_WHEELS[cuda_major]} is not in the test environment")


def library_file(library: str, cuda_major: int) -> Path:
    """Return the real library of a CUDA major, found as by `package_folder`, or skip."""
    named = os.environ.get(f"GPUMATH_TEST_CU{cuda_major}")
    for folder in [*([named] if named else []), *sys.path]:
        file = Path(folder) / "nvidia" / _FILES[library][cuda_major]
        if file.is_file():
            return file.resolve()
    wheel = _WHEELS[cuda_major].format(library.removesuffix("Mg"))
    pytest.skip(f"the wheel {wheel} is not in the test environment")


def cufft_file(cuda_major: int) -> Path:
    """Return the real cuFFT of a CUDA major, or skip."""
    return package_folder(cuda_major) / "nvidia" / CUFFT_FILES[cuda_major]


@cache
def cufft_version(file: Path) -> str:
    """Ask a cuFFT for its version by the raw C call."""
    return str(in_fresh_process("raw_libraries.cufft_version", str(file)))


@cache
def exported(file: Path, symbols: tuple[str, ...], needs: Path | None = None) -> tuple[bool, ...]:
    """Tell which symbols a library exports; `needs` is loaded before it."""
    return tuple(
        in_fresh_process("raw_libraries.exports", str(file), symbols, needs and str(needs))
    )


def driver_cuda_major() -> int | None:
    """Ask the driver, if there is one, for the newest CUDA major that it supports."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int(0)
    assert driver.cuDriverGetVersion(ctypes.byref(version)) == 0
    return version.value // 1000


def in_fresh_process(
    target: str,
    *arguments: Any,
    settings: Mapping[str, Path | str] | None = None,
    folders: list[Path] | None = None,
) -> Any:
    """Call a function of tests/programs in a new interpreter and return its result.

    Parameters
    ----------
    target : str
        ``"program.function"``.
    *arguments
        The function's arguments, which JSON can express.
    settings : mapping, optional
        Environment variables; every other one of SETTINGS is unset.
    folders : list of Path, optional
        The whole of sys.path while the function runs.
    """
    return result_of(run_python([*arguments_of(target, *arguments, folders=folders)], settings))


def run_python(
    arguments: list[str], settings: Mapping[str, Path | str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run an interpreter with only these of SETTINGS."""
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {name: str(value) for name, value in (settings or {}).items()}
    if _HOME not in site.getsitepackages():
        # Installed into a folder of its own, which only PYTHONPATH names.
        named = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([*([named] if named else []), _HOME])
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        env=with_tests(environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
