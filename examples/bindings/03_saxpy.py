"""
A kernel from a string
======================

Compile CUDA C++, launch it and read its result: a x + y.

Run it with::

    python examples/bindings/03_saxpy.py

``saxpy.cpp`` is the same program in C++. Both print the times of the kernel and of the program.
"""

from __future__ import annotations

import ctypes
import time

import numpy as np
from _kernels import compile_cubin, target

from gpumath.bindings import driver

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, size_t n)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
"""
THREADS, BLOCKS = 512, 32768
COUNT = THREADS * BLOCKS
LAUNCHES = 20
TYPES = (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def main() -> None:
    """Compile, load, allocate, copy in, launch, copy out, free."""
    rng = np.random.default_rng()
    x, y = (rng.random(COUNT, dtype=np.float32) for _ in range(2))
    out = np.empty_like(x)
    a = 2.5

    started = time.perf_counter()
    with target() as where:
        code = compile_cubin(SOURCE, where.architecture)
        if not where.has_gpu:
            return
        module = driver.module_load_data(code)
        saxpy = driver.module_get_function(module, "saxpy")
        stream = driver.stream_create(driver.StreamFlags.NON_BLOCKING)
        start, end = driver.event_create(0), driver.event_create(0)
        device_x, device_y, device_out = (driver.mem_alloc(x.nbytes) for _ in range(3))
        driver.memcpy_htod_async(device_x, x.ctypes.data, x.nbytes, stream)
        driver.memcpy_htod_async(device_y, y.ctypes.data, y.nbytes, stream)

        arguments = ((a, device_x, device_y, device_out, COUNT), TYPES)
        for number in range(1 + LAUNCHES):
            if number == 1:  # the first launch also loads the kernel
                driver.event_record(start, stream)
            driver.launch_kernel(saxpy, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, arguments)
        driver.event_record(end, stream)

        driver.memcpy_dtoh_async(out.ctypes.data, device_out, out.nbytes, stream)
        driver.stream_synchronize(stream)
        kernel = driver.event_elapsed_time(start, end) / LAUNCHES
        for address in (device_x, device_y, device_out):
            driver.mem_free(address)
        driver.event_destroy(start)
        driver.event_destroy(end)
        driver.stream_destroy(stream)
        driver.module_unload(module)
    elapsed = time.perf_counter() - started

    error = np.abs(out - (np.float64(a) * x + y)).max()
    print(f"largest error: {error:.1e}")
    print(f"kernel:      {kernel * 1e3:8.1f} µs")
    print(f"application: {elapsed * 1e3:8.1f} ms")
    assert error < 1e-6


if __name__ == "__main__":
    main()
