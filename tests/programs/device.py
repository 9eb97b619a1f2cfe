"""gpumath.device in a process of its own."""

from __future__ import annotations

import sys
from typing import Any

from tests.programs.support.entry import main


def without_numba() -> Any:
    """Return what is raised where a name needs Numba, which is not installed here."""
    sys.modules["numba_cuda"] = None  # type: ignore[assignment]  # what makes its import fail
    from gpumath import device

    try:
        device.float32x2  # noqa: B018 - asking is what is tested
    except ImportError as error:
        return [type(error).__name__, str(error)]
    return [None, ""]


if __name__ == "__main__":
    main(globals())
