"""The code of solvers, for kernels that other compilers make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from gpumath.bindings import mathdx
from gpumath.device._architecture import Code, CodeType
from gpumath.device._arguments import as_code_type, instance_of, one_of
from gpumath.device._code_cache import cached
from gpumath.device._solver import Solver

__all__ = ["compile_solver_execute", "solver_fatbin"]


def compile_solver_execute(
    solver: Solver,
    code_type: CodeType | Sequence[Any],
    execution_api: Literal["compiled_leading_dim", "runtime_leading_dim"] = "compiled_leading_dim",
) -> tuple[Code, str]:
    """Compile a solver to LTO-IR, for kernels that another compiler makes.

    The function has C's calling convention and returns nothing. Its arguments are addresses: those
    of the arrays that ``solver.arguments`` names, and with ``'runtime_leading_dim'`` after each
    matrix that of an unsigned int, its leading dimension. What `solver_fatbin` returns has to be
    linked, too.

    Parameters
    ----------
    solver : Solver
        The solver.
    code_type : CodeType
        ``CodeType("lto", ComputeCapability(9, 0))`` or a tuple like it.
    execution_api : {'compiled_leading_dim', 'runtime_leading_dim'}, optional
        Whether leading dimensions are compiled in or passed. A function without matrices has none.

    Returns
    -------
    code : Code
        The LTO-IR.
    symbol : str
        Name of the function in it.

    Raises
    ------
    TypeError
        ``solver`` is no `Solver`.
    ValueError
        Another argument is not allowed, or cuSOLVERDx does not support the combination.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> lu = device.Solver("getrf_no_pivot", (8,), np.float32, "Block", sm=90)
    >>> code, symbol = device.compile_solver_execute(lu, ("lto", (9, 0)))
    >>> code.code_type.cc, symbol.isidentifier()
    (ComputeCapability(major=9, minor=0, arch=''), True)
    """
    instance_of("solver", solver, Solver)
    wanted = as_code_type(code_type)
    one_of("execution_api", execution_api, solver._apis)
    code = solver._code(execution_api, wanted.cc)
    return Code(wanted, code.isa_version, code.ltoir), code.symbols[0]


def solver_fatbin() -> bytes:
    """Return the functions that all solvers call, which kernels of other compilers link with.

    Returns
    -------
    bytes
        A fatbin, the same for every solver.

    Examples
    --------
    >>> from gpumath import device
    >>> len(device.solver_fatbin()) > 100_000
    True
    """

    def produce() -> bytes:
        handle = mathdx.cusolverdx_create_descriptor()
        try:
            fatbin = bytearray(mathdx.cusolverdx_get_universal_fatbin_size(handle))
            mathdx.cusolverdx_get_universal_fatbin(handle, len(fatbin), fatbin)
            return bytes(fatbin)
        finally:
            mathdx.cusolverdx_destroy_descriptor(handle)

    return cached("solver fatbin", (), produce)
