"""Structs of cublasLt whose fields are NumPy arrays where they hold several numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath.bindings import cublasLt

__all__ = ["MatmulAlgo", "MatmulHeuristicResult"]


_FIELDS = {*cublasLt.MatmulAlgo.dtype.names, *cublasLt.MatmulHeuristicResult.dtype.names}


class _NumpyFields:
    """Makes the fields of a struct class arrays, which share the memory of the structs."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if type(value) is cublasLt.MatmulAlgo:
            return np.asarray(self)[name].view(np.recarray)
        is_array = isinstance(value, tuple | memoryview)
        return np.asarray(self)[name] if is_array and name in _FIELDS else value


class MatmulAlgo(_NumpyFields, cublasLt.MatmulAlgo):
    """Algorithms of a matrix product, as `gpumath.bindings.cublasLt.MatmulAlgo`."""

    __slots__ = ()


class MatmulHeuristicResult(_NumpyFields, cublasLt.MatmulHeuristicResult):
    """Results of a search, as `gpumath.bindings.cublasLt.MatmulHeuristicResult`."""

    __slots__ = ()
