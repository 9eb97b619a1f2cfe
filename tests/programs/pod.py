"""Arrays of structs without NumPy."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from gpumath.bindings._core.pod import Field, StructArray
from tests.programs.support.entry import main


def works_without_numpy() -> Any:
    sys.modules["numpy"] = None

    class Pair(StructArray, size=16, alignment=8):
        __slots__ = ()
        number = Field("u64", 0)
        pair = Field("i32", 8, 2)

    pairs = Pair(3)
    pairs.number = [1, 2, 3]
    pairs[1].pair = -1, 5
    pairs.pair = [(1, 2), (3, 4), (5, 6)]
    with contextlib.suppress(ImportError):
        Pair.dtype  # noqa: B018 - the attribute imports NumPy
        raise AssertionError("NumPy is there")
    view = Pair.from_buffer(bytearray(bytes(pairs)))
    return [view.number.tolist(), view.pair.tolist(), view == pairs]


if __name__ == "__main__":
    main(globals())
