"""Matrix products inside Numba kernels, where there is a GPU, and their traits."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from common import Environment, Results, main, raised

ROWS, COLUMNS = "row_major", "col_major"


def run(env: Environment) -> Results:
    from numba import cuda

    if not cuda.is_available():
        return
    device = importlib.import_module(f"{env.package}.device")
    yield from traits(device)
    yield from arrays(env, device, cuda)
    yield from complex_arrays(env, device, cuda)
    yield from tensors(env, device, cuda)


def traits(device: Any) -> Results:
    cc = device.ComputeCapability(9, 0)
    options = {
        "size": (32, 16, 24),
        "precision": np.float32,
        "data_type": "complex",
        "sm": cc,
        "arrangement": (ROWS, COLUMNS, ROWS),
        "block_dim": (64, 1, 1),
    }
    product = device.Matmul(**options)
    names = (
        *("size", "data_type", "function", "execution", "arrangement", "alignment"),
        *("leading_dimension", "a_dim", "b_dim", "c_dim", "a_size", "b_size", "c_size"),
        *("block_dim", "block_size", "max_threads_per_block", "static_block_dim"),
        *("with_pipeline", "enable_input_streaming"),
    )
    for name in names:
        yield name, getattr(product, name), None
    yield "shared", product.get_shared_storage_size(), None
    yield "shared with leading dimensions", product.get_shared_storage_size(30, 31, 32), None
    yield "shared of a and b", product.get_shared_storage_size_ab(), None
    yield "valid", [list(block) for (block,) in product.valid("block_dim")], None
    suggested = device.Matmul(**options | {"leading_dimension": "suggested"})
    yield "suggested", suggested.leading_dimension, None
    calculator = device.SharedStorageCalc()
    calculator.add(16, 5)
    calculator.add(8, 4, 3)
    yield "calculator", calculator.get(), None
    code, symbol = device.compile_blas_execute(
        product, device.CodeType("lto", cc), "static_leading_dimensions"
    )
    yield "code", [code.code_type.kind, len(code.data) > 1000, bool(symbol)], None
    for title, changes in {
        "size": {"size": (0, 1, 1)},
        "precision": {"precision": (np.float32, np.float32)},
        "data_type": {"data_type": "integer"},
        "arrangement": {"arrangement": ("C", "C", "C")},
        "both": {"transpose_mode": ("transposed", "transposed")},
        "alignment": {"alignment": (32, 8, 8)},
        "block": {"block_dim": (2048, 1, 1)},
        "blocks": {"block_size": 32},
        "function": {"function": "TRSM"},
    }.items():
        yield f"refused {title}", raised(lambda c=changes: device.Matmul(**options | c)), None
    yield "refused outside", raised(lambda: product.execute(1, 2, 3, 4, 5)), None


def arrays(env: Environment, device: Any, cuda: Any) -> Results:
    m, n, k = 24, 16, 40
    product = device.Matmul(
        size=(m, n, k),
        precision=np.float64,
        data_type="real",
        arrangement=(ROWS, COLUMNS, ROWS),
        block_dim=device.Dim3(64, 1, 1),
    )

    room = m * 50

    @cuda.jit
    def kernel(alpha: float, a: Any, b: Any, beta: float, c: Any, lda: int) -> None:
        shared_a = cuda.shared.array(room, product.a_value_type)
        shared_b = cuda.shared.array(product.b_size, product.b_value_type)
        shared_c = cuda.shared.array(product.c_size, product.c_value_type)
        for i in range(cuda.threadIdx.x, m * k, 64):
            shared_a[i] = a[i // k, i % k]
        for i in range(cuda.threadIdx.x, n * k, 64):
            shared_b[i] = b[i % k, i // k]
        for i in range(cuda.threadIdx.x, m * n, 64):
            shared_c[i] = c[i // n, i % n]
        cuda.syncthreads()
        product.execute(alpha, shared_a, shared_b, beta, shared_c)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, m * k, 64):
            shared_a[i // k * lda + i % k] = a[i // k, i % k]
        cuda.syncthreads()
        product.execute(1, shared_a, lda, shared_b, k, 1.0, shared_c, n)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, m * n, 64):
            c[i // n, i % n] = shared_c[i]

    a, b, c = (env.real(*s, dtype="f8") for s in ((m, k), (k, n), (m, n)))
    on_gpu = cuda.to_device(c)
    kernel[1, 64](1.5, a, b, -0.5, on_gpu, 47)
    yield "arrays", on_gpu.copy_to_host(), 2.5 * (a @ b) - 0.5 * c


def complex_arrays(env: Environment, device: Any, cuda: Any) -> Results:
    n = 16
    product = device.Matmul(
        *((n, n, n), np.float32, "complex"),
        transpose_mode=("conj_transposed", "non_transposed"),
        block_size=128,
    )

    @cuda.jit
    def kernel(alpha: complex, a: Any, b: Any, beta: complex, c: Any) -> None:
        shared_a = cuda.shared.array(product.a_size, product.a_value_type)
        shared_b = cuda.shared.array(product.b_size, product.b_value_type)
        shared_c = cuda.shared.array(product.c_size, product.c_value_type)
        for i in range(cuda.threadIdx.x, n * n, 128):
            shared_a[i] = a[i % n, i // n]
            shared_b[i] = b[i % n, i // n]
        cuda.syncthreads()
        product.execute(alpha, shared_a, shared_b, beta, shared_c)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, n * n, 128):
            c[i % n, i // n] = shared_c[i]

    a, b = env.complex(n, n), env.complex(n, n)
    c = cuda.to_device(np.zeros((n, n), np.complex64))
    # nvmath-python takes no real factors for complex matrices.
    kernel[1, 128](np.complex64(2), a, b, np.complex64(0), c)
    yield "complex", c.copy_to_host(), 2 * (a.astype(complex).conj().T @ b)


def tensors(env: Environment, device: Any, cuda: Any) -> Results:
    n = 32
    product = device.Matmul(
        *((n, n, n), np.float32, "real"),
        arrangement=(ROWS, COLUMNS, ROWS),
        block_dim=(128, 1, 1),
    )
    make_tensor, copy, copy_wait = device.make_tensor, device.copy, device.copy_wait
    axpby = device.axpby
    span_a = product.suggest_layout_smem_a().cosize
    span_b = product.suggest_layout_smem_b().cosize
    yield "spans", [span_a >= n * n, span_b >= n * n], None
    yield "fragment", product.suggest_layout_rmem_c().size, None

    @cuda.jit
    def kernel(a: Any, b: Any, c: Any) -> None:
        memory_a = cuda.shared.array(span_a, product.a_value_type, alignment=16)
        memory_b = cuda.shared.array(span_b, product.b_value_type, alignment=16)
        shared_a = make_tensor(memory_a, product.suggest_layout_smem_a())
        shared_b = make_tensor(memory_b, product.suggest_layout_smem_b())
        copy(make_tensor(a, product.get_layout_gmem_a(n)), shared_a)
        copy(make_tensor(b, product.get_layout_gmem_b()), shared_b)
        copy_wait()
        accumulator = product.suggest_accumulator()
        product.execute(shared_a, shared_b, accumulator)
        tensor_c = make_tensor(c, product.get_layout_gmem_c())
        old = accumulator.make_partition_and_copy(tensor_c)
        axpby(2.0, accumulator.get_results(), 3.0, old)
        accumulator.partition_and_copy(old, tensor_c)

    a, b, c = env.real(n, n), env.real(n, n), env.real(n, n)
    on_gpu = cuda.to_device(c.ravel())
    kernel[1, 128](a.ravel(), b.T.copy().ravel(), on_gpu)
    yield "tensors", on_gpu.copy_to_host().reshape(n, n), 2 * (a.astype("f8") @ b) + 3 * c


if __name__ == "__main__":
    main(run)
