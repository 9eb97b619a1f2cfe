"""cuSOLVERMg on one device, every function, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core, cusolver, cusolverMg
from gpumath.bindings.errors import cuSOLVERError
from tests.helpers.cusolver import (
    CUDA_TYPES,
    DTYPES,
    LOWER,
    OP_N,
    REALS,
    assert_close,
    hermitian,
    on_device,
    positive_definite,
    random,
    wide,
    zeros,
)
from tests.helpers.device_arrays import DeviceArray, workspace

pytestmark = pytest.mark.gpu
N, NRHS, BLOCK = 70, 3, 16


# Addresses, first row and column, descriptor: a matrix as a routine takes it.
Matrix = tuple[list[DeviceArray], int, int, int]


class Distributed:
    """A handle, a grid of one device, and matrices on it."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self.dtype, self.type = DTYPES[letter], CUDA_TYPES[letter]
        self.handle = cusolverMg.create()
        cusolverMg.device_select(self.handle, 1, [0])
        order = cusolverMg.GridMapping.COL_MAJOR
        self.grid = cusolverMg.create_device_grid(1, 1, [0], order)
        self._descriptors: list[int] = []

    def matrix(self, a: np.ndarray) -> Matrix:
        """Return a copy of a matrix on the device."""
        rows, columns = a.shape
        descriptor = cusolverMg.create_matrix_desc(rows, columns, rows, BLOCK, self.type, self.grid)
        self._descriptors.append(descriptor)
        # The device has whole blocks of columns.
        padded = np.zeros((rows, -(-columns // BLOCK) * BLOCK), self.dtype, order="F")
        padded[:, :columns] = a
        return [on_device(padded)], 1, 1, descriptor

    def run(self, name: str, *arguments: Any) -> int:
        """Call a routine whose workspace has the arguments of the call itself."""
        count = getattr(cusolverMg, f"{name}_buffer_size")(self.handle, *arguments)
        work = [workspace(count * self.dtype.itemsize)]
        info = getattr(cusolverMg, name)(self.handle, *arguments, work, count)
        core.Device(0).synchronize()  # the streams are cuSOLVERMg's own
        return info

    def close(self) -> None:
        """Free the descriptors and the handle."""
        for descriptor in self._descriptors:
            cusolverMg.destroy_matrix_desc(descriptor)
        cusolverMg.destroy_grid(self.grid)
        cusolverMg.destroy(self.handle)


@pytest.fixture(params=DTYPES)
def device(request: pytest.FixtureRequest) -> Iterator[Distributed]:
    distributed = Distributed(request.param)
    yield distributed
    distributed.close()


def test_lu(device: Distributed) -> None:
    a, b = random(device.letter, N, N), random(device.letter, N, NRHS)
    factors, x = device.matrix(a), device.matrix(b)
    pivots = [zeros(-(-N // BLOCK) * BLOCK, np.int32)]
    assert device.run("getrf", N, N, *factors, pivots, device.type) == 0
    assert device.run("getrs", OP_N, N, NRHS, *factors, pivots, *x, device.type) == 0
    expected = np.linalg.solve(a.astype(wide(device.letter)), b)
    assert_close(x[0][0].get()[:, :NRHS], expected, device.letter, np.linalg.cond(a))


def test_cholesky(device: Distributed) -> None:
    a, b = positive_definite(device.letter, N), random(device.letter, N, NRHS)
    factor, x = device.matrix(a), device.matrix(b)
    assert device.run("potrf", LOWER, N, *factor, device.type) == 0
    lower = np.tril(factor[0][0].get()[:, :N])
    assert_close(lower @ lower.conj().T, a, device.letter)
    assert device.run("potrs", LOWER, N, NRHS, *factor, *x, device.type) == 0
    wide_a = a.astype(wide(device.letter))
    assert_close(x[0][0].get()[:, :NRHS], np.linalg.solve(wide_a, b), device.letter, 10)
    assert device.run("potri", LOWER, N, *factor, device.type) == 0
    inverse = np.tril(factor[0][0].get()[:, :N])
    assert_close(inverse, np.tril(np.linalg.inv(wide_a)), device.letter, 10)


def test_not_positive_definite(device: Distributed) -> None:
    a = positive_definite(device.letter, N)
    a[4, 4] = -1
    # Of one block, the library does not say which minor it is.
    with pytest.raises(cuSOLVERError) as caught:
        device.run("potrf", LOWER, N, *device.matrix(a), device.type)
    assert caught.value.status == cusolver.Status.INTERNAL_ERROR


def test_eigenvalues(device: Distributed) -> None:
    a = hermitian(device.letter, N)
    vectors, values = device.matrix(a), np.zeros(N, DTYPES[REALS[device.letter]])
    head = (cusolver.EigMode.VECTOR, LOWER, N, *vectors, values.ctypes.data)
    assert device.run("syevd", *head, CUDA_TYPES[REALS[device.letter]], device.type) == 0
    v, a = vectors[0][0].get()[:, :N], a.astype(wide(device.letter))
    assert_close(values, np.linalg.eigvalsh(a), device.letter, 10)
    tolerance = 1000 * np.finfo(device.dtype).eps * np.linalg.norm(a)
    assert np.linalg.norm(a @ v - v * values) < tolerance
