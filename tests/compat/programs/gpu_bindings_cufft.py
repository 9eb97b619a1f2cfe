"""cuFFT called one to one."""

import ctypes

import cupy as cp
import nvmath
from nvmath.bindings import cufft

assert cufft.get_version() >= 11000
n, batch = 128, 10
a = (cp.random.standard_normal((batch, n)) + 0j).astype(cp.complex64)
b = cp.empty_like(a)
plan = cufft.create()
size = cufft.make_plan1d(plan, n, cufft.Type.C2C, batch)
assert size == cufft.get_size(plan)
cufft.set_stream(plan, cp.cuda.get_current_stream().ptr)
cufft.exec_c2c(plan, a.data.ptr, b.data.ptr, -1)
assert cp.allclose(b, cp.fft.fft(a), rtol=1e-3, atol=1e-3)
cufft.destroy(plan)

# The plan's address, and lists for arrays.
number = ctypes.c_int()
cufft.plan_many(ctypes.addressof(number), 1, [n], [n], 1, n, [n], 1, n, cufft.Type.C2C, batch)
cufft.exec_c2c(number.value, b.data.ptr, b.data.ptr, 1)
assert cp.allclose(b / n, a, rtol=1e-3, atol=1e-3)
cufft.destroy(number.value)

plan = cufft.create()
kinds = (nvmath.CudaDataType.CUDA_R_64F, nvmath.CudaDataType.CUDA_C_64F)
cufft.xt_make_plan_many(
    plan, 1, [n], [n], 1, n, kinds[0], [n // 2 + 1], 1, n // 2 + 1, kinds[1], batch, kinds[1]
)
r = cp.random.standard_normal((batch, n))
half = cp.empty((batch, n // 2 + 1), complex)
cufft.xt_exec(plan, r.data.ptr, half.data.ptr, -1)
assert cp.allclose(half, cp.fft.rfft(r))
cufft.destroy(plan)
try:
    cufft.exec_c2c(plan, 0, 0, -1)
except cufft.cuFFTError as error:
    assert error.status == cufft.Result.INVALID_PLAN
else:
    raise AssertionError("a destroyed plan ran")
