"""cuSOLVERDn's solvers by iterative refinement, every pair of precisions, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gpumath.bindings import cusolver, cusolverDn
from tests.helpers.cusolver import DTYPES, dense_solver, on_device, random, wide, zeros
from tests.helpers.device_arrays import workspace

pytestmark = pytest.mark.gpu
M, N, NRHS = 160, 96, 1
PAIRS = ["ss", "sh", "sb", "sx", "dd", "ds", "dh", "db", "dx",
         "cc", "ck", "cy", "ce", "zz", "zc", "zk", "zy", "ze"]  # fmt: skip
PRECISIONS = {
    "s": cusolver.PrecType.R_32F,
    "d": cusolver.PrecType.R_64F,
    "c": cusolver.PrecType.C_32F,
    "z": cusolver.PrecType.C_64F,
}


def well_conditioned(letter: str, rows: int, columns: int) -> np.ndarray:
    """Return a random matrix that half precision can factor."""
    a = random(letter, rows, columns) / np.sqrt(rows) + 2 * np.eye(rows, columns)
    return np.asfortranarray(a.astype(DTYPES[letter]))


def exact(a: np.ndarray, b: np.ndarray, letter: str) -> np.ndarray:
    return np.linalg.lstsq(a.astype(wide(letter)), b.astype(wide(letter)), rcond=None)[0]


@pytest.mark.parametrize("pair", PAIRS)
def test_systems(pair: str) -> None:
    letter = pair[0]
    a, b = well_conditioned(letter, N, N), random(letter, N, NRHS)
    with dense_solver(letter) as dense:
        x, pivots = dense.zeros(N, NRHS), zeros(N, np.int32)
        shape = (N, NRHS, on_device(a), N, pivots, on_device(b), N, x, N)
        size = getattr(cusolverDn, f"{pair}_gesv_buffer_size")(dense.handle, *shape, 0)
        work = workspace(size)
        solve = getattr(cusolverDn, f"{pair}_gesv")
        iterations = solve(dense.handle, *shape, work, size, dense.info)
        dense.done()
        assert isinstance(iterations, int)
        dense.close(x.get(), exact(a, b, letter), 10)


@pytest.mark.parametrize("pair", PAIRS)
def test_least_squares(pair: str) -> None:
    letter = pair[0]
    a, b = well_conditioned(letter, M, N), random(letter, M, NRHS)
    with dense_solver(letter) as dense:
        x = dense.zeros(N, NRHS)
        shape = (M, N, NRHS, on_device(a), M, on_device(b), M, x, N)
        size = getattr(cusolverDn, f"{pair}_gels_buffer_size")(dense.handle, *shape, 0)
        work = workspace(size)
        solve = getattr(cusolverDn, f"{pair}_gels")
        iterations = solve(dense.handle, *shape, work, size, dense.info)
        dense.done()
        assert isinstance(iterations, int)
        dense.close(x.get(), exact(a, b, letter), 100)


@pytest.mark.parametrize("letter", "dz")
@pytest.mark.parametrize("kind", ["gesv", "gels"])
def test_expert_solvers(letter: str, kind: str) -> None:
    rows = N if kind == "gesv" else M
    a, b = well_conditioned(letter, rows, N), random(letter, rows, NRHS)
    lowest = {"d": cusolver.PrecType.R_32F, "z": cusolver.PrecType.C_32F}[letter]
    params, infos = cusolverDn.irs_params_create(), cusolverDn.irs_infos_create()
    with dense_solver(letter) as dense:
        cusolverDn.irs_params_set_solver_main_precision(params, PRECISIONS[letter])
        cusolverDn.irs_params_set_solver_lowest_precision(params, lowest)
        # Least squares have no other refinement.
        refinement = cusolver.IRSRefinement[
            "IRS_REFINE_" + {"gesv": "GMRES", "gels": "CLASSICAL"}[kind]
        ]
        cusolverDn.irs_params_set_refinement_solver(params, refinement)
        cusolverDn.irs_params_set_max_iters(params, 40)
        cusolverDn.irs_infos_request_residual(infos)
        x = dense.zeros(N, NRHS)
        sizes = (rows, N, NRHS) if kind == "gels" else (N, NRHS)
        count = getattr(cusolverDn, f"irs_x{kind}_buffer_size")(dense.handle, params, *sizes)
        iterations = getattr(cusolverDn, f"irs_x{kind}")(
            dense.handle, params, infos, *sizes,
            on_device(a), rows, on_device(b), rows, x, N,
            workspace(count), count, dense.info,
        )  # fmt: skip
        dense.done()
        # A negative number says that the solution is that of the wide type alone.
        assert cusolverDn.irs_infos_get_niters(infos) == iterations
        assert iterations >= 0 or kind == "gels"
        assert cusolverDn.irs_infos_get_max_iters(infos) == 40
        assert 0 <= cusolverDn.irs_infos_get_outer_niters(infos) <= 40
        history = np.zeros(1, np.uint64)
        cusolverDn.irs_infos_get_residual_history(infos, history.ctypes.data)
        assert history[0]
        dense.close(x.get(), exact(a, b, letter), 100)
    cusolverDn.irs_infos_destroy(infos)
    cusolverDn.irs_params_destroy(params)
