"""Compiles the code of several objects at once, before kernels need it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from gpumath.device._arguments import one_of
from gpumath.device._fft import FFT
from gpumath.device._matmul import Matmul
from gpumath.device._solver import Solver
from gpumath.device._solver_properties import Composed
from gpumath.device._tensors import accumulator_functions, copy_wait_code, tensor_function

__all__ = ["precompile"]

_ACCUMULATORS = ("suggested_accumulator", "accumulator")
# Ways to call `execute`, the usual one first.
_APIS: dict[type, tuple[str, ...]] = {
    FFT: ("register_memory", "shared_memory"),
    Matmul: ("static_leading_dimensions", "dynamic_leading_dimensions", *_ACCUMULATORS),
    Solver: ("compiled_leading_dim", "runtime_leading_dim"),
}


def precompile(*objects: Any) -> None:
    """Compile the code of transforms, products and solvers at once, each in a thread.

    A kernel that uses them is then compiled without waiting for libmathdx, which takes seconds for
    each; so it is in later processes, because the code is in the cache on disk.

    Parameters
    ----------
    *objects : FFT, Matmul, Solver, a class of solvers, or pair
        Pairs say how ``execute`` is called, where that is not the usual way: ``(fft,
        "shared_memory")`` on points in shared memory, ``(matmul, "dynamic_leading_dimensions")``
        and ``(solver, "runtime_leading_dim")`` with leading dimensions as arguments, ``(matmul,
        "suggested_accumulator")`` and ``(matmul, "accumulator")`` with tensors.

    Raises
    ------
    TypeError
        An object is none of these.
    ValueError
        A pair has another word, or libmathdx does not support what an object describes.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> lu = device.Solver("getrf_no_pivot", (8,), np.float32, "Block", sm=90)
    >>> qr = device.Solver("geqrf", (8, 8), np.float32, "Block", sm=90)
    >>> device.precompile(lu, (qr, "runtime_leading_dim"))
    """
    work = [job for described in objects for job in _jobs(described)]
    if not work:
        return
    from concurrent.futures import ThreadPoolExecutor  # takes long to import

    with ThreadPoolExecutor(min(len(work), os.cpu_count() or 1)) as threads:
        for done in [threads.submit(job) for job in work]:
            done.result()


def _jobs(described: Any) -> list[Callable[[], object]]:
    chosen = None
    if isinstance(described, tuple) and len(described) == 2:
        described, chosen = described
    if isinstance(described, Composed):
        solvers: Any = described._solvers.values()
        return [job for solver in solvers for job in _jobs((solver, chosen))]
    apis = next((apis for kind, apis in _APIS.items() if isinstance(described, kind)), None)
    if apis is None:
        msg = f"{described!r} is no FFT, Matmul, Solver or class of solvers"
        raise TypeError(msg)
    if chosen in _ACCUMULATORS and isinstance(described, Matmul):
        prefix = chosen.removesuffix("accumulator")
        functions = accumulator_functions(described, prefix)
        copies = partial(copy_wait_code, described.sm._replace(arch=""))
        return [copies, *(partial(tensor_function, *function) for function in functions)]
    return [partial(described._code, one_of("how execute is called", chosen or apis[0], apis))]
