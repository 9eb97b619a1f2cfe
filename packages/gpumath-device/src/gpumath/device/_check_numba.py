"""Imports Numba's CUDA target, or says which packages do not fit."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import numpy as np

__all__ = ["refresh"]


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"


def _fix_for(error: Exception) -> str:
    """Return what to install, for the causes that are known."""
    from cuda.pathfinder import DynamicLibNotFoundError

    if isinstance(error, DynamicLibNotFoundError):
        return ". To fix it: pip install 'gpumath-device[cu13]', or [cu12] for CUDA 12"
    if "numpy" in str(error).lower() and np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        return ". NumPy 2.5 is too new for numba-cuda 0.30. To fix it: pip install 'numpy<2.5'"
    return ""


try:
    # The target inside Numba itself is an older one.
    import numba_cuda  # noqa: F401 - it must be there
    from numba import cuda as cuda
    from numba.cuda import cudaimpl as cudaimpl  # raises an error if NumPy is too new
except ModuleNotFoundError as error:
    if error.name not in ("numba", "numba_cuda"):
        raise
    message = (
        "kernels and callbacks are compiled by Numba, but numba-cuda is not installed. "
        "To fix it: pip install 'gpumath-device[cu13]', or [cu12] for CUDA 12"
    )
    raise ModuleNotFoundError(message, name=error.name) from error
except Exception as error:
    message = (
        f"Numba's CUDA target cannot be imported: {str(error).strip() or type(error).__name__}. "
        f"There are numba-cuda {_version('numba-cuda')}, Numba {_version('numba')} and NumPy "
        f"{np.__version__}{_fix_for(error)}"
    )
    raise ImportError(message) from error


def refresh() -> None:
    """Make what has been registered known to the compiler, also in the midst of a compilation."""
    from numba.cuda.descriptor import cuda_target

    cuda_target.typing_context.refresh()
    cuda_target.target_context.refresh()
