"""A Python callback, compiled where something that it needs is absent."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import gpumath
from gpumath import fft
from tests.programs.support.entry import main


def compiled() -> str:
    """Return "compiled", or the text of what compiling raises."""
    try:
        fft.compile_prolog(lambda d, o, u, _: d[o], "float32", "float32", compute_capability="90")
    except RuntimeError as error:
        return str(error)
    return "compiled"


def compiled_without(module: str) -> str:
    """Do the same without a module, and without what was compiled before."""
    os.environ["GPUMATH_CACHE_DIR"] = "off"
    sys.modules[module] = None  # type: ignore[assignment]  # so an import fails
    return compiled()


def compiled_with_numpy_2_5() -> list[str]:
    """Return the errors of host and device where NumPy has no row_stack, as from 2.5 on."""
    os.environ["GPUMATH_CACHE_DIR"] = "off"
    vars(np).pop("row_stack", None)
    np.__version__ = "2.5.0"
    from gpumath import device

    calls: list[Any] = [
        lambda: fft.compile_prolog(len, "float32", "float32", compute_capability="90"),
        lambda: device.compile_fft_callback(
            len,
            phase="load",
            element_dtype="float32",
            user_info_dtype="float32",
            symbol="load",
            compute_capability=90,
        ),
    ]
    found = []
    for call in calls:
        try:
            call()
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


def without_device() -> Any:
    """Return class and text of the error where gpumath-device is not installed."""
    os.environ["GPUMATH_CACHE_DIR"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        for package in [package for place in gpumath.__path__ for package in Path(place).iterdir()]:
            link = Path(folder) / package.name
            if package.name != "device" and not link.exists():
                link.symlink_to(package)
        gpumath.__path__ = [folder]  # type: ignore[attr-defined]
        try:
            fft.compile_prolog(len, "float32", "float32", compute_capability="90")
        except Exception as error:
            return type(error).__name__, str(error)
    return "no error", ""


if __name__ == "__main__":
    main(globals())
