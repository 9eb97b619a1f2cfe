"""NVIDIA's libraries of each CUDA major in the test environment, for checks of whole tables."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.cuda_wheels import in_fresh_process

# Library that holds a module's functions, where its name is another.
LIBRARY = {
    "cublasXt": "cublas",
    "cusolverDn": "cusolver",
    "cusolverRf": "cusolver",
    "cusolverSp": "cusolver",
}
# The newest release of each major in codegen/api.
NEWEST = {12: "12.9", 13: "13.5"}


def folder(cuda_major: int) -> Path:
    """Return the package folder with NVIDIA's wheels of a CUDA major, or skip."""
    named = os.environ.get(f"GPUMATH_TEST_CU{cuda_major}")
    for entry in [*([named] if named else []), *sys.path]:
        nvidia = Path(entry) / "nvidia"
        found = [*nvidia.glob("*/lib/lib*.so*")]
        if any((path.parts[-3] == "cu13") == (cuda_major == 13) for path in found):
            return Path(entry).resolve()
    pytest.skip(f"no NVIDIA wheel of CUDA {cuda_major} in the test environment")


@cache
def files(cuda_major: int) -> dict[str, tuple[str, str]]:
    """Return the path and the version of each library that the loader finds."""
    found: dict[str, tuple[str, str]] = in_fresh_process(
        "loader.places", folders=[folder(cuda_major)]
    )
    inside = str(folder(cuda_major))
    return {name: place for name, place in found.items() if place[0].startswith(inside)}


def file_of(module: str, cuda_major: int) -> Path:
    """Return the library that holds a module's functions, or skip."""
    folder(cuda_major)
    name = LIBRARY.get(module, module)
    if name not in files(cuda_major):
        pytest.skip(f"no {name} of CUDA {cuda_major} in the test environment")
    return Path(files(cuda_major)[name][0])


def release(text: str) -> tuple[int, ...]:
    """Make a version comparable."""
    return tuple(int(part) for part in text.split("."))
