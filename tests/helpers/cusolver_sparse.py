"""Sparse problems for cuSOLVERSp on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpumath.bindings import cusolverSp, cusparse
from tests.helpers.cusolver import DTYPES, hermitian


@dataclass
class Sparse:
    """A cuSOLVERSp handle and a matrix descriptor."""

    handle: int
    descriptor: int

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Call a function; arrays on the host are passed by their address."""
        passed = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
        return getattr(cusolverSp, name)(self.handle, *passed)


@contextmanager
def sparse_solver() -> Iterator[Sparse]:
    """Lend a handle and a descriptor for the time of a test."""
    handle, descriptor = cusolverSp.create(), cusparse.create_mat_descr()
    try:
        yield Sparse(handle, descriptor)
    finally:
        cusparse.destroy_mat_descr(descriptor)
        cusolverSp.destroy(handle)


def sparse(letter: str, n: int) -> np.ndarray:
    """Return a sparse Hermitian matrix, dense in memory, that is positive definite."""
    a = hermitian(letter, n) * (np.random.default_rng().random((n, n)) < 2 / n)
    a = a + a.conj().T
    weights = np.abs(a).sum(axis=1) + 1 + np.arange(n)
    np.fill_diagonal(a, 0)
    return np.asfortranarray((a + np.diag(weights)).astype(DTYPES[letter]))


def compressed(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values, the row pointers and the column indices of what is not 0."""
    rows, columns = np.nonzero(a)
    pointers = np.searchsorted(rows, np.arange(len(a) + 1)).astype(np.int32)
    return np.ascontiguousarray(a[rows, columns]), pointers, columns.astype(np.int32)
