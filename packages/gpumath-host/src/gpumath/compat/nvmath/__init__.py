"""The names of nvmath-python 1.0, answered by gpumath.

``import gpumath.compat.nvmath as nvmath`` is the whole change of a program. A program that is not
changed at all is run by ``python -m gpumath.compat.nvmath program.py``; in IPython and Jupyter,
``%load_ext gpumath.compat.nvmath`` makes ``import nvmath`` work, and in any other process the
function `install` does.

Every module and name is looked up when it is first used. What gpumath has under another name, or in
another shape, is in a table. What it has not raises an error that names the feature.

Examples
--------
>>> import numpy as np
>>> import gpumath.compat.nvmath as nvmath
>>> nvmath.fft.fft(np.array([1, 1j, -1, -1j]))
array([0.+0.j, 4.+0.j, 0.+0.j, 0.+0.j])
>>> nvmath.CudaDataType.CUDA_C_64F
<CudaDataType.CUDA_C_64F: 5>
"""

from __future__ import annotations

from gpumath.compat.nvmath import _facade
from gpumath.compat.nvmath._facade import install, uninstall

# What type checkers take as true; the module `typing` would be a cost of every import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import gpumath.bindings as bindings
    import gpumath.fft as fft
    import gpumath.linalg as linalg
    import gpumath.memory as memory
    from gpumath.compat.nvmath._enums import ComputeType, CudaDataType, LibraryPropertyType
    from gpumath.compat.nvmath._memory import BaseCUDAMemoryManagerAsync
    from gpumath.memory import BaseCUDAMemoryManager, MemoryPointer

__all__ = [
    "BaseCUDAMemoryManager",
    "BaseCUDAMemoryManagerAsync",
    "ComputeType",
    "CudaDataType",
    "LibraryPropertyType",
    "MemoryPointer",
    "bindings",
    "fft",
    "install",
    "linalg",
    "memory",
    "uninstall",
]

__version__ = _facade.VERSION

if not TYPE_CHECKING:  # or else type checkers would accept any name

    def __getattr__(name):
        """Look a name of nvmath up."""
        return _facade.attribute(globals(), "", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING", "annotations"})


def load_ipython_extension(_ipython: object) -> None:
    """Answer ``import nvmath`` by gpumath: what ``%load_ext gpumath.compat.nvmath`` calls."""
    install()


def unload_ipython_extension(_ipython: object) -> None:
    """Undo `load_ipython_extension`: what ``%unload_ext gpumath.compat.nvmath`` calls."""
    uninstall()
