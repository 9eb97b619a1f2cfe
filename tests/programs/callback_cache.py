"""Callbacks that are compiled, or found in the folder of compiled ones."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

from gpumath import fft
from gpumath.bindings.code_cache import folder
from tests.programs.support.entry import main

FACTOR = 0.0


def prolog(data: Any, offset: int, info: Any, reserved: Any) -> Any:
    return FACTOR * data[offset]


def compiled(factor: float, path: str | None = None) -> Any:
    """Return whether Numba was needed, and the code's digest; `path` is searched for packages."""
    global FACTOR
    FACTOR = factor
    if path is not None:
        sys.path.insert(0, path)
    code = fft.compile_prolog(prolog, "float32", "float32", compute_capability="90")
    return "numba" in sys.modules, hashlib.sha256(code).hexdigest()


def compiled_without_numba(factor: float) -> Any:
    """Do the same where Numba cannot be imported."""
    for name in ("numba", "numba_cuda", "llvmlite"):
        sys.modules[name] = None  # type: ignore[assignment]  # so an import fails
    return compiled(factor)


def folder_for(settings: dict[str, str]) -> str:
    """Return the folder of compiled callbacks with these settings."""
    os.environ.pop("GPUMATH_CACHE_DIR", None)
    os.environ.update(settings)
    return str(folder())


if __name__ == "__main__":
    main(globals())
