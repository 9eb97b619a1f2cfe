"""Solve many small systems in a kernel of CUDA C++: a solver as LTO-IR, linked by nvJitLink.

No Numba is needed: gpumath.device has the solver's code, NVRTC compiles the kernel.

python examples/device/01_cuda_cpp.py
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from gpumath import device
from gpumath.bindings import core, driver, nvjitlink, nvrtc
from gpumath.bindings.errors import LibraryNotFoundError
from gpumath.bindings.nvjitlink import InputType

N, SYSTEMS = 12, 5000

# One block for each system: B = A^-1 B by a Cholesky factorization, in shared memory.
KERNEL = r"""
extern "C" __device__ void SOLVE(double *a, double *b, int *info);

extern "C" __global__ void solve_all(const double *a, double *b, int *info)
{
    __shared__ double matrix[N * N], side[N];
    const double *mine = a + blockIdx.x * N * N;
    for (int i = threadIdx.x; i < N * N; i += blockDim.x) matrix[i] = mine[i];
    for (int i = threadIdx.x; i < N; i += blockDim.x) side[i] = b[blockIdx.x * N + i];
    __syncthreads();
    SOLVE(matrix, side, info + blockIdx.x);
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += blockDim.x) b[blockIdx.x * N + i] = side[i];
}
"""


def compile_kernel(symbol: str, architecture: int) -> bytes:
    """Compile the kernel to LTO-IR; SOLVE is the name of the solver's function."""
    options = [
        *(f"-arch=compute_{architecture}", "-rdc=true", "-dlto"),
        *(f"-DN={N}", f"-DSOLVE={symbol}"),
    ]
    program = nvrtc.create_program(KERNEL, "kernel.cu", 0, [], [])
    nvrtc.compile_program(program, len(options), options)
    code = bytearray(nvrtc.get_ltoir_size(program))
    nvrtc.get_ltoir(program, code)
    nvrtc.destroy_program(program)
    return bytes(code)


def link(pieces: list[tuple[InputType, bytes]], architecture: int) -> bytes:
    """Link to machine code. The second option leaves out tables that no function uses."""
    options = ["-lto", "-optimize-unused-variables", f"-arch=sm_{architecture}"]
    linker = nvjitlink.create(len(options), options)
    for kind, data in pieces:
        nvjitlink.add_data(linker, kind, data, len(data), kind.name)
    nvjitlink.complete(linker)
    cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
    nvjitlink.get_linked_cubin(linker, cubin)
    nvjitlink.destroy(linker)
    return bytes(cubin)


has_gpu = core.Device.count() > 0
capability = core.Device(0).compute_capability if has_gpu else (9, 0)
major, minor = capability
try:
    solver = device.Solver(
        "posv",
        (N, N, 1),
        np.float64,
        "Block",
        fill_mode="lower",
        block_dim=(32,),
        sm=device.ComputeCapability(major, minor),
    )
    code, symbol = device.compile_solver_execute(solver, ("lto", capability))
    pieces = [
        (InputType.LTOIR, compile_kernel(symbol, 10 * major + minor)),
        (InputType.LTOIR, code.data),
        (InputType.FATBIN, device.solver_fatbin()),
    ]
    cubin = link(pieces, 10 * major + minor)
except LibraryNotFoundError as missing:
    print(f"a library is missing; to fix it: {missing.fix}")
    sys.exit()
print(f"linked for sm_{major}{minor}: {len(cubin)} bytes")
if not has_gpu:
    print("there is no GPU, so the kernel does not run")
    sys.exit()

rng = np.random.default_rng()
roots = rng.standard_normal((SYSTEMS, N, N))
a = roots @ roots.swapaxes(1, 2) + N * np.eye(N)
b = rng.standard_normal((SYSTEMS, N))
a[7, 0, 0] = -1  # this one is not positive definite

gpu = driver.device_get(0)
driver.ctx_push_current(driver.device_primary_ctx_retain(gpu))
module = driver.module_load_data(cubin)
function = driver.module_get_function(module, "solve_all")
x, info = b.copy(), np.empty(SYSTEMS, np.int32)
arrays = [a, x, info]
addresses = [driver.mem_alloc(array.nbytes) for array in arrays]
for address, array in zip(addresses, arrays, strict=True):
    driver.memcpy_htod(address, array.ctypes.data, array.nbytes)
arguments = (tuple(addresses), (ctypes.c_void_p,) * 3)
driver.launch_kernel(function, SYSTEMS, 1, 1, 32, 1, 1, 0, 0, arguments)
for address, array in zip(addresses[1:], arrays[1:], strict=True):
    driver.memcpy_dtoh(array.ctypes.data, address, array.nbytes)
for address in addresses:
    driver.mem_free(address)
driver.module_unload(module)
driver.ctx_pop_current()
driver.device_primary_ctx_release(gpu)

refused = np.flatnonzero(info)
print(f"not positive definite: system {', '.join(map(str, refused))}")
solved = info == 0
error = np.abs(np.einsum("sij,sj->si", a[solved], x[solved]) - b[solved]).max()
print(f"largest residual of {solved.sum()} systems: {error:.1e}")
assert refused.tolist() == [7]
assert error < 1e-11
