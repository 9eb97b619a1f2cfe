"""
A struct as an argument of a kernel
===================================

Pass it by value, in three ways. The kernel adds up Gaussian bells.

Run it with::

    python examples/bindings/04_struct_argument.py
"""

from __future__ import annotations

import ctypes

import numpy as np
from _kernels import compile_cubin, target

from gpumath.bindings import driver

SOURCE = r"""
struct Bell { float height; double center, width; };
struct Bells { short count; Bell bells[4]; };

extern "C" __global__ void evaluate(Bells sum, const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double value = 0;
    for (int k = 0; k < sum.count; ++k) {
        double distance = (x[i] - sum.bells[k].center) / sum.bells[k].width;
        value += sum.bells[k].height * exp(-distance * distance);
    }
    out[i] = value;
}
"""
TERMS = [(1.5, -0.5, 0.25), (-0.75, 0.25, 0.125), (3.0, 0.75, 0.0625)]
COUNT = 1000


class Bell(ctypes.Structure):
    """The struct of this name in the source; ctypes adds the same padding as C."""

    _fields_ = (
        ("height", ctypes.c_float),
        ("center", ctypes.c_double),
        ("width", ctypes.c_double),
    )


class Bells(ctypes.Structure):
    """The struct of this name in the source, which contains an array of structs."""

    _fields_ = (("count", ctypes.c_short), ("bells", Bell * 4))


def main() -> None:
    """Launch with a ctypes struct, with its type left out, and with a NumPy record."""
    struct = Bells(len(TERMS), (Bell * 4)(*(Bell(*term) for term in TERMS)))
    bell = np.dtype([("height", "f4"), ("center", "f8"), ("width", "f8")], align=True)
    record = np.zeros((), np.dtype([("count", "i2"), ("bells", bell, 4)], align=True))
    record["count"] = len(TERMS)
    record["bells"][: len(TERMS)] = TERMS
    assert record.tobytes() == bytes(struct)

    x = np.linspace(-1, 1, COUNT)
    expected = sum(h * np.exp(-(((x - center) / width) ** 2)) for h, center, width in TERMS)
    ways: dict[str, tuple[object, type | None]] = {
        "ctypes struct": (struct, Bells),
        "an object with bytes": (struct, None),
        "NumPy record": (record, None),
    }
    with target() as where:
        code = compile_cubin(SOURCE, where.architecture)
        if not where.has_gpu:
            return
        module = driver.module_load_data(code)
        evaluate = driver.module_get_function(module, "evaluate")
        device_x, device_out = driver.mem_alloc(x.nbytes), driver.mem_alloc(x.nbytes)
        driver.memcpy_htod(device_x, x.ctypes.data, x.nbytes)
        for name, (value, type_) in ways.items():
            values = (value, device_x, device_out, COUNT)
            types = (type_, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
            blocks = -(-COUNT // 128)
            driver.launch_kernel(evaluate, blocks, 1, 1, 128, 1, 1, 0, 0, (values, types))
            out = np.empty_like(x)
            driver.memcpy_dtoh(out.ctypes.data, device_out, out.nbytes)
            error = np.abs(out - expected).max()
            print(f"{name:20}: largest error {error:.1e}")
            assert error < 1e-12
        driver.mem_free(device_x)
        driver.mem_free(device_out)
        driver.module_unload(module)


if __name__ == "__main__":
    main()
