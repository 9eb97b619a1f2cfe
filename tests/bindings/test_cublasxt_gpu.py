"""`gpumath.bindings.cublasXt` on a GPU: products of matrices in host memory, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gpumath.bindings import cublasXt, driver, errors
from tests.bindings.blas_matrix_cases import XT_CASES
from tests.helpers.cublas import host_blas, random
from tests.helpers.cusolver import assert_close

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize(("name", "letter"), XT_CASES, ids=lambda part: part)
def test_a_routine_agrees_with_numpy(name: str, letter: str, pinned: bool) -> None:
    with host_blas() as b:
        cublasXt.set_block_dim(b.handle, 32)  # several tiles
        cublasXt.set_pinning_mem_mode(b.handle, int(pinned))
        result, expected = XT_CASES[name, letter](b, letter)
    assert_close(result, expected, letter)


def test_settings_of_a_handle_with_a_gpu() -> None:
    driver.init(0)
    count = driver.device_get_count()
    assert 1 <= cublasXt.get_num_boards(count, list(range(count))) <= count
    assert cublasXt.max_boards() >= 1
    with host_blas() as b:
        cublasXt.set_cpu_ratio(b.handle, cublasXt.BlasOp.GEMM, cublasXt.OpType.DOUBLE, 0.0)
        cublasXt.set_block_dim(b.handle, 128)
        assert cublasXt.get_block_dim(b.handle) == 128
        with pytest.raises(errors.cuBLASError):
            cublasXt.device_select(b.handle, 1, [count + 5])


def test_a_product_on_all_gpus() -> None:
    driver.init(0)
    count = driver.device_get_count()
    if count < 2:
        pytest.skip("there is one GPU")
    a, x = random("d", 700, 500), random("d", 500, 600)
    c = np.zeros((700, 600), order="F")
    one, zero = np.ones(1), np.zeros(1)
    handle = cublasXt.create()
    try:
        cublasXt.device_select(handle, count, range(count))
        cublasXt.set_block_dim(handle, 128)
        matrices = (a.ctypes.data, 700, x.ctypes.data, 500, zero.ctypes.data, c.ctypes.data, 700)
        cublasXt.dgemm(handle, 0, 0, 700, 600, 500, one.ctypes.data, *matrices)
    finally:
        cublasXt.destroy(handle)
    assert_close(c, a @ x, "d")
