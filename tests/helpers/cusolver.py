"""cuSOLVER in tests: the real libraries without a GPU, and dense problems on a GPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from gpumath.bindings import core, cusolverDn
from tests.helpers.cuda_wheels import in_fresh_process

# Element types by the letter that routines have in their names.
DTYPES = {
    "s": np.dtype(np.float32),
    "d": np.dtype(np.float64),
    "c": np.dtype(np.complex64),
    "z": np.dtype(np.complex128),
}
REALS = {"s": "s", "d": "d", "c": "s", "z": "d"}
# cudaDataType_t
CUDA_TYPES = {"s": 0, "d": 1, "c": 4, "z": 5}
# cublasOperation_t, cublasFillMode_t, cublasSideMode_t, cublasDiagType_t
OP_N, OP_T, OP_C = 0, 1, 2
LOWER, UPPER = 0, 1
LEFT, RIGHT = 0, 1
NON_UNIT = 0

_FILES = {
    12: ("cusolver/lib/libcusolver.so.11", "cusolver/lib/libcusolverMg.so.11"),
    13: ("cu13/lib/libcusolver.so.12", "cu13/lib/libcusolverMg.so.12"),
}
_WHEELS = {12: "nvidia-cusolver-cu12", 13: "nvidia-cusolver"}


def files(cuda_major: int) -> tuple[Path, Path]:
    """Return the real cuSOLVER and cuSOLVERMg of a CUDA major, or skip.

    They are below an entry of sys.path, or the folder that GPUMATH_TEST_CU12 or GPUMATH_TEST_CU13
    names.
    """
    named = os.environ.get(f"GPUMATH_TEST_CU{cuda_major}")
    for folder in [*([named] if named else []), *sys.path]:
        solver, multi = (Path(folder) / "nvidia" / name for name in _FILES[cuda_major])
        if solver.is_file() and multi.is_file():
            return solver.resolve(), multi.resolve()
    pytest.skip(f"the wheel {_WHEELS[cuda_major]} is not in the test environment")


def without_gpu(cuda_major: int, code: str) -> Any:
    """Run code in a process that sees no device, and return its variable `result`."""
    solver, multi = files(cuda_major)
    settings = {
        "GPUMATH_CUSOLVER_PATH": solver,
        "GPUMATH_CUSOLVERMG_PATH": multi,
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    modules = "cusolver, cusolverDn, cusolverMg, cusolverRf, cusolverSp"
    return in_fresh_process(f"from gpumath.bindings import {modules}\n{code}", settings)


class DeviceMemory:
    """Blocks of device memory that one test uses; arrays are in column-major order."""

    def __init__(self) -> None:
        self._blocks: list[core.MemoryPointer] = []

    def empty(self, size: int) -> int:
        """Return the address of so many bytes, which any stream may use at once."""
        self._blocks.append(core.allocate(max(size, 1)))
        core.synchronize_stream(0)
        return self._blocks[-1].device_ptr

    def put(self, values: Any) -> int:
        """Return the address of a copy of an array."""
        array = np.asfortranarray(values)
        address = self.empty(array.nbytes)
        core.copy(address, array.ctypes.data, array.nbytes)
        core.synchronize_stream(0)
        return address

    def zeros(self, count: int, dtype: Any) -> int:
        """Return the address of so many elements that are 0."""
        return self.put(np.zeros(count, dtype))

    def get(self, address: int, shape: tuple[int, ...] | int, dtype: Any) -> np.ndarray:
        """Return a copy of an array in device memory."""
        array = np.empty(shape, dtype, order="F")
        core.copy(array.ctypes.data, address, array.nbytes)
        core.synchronize_stream(0)
        return array

    def free(self) -> None:
        """Free all of it."""
        core.synchronize_stream(0)
        for block in self._blocks:
            block.free()


@contextmanager
def device_memory() -> Iterator[DeviceMemory]:
    """Lend device memory for the time of a test."""
    memory = DeviceMemory()
    try:
        yield memory
    finally:
        memory.free()


class Dense:
    """A cuSOLVERDn handle, an element type and device memory."""

    def __init__(self, letter: str, memory: DeviceMemory) -> None:
        self.letter = letter
        self.dtype, self.real = DTYPES[letter], DTYPES[REALS[letter]]
        # Names of routines and operations that differ between real and complex types.
        complex_ = self.dtype.kind == "c"
        self.symmetric, self.orthogonal = ("he", "un") if complex_ else ("sy", "or")
        self.adjoint = OP_C if complex_ else OP_T
        self.type, self.real_type = CUDA_TYPES[letter], CUDA_TYPES[REALS[letter]]
        self.memory = memory
        self.put, self.zeros, self.get = memory.put, memory.zeros, memory.get
        self.info = memory.zeros(1, np.int32)
        self.handle = cusolverDn.create()
        self._host: list[np.ndarray] = []

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Call the routine of this name for the element type, such as ``getrf``."""
        return getattr(cusolverDn, self.letter + name)(self.handle, *arguments)

    def work(self, name: str, *arguments: Any) -> tuple[int, int]:
        """Return the workspace that a routine asks for: its address and its elements."""
        count = self(f"{name}_buffer_size", *arguments)
        return self.memory.empty(count * self.dtype.itemsize), count

    def works(self, name: str, *arguments: Any) -> tuple[int, int, int, int]:
        """Return the workspaces of a 64-bit routine: device address and bytes, host the same."""
        size = getattr(cusolverDn, f"{name}_buffer_size")
        on_device, on_host = size(self.handle, *arguments)
        self._host.append(np.empty(max(on_host, 1), np.uint8))
        return self.memory.empty(on_device), on_device, self._host[-1].ctypes.data, on_host

    def done(self) -> None:
        """Check what the last routine reported."""
        assert self.get(self.info, 1, np.int32)[0] == 0

    def matrix(self, address: int, *shape: int) -> np.ndarray:
        """Return a matrix of the element type from the device."""
        return self.get(address, shape, self.dtype)

    def close(self, result: Any, expected: Any, factor: float = 1.0) -> None:
        """Compare with the tolerance of the element type."""
        assert_close(result, expected, self.letter, factor)


D = TypeVar("D", bound=Dense)


@contextmanager
def dense_solver(letter: str, kind: type[D] = Dense) -> Iterator[D]:
    """Lend a handle and device memory for the time of a test."""
    with device_memory() as memory:
        dense = kind(letter, memory)
        try:
            yield dense
        finally:
            cusolverDn.destroy(dense.handle)


def random(letter: str, *shape: int) -> np.ndarray:
    """Return fresh normal random numbers in column-major order."""
    rng = np.random.default_rng()
    values = rng.standard_normal(shape)
    if DTYPES[letter].kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asfortranarray(values.astype(DTYPES[letter]))


def hermitian(letter: str, n: int) -> np.ndarray:
    """Return a random Hermitian matrix, exactly so."""
    a = random(letter, n, n)
    return np.asfortranarray((a + a.conj().T) / 2)


def positive_definite(letter: str, n: int) -> np.ndarray:
    """Return a random Hermitian positive definite matrix with a small condition number."""
    a = random(letter, n, n).astype(wide(letter))
    return np.asfortranarray((a @ a.conj().T / n + np.eye(n)).astype(DTYPES[letter]))


def wide(letter: str) -> np.dtype[Any]:
    """Return the double-precision type that references are computed in."""
    return DTYPES["z" if DTYPES[letter].kind == "c" else "d"]


def assert_close(result: Any, expected: Any, letter: str, factor: float = 1.0) -> None:
    """Compare in the norm, with a tolerance of the element type times a factor."""
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.shape == expected.shape
    tolerance = 200 * np.finfo(DTYPES[letter]).eps * factor
    scale = np.linalg.norm(expected.astype(wide("z")))
    error = np.linalg.norm(result.astype(wide("z")) - expected.astype(wide("z")))
    assert error <= tolerance * max(scale, np.finfo(float).tiny), (error / scale, tolerance)
