"""What an import loads. Nothing is imported here that an import could load, too."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.programs.support.entry import main


def probe(name: str) -> Any:
    """Import a module; return its file, and what CUDA and array libraries are there then."""
    module = importlib.import_module(name)
    maps = Path("/proc/self/maps").read_text()
    libraries = ("libcuda", "libcu", "libnv", "libmathdx", "libmkl", "libfftw3")
    return {
        "file": module.__file__,
        "loaded": [name for name in libraries if name in maps],
        "modules": [name for name in ("cupy", "torch", "scipy", "numpy") if name in sys.modules],
    }


def generated_modules(name: str) -> Any:
    """Import a module; return which generated modules are there then."""
    importlib.import_module(name)
    return [name for name in sys.modules if name.startswith("gpumath.bindings._generated.")]


def a_module_that_is_filled_late() -> Any:
    """Return what cuSPARSE's module has before and after a name that it lacks, and the error."""
    module = importlib.import_module("gpumath.bindings._core.cusparse")
    own = {*dir(ModuleType("module"))}
    before = sorted({*vars(module)} - own)
    try:
        module.no_such_function  # noqa: B018 - asking is what is tested
    except AttributeError as error:
        missing = str(error)
    return before, missing, sorted({*vars(module)} - own)


def modules_on_first_use() -> Any:
    """Import the package alone; return what is there, before and after a module is used."""
    package = importlib.import_module("gpumath.bindings")
    loaded = [name for name in sys.modules if name.startswith("gpumath.bindings.")]
    shown = [name for name in dir(package) if not name.startswith("_")]
    names = [getattr(package, name).__name__ for name in shown]
    try:
        _ = package.nothing
    except AttributeError as error:
        return loaded, shown, names, str(error)
    return None


if __name__ == "__main__":
    main(globals())
