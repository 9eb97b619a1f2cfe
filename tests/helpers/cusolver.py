"""cuSOLVER in tests: the real libraries without a GPU, and dense problems on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gpumath.bindings import cusolverDn
from tests.helpers.cuda_wheels import in_fresh_process, library_file
from tests.helpers.device_arrays import DeviceArray, workspace

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


def without_gpu(cuda_major: int, target: str, *arguments: Any) -> Any:
    """Return what a function of tests/programs returns in a process that sees no device."""
    names = ("cusolver", "cusolverMg", "cusparse")
    settings: dict[str, Path | str] = {
        f"GPUMATH_{n.upper()}_PATH": library_file(n, cuda_major) for n in names
    }
    settings["CUDA_VISIBLE_DEVICES"] = "-1"
    return in_fresh_process(target, *arguments, settings=settings)


def on_device(values: Any) -> DeviceArray:
    """Return a copy of an array in device memory, in column-major order."""
    return DeviceArray(np.asfortranarray(values))


def zeros(shape: tuple[int, ...] | int, dtype: Any) -> DeviceArray:
    """Return zeros in device memory, in column-major order."""
    return DeviceArray(np.zeros(shape, dtype, order="F"))


def addresses(arrays: list[DeviceArray]) -> DeviceArray:
    """Return an array of addresses that is in device memory itself."""
    return DeviceArray(np.array([int(array) for array in arrays], np.uint64))


class Dense:
    """A cuSOLVERDn handle and an element type."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self.dtype, self.real = DTYPES[letter], DTYPES[REALS[letter]]
        # Names of routines and operations that differ between real and complex types.
        complex_ = self.dtype.kind == "c"
        self.symmetric, self.orthogonal = ("he", "un") if complex_ else ("sy", "or")
        self.adjoint = OP_C if complex_ else OP_T
        self.type, self.real_type = CUDA_TYPES[letter], CUDA_TYPES[REALS[letter]]
        self.info = zeros(1, np.int32)
        self.handle = cusolverDn.create()
        self._host: list[np.ndarray] = []

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Call the routine of this name for the element type, such as ``getrf``."""
        return getattr(cusolverDn, self.letter + name)(self.handle, *arguments)

    def zeros(self, *shape: int) -> DeviceArray:
        """Return zeros of the element type in device memory."""
        return zeros(shape, self.dtype)

    def work(self, name: str, *arguments: Any) -> tuple[DeviceArray, int]:
        """Return the workspace that a routine asks for, and how many elements it has."""
        count = self(f"{name}_buffer_size", *arguments)
        return workspace(count * self.dtype.itemsize), count

    def works(self, name: str, *arguments: Any) -> tuple[DeviceArray, int, int, int]:
        """Return the workspaces of a 64-bit routine: of the device, its bytes, the host's same."""
        size = getattr(cusolverDn, f"{name}_buffer_size")
        device_bytes, host_bytes = size(self.handle, *arguments)
        self._host.append(np.empty(max(host_bytes, 1), np.uint8))
        return workspace(device_bytes), device_bytes, self._host[-1].ctypes.data, host_bytes

    def done(self) -> None:
        """Check what the last routine reported."""
        assert self.info.get()[0] == 0

    def close(self, result: Any, expected: Any, factor: float = 1.0) -> None:
        """Compare with the tolerance of the element type."""
        assert_close(result, expected, self.letter, factor)


D = TypeVar("D", bound=Dense)


@contextmanager
def dense_solver(letter: str, kind: type[D] = Dense) -> Iterator[D]:
    """Lend a handle for the time of a test."""
    dense = kind(letter)
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
