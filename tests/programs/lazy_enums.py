"""Enums that a module makes when they are asked for. NumPy must not be imported here."""

from __future__ import annotations

import sys
from typing import Any

from gpumath.bindings import cublasLt
from tests.programs.support.entry import main


def what_takes_long_to_import_waits() -> Any:
    before = ["MatmulTile" in vars(cublasLt), "numpy" in sys.modules]
    tile = cublasLt.MatmulTile.TILE_128x256
    is_kept = cublasLt.MatmulTile is vars(cublasLt)["MatmulTile"]
    return [before, tile.value, is_kept, "MatmulTile" in dir(cublasLt)]


if __name__ == "__main__":
    main(globals())
