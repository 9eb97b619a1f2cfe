"""Transforms for kernels without a GPU: traits, refusals, LTO-IR, kernels for a given GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import core, errors, mathdx, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType
from gpumath.device import FFT, Dim3
from tests.helpers.callbacks import require_numba
from tests.helpers.compiler import compiled, kernels, linked, linker

OPTIONS: dict[str, Any] = {
    "size": 128,
    "precision": np.float32,
    "fft_type": "c2c",
    "execution": "Block",
    "direction": "forward",
    "sm": 90,
}


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    try:
        mathdx.get_version()
        nvrtc.version()
        nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")


def test_traits_of_a_block() -> None:
    fft = FFT(**OPTIONS, ffts_per_block=2, elements_per_thread=8)
    assert (fft.size, fft.direction, fft.ffts_per_block) == (128, "forward", 2)
    assert fft.block_dim == Dim3(128 // 8, 2, 1)
    assert (fft.storage_size, fft.stride) == (8, 16)
    assert fft.value_type is device.complex64
    assert fft.shared_memory_size is not None
    assert fft.shared_memory_size <= 2 * 128 * 8


def test_traits_of_a_thread_and_of_half_precision() -> None:
    thread = FFT(**OPTIONS | {"size": 8, "execution": "Thread", "precision": np.float64})
    assert (thread.block_dim, thread.shared_memory_size, thread.ffts_per_block) == (None,) * 3
    assert (thread.value_type, thread.storage_size) == (device.complex128, 8)
    half = FFT(**OPTIONS | {"precision": "float16"})
    assert (half.value_type, half.implicit_type_batching) == (device.half4, 2)


@pytest.mark.parametrize("layout", ["natural", "packed", "full"])
def test_traits_of_real_transforms(layout: str) -> None:
    options = OPTIONS | {"fft_type": "r2c", "direction": None}
    fft = FFT(**options, real_fft_options={"complex_layout": layout, "real_mode": "normal"})
    assert fft.direction == "forward"
    assert fft.input_type is np.float32
    assert fft.output_type is device.complex64
    assert fft.output_length == {"natural": 65, "packed": 64, "full": 128}[layout]


def test_knobs() -> None:
    fft = FFT(**OPTIONS)
    for elements, count in fft.valid("elements_per_thread", "ffts_per_block"):
        tried = FFT(**OPTIONS, elements_per_thread=elements, ffts_per_block=count)
        assert tried.block_dim == Dim3(-(-128 // elements), count, 1)
    suggested = FFT(**OPTIONS, ffts_per_block="suggested", elements_per_thread="suggested")
    assert (suggested.ffts_per_block or 0) > 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 20000}, "does not support.*nearest sizes that it supports are 19683 and 20736"),
        ({"size": 0}, "size is 0; a positive integer"),
        ({"size": 65536}, "nearest sizes that it supports are 32768"),
        ({"size": 65, "execution": "Thread"}, "nearest sizes that it supports are 64"),
        ({"elements_per_thread": 7}, r"valid \('elements_per_thread',\): \(2,\), \(4,\)"),
        ({"direction": None}, "direction is needed for fft_type='c2c'"),
        ({"fft_type": "c2r"}, "is always 'inverse'"),
        ({"fft_type": "z2z"}, "fft_type is 'z2z'; one of 'c2c', 'r2c', 'c2r'"),
        ({"precision": np.int8}, "one of float16, float32, float64"),
        ({"execution": "Warp"}, "one of 'Block', 'Thread'"),
        ({"execution": "Thread", "size": 8, "ffts_per_block": 2}, "there is no block"),
        ({"size": 2**32 - 1}, "nearest sizes that it supports are 32768"),
        ({"precision": None}, "precision is None; one of float16"),
        ({"ffts_per_block": np.array([1, 2])}, "a positive integer is needed"),
        ({"fft_type": np.array(["c2c", "r2c"])}, "one of 'c2c'"),
        ({"sm": 65}, "libmathdx supports the compute capabilities 7.0, .*, 12.1"),
        ({"sm": 91}, "sm is 9.1; libmathdx supports"),
        ({"sm": "9.0"}, "a ComputeCapability is needed"),
        ({"sm": ("9", "0")}, "a ComputeCapability is needed"),
        ({"sm": (8, 0, "a")}, "from 9.0 on also 'a'"),
        ({"fft_type": "r2c", "real_fft_options": 1}, "real_fft_options is 1; a dict with"),
        ({"real_fft_options": {}}, "is no real transform"),
        ({"fft_type": "r2c", "real_fft_options": {"real_mode": "normal"}}, "complex_layout"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FFT(**OPTIONS | changes)


def test_a_gpu_is_needed_or_named() -> None:
    if core.Device.count():
        assert FFT(**OPTIONS | {"sm": None}).sm == device.current_device_sm()
    else:
        with pytest.raises(ValueError, match="there is no GPU here, so sm is needed"):
            FFT(**OPTIONS | {"sm": None})


def test_execute_is_for_kernels() -> None:
    with pytest.raises(RuntimeError, match=r"FFT\.execute is called inside kernels"):
        FFT(**OPTIONS).execute(None)
    thread = FFT(**OPTIONS | {"size": 8, "execution": "Thread"})
    solver = device.Solver("geqrf", (8,), np.float32, "Block", sm=90)
    with pytest.raises(TypeError, match=r"fft is Solver.*; an object of FFT is needed"):
        device.compile_fft_execute(solver, ("lto", (9, 0)))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"solver is FFT.*; an object of Solver is needed"):
        device.compile_solver_execute(thread, ("lto", (9, 0)))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"blas is FFT.*; an object of Matmul is needed"):
        device.compile_blas_execute(thread, ("lto", (9, 0)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it is for execution='Block' only"):
        device.compile_fft_execute(thread, ("lto", (9, 0)), "shared_memory")


def test_what_the_compiler_does_not_know_is_named() -> None:
    unknown = [number for number in (70, 101, 121) if number not in nvrtc.get_supported_archs()]
    for number in unknown:
        name = f"{number // 10}.{number % 10}"
        with pytest.raises(ValueError, match=f"NVRTC .* compiles for .*, and not for {name}"):
            FFT(**OPTIONS | {"sm": number})
        known = FFT(**OPTIONS | {"size": 8, "execution": "Thread"})
        with pytest.raises(ValueError, match=f"and not for {name}"):
            device.compile_fft_execute(known, ("lto", divmod(number, 10)))


def test_the_older_form() -> None:
    options = OPTIONS | {"size": 8, "execution": "Thread"}
    callable_fft = device.fft(**options, compiler="numba")
    device.precompile(callable_fft)
    with pytest.raises(ValueError, match="sm and code_type are given"):
        device.fft(**options, code_type=device.CodeType("lto", callable_fft.sm))


@pytest.mark.parametrize("architecture", [75, 89, 121])
def test_code_for_architectures(architecture: int) -> None:
    fft = FFT(**OPTIONS | {"sm": architecture, "size": 16, "execution": "Thread"})
    code, symbol = device.compile_fft_execute(fft, device.CodeType("lto", fft.sm))
    assert code.code_type.cc == (*divmod(architecture, 10), "")
    assert tuple(code.isa_version) == nvrtc.version()
    source = f"""
extern "C" __device__ void {symbol}(float2 *);
extern "C" __global__ void caller(float2 *data) {{ {symbol}(data); }}
"""
    caller = compiled(source, f"-arch=compute_{architecture}", "-dlto", kind="ltoir")
    inputs = [(InputType.LTOIR, caller), (InputType.LTOIR, code.data)]
    assert kernels(linked(inputs, f"-arch=sm_{architecture}", "-lto")) == {"caller"}


@pytest.mark.parametrize("size", [67, 1009, 8191])
def test_prime_sizes(size: int) -> None:
    if mathdx.get_version() < 402:
        pytest.skip("libmathdx has transforms of these sizes from 0.4.2 on")
    fft = FFT(**OPTIONS | {"size": size})
    inverse = FFT(**OPTIONS | {"size": size, "direction": "inverse"})
    assert fft.input_length == fft.output_length == size
    assert fft.elements_per_thread * fft.stride >= size
    assert fft.valid("elements_per_thread")
    # They share constants of this size, which must not be defined twice.
    codes = [
        device.compile_fft_execute(transform, ("lto", (9, 0)), api)
        for transform in (fft, inverse)
        for api in ("register_memory", "shared_memory")
    ]
    arguments = ["float2 *, void *", "void *"] * 2
    declarations = [
        f'extern "C" __device__ void {symbol}({types});'
        for (_, symbol), types in zip(codes, arguments, strict=True)
    ]
    values = ["own, shared", "shared"] * 2
    calls = [f"{symbol}({v});" for (_, symbol), v in zip(codes, values, strict=True)]
    source = f"""
{" ".join(declarations)}
extern "C" __global__ void caller(float2 *data) {{
    extern __shared__ float2 shared[];
    float2 own[{fft.storage_size}];
    for (int i = 0; i < {fft.storage_size}; ++i) own[i] = data[i];
    {" ".join(calls)}
    for (int i = 0; i < {fft.storage_size}; ++i) data[i] = own[i];
}}
"""
    caller = compiled(source, "-arch=compute_90", "-dlto", kind="ltoir")
    inputs = [(InputType.LTOIR, caller), *((InputType.LTOIR, code.data) for code, _ in codes)]
    assert kernels(linked(inputs, "-arch=sm_90", "-lto")) == {"caller"}


def test_a_kernel_without_a_gpu() -> None:
    require_numba()
    from numba import cuda
    from numba.core.errors import TypingError
    from numba.cuda import types

    fft = FFT(**OPTIONS, elements_per_thread=8)
    old = device.fft(**OPTIONS | {"size": 64, "direction": "inverse"}, compiler="numba")

    def kernel(x: Any, y: Any) -> None:
        data = cuda.local.array(shape=fft.storage_size, dtype=fft.value_type)
        shared = cuda.shared.array(shape=0, dtype=fft.value_type)
        for i in range(fft.elements_per_thread):
            data[i] = x[cuda.threadIdx.x + i * fft.stride]
        fft.execute(data, shared)
        old(data, shared)
        data[0] = device.float32x2(1, data[0].y)
        for i in range(fft.elements_per_thread):
            y[cuda.threadIdx.x + i * fft.stride] = data[i] / fft.size

    def wrong(x: Any, y: Any) -> None:
        fft.execute(x)

    def strided(x: Any, y: Any) -> None:
        data = cuda.local.array(shape=16, dtype=fft.value_type)
        fft.execute(data[::2], cuda.shared.array(shape=0, dtype=fft.value_type))

    vector = types.complex64[::1]
    options: dict[str, Any] = {"device": False, "abi": "numba", "cc": (9, 0), "output": "ltoir"}
    codes, _ = cuda.compile_all(kernel, types.void(vector, vector), **options)
    assert len(codes) == 3
    data = [code if isinstance(code, bytes) else code.data for code in codes]
    # Everything is inlined, and the threads' arrays are in registers.
    with linker("-arch=sm_90", "-lto", "-verbose", "-Xptxas=-v") as handle:
        for code in data:
            nvjitlink.add_data(handle, InputType.LTOIR, code, len(code), "code")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    assert b" 0 bytes stack frame, 0 bytes spill stores" in log
    with pytest.raises(TypingError, match=r"made with dtype=fft\.value_type is"):
        cuda.compile_all(wrong, types.void(vector, vector), **options)
    with pytest.raises(TypingError, match="elements may be apart; a contiguous array is needed"):
        cuda.compile_all(strided, types.void(vector, vector), **options)


def test_what_numba_needs_is_named_where_it_is_absent() -> None:
    from tests.helpers.cuda_wheels import in_fresh_process

    kind, message = in_fresh_process("device.without_numba")
    assert kind == "ModuleNotFoundError"
    assert "pip install 'gpumath-device[cu13]'" in message
