"""cuRAND, cuSPARSE and cuSOLVER called one to one."""

import cupy as cp
import numpy as np
import nvmath
from nvmath.bindings import curand, cusolverDn, cusparse

generator = curand.create_generator(curand.RngType.PSEUDO_DEFAULT)
curand.set_pseudo_random_generator_seed(generator, 2026)
numbers = cp.empty(10000, cp.float32)
curand.generate_uniform(generator, numbers.data.ptr, numbers.size)
assert abs(float(numbers.mean()) - 0.5) < 0.05
curand.destroy_generator(generator)

handle = cusparse.create()
offsets, columns = cp.array([0, 2, 3], cp.int32), cp.array([0, 2, 1], cp.int32)
values = cp.array([1.0, 2.0, 3.0])
index, base = cusparse.IndexType.INDEX_32I, cusparse.IndexBase.ZERO
kind = nvmath.CudaDataType.CUDA_R_64F
matrix = cusparse.create_csr(
    2, 3, 3, offsets.data.ptr, columns.data.ptr, values.data.ptr, index, index, base, kind
)
assert cusparse.csr_get(matrix)[:3] == (2, 3, 3)
x, y = cp.array([1.0, 2.0, 3.0]), cp.zeros(2)
vectors = [cusparse.create_dn_vec(v.size, v.data.ptr, kind) for v in (x, y)]
one, zero = np.ones(1), np.zeros(1)
arguments = (
    *(handle, cusparse.Operation.NON_TRANSPOSE, one.ctypes.data, matrix, vectors[0]),
    *(zero.ctypes.data, vectors[1], kind, cusparse.SpMVAlg.DEFAULT),
)
buffer = cp.empty(max(1, cusparse.sp_mv_buffer_size(*arguments)), cp.uint8)
cusparse.sp_mv(*arguments, buffer.data.ptr)
assert y.get().tolist() == [7.0, 6.0]
for vector in vectors:
    cusparse.destroy_dn_vec(vector)
cusparse.destroy_sp_mat(matrix)
cusparse.destroy(handle)

handle = cusolverDn.create()
a = cp.array([[4.0, 1.0], [1.0, 3.0]])
size = cusolverDn.dpotrf_buffer_size(handle, 0, 2, a.data.ptr, 2)
work, info = cp.empty(max(1, size)), cp.zeros(1, cp.int32)
lower = a.copy()
cusolverDn.dpotrf(handle, 0, 2, lower.data.ptr, 2, work.data.ptr, size, info.data.ptr)
assert int(info[0]) == 0
factor = cp.triu(lower)  # its columns are the rows of C order
assert cp.allclose(factor.T @ factor, a)
cusolverDn.destroy(handle)
