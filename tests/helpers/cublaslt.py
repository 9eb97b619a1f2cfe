"""cublasLt in tests: descriptors with attributes, and products on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpumath.bindings import cublasLt
from gpumath.bindings.cublas import ComputeType, DataType
from tests.helpers.cublas import bfloat16, from_bfloat16
from tests.helpers.device_arrays import DeviceMemory

# How NumPy holds elements, or their bits.
STORAGE = {
    DataType.R_16F: np.dtype(np.float16),
    DataType.R_16BF: np.dtype(np.uint16),
    DataType.R_32F: np.dtype(np.float32),
    DataType.R_64F: np.dtype(np.float64),
    DataType.C_32F: np.dtype(np.complex64),
    DataType.C_64F: np.dtype(np.complex128),
    DataType.R_8I: np.dtype(np.int8),
    DataType.R_32I: np.dtype(np.int32),
    DataType.R_8F_E4M3: np.dtype(np.uint8),
}
WORKSPACE = 32 * 2**20
Layout = cublasLt.MatrixLayoutAttribute
Product = cublasLt.MatmulDescAttribute
Preference = cublasLt.MatmulPreferenceAttribute
Transform = cublasLt.MatrixTransformDescAttribute


def _e4m3_values() -> np.ndarray:
    """Return what the 256 numbers of FP8 E4M3 stand for."""
    code = np.arange(256)
    exponent, mantissa = code >> 3 & 15, code & 7
    small = mantissa / 8 * 2.0**-6
    normal = (1 + mantissa / 8) * 2.0 ** (exponent - 7.0)
    size = np.where(exponent == 0, small, normal)
    size[code & 127 == 127] = np.nan
    return np.where(code & 128, -size, size)


E4M3 = _e4m3_values()


def encode(numbers: Any, kind: DataType) -> np.ndarray:
    """Return numbers as an array of their type, or of its bits."""
    if kind == DataType.R_16BF:
        return bfloat16(numbers)
    if kind == DataType.R_8F_E4M3:
        return np.nanargmin(np.abs(np.asarray(numbers)[..., None] - E4M3), -1).astype(np.uint8)
    return np.asarray(numbers).astype(STORAGE[kind])


def decode(stored: np.ndarray, kind: DataType) -> np.ndarray:
    """Return what `encode` returned as numbers in double precision."""
    if kind == DataType.R_16BF:
        stored = from_bfloat16(stored)
    if kind == DataType.R_8F_E4M3:
        stored = E4M3[stored]
    return stored.astype(complex if stored.dtype.kind == "c" else float)


class Light(DeviceMemory):
    """A cublasLt handle, with device memory and descriptors that live as long."""

    def __init__(self) -> None:
        super().__init__()
        self.handle = cublasLt.create()
        self.workspace = self.empty(WORKSPACE)
        self._made: list[tuple[Callable[[int], None], int]] = []
        self._kept: list[Any] = []

    def host(self, values: Any, kind: DataType) -> int:
        """Return the address of numbers in host memory."""
        self._kept.append(np.atleast_1d(encode(values, kind)))
        return int(self._kept[-1].ctypes.data)

    def _described(self, name: str, descriptor: int, attributes: dict[int, Any]) -> int:
        self._made.append((getattr(cublasLt, f"{name}_destroy"), descriptor))
        for attribute, value in attributes.items():
            dtype = getattr(cublasLt, f"get_{name}_attribute_dtype")(attribute)
            cell = np.array(value, dtype)
            set_attribute = getattr(cublasLt, f"{name}_set_attribute")
            set_attribute(descriptor, attribute, cell.ctypes.data, cell.nbytes)
        return descriptor

    def layout(
        self, kind: int, rows: int, columns: int, ld: int | None = None, **attributes: Any
    ) -> int:
        """Return a layout; attributes are given by their names."""
        made = cublasLt.matrix_layout_create(kind, rows, columns, rows if ld is None else ld)
        named = {Layout[name]: value for name, value in attributes.items()}
        return self._described("matrix_layout", made, named)

    def product(self, compute: int, scale: int, **attributes: Any) -> int:
        """Return the description of a product."""
        made = cublasLt.matmul_desc_create(compute, scale)
        named = {Product[name]: value for name, value in attributes.items()}
        return self._described("matmul_desc", made, named)

    def preference(self, **attributes: Any) -> int:
        """Return a preference."""
        named = {Preference[name]: value for name, value in attributes.items()}
        return self._described("matmul_preference", cublasLt.matmul_preference_create(), named)

    def transform(self, scale: int, **attributes: Any) -> int:
        """Return the description of a transform."""
        made = cublasLt.matrix_transform_desc_create(scale)
        named = {Transform[name]: value for name, value in attributes.items()}
        return self._described("matrix_transform_desc", made, named)

    def search(
        self, product: int, layouts: list[int], preference: int | None = None, count: int = 8
    ) -> list[Any]:
        """Return the results of a search that are usable, of layouts of A, B, C and D."""
        if preference is None:
            preference = self.preference(MAX_WORKSPACE_BYTES=WORKSPACE)
        results = cublasLt.MatmulHeuristicResult(count)
        found = np.zeros(1, np.int32)
        cublasLt.matmul_algo_get_heuristic(
            self.handle, product, *layouts, preference, count, results.ptr, found.ctypes.data
        )
        return [result for result in results[: int(found[0])] if result.state == 0]

    def multiply(
        self,
        product: int,
        scalars: tuple[int, int],
        addresses: list[int],
        layouts: list[int],
        algo: Any = None,
        stream: int = 0,
    ) -> None:
        """Run a product of A, B, C and D, with the best algorithm if none is given."""
        if algo is None:
            algo = self.search(product, layouts, count=1)[0].algo
        (a, b, c, d), (alpha, beta) = addresses, scalars
        left, right, third, result = layouts
        cublasLt.matmul(
            *(self.handle, product, alpha, a, left, b, right, beta, c, third, d, result),
            *(algo, self.workspace, WORKSPACE, stream),
        )

    def free(self) -> None:
        """Free and destroy all of it."""
        super().free()
        for destroy, descriptor in self._made:
            destroy(descriptor)
        cublasLt.destroy(self.handle)


@contextmanager
def light() -> Iterator[Light]:
    """Lend a handle and device memory for the time of a test."""
    lent = Light()
    try:
        yield lent
    finally:
        lent.free()


__all__ = [
    "E4M3",
    "STORAGE",
    "WORKSPACE",
    "ComputeType",
    "DataType",
    "Light",
    "decode",
    "encode",
    "light",
]
