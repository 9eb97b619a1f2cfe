"""Code of libmathdx that is compiled, or found in the cache."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from gpumath import device
from gpumath.bindings import mathdx
from tests.programs.support.entry import main


def solvers(n: int) -> list[device.Solver]:
    names = ("getrf_no_pivot", "geqrf")
    return [device.Solver(name, (n, n), np.float32, "Block", sm=90) for name in names]


def digests(n: int, together: bool) -> list[str]:
    """Compile two solvers, at once or one after the other."""
    made = solvers(n)
    if together:
        device.precompile(*made)
    codes = [device.compile_solver_execute(solver, ("lto", (9, 0)))[0].data for solver in made]
    return [hashlib.sha256(code).hexdigest() for code in codes]


def without_libmathdx_s_compiler(n: int) -> list[Any]:
    """Do the same where nothing can be compiled; and read what takes a compilation to know."""

    def refuse(*_: int) -> None:
        msg = "this is a compilation"
        raise AssertionError(msg)

    mathdx.cusolverdx_finalize_code = refuse
    mathdx.cusolverdx_create_descriptor = refuse  # type: ignore[assignment]  # traits compile too
    return [*digests(n, False), *(solver.block_size for solver in solvers(n))]


if __name__ == "__main__":
    main(globals())
