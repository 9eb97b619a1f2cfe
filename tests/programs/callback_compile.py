"""A Python callback, compiled where something that it needs is absent."""

from __future__ import annotations

import os
import sys

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


if __name__ == "__main__":
    main(globals())
