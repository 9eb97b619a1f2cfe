"""cuSOLVER in a process that sees no device."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any

from gpumath.bindings import (
    cusolver,
    cusolverDn,
    cusolverMg,
    cusolverRf,
    cusolverSp,
    cusparse,
    errors,
)
from tests.programs.support.entry import main


def version_is_that_of_the_library(file: str) -> Any:
    raw = ctypes.CDLL(file)
    cell = ctypes.c_int(0)

    def ask(which: Any) -> Any:
        assert raw.cusolverGetProperty(which, ctypes.byref(cell)) == 0
        return cell.value

    expected = [ask(which) for which in range(3)]
    return [cusolver.get_version(), [cusolver.get_property(which) for which in range(3)], expected]


def parameter_objects_hold_what_is_set() -> Any:
    params = cusolverDn.create_params()
    cusolverDn.set_adv_options(params, cusolverDn.Function.GETRF, cusolver.AlgMode.ALG_1)
    cusolverDn.destroy_params(params)
    for kind in ("syevj", "gesvdj"):
        info = getattr(cusolverDn, f"create_{kind}_info")()
        getattr(cusolverDn, f"x{kind}_set_tolerance")(info, 1e-7)
        getattr(cusolverDn, f"x{kind}_set_max_sweeps")(info, 15)
        getattr(cusolverDn, f"x{kind}_set_sort_eig")(info, 0)
        getattr(cusolverDn, f"destroy_{kind}_info")(info)
    params = cusolverDn.irs_params_create()
    cusolverDn.irs_params_set_solver_precisions(
        params, cusolver.PrecType.R_64F, cusolver.PrecType.R_32F
    )
    cusolverDn.irs_params_set_refinement_solver(
        params, cusolver.IRSRefinement.IRS_REFINE_CLASSICAL_GMRES
    )
    cusolverDn.irs_params_set_tol(params, 1e-12)
    cusolverDn.irs_params_set_max_iters(params, 37)
    result = [cusolverDn.irs_params_get_max_iters(params)]
    cusolverDn.irs_params_enable_fallback(params)
    cusolverDn.irs_params_destroy(params)
    infos = cusolverDn.irs_infos_create()
    cusolverDn.irs_infos_request_residual(infos)
    result.append(cusolverDn.irs_infos_get_niters(infos))
    cusolverDn.irs_infos_destroy(infos)
    for kind in ("qr", "chol"):
        for place in ("", "_host"):
            info = getattr(cusolverSp, f"create_csr{kind}_info{place}")()
            assert info
            getattr(cusolverSp, f"destroy_csr{kind}_info{place}")(info)
    cusolverSp.destroy_csrlu_info_host(cusolverSp.create_csrlu_info_host())
    return result


def statuses_become_exceptions() -> Any:
    def outcome(function: Any, *arguments: Any) -> Any:
        try:
            function(*arguments)
        except cusolver.cuSOLVERError as error:
            return [error.function, error.status.name, str(error)]

    result = [
        outcome(cusolverDn.create),
        outcome(cusolverDn.dgetrs, 0, 0, 4, 1, 0, 4, 0, 0, 4, 0),
        outcome(cusolverSp.dcsrlsvqr, 0, 1, 1, 0, 0, 0, 0, 0, 1e-9, 0, 0, 0),
        outcome(cusolverRf.create),
        outcome(cusolverMg.create_device_grid, 2, 1, [0], cusolverMg.GridMapping.COL_MAJOR),
        outcome(cusolverDn.irs_params_set_max_iters, 0, 5),
    ]
    params = cusolverDn.create_params()
    result.append(outcome(cusolverDn.set_adv_options, params, 12345, 0))
    cusolverDn.destroy_params(params)
    return result


def null_that_would_crash_is_refused() -> Any:
    def refused(function: Any, *arguments: Any) -> Any:
        try:
            function(*arguments)
        except ValueError as error:
            return str(error)

    info = cusolverDn.create_syevj_info()
    result = [
        refused(cusolverDn.destroy, 0),
        refused(cusolverDn.xsyevj_set_tolerance, 0, 1e-7),
        refused(cusolverDn.xsyevj_get_sweeps, 0, info),
        refused(cusolverDn.xgeev_buffer_size, *[0] * 17),
        refused(cusolverDn.zpotrf, *[0] * 8),
        refused(cusolverDn.irs_params_set_max_iters_inner, 0, 5),
        refused(cusolverDn.dh_gels, *[0] * 13),
        refused(cusolverSp.set_stream, 0, 0),
        refused(cusolverSp.xcsrlu_nnz_host, 1, 0),
        refused(cusolverMg.destroy, 0),
        refused(cusolverMg.potrf, 1, 0, 4, [0], 1, 1, 0, 1, [0], 4),
        refused(cusolverMg.device_select, 1, 2, [0]),
    ]
    cusolverDn.destroy_syevj_info(info)
    return result


def descriptors_of_distributed_matrices() -> Any:
    handle = cusolverMg.create()
    try:
        cusolverMg.device_select(handle, 1, [0])
    except cusolver.cuSOLVERError as error:
        result = [int(error.status)]
    grid = cusolverMg.create_device_grid(1, 1, [0], cusolverMg.GridMapping.COL_MAJOR)
    matrix = cusolverMg.create_matrix_desc(64, 64, 64, 16, 1, grid)
    result.append(bool(grid and matrix and grid != matrix))
    try:
        cusolverMg.create_matrix_desc(64, 64, 16, 16, 1, grid)  # a block is less than a column
    except cusolver.cuSOLVERError as error:
        result.append(error.status.name)
    cusolverMg.destroy_matrix_desc(matrix)
    cusolverMg.destroy_grid(grid)
    cusolverMg.destroy(handle)
    return result


def functions_that_only_cuda_12_has() -> Any:
    names = ["geqrf", "gesvd", "getrf", "potrf", "syevd", "syevdx"]
    names = [*names, "getrs", "potrs", *(f"{name}_buffer_size" for name in names)]
    result = {}
    for name in names:
        function = getattr(cusolverDn, name)
        try:
            function(*[1] * len(inspect.signature(function).parameters))
        except errors.FunctionNotFoundError as error:
            result[name] = [error.symbol, error.since, error.until]
    return result


def a_pattern_is_permuted_on_the_cpu() -> Any:
    pointers, columns, order = [0, 2, 5, 7], [0, 1, 0, 1, 2, 1, 2], [2, 0, 1]
    descriptor = cusparse.create_mat_descr()
    symmetric = ctypes.c_int(-1)
    cusolverSp.xcsrissym_host(
        0, 3, 7, descriptor, pointers, pointers[1:], columns, ctypes.addressof(symmetric)
    )
    size = cusolverSp.xcsrperm_buffer_size_host(
        0, 3, 3, 7, descriptor, pointers, columns, order, order
    )
    work = (ctypes.c_char * size)()
    rows, cols = (ctypes.c_int * 4)(*pointers), (ctypes.c_int * 7)(*columns)
    places = (ctypes.c_int * 7)(*range(7))
    cusolverSp.xcsrperm_host(
        0,
        3,
        3,
        7,
        descriptor,
        ctypes.addressof(rows),
        ctypes.addressof(cols),
        order,
        order,
        ctypes.addressof(places),
        ctypes.addressof(work),
    )
    return [symmetric.value, list(rows), list(cols), list(places)]


if __name__ == "__main__":
    main(globals())
