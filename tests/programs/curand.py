"""cuRAND in a process that sees no device."""

from __future__ import annotations

import array
import ctypes
from typing import Any

from gpumath.bindings import curand
from tests.programs.support.entry import main


def version_and_what_needs_a_gpu(file: str) -> Any:
    raw = ctypes.CDLL(file)
    cell = ctypes.c_int(0)
    assert raw.curandGetVersion(ctypes.byref(cell)) == 0
    cells = array.array("Q", [0])

    def status(function: Any, *arguments: Any) -> Any:
        try:
            function(*arguments)
        except curand.cuRANDError as error:
            return error.status.name

    return [
        curand.get_version(),
        cell.value,
        [curand.get_property(which) for which in range(3)],
        status(curand.create_generator, curand.RngType.PSEUDO_DEFAULT),
        status(curand.create_poisson_distribution, 2.5, cells.buffer_info()[0]),
    ]


if __name__ == "__main__":
    main(globals())
