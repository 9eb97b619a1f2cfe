"""cuSPARSE's products of two sparse matrices on a GPU, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpumath.bindings import cusparse
from gpumath.bindings.cusparse import SpGEMMAlg
from tests.bindings.sparse_cases import (
    ELEMENTS,
    Cell,
    Descriptor,
    Element,
    N,
    Scalar,
    assert_close,
    handle,
    random,
    random_csr,
    sparse,
    wide,
    zeros,
)
from tests.helpers.device_arrays import DeviceArray, workspace

__all__ = ["handle"]  # a fixture

pytestmark = pytest.mark.gpu


class Product:
    """A product of two fresh matrices, and the arguments that its steps have in common."""

    def __init__(self, handle: int, element: Element, algorithm: SpGEMMAlg) -> None:
        self.handle, self.element, self.algorithm = handle, element, algorithm
        self.a, self.b = random_csr(60, 50, element), random_csr(50, 70, element)
        self.matrices: list[Descriptor] = [sparse(m, element) for m in (self.a, self.b)]
        self.alpha, self.beta = Scalar(random(1, element)[0], element), Scalar(0, element)
        self.offsets = DeviceArray(np.zeros(61, np.int32))
        types = (cusparse.IndexType.INDEX_32I, cusparse.IndexType.INDEX_32I, 0, element.cuda)
        self.c = cusparse.create_csr(60, 70, 0, self.offsets, 0, 0, *types)
        self.state = cusparse.sp_gemm_create_descr()
        self.arrays: list[DeviceArray] = []

    @property
    def arguments(self) -> tuple[Any, ...]:
        a, b = self.matrices
        types = (self.element.cuda, self.algorithm, self.state)
        return (self.handle, N, N, self.alpha, a, b, self.beta, self.c, *types)

    @property
    def pattern_arguments(self) -> tuple[Any, ...]:
        return (self.handle, N, N, *self.matrices, self.c, self.algorithm, self.state)

    def estimate_work(self) -> None:
        buffer = workspace(cusparse.sp_gemm_work_estimation(*self.arguments, 0))
        cusparse.sp_gemm_work_estimation(*self.arguments, buffer)
        self.arrays.append(buffer)

    def allocate(self) -> None:
        """Give C the arrays for the nonzeros that were counted."""
        rows, columns, nonzeros = cusparse.sp_mat_get_size(self.c)
        assert (rows, columns) == (60, 70)
        indices = DeviceArray(np.zeros(nonzeros, np.int32))
        self.arrays += [indices, DeviceArray(zeros(nonzeros, self.element))]
        cusparse.csr_set_pointers(self.c, self.offsets, *self.arrays[-2:])

    def check(self) -> None:
        offsets, indices, values = cusparse.csr_get(self.c)[3:6]
        places, numbers = self.arrays[-2:]
        assert (offsets, indices, values) == tuple(
            block.__index__() for block in (self.offsets, places, numbers)
        )
        found = sp.csr_array((numbers.get(), places.get(), self.offsets.get()), (60, 70))
        a, b = wide(self.a), wide(self.b)
        magnitude = abs(self.alpha.value) * (np.abs(a) @ np.abs(b))
        assert_close(found, self.alpha.value * (a @ b), magnitude, self.element.eps, 50)

    def __del__(self) -> None:
        cusparse.sp_gemm_destroy_descr(self.state)
        cusparse.destroy_sp_mat(self.c)


@ELEMENTS
@pytest.mark.parametrize("algorithm", [SpGEMMAlg.DEFAULT, SpGEMMAlg.ALG1])
def test_sp_gemm(handle: int, algorithm: SpGEMMAlg, element: Element) -> None:
    product = Product(handle, element, algorithm)
    product.estimate_work()
    size = Cell(np.uint64)
    cusparse.sp_gemm_compute(*product.arguments, size, 0)
    buffer = workspace(size.value)
    cusparse.sp_gemm_compute(*product.arguments, size, buffer)
    product.allocate()
    cusparse.sp_gemm_copy(*product.arguments)
    product.check()


@ELEMENTS
@pytest.mark.parametrize("algorithm", [SpGEMMAlg.ALG2, SpGEMMAlg.ALG3])
def test_sp_gemm_in_chunks(handle: int, algorithm: SpGEMMAlg, element: Element) -> None:
    product = Product(handle, element, algorithm)
    product.estimate_work()
    expected = int(np.diff(product.b.indptr)[product.a.indices].sum())
    assert cusparse.sp_gemm_get_num_products(product.state) == expected
    size3 = cusparse.sp_gemm_estimate_memory_buffersize3(*product.arguments, 0.5)
    buffer3 = workspace(size3)
    size = Cell(np.uint64)
    size.cell[0] = cusparse.sp_gemm_estimate_memory_buffersize2(
        *product.arguments, 0.5, size3, buffer3
    )
    buffer2 = workspace(size.value)
    cusparse.sp_gemm_compute(*product.arguments, size, buffer2)
    product.allocate()
    cusparse.sp_gemm_copy(*product.arguments)
    product.check()


@ELEMENTS
def test_sp_gemm_reuse(handle: int, element: Element) -> None:
    product = Product(handle, element, SpGEMMAlg.DEFAULT)
    common = product.pattern_arguments
    buffer1 = workspace(cusparse.sp_gemm_reuse_work_estimation(*common, 0))
    cusparse.sp_gemm_reuse_work_estimation(*common, buffer1)
    buffers = [workspace(size) for size in cusparse.sp_gemm_reuse_nnz(*common, 0, 0, 0)]
    cusparse.sp_gemm_reuse_nnz(*common, *buffers)
    product.allocate()
    buffer5 = workspace(cusparse.sp_gemm_reuse_copy(*common, 0))
    cusparse.sp_gemm_reuse_copy(*common, buffer5)
    for _ in range(2):
        cusparse.sp_gemm_reuse_compute(*product.arguments)
        product.check()
        # Once more with other values in the same places.
        product.a.data = random(product.a.nnz, element)
        product.matrices[0].arrays[-1].set(product.a.data)
