"""cuBLAS and cublasLt called one to one: a product, and a search for algorithms."""

import cupy as cp
import numpy as np
import nvmath
from nvmath.bindings import cublas, cublasLt

m, n, k = 48, 32, 64
a = cp.random.standard_normal((k, m)).astype(cp.float32)  # column-major m x k
b = cp.random.standard_normal((n, k)).astype(cp.float32)
c = cp.empty((n, m), cp.float32)
one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
handle = cublas.create()
cublas.set_stream(handle, cp.cuda.get_current_stream().ptr)
none = cublas.Operation.N
cublas.sgemm(
    handle, none, none, m, n, k, one.ctypes.data, a.data.ptr, m, b.data.ptr, k,
    zero.ctypes.data, c.data.ptr, m,
)  # fmt: skip
assert cp.allclose(c.T, a.T @ b.T, rtol=1e-3, atol=1e-3)
cublas.destroy(handle)

handle = cublasLt.create()
kind = nvmath.CudaDataType.CUDA_R_32F
product = cublasLt.matmul_desc_create(cublas.ComputeType.COMPUTE_32F, kind)
attribute = cublasLt.MatmulDescAttribute.EPILOGUE
epilogue = np.array(cublasLt.Epilogue.RELU, cublasLt.get_matmul_desc_attribute_dtype(attribute))
cublasLt.matmul_desc_set_attribute(product, attribute, epilogue.ctypes.data, epilogue.nbytes)
layouts = [
    cublasLt.matrix_layout_create(kind, rows, columns, rows)
    for rows, columns in ((m, k), (k, n), (m, n), (m, n))
]
preference = cublasLt.matmul_preference_create()
found = np.zeros(1, np.int32)
results = cublasLt.MatmulHeuristicResult(8)
cublasLt.matmul_algo_get_heuristic(
    handle, product, *layouts, preference, 8, results.ptr, found.ctypes.data
)
assert found[0] > 0
assert int(np.min(results.workspace_size[: found[0]])) >= 0
assert (results.state[: found[0]] == 0).all()
assert results.algo.data_.any()
cublasLt.matmul(
    handle, product, one.ctypes.data, a.data.ptr, layouts[0], b.data.ptr, layouts[1],
    zero.ctypes.data, c.data.ptr, layouts[2], c.data.ptr, layouts[3],
    results[0].algo.ctypes.data, 0, 0,
    cp.cuda.get_current_stream().ptr,
)  # fmt: skip
assert cp.allclose(c.T, cp.maximum(a.T @ b.T, 0), rtol=1e-3, atol=1e-3)
cublasLt.matmul_preference_destroy(preference)
for layout in layouts:
    cublasLt.matrix_layout_destroy(layout)
cublasLt.matmul_desc_destroy(product)
cublasLt.destroy(handle)
