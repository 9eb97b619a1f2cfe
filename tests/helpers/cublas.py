"""cuBLAS in tests: the real libraries without a GPU, and products on a GPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cublas
from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.cusolver import DTYPES, DeviceMemory, device_memory, random

_FILES = {
    12: ("cublas/lib/libcublas.so.12", "cublas/lib/libcublasLt.so.12"),
    13: ("cu13/lib/libcublas.so.13", "cu13/lib/libcublasLt.so.13"),
}
_WHEELS = {12: "nvidia-cublas-cu12", 13: "nvidia-cublas"}


def files(cuda_major: int) -> tuple[Path, Path]:
    """Return the real cuBLAS and cublasLt of a CUDA major, or skip.

    They are below an entry of sys.path, or the folder that GPUMATH_TEST_CU12 or GPUMATH_TEST_CU13
    names.
    """
    named = os.environ.get(f"GPUMATH_TEST_CU{cuda_major}")
    for folder in [*([named] if named else []), *sys.path]:
        blas, light = (Path(folder) / "nvidia" / name for name in _FILES[cuda_major])
        if blas.is_file() and light.is_file():
            return blas.resolve(), light.resolve()
    pytest.skip(f"the wheel {_WHEELS[cuda_major]} is not in the test environment")


def without_gpu(cuda_major: int, code: str) -> Any:
    """Run code in a process that sees no device, and return its variable `result`."""
    blas, light = files(cuda_major)
    settings = {
        "GPUMATH_CUBLAS_PATH": blas,
        "GPUMATH_CUBLASLT_PATH": light,
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    modules = "cublas, cublasLt, cublasXt, errors"
    return in_fresh_process(f"from gpumath.bindings import {modules}\n{code}", settings)


class Blas(DeviceMemory):
    """A cuBLAS handle, with device memory and host scalars that live as long."""

    def __init__(self) -> None:
        super().__init__()
        self.handle = cublas.create()
        self._scalars: list[np.ndarray] = []

    def scalar(self, value: complex, dtype: Any) -> int:
        """Return the address of a number in host memory."""
        self._scalars.append(np.array(value, dtype))
        return self._scalars[-1].ctypes.data

    def addresses(self, items: list[int]) -> int:
        """Return the device address of an array of addresses."""
        return self.put(np.array(items, np.uint64))

    def batch(self, matrices: np.ndarray) -> tuple[int, int]:
        """Return the device addresses of matrices, column-major one after another, and of theirs.

        The first axis of ``matrices`` counts them.
        """
        first = self.put(np.asfortranarray(np.moveaxis(matrices, 0, -1)))
        size = matrices[0].nbytes
        return first, self.addresses([first + size * i for i in range(len(matrices))])

    def get_batch(self, address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return a copy of what `batch` put there; ``shape`` is that of the array."""
        return np.moveaxis(self.get(address, (*shape[1:], shape[0]), dtype), -1, 0)


@contextmanager
def blas() -> Iterator[Blas]:
    """Lend a handle and device memory for the time of a test."""
    lent = Blas()
    try:
        yield lent
    finally:
        lent.free()
        cublas.destroy(lent.handle)


__all__ = [
    "DTYPES",
    "Blas",
    "DeviceMemory",
    "blas",
    "device_memory",
    "files",
    "random",
    "without_gpu",
]
