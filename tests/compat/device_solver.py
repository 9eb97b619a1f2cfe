"""Solvers inside Numba kernels, where there is a GPU: the classes, and functions by name."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    from numba import cuda

    if not cuda.is_available():
        return
    device = importlib.import_module(f"{env.package}.device")
    yield from cholesky(env, device, cuda)
    yield from pivoted(env, device, cuda)
    yield from least_squares(env, device, cuda)
    yield from eigenvalues(env, device, cuda)
    yield from attributes(device)


def cholesky(env: Environment, device: Any, cuda: Any) -> Results:
    n, k, batches = 10, 2, 2
    solver = device.CholeskySolver(
        size=(n, n, k),
        precision=np.float64,
        execution="Block",
        fill_mode="upper",
        arrangement=("row_major", "col_major"),
        batches_per_block=batches,
        leading_dimensions=(n + 1, n),
    )
    a_size, b_size, a_shape, b_shape = (
        *(solver.a_size(), solver.b_size()),
        *(solver.a_shape, solver.b_shape),
    )
    a_strides, b_strides = solver.a_strides(), solver.b_strides()

    @cuda.jit
    def kernel(a: Any, b: Any, info: Any) -> None:
        shared_a = cuda.shared.array(a_size, np.float64)
        shared_b = cuda.shared.array(b_size, np.float64)
        thread = cuda.threadIdx.x
        for i in range(thread, batches * n * n, cuda.blockDim.x):
            batch, row, column = i // (n * n), i // n % n, i % n
            place = batch * a_strides[0] + row * a_strides[1] + column * a_strides[2]
            shared_a[place] = a[batch, row, column]
        for i in range(thread, batches * n * k, cuda.blockDim.x):
            batch, row, column = i // (n * k), i // k % n, i % k
            place = batch * b_strides[0] + row * b_strides[1] + column * b_strides[2]
            shared_b[place] = b[batch, row, column]
        cuda.syncthreads()
        solver.factorize(shared_a, info)
        solver.solve(shared_a, shared_b)
        cuda.syncthreads()
        for i in range(thread, batches * n * k, cuda.blockDim.x):
            batch, row, column = i // (n * k), i // k % n, i % k
            place = batch * b_strides[0] + row * b_strides[1] + column * b_strides[2]
            b[batch, row, column] = shared_b[place]

    root = env.real(batches, n, n, dtype="f8")
    a = root @ root.swapaxes(1, 2) + n * np.eye(n)
    b = env.real(batches, n, k, dtype="f8")
    x, info = cuda.to_device(b), cuda.to_device(np.full(batches, 9, np.int32))
    kernel[1, tuple(solver.block_dim)](cuda.to_device(a), x, info)
    yield "cholesky", x.copy_to_host(), np.linalg.solve(a, b)
    yield "cholesky info", info.copy_to_host(), None
    yield "cholesky shapes", [*a_shape, *b_shape, *a_strides, *b_strides, a_size, b_size], None
    a[1, 3, 3] = -1
    kernel[1, tuple(solver.block_dim)](cuda.to_device(a), cuda.to_device(b), info)
    yield "cholesky of another", info.copy_to_host(), None


def pivoted(env: Environment, device: Any, cuda: Any) -> Results:
    n, k = 9, 3
    solver = device.LUPivotSolver(
        (n, n, k), np.float64, "Block", transpose_mode="transposed", data_type="real"
    )

    @cuda.jit
    def kernel(a: Any, b: Any, lda: int, ldb: int, info: Any) -> None:
        shared_a = cuda.shared.array(200, np.float64)
        shared_b = cuda.shared.array(100, np.float64)
        ipiv = cuda.shared.array(n, np.int32)
        for i in range(cuda.threadIdx.x, n * n, cuda.blockDim.x):
            shared_a[i // n + i % n * lda] = a[i // n, i % n]
        for i in range(cuda.threadIdx.x, n * k, cuda.blockDim.x):
            shared_b[i // k + i % k * ldb] = b[i // k, i % k]
        cuda.syncthreads()
        solver.factorize(shared_a, ipiv, info, lda=lda)
        solver.solve(shared_a, ipiv, shared_b, lda=lda, ldb=ldb)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, n * k, cuda.blockDim.x):
            b[i // k, i % k] = shared_b[i // k + i % k * ldb]

    a, b = env.real(n, n, dtype="f8"), env.real(n, k, dtype="f8")
    x, info = cuda.to_device(b), cuda.to_device(np.full(1, 9, np.int32))
    kernel[1, tuple(solver.block_dim)](cuda.to_device(a), x, n + 2, n + 3, info)
    # A residual, because the solution has the condition of the matrix in its error.
    yield "pivoted residual is small", np.abs(a.T @ x.copy_to_host() - b).max() < 1e-9, None
    yield "pivoted info", info.copy_to_host(), None
    yield "pivots", [*solver.ipiv_shape, *solver.ipiv_strides, solver.ipiv_size], None


def least_squares(env: Environment, device: Any, cuda: Any) -> Results:
    m, n, k = 12, 5, 2
    solver = device.LeastSquaresSolver(
        (m, n, k), np.float64, "Block", arrangement=("row_major", "row_major")
    )
    a_size, b_size, tau_size = solver.a_size(), solver.bx_size(), solver.tau_size

    @cuda.jit
    def kernel(a: Any, b: Any) -> None:
        shared_a = cuda.shared.array(a_size, np.float64)
        shared_b = cuda.shared.array(b_size, np.float64)
        tau = cuda.shared.array(tau_size, np.float64)
        for i in range(cuda.threadIdx.x, m * n, cuda.blockDim.x):
            shared_a[i] = a[i // n, i % n]
        for i in range(cuda.threadIdx.x, m * k, cuda.blockDim.x):
            shared_b[i] = b[i // k, i % k]
        cuda.syncthreads()
        solver.solve(shared_a, tau, shared_b)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, m * k, cuda.blockDim.x):
            b[i // k, i % k] = shared_b[i]

    a, b = env.real(m, n, dtype="f8"), env.real(m, k, dtype="f8")
    x = cuda.to_device(b)
    kernel[1, tuple(solver.block_dim)](cuda.to_device(a), x)
    yield "least squares", x.copy_to_host()[:n], np.linalg.lstsq(a, b, rcond=None)[0]
    yield "least squares shapes", [*solver.b_shape, *solver.x_shape, *solver.tau_shape], None


def eigenvalues(env: Environment, device: Any, cuda: Any) -> Results:
    n = 8
    solver = device.Solver("heev", (n,), np.float64, "Block", fill_mode="lower", job="no_vectors")
    elements, workspace_size = n * n, solver.workspace_size

    @cuda.jit
    def kernel(a: Any, values: Any, info: Any) -> None:
        shared_a = cuda.shared.array(elements, np.float64)
        shared_values = cuda.shared.array(n, np.float64)
        workspace = cuda.shared.array(workspace_size, np.float64)
        for i in range(cuda.threadIdx.x, n * n, cuda.blockDim.x):
            shared_a[i] = a[i // n, i % n]
        cuda.syncthreads()
        solver.execute(shared_a, shared_values, workspace, info)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            values[i] = shared_values[i]

    a = env.real(n, n, dtype="f8")
    a = a + a.T
    values, info = cuda.device_array(n), cuda.to_device(np.full(1, 9, np.int32))
    kernel[1, tuple(solver.block_dim)](cuda.to_device(a), values, info)
    yield "eigenvalues", np.sort(values.copy_to_host()), np.linalg.eigvalsh(a)
    yield "eigenvalues info", info.copy_to_host(), None


def attributes(device: Any) -> Results:
    cc = device.ComputeCapability(8, 0)
    solver = device.Solver(
        "trsm",
        (6, 4),
        np.float32,
        "Block",
        sm=cc,
        side="right",
        diag="unit",
        fill_mode="upper",
        data_type="complex",
        block_dim=(64,),
        batches_per_block=3,
    )
    names = ("size", "m", "n", "k", "lda", "ldb", "leading_dimensions", "block_dim", "block_size")
    for name in (*names, "batches_per_block"):
        yield f"trsm {name}", getattr(solver, name), None
    for name in ("function", "arrangement", "side", "diag", "fill_mode", "data_type"):
        yield f"trsm {name}", getattr(solver, name), None
    code, symbol = device.compile_solver_execute(
        solver, device.CodeType("lto", cc), "runtime_leading_dim"
    )
    yield "code", [code.code_type.kind, len(code.data) > 1000, bool(symbol)], None
    refused = {
        "side": lambda: device.Solver("trsm", (4, 4), np.float32, "Block", sm=cc),
        "function": lambda: device.Solver("inverse", (4, 4), np.float32, "Block", sm=cc),
        "precision": lambda: device.Solver("geqrf", (4, 4), np.float16, "Block", sm=cc),
        "size": lambda: device.Solver("geqrf", (4, 0), np.float32, "Block", sm=cc),
        "square": lambda: device.CholeskySolver((4, 5), np.float32, "Block", "lower", sm=cc),
    }
    for name, use in refused.items():
        yield f"refused {name}", raised(use), None


if __name__ == "__main__":
    main(run)
