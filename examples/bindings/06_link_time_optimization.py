"""
Two sources, optimized as one
=============================

Compile them separately to LTO-IR by NVRTC, and link them by nvJitLink.

Run it with::

    python examples/bindings/06_link_time_optimization.py
"""

from __future__ import annotations

import ctypes

import numpy as np
from _kernels import compiled, target

from gpumath.bindings import driver, nvjitlink, nvrtc
from gpumath.bindings.errors import LibraryNotFoundError

KERNEL = r"""
extern "C" __device__ double user_function(double x);

extern "C" __global__ void apply(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = user_function(x[i]);
}
"""
# In a real program, this is known only at run time: a formula that a user typed, for example.
USER_FUNCTION = r"""
extern "C" __device__ double user_function(double x) { return x * x - 2 * x; }
"""
COUNT = 1000


def compile_ltoir(source: str, architecture: int) -> bytes:
    """Compile to LTO-IR, the input of link-time optimization; it is not machine code yet."""
    program = compiled(
        source, f"-arch=sm_{architecture}", "-dlto", "--relocatable-device-code=true"
    )
    code = bytearray(nvrtc.get_ltoir_size(program))
    nvrtc.get_ltoir(program, code)
    nvrtc.destroy_program(program)
    return bytes(code)


def link(pieces: dict[str, bytes], architecture: int) -> bytes:
    """Link pieces of LTO-IR to machine code; functions are inlined across the pieces."""
    options = [f"-arch=sm_{architecture}", "-lto"]
    linker = nvjitlink.create(len(options), options)
    for name, code in pieces.items():
        nvjitlink.add_data(linker, nvjitlink.InputType.LTOIR, code, len(code), name)
    nvjitlink.complete(linker)
    cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
    nvjitlink.get_linked_cubin(linker, cubin)
    nvjitlink.destroy(linker)
    return bytes(cubin)


def main() -> None:
    """Compile both, link, launch."""
    x = np.linspace(-3, 3, COUNT)
    with target() as where:
        sources = {"kernel": KERNEL, "user function": USER_FUNCTION}
        pieces = {name: compile_ltoir(text, where.architecture) for name, text in sources.items()}
        for name, piece in pieces.items():
            print(f"{name}: {len(piece)} bytes of LTO-IR")
        try:
            cubin = link(pieces, where.architecture)
        except LibraryNotFoundError as missing:
            print(f"nvJitLink is missing; to fix it: {missing.fix}")
            return
        print(f"linked for sm_{where.architecture}: {len(cubin)} bytes")
        if not where.has_gpu:
            return
        module = driver.module_load_data(cubin)
        apply = driver.module_get_function(module, "apply")
        device_x, device_out = driver.mem_alloc(x.nbytes), driver.mem_alloc(x.nbytes)
        driver.memcpy_htod(device_x, x.ctypes.data, x.nbytes)
        types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        arguments = ((device_x, device_out, COUNT), types)
        driver.launch_kernel(apply, -(-COUNT // 128), 1, 1, 128, 1, 1, 0, 0, arguments)
        out = np.empty_like(x)
        driver.memcpy_dtoh(out.ctypes.data, device_out, out.nbytes)
        driver.mem_free(device_x)
        driver.mem_free(device_out)
        driver.module_unload(module)
    error = np.abs(out - (x * x - 2 * x)).max()
    print(f"largest error: {error:.1e}")
    assert error < 1e-14


if __name__ == "__main__":
    main()
