"""cuBLAS in tests: the real libraries without a GPU, and routines on a GPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cublas, cublasXt
from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.cusolver import DTYPES, random, wide
from tests.helpers.device_arrays import DeviceMemory

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


def without_gpu(cuda_major: int, target: str, *arguments: Any) -> Any:
    """Return what a function of tests/programs returns in a process that sees no device."""
    blas, light = files(cuda_major)
    settings = {
        "GPUMATH_CUBLAS_PATH": blas,
        "GPUMATH_CUBLASLT_PATH": light,
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    return in_fresh_process(target, *arguments, settings=settings)


class _Routines:
    """Calls routines of a module with a handle, and keeps the host memory that they need.

    Tests add ``put``, ``get`` and ``zeros``, which are about the memory of the matrices.
    """

    module: ModuleType
    handle: int
    # "_64" for the routines with 64-bit sizes.
    suffix: str

    def __init__(self, suffix: str = "") -> None:
        super().__init__()
        self.handle = self.module.create()
        self.suffix = suffix
        self._kept: list[np.ndarray] = []

    def call(self, name: str, *arguments: Any) -> None:
        """Call a routine, by its name without the suffix."""
        full = (name + self.suffix).replace("nrm2_ex_64", "nrm2ex_64")
        getattr(self.module, full)(self.handle, *arguments)

    def host(self, values: Any, dtype: Any = None) -> np.ndarray:
        """Return a copy that lives as long as the handle; ``.ctypes.data`` is its address."""
        self._kept.append(np.array(values, dtype, order="F"))
        return self._kept[-1]

    def number(self, letter: str, value: complex | None = None) -> tuple[Any, int]:
        """Return a number of a type, random if none is given, and its address in host memory."""
        values = random(letter, 1) if value is None else [value]
        kept = self.host(values, DTYPES[letter])
        return kept.astype(wide(letter))[0], kept.ctypes.data


class Blas(_Routines, DeviceMemory):
    """cuBLAS with matrices in device memory."""

    module = cublas

    def addresses(self, items: list[int]) -> int:
        """Return the device address of an array of addresses."""
        return self.put(np.array(items, np.uint64))

    def batch(self, matrices: np.ndarray) -> tuple[int, int]:
        """Return the device addresses of matrices, column-major one after another, and of theirs.

        The first axis of ``matrices`` counts them.
        """
        first = self.put(np.moveaxis(matrices, 0, -1))
        size = matrices[0].nbytes
        return first, self.addresses([first + size * i for i in range(len(matrices))])

    def get_batch(self, address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return a copy of what `batch` put there; ``shape`` is that of the array."""
        return np.moveaxis(self.get(address, (*shape[1:], shape[0]), dtype), -1, 0)


class HostBlas(_Routines):
    """cublasXt with matrices in host memory."""

    module = cublasXt

    def __init__(self, suffix: str = "") -> None:
        super().__init__(suffix)
        self._by_address: dict[int, np.ndarray] = {}

    def put(self, values: Any) -> int:
        """Return the address of a copy of an array, in column-major order."""
        kept = self.host(values)
        self._by_address[kept.ctypes.data] = kept
        return kept.ctypes.data

    def get(self, address: int, shape: tuple[int, ...] | int, dtype: Any) -> np.ndarray:
        """Return what `put` put there."""
        found = self._by_address[address]
        assert (found.size, found.dtype) == (int(np.prod(shape)), dtype)
        return found.reshape(shape, order="F").copy()


@contextmanager
def blas(suffix: str = "") -> Iterator[Blas]:
    """Lend a cuBLAS handle and device memory for the time of a test."""
    lent = Blas(suffix)
    try:
        yield lent
    finally:
        lent.free()
        cublas.destroy(lent.handle)


@contextmanager
def host_blas() -> Iterator[HostBlas]:
    """Lend a cublasXt handle for GPU 0 for the time of a test."""
    lent = HostBlas()
    try:
        cublasXt.device_select(lent.handle, 1, [0])
        yield lent
    finally:
        cublasXt.destroy(lent.handle)


def bfloat16(values: Any) -> np.ndarray:
    """Return the bits of bfloat16 numbers, rounded to the nearest."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """Return the numbers that bits of bfloat16 stand for."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
