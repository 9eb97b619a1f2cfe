"""Kernels that repeat a transform or a product, from Numba and from CUDA C++, as machine code.

The data stay in registers or in shared memory, so the GPU's memory has no part in the rates. Every
kernel has the arguments (address of the data, repetitions, whether to store the result). All are
linked by the same linker with the same options.

The repetitions are counted by `while`, because Numba makes another loop of `for` than C++ has, and
the assembler then orders the instructions of a transform in another way.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpumath.bindings import core, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType

__all__ = ["Kernel", "make"]

PRECISIONS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
# The types of C++ for a number, and for what a thread's array of a transform holds.
NUMBERS = {"float16": "unsigned short", "float32": "float", "float64": "double"}
ELEMENTS = {"float16": "Half4", "float32": "float2", "float64": "double2"}

MOST_STATIC = 48 << 10  # bytes of shared memory whose size is known at compile time

FFT_SOURCE = r"""
struct __align__(8) Half4 { unsigned short x, y, z, w; };
extern "C" __device__ void FUNCTION(ELEMENT *, ELEMENT *);
extern "C" __global__ void kernel(ELEMENT *out, long long repetitions, long long store)
{
    extern __shared__ __align__(16) unsigned char shared[];
    ELEMENT data[STORAGE];
    for (int i = 0; i < COUNT; ++i) data[i] = out[i];
    long long done = 0;
    do FUNCTION(data, (ELEMENT *) shared); while (++done < repetitions);
    if (store)
        for (int i = 0; i < COUNT; ++i) out[i] = data[i];
}
"""
PRODUCT_SOURCE = r"""
extern "C" __device__ void FUNCTION(const RESULT *, NUMBER *, NUMBER *, const RESULT *, RESULT *);
extern "C" __global__ void kernel(RESULT *out, long long repetitions, long long store)
{
#if IS_STATIC
    __shared__ __align__(16) NUMBER a[SPAN_A], b[SPAN_B];
    __shared__ __align__(16) RESULT c[SPAN_C];
#else
    extern __shared__ __align__(16) unsigned char shared[];
    NUMBER *a = (NUMBER *) shared, *b = a + SPAN_A;
    RESULT *c = (RESULT *) (b + SPAN_B);
#endif
    RESULT half = 0.5;
    for (int i = threadIdx.x; i < SPAN_A; i += 128) { a[i] = i % 7; b[i] = i % 5; c[i] = 0; }
    __syncthreads();
    for (long long r = 0; r < repetitions; ++r) {
        FUNCTION(&half, a, b, &half, c);
        __syncthreads();
    }
    if (store) out[threadIdx.x] = c[threadIdx.x];
}
"""


@dataclass
class Kernel:
    """Machine code, how to launch it, and how much one block computes in one repetition."""

    cubin: bytes
    block: tuple[int, int, int]
    dynamic: int
    work: int


def make(subject: str, title: str, capability: tuple[int, int]) -> Kernel:
    """Compile the kernel that a title such as 'FFT 128 float32' describes.

    The subject is 'gpumath' or 'nvmath' for a kernel of Numba, or 'C++' for a kernel that calls the
    same code as that of gpumath.
    """
    kind, size, name = title.split()
    package = "gpumath" if subject == "C++" else subject
    device = importlib.import_module(f"{package}.device")
    describe = _fft if kind == "FFT" else _product
    return describe(device, int(size), name, capability, in_cpp=subject == "C++")


def _target(device: Any) -> dict[str, Any]:
    return {} if core.Device.count() else {"sm": device.ComputeCapability(9, 0, "a")}


def _fft(device: Any, size: int, name: str, capability: tuple[int, int], *, in_cpp: bool) -> Kernel:
    fft = device.FFT(
        size=size,
        precision=PRECISIONS[name],
        fft_type="c2c",
        direction="forward",
        execution="Block",
        ffts_per_block="suggested" if size < 1024 else None,
        **_target(device),
    )
    x, y, z = fft.block_dim
    if in_cpp:
        code, symbol = device.compile_fft_execute(fft, ("lto", fft.sm))
        names = {
            "FUNCTION": symbol,
            "ELEMENT": ELEMENTS[name],
            "STORAGE": fft.storage_size,
            "COUNT": fft.elements_per_thread,
        }
        pieces = [_from_cpp(FFT_SOURCE, names, capability), code.data]
    else:
        vector = getattr(device, f"{name}x{4 if name == 'float16' else 2}_type")
        pieces = _from_numba(_fft_kernel(fft), vector, capability)
    return Kernel(_link(pieces, capability), (x, y, z), fft.shared_memory_size, fft.ffts_per_block)


def _fft_kernel(fft: Any) -> Any:
    from numba import cuda

    value_type, storage, count = fft.value_type, fft.storage_size, fft.elements_per_thread

    def kernel(out: Any, repetitions: int, store: int) -> None:
        data = cuda.local.array(shape=(storage,), dtype=value_type)
        shared = cuda.shared.array(shape=(0,), dtype=value_type)
        for i in range(count):
            data[i] = out[i]
        done = 0
        while True:
            fft.execute(data, shared)
            done += 1
            if done >= repetitions:
                break
        if store:
            for i in range(count):
                out[i] = data[i]

    return kernel


def _product(
    device: Any, size: int, name: str, capability: tuple[int, int], *, in_cpp: bool
) -> Kernel:
    number = PRECISIONS[name]
    result = np.float32 if name == "float16" else number
    product = device.Matmul(
        size=(size, size, size),
        precision=device.Precision(number, number, result),
        data_type="real",
        arrangement=("row_major", "col_major", "row_major"),
        block_dim=(128, 1, 1),
        alignment=(16, 16, 16),
        static_block_dim=True,
        execution="Block",
        **_target(device),
    )
    bytes_needed = product.get_shared_storage_size()
    is_static = bytes_needed <= MOST_STATIC
    if in_cpp:
        code, symbol = device.compile_blas_execute(product, ("lto", product.sm))
        names = {
            "FUNCTION": symbol,
            "SPAN_A": product.a_size,
            "SPAN_B": product.b_size,
            "SPAN_C": product.c_size,
            "IS_STATIC": int(is_static),
            "NUMBER": NUMBERS[name],
            "RESULT": NUMBERS[np.dtype(result).name],
        }
        pieces = [_from_cpp(PRODUCT_SOURCE, names, capability), code.data]
    else:
        from numba import from_dtype

        make = _static_product_kernel
        if not is_static:
            # nvmath-python has no arrays at constant offsets of dynamic shared memory.
            has_offsets = hasattr(device, "shared_array")
            make = _product_kernel if has_offsets else _sliced_product_kernel
        kernel = make(product, number, result)
        pieces = _from_numba(kernel, from_dtype(np.dtype(result)), capability)
    dynamic = 0 if is_static else bytes_needed
    return Kernel(_link(pieces, capability), (128, 1, 1), dynamic, 2 * size**3)


def _static_product_kernel(product: Any, number: Any, result: Any) -> Any:
    from numba import cuda

    span_a, span_b, span_c = product.a_size, product.b_size, product.c_size

    def kernel(out: Any, repetitions: int, store: int) -> None:
        a = cuda.shared.array(span_a, number, alignment=16)
        b = cuda.shared.array(span_b, number, alignment=16)
        c = cuda.shared.array(span_c, result, alignment=16)
        for i in range(cuda.threadIdx.x, span_a, 128):
            a[i] = i % 7
            b[i] = i % 5
            c[i] = 0
        cuda.syncthreads()
        done = 0
        while done < repetitions:
            product.execute(0.5, a, b, 0.5, c)
            cuda.syncthreads()
            done += 1
        if store:
            out[cuda.threadIdx.x] = c[cuda.threadIdx.x]

    return kernel


def _product_kernel(product: Any, number: Any, result: Any) -> Any:
    from numba import cuda

    from gpumath.device import SharedStorageCalc, shared_array

    span_a, span_b, span_c = product.a_size, product.b_size, product.c_size
    storage = SharedStorageCalc()
    before_a = storage.add(16, np.dtype(number).itemsize, span_a)
    before_b = storage.add(16, np.dtype(number).itemsize, span_b)
    before_c = storage.add(16, np.dtype(result).itemsize, span_c)

    def kernel(out: Any, repetitions: int, store: int) -> None:
        a = shared_array(span_a, number, before_a)
        b = shared_array(span_b, number, before_b)
        c = shared_array(span_c, result, before_c)
        for i in range(cuda.threadIdx.x, span_a, 128):
            a[i] = i % 7
            b[i] = i % 5
            c[i] = 0
        cuda.syncthreads()
        done = 0
        while done < repetitions:
            product.execute(0.5, a, b, 0.5, c)
            cuda.syncthreads()
            done += 1
        if store:
            out[cuda.threadIdx.x] = c[cuda.threadIdx.x]

    return kernel


def _sliced_product_kernel(product: Any, number: Any, result: Any) -> Any:
    from numba import cuda

    span_a, span_b = product.a_size, product.b_size
    before_c = (span_a + span_b) * np.dtype(number).itemsize // np.dtype(result).itemsize

    def kernel(out: Any, repetitions: int, store: int) -> None:
        numbers = cuda.shared.array(shape=0, dtype=number, alignment=16)
        results = cuda.shared.array(shape=0, dtype=result, alignment=16)
        a, b, c = numbers[:span_a], numbers[span_a:], results[before_c:]
        for i in range(cuda.threadIdx.x, span_a, 128):
            a[i] = i % 7
            b[i] = i % 5
            c[i] = 0
        cuda.syncthreads()
        done = 0
        while done < repetitions:
            product.execute(0.5, a, b, 0.5, c)
            cuda.syncthreads()
            done += 1
        if store:
            out[cuda.threadIdx.x] = c[cuda.threadIdx.x]

    return kernel


def _from_numba(kernel: Any, element: Any, capability: tuple[int, int]) -> list[bytes]:
    from numba import cuda
    from numba.cuda import types

    pointer = types.CPointer(element)
    signature = types.void(pointer, types.int64, types.int64)
    codes, _ = cuda.compile_all(
        kernel, signature, device=False, abi="numba", cc=capability, output="ltoir"
    )
    return [code if isinstance(code, bytes) else code.data for code in codes]


def _from_cpp(source: str, names: dict[str, Any], capability: tuple[int, int]) -> bytes:
    options = [f"-arch=compute_{capability[0]}{capability[1]}", "-rdc=true", "-dlto"]
    options += [f"-D{name}={value}" for name, value in names.items()]
    program = nvrtc.create_program(source, "kernel.cu", 0, [], [])
    nvrtc.compile_program(program, len(options), options)
    code = bytearray(nvrtc.get_ltoir_size(program))
    nvrtc.get_ltoir(program, code)
    nvrtc.destroy_program(program)
    return bytes(code)


def _link(pieces: list[bytes], capability: tuple[int, int]) -> bytes:
    # The second option leaves out tables that no function uses, which are most of the code.
    options = ["-lto", "-optimize-unused-variables", f"-arch=sm_{capability[0]}{capability[1]}"]
    linker = nvjitlink.create(len(options), options)
    for piece in pieces:
        nvjitlink.add_data(linker, InputType.LTOIR, piece, len(piece), "code")
    nvjitlink.complete(linker)
    cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
    nvjitlink.get_linked_cubin(linker, cubin)
    nvjitlink.destroy(linker)
    return bytes(cubin)
