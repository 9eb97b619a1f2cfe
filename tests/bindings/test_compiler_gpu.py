"""`nvrtc`, `nvjitlink` and `mathdx` on a GPU: what they make runs, and computes what it says."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import driver, errors, mathdx, nvrtc
from gpumath.bindings.driver import DeviceAttribute
from gpumath.bindings.mathdx import CommondxOption, CufftdxOperatorType, CufftdxTraitType
from gpumath.bindings.nvjitlink import InputType
from tests.helpers.compiler import SAXPY, compiled, linked, output, program
from tests.helpers.device_arrays import DeviceArray

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng()


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    driver.init(0)
    driver.ctx_push_current(driver.device_primary_ctx_retain(0))
    yield
    driver.ctx_synchronize()
    driver.ctx_pop_current()
    driver.device_primary_ctx_release(0)


@pytest.fixture
def capability() -> int:
    """The compute capability without the dot, such as 90."""
    major = driver.device_get_attribute(DeviceAttribute.COMPUTE_CAPABILITY_MAJOR, 0)
    return 10 * major + driver.device_get_attribute(DeviceAttribute.COMPUTE_CAPABILITY_MINOR, 0)


@contextmanager
def kernel(image: bytes, name: str) -> Iterator[int]:
    module = driver.module_load_data(image)
    yield driver.module_get_function(module, name)
    driver.module_unload(module)


def launch(function: int, blocks: int, threads: int, values: Sequence[Any]) -> None:
    """Launch on the default stream: floats, sizes, and arrays in device memory."""
    types = [
        {float: ctypes.c_float, int: ctypes.c_size_t}.get(type(value), ctypes.c_void_p)
        for value in values
    ]
    numbers = [value if isinstance(value, float) else value.__index__() for value in values]
    driver.launch_kernel(function, *(blocks, 1, 1), *(threads, 1, 1), 0, 0, (numbers, types), 0)
    driver.ctx_synchronize()


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_compiled_source_runs(kind: str, capability: int) -> None:
    n = int(RNG.integers(10_000, 100_000))
    x, y = RNG.random((2, n), np.float32)
    a = float(RNG.random())
    option = f"-arch={'sm' if kind == 'cubin' else 'compute'}_{capability}"
    out = DeviceArray(np.zeros(n, np.float32))
    with kernel(compiled(SAXPY, option, kind=kind), "saxpy") as function:
        launch(function, -(-n // 128), 128, [a, DeviceArray(x), DeviceArray(y), out, n])
    expected = np.float32(a).astype(np.float64) * x + y
    np.testing.assert_allclose(out.get(), expected, rtol=1e-6)


@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_a_template_runs_by_its_lowered_name(
    kind: str, dtype: Callable[..., Any], capability: int
) -> None:
    source = "template <class T> __global__ void square(T *x) { x[threadIdx.x] *= x[threadIdx.x]; }"
    data = RNG.random(200).astype(dtype)
    with program(source) as handle:
        nvrtc.add_name_expression(handle, f"square<{kind}>")
        nvrtc.compile_program(handle, 1, [f"-arch=sm_{capability}"])
        name = nvrtc.get_lowered_name(handle, f"square<{kind}>")
        memory = DeviceArray(data)
        with kernel(output(handle, "cubin"), name) as function:
            launch(function, 1, 200, [memory])
    np.testing.assert_array_equal(memory.get(), data * data)


def test_linked_lto_ir_runs(capability: int) -> None:
    factor = int(RNG.integers(2, 1000))
    sources = [
        f'extern "C" __device__ float scaled(float x) {{ return {factor} * x; }}',
        """
extern "C" __device__ float scaled(float x);
extern "C" __global__ void scale(float *x, size_t n) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = scaled(x[i]);
}
""",
    ]
    options = (f"-arch=compute_{capability}", "-dlto")
    pieces = [(InputType.LTOIR, compiled(source, *options, kind="ltoir")) for source in sources]
    cubin = linked(pieces, f"-arch=sm_{capability}", "-lto")
    data = RNG.random(5000, np.float32)
    memory = DeviceArray(data)
    with kernel(cubin, "scale") as function:
        launch(function, 40, 128, [memory, data.size])
    np.testing.assert_array_equal(memory.get(), np.float32(factor) * data)


def test_linked_ptx_runs(capability: int) -> None:
    ptx = compiled(SAXPY, f"-arch=compute_{capability}")
    x, y = RNG.random((2, 300), np.float32)
    out = DeviceArray(np.zeros(300, np.float32))
    with kernel(linked([(InputType.PTX, ptx)], f"-arch=sm_{capability}"), "saxpy") as function:
        launch(function, 3, 128, [2.0, DeviceArray(x), DeviceArray(y), out, 300])
    np.testing.assert_allclose(out.get(), 2 * x.astype(np.float64) + y, rtol=1e-6)


def test_a_transform_of_a_thread_runs(capability: int) -> None:
    size = 16
    try:
        transform = mathdx.cufftdx_create_descriptor()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"libmathdx is not installed: {str(error).splitlines()[0]}")
    for operator, value in {
        "API": mathdx.CufftdxApi.LMEM,
        "SIZE": size,
        "DIRECTION": mathdx.CufftdxDirection.FORWARD,
        "TYPE": mathdx.CufftdxType.C2C,
        "PRECISION": mathdx.CommondxPrecision.F32,
        "SM": 10 * capability,
        "EXECUTION": mathdx.CommondxExecution.THREAD,
    }.items():
        mathdx.cufftdx_set_operator_int64(transform, CufftdxOperatorType[operator], value)
    name = bytearray(mathdx.cufftdx_get_trait_str_size(transform, CufftdxTraitType.SYMBOL_NAME))
    mathdx.cufftdx_get_trait_str(transform, CufftdxTraitType.SYMBOL_NAME, len(name), name)
    code = mathdx.commondx_create_code()
    mathdx.commondx_set_code_option_int64(code, CommondxOption.TARGET_SM, 10 * capability)
    mathdx.cufftdx_finalize_code(code, transform)
    ltoir = bytearray(mathdx.commondx_get_code_ltoir_size(code))
    mathdx.commondx_get_code_ltoir(code, len(ltoir), ltoir)
    mathdx.commondx_destroy_code(code)
    mathdx.cufftdx_destroy_descriptor(transform)
    function_name = name.rstrip(b"\0").decode()
    source = f"""
extern "C" __device__ void {function_name}(float2 *);
extern "C" __global__ void transforms(float2 *data) {{
    float2 own[{size}], *row = data + {size} * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = 0; i < {size}; ++i) own[i] = row[i];
    {function_name}(own);
    for (int i = 0; i < {size}; ++i) row[i] = own[i];
}}
"""
    caller = compiled(source, f"-arch=compute_{capability}", "-dlto", kind="ltoir")
    pieces = [(InputType.LTOIR, bytes(ltoir)), (InputType.LTOIR, caller)]
    cubin = linked(pieces, f"-arch=sm_{capability}", "-lto")
    data = (RNG.random((256, size)) + 1j * RNG.random((256, size))).astype(np.complex64)
    memory = DeviceArray(data)
    with kernel(cubin, "transforms") as function:
        launch(function, 4, 64, [memory])
    np.testing.assert_allclose(memory.get(), np.fft.fft(data), rtol=0, atol=2e-5)
