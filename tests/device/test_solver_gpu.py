"""Solvers of `gpumath.device` in kernels on the GPU, against NumPy and SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg

from gpumath import device
from tests.helpers.callbacks import require_numba
from tests.helpers.device_solvers import execute, packed, unpacked

pytestmark = [
    pytest.mark.gpu,
    # Numba's advice on speed.
    pytest.mark.filterwarnings("ignore:.*under-utilization due to low occupancy"),
]

Array = npt.NDArray[Any]
COL, ROW = "col_major", "row_major"


@dataclass(frozen=True)
class Kind:
    """Type of the elements, and a layout that goes with it in these tests."""

    precision: Any
    data_type: str
    orders: tuple[str, str]
    batches: int

    @property
    def dtype(self) -> np.dtype[Any]:
        is_real = self.data_type == "real"
        return np.dtype(self.precision) if is_real else np.result_type(self.precision, np.complex64)

    @property
    def transposed(self) -> str:
        return "transposed" if self.data_type == "real" else "conj_transposed"

    @property
    def tolerance(self) -> float:
        return 3e-4 if self.precision == np.float32 else 1e-11

    def random(self, rng: np.random.Generator, *shape: int) -> Array:
        numbers = rng.standard_normal((self.batches, *shape))
        if self.data_type == "complex":
            numbers = numbers + 1j * rng.standard_normal(numbers.shape)
        return numbers.astype(self.dtype)

    def well_conditioned(self, rng: np.random.Generator, n: int) -> Array:
        return self.random(rng, n, n) + (3 * n * np.eye(n)).astype(self.dtype)

    def positive(self, rng: np.random.Generator, n: int) -> Array:
        root = self.random(rng, n, n)
        return root @ hermitian(root) + (n * np.eye(n)).astype(self.dtype)

    def solver(self, function: str, size: tuple[int, ...], **options: Any) -> device.Solver:
        return device.Solver(
            function,
            size,
            self.precision,
            "Block",
            data_type=self.data_type,  # type: ignore[arg-type]
            arrangement=self.orders,
            batches_per_block=self.batches,
            # To ask for cuSOLVERDx's own takes as long as to compile the solver.
            block_dim=(64,),
            **options,
        )

    def assert_close(self, actual: Array, wanted: Array) -> None:
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=self.tolerance * scale)


KINDS = [
    pytest.param(Kind(np.float32, "real", (COL, COL), 1), id="float32"),
    pytest.param(Kind(np.float64, "real", (ROW, COL), 3), id="float64"),
    pytest.param(Kind(np.float32, "complex", (COL, ROW), 2), id="complex64"),
    pytest.param(Kind(np.float64, "complex", (ROW, ROW), 1), id="complex128"),
]


@pytest.fixture(autouse=True)
def numba() -> None:
    require_numba()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


def hermitian(matrix: Array) -> Array:
    return matrix.conj().swapaxes(-1, -2)


def operated(matrix: Array, mode: str) -> Array:
    transposed = matrix.swapaxes(-1, -2)
    return {
        "non_transposed": matrix,
        "transposed": transposed,
        "conj_transposed": transposed.conj(),
    }[mode]


def run(solver: device.Solver, **operands: Array) -> dict[str, Array]:
    """Execute, with matrices in the layout that the solver says; the rest is passed as it is."""
    layouts = {
        "a": (solver.a_arrangement, solver.lda),
        "v": (solver.a_arrangement, solver.lda),
        "b": (solver.b_arrangement, solver.ldb),
        "c": (solver.b_arrangement, solver.ldb),
    }
    passed = [
        packed(operands[name], *layouts[name]) if name in layouts else operands[name]
        for name in solver.arguments
    ]
    results = dict(zip(solver.arguments, execute(solver, *passed), strict=True))
    for name in results:
        if name in layouts:
            results[name] = unpacked(results[name], operands[name].shape, *layouts[name])
    return results


def info_of(kind: Kind) -> Array:
    return np.full(kind.batches, -7, np.int32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill_mode", ["lower", "upper"])
def test_cholesky(kind: Kind, fill_mode: str, rng: np.random.Generator) -> None:
    n, k = 13, 3
    a, b = kind.positive(rng, n), kind.random(rng, n, k)
    options = {"fill_mode": fill_mode, "leading_dimensions": (n + 2, n + 1)}
    result = run(kind.solver("potrf", (n, n, k), **options), a=a, info=info_of(kind))
    assert not result["info"].any()
    factor = np.tril(result["a"]) if fill_mode == "lower" else hermitian(np.triu(result["a"]))
    kind.assert_close(factor @ hermitian(factor), a)
    solved = run(kind.solver("potrs", (n, n, k), **options), a=result["a"], b=b)["b"]
    kind.assert_close(solved, np.linalg.solve(a.astype(complex), b))
    both = run(kind.solver("posv", (n, n, k), **options), a=a, b=b, info=info_of(kind))
    assert not both["info"].any()
    kind.assert_close(both["b"], solved)


def test_info_names_the_minor_that_is_not_positive(rng: np.random.Generator) -> None:
    kind = Kind(np.float64, "real", (COL, COL), 3)
    a = kind.positive(rng, 8)
    a[1, 4, 4] = -1.0
    result = run(kind.solver("potrf", (8,), fill_mode="lower"), a=a, info=info_of(kind))
    np.testing.assert_array_equal(result["info"], [0, 5, 0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pivot", ["no_pivot", "partial_pivot"])
def test_lu(kind: Kind, pivot: str, rng: np.random.Generator) -> None:
    n, k = 11, 2
    is_pivoted = pivot == "partial_pivot"
    a = kind.random(rng, n, n) if is_pivoted else kind.well_conditioned(rng, n)
    b = kind.random(rng, n, k)
    more = {"ipiv": np.zeros((kind.batches, n), np.int32)} if is_pivoted else {}
    solver = kind.solver(f"getrf_{pivot}", (n, n, k))
    result = run(solver, a=a, info=info_of(kind), **more)
    assert not result["info"].any()
    lower, upper = np.tril(result["a"], -1) + np.eye(n), np.triu(result["a"])
    product = lower @ upper
    for batch in range(kind.batches if is_pivoted else 0):
        for row in range(n - 1, -1, -1):
            other = result["ipiv"][batch, row] - 1
            product[batch, [row, other]] = product[batch, [other, row]]
    kind.assert_close(product, a)
    pivots = {"ipiv": result["ipiv"]} if is_pivoted else {}
    for mode in ("non_transposed", kind.transposed):
        wanted = np.linalg.solve(operated(a, mode).astype(complex), b)
        solver = kind.solver(f"getrs_{pivot}", (n, n, k), transpose_mode=mode)
        kind.assert_close(run(solver, a=result["a"], b=b, **pivots)["b"], wanted)
        solver = kind.solver(f"gesv_{pivot}", (n, n, k), transpose_mode=mode)
        solved = run(solver, a=a, b=b, info=info_of(kind), **more)
        assert not solved["info"].any()
        kind.assert_close(solved["b"], wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "n"), [(12, 7), (7, 12)])
def test_qr_and_lq(kind: Kind, m: int, n: int, rng: np.random.Generator) -> None:
    least = min(m, n)
    a = kind.random(rng, m, n)
    tau = np.zeros((kind.batches, least), kind.dtype)
    if m >= n:
        result = run(kind.solver("geqrf", (m, n)), a=a, tau=tau)
        q = run(kind.solver("ungqr", (m, n, n)), a=result["a"], tau=result["tau"])["a"]
        kind.assert_close(q @ np.triu(result["a"][:, :n]), a)
        kind.assert_close(hermitian(q) @ q, np.broadcast_to(np.eye(n), (kind.batches, n, n)))
        c = kind.random(rng, m, 4)
        solver = kind.solver("unmqr", (m, 4, n), side="left", transpose_mode=kind.transposed)
        product = run(solver, a=result["a"], tau=result["tau"], c=c)["c"]
        kind.assert_close(product[:, :n], hermitian(q) @ c)
        kind.assert_close(
            np.linalg.norm(product, axis=1), np.linalg.norm(c, axis=1)
        )  # Q is unitary
    else:
        result = run(kind.solver("gelqf", (m, n)), a=a, tau=tau)
        q = run(kind.solver("unglq", (m, n, m)), a=result["a"], tau=result["tau"])["a"]
        kind.assert_close(np.tril(result["a"][:, :, :m]) @ q, a)
        kind.assert_close(q @ hermitian(q), np.broadcast_to(np.eye(m), (kind.batches, m, m)))
        c = kind.random(rng, 4, m)
        padded = np.concatenate([c, np.zeros((kind.batches, 4, n - m), kind.dtype)], axis=2)
        solver = kind.solver("unmlq", (4, n, m), side="right")
        product = run(solver, a=result["a"], tau=result["tau"], c=padded)["c"]
        kind.assert_close(product, c @ q)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "n"), [(12, 7), (7, 12)])
def test_least_squares(kind: Kind, m: int, n: int, rng: np.random.Generator) -> None:
    k = 3
    a, b = kind.random(rng, m, n), kind.random(rng, m, k)
    memory = np.zeros((kind.batches, max(m, n), k), kind.dtype)
    memory[:, :m] = b
    tau = np.zeros((kind.batches, min(m, n)), kind.dtype)
    solved = run(kind.solver("gels", (m, n, k)), a=a, tau=tau, b=memory)["b"][:, :n]
    wanted = np.array([np.linalg.lstsq(x, y, rcond=None)[0] for x, y in zip(a, b, strict=True)])
    kind.assert_close(solved, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_triangular(kind: Kind, side: str, rng: np.random.Generator) -> None:
    m, n = 9, 5
    order = m if side == "left" else n
    b = kind.random(rng, m, n)
    options = [("lower", "non_unit", "non_transposed"), ("upper", "unit", kind.transposed)]
    for fill_mode, diag, mode in options:
        a = (kind.random(rng, order, order) / order + np.eye(order)).astype(kind.dtype)
        solver = kind.solver(
            "trsm", (m, n), side=side, fill_mode=fill_mode, diag=diag, transpose_mode=mode
        )
        solved = run(solver, a=a, b=b)["b"]
        triangle = np.tril(a) if fill_mode == "lower" else np.triu(a)
        if diag == "unit":
            index = np.arange(order)
            triangle[:, index, index] = 1
        used = operated(triangle, mode)
        kind.assert_close(used @ solved if side == "left" else solved @ used, b)


@pytest.mark.parametrize("kind", KINDS)
def test_tridiagonal_system(kind: Kind, rng: np.random.Generator) -> None:
    n, k = 15, 2
    below, above = kind.random(rng, n - 1), kind.random(rng, n - 1)
    diagonal = kind.random(rng, n) + np.asarray(10, kind.dtype)
    b = kind.random(rng, n, k)
    solver = kind.solver("gtsv_no_pivot", (n, n, k))
    result = run(solver, dl=below, d=diagonal, du=above, b=b, info=info_of(kind))
    assert not result["info"].any()
    matrices = [
        np.diag(d) + np.diag(low, -1) + np.diag(high, 1)
        for low, d, high in zip(below, diagonal, above, strict=True)
    ]
    kind.assert_close(np.array(matrices) @ result["b"], b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("job", ["no_vectors", "overwrite_vectors"])
def test_eigenvalues(kind: Kind, job: str, rng: np.random.Generator) -> None:
    n = 10
    a = kind.positive(rng, n)
    solver = kind.solver("heev", (n,), fill_mode="lower", job=job)
    values = np.zeros((kind.batches, n), kind.precision)
    workspace = np.zeros((kind.batches, solver.workspace_size), kind.dtype)
    operands: dict[str, Any] = {"lambda": values, "workspace": workspace, "info": info_of(kind)}
    result = run(solver, a=a, **operands)
    assert not result["info"].any()
    kind.assert_close(np.sort(result["lambda"], axis=-1), np.linalg.eigvalsh(a.astype(complex)))
    if job == "overwrite_vectors":
        vectors = result["a"]
        kind.assert_close(a @ vectors, vectors * result["lambda"][:, None, :])


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("job", ["no_vectors", "all_vectors"])
def test_tridiagonal_eigenvalues(precision: Any, job: str, rng: np.random.Generator) -> None:
    kind = Kind(precision, "real", (COL, COL), 2)
    n = 10
    d, e = kind.random(rng, n), kind.random(rng, n - 1)
    solver = kind.solver("htev", (n,), job=job)
    vectors = np.zeros((kind.batches, n, n), kind.dtype)
    given = {"d": d, "e": e, "v": vectors, "info": info_of(kind)}
    result = run(solver, **{name: given[name] for name in solver.arguments})
    assert not result["info"].any()
    for batch in range(kind.batches):
        wanted = scipy.linalg.eigh_tridiagonal(d[batch], e[batch], eigvals_only=True)
        kind.assert_close(np.sort(result["d"][batch]), wanted)
        if job == "all_vectors":
            matrix = np.diag(d[batch]) + np.diag(e[batch], 1) + np.diag(e[batch], -1)
            v = result["v"][batch]
            kind.assert_close(matrix @ v, v * result["d"][batch])


@pytest.mark.parametrize("kind", KINDS[:3])
def test_leading_dimensions_at_run_time(kind: Kind, rng: np.random.Generator) -> None:
    n, k = 9, 4
    a, b = kind.positive(rng, n), kind.random(rng, n, k)
    lda, ldb = n + 3, n + 1
    solver = kind.solver("posv", (n, n, k), fill_mode="upper")
    _, solved, info = execute(
        solver,
        packed(a, solver.a_arrangement, lda),
        lda,
        packed(b, solver.b_arrangement, ldb),
        ldb,
        info_of(kind),
    )
    assert not info.any()
    result = unpacked(solved, b.shape, solver.b_arrangement, ldb)
    kind.assert_close(result, np.linalg.solve(a.astype(complex), b))


def test_suggested_blocks(rng: np.random.Generator) -> None:
    options: dict[str, Any] = {"batches_per_block": "suggested", "block_dim": "suggested"}
    solver = device.Solver("posv", (5, 5, 1), np.float32, "Block", fill_mode="lower", **options)
    kind = Kind(np.float32, "real", (COL, COL), solver.batches_per_block)
    a, b = kind.positive(rng, 5), kind.random(rng, 5, 1)
    result = run(solver, a=a, b=b, info=info_of(kind))
    kind.assert_close(result["b"], np.linalg.solve(a, b))


def test_classes_in_a_kernel(rng: np.random.Generator) -> None:
    from numba import cuda

    n, k, problems = 8, 3, 50
    solver = device.LUPivotSolver((n, n, k), np.float64, "Block", transpose_mode="transposed")
    a_size, b_size, ipiv_size = solver.a_size(), solver.b_size(), solver.ipiv_size

    @cuda.jit
    def kernel(a: Any, b: Any, info: Any) -> None:
        shared_a = cuda.shared.array(a_size, np.float64)
        shared_b = cuda.shared.array(b_size, solver.value_type)
        ipiv = cuda.shared.array(ipiv_size, np.int32)
        this = cuda.blockIdx.x
        strides = solver.a_strides()
        for i in range(cuda.threadIdx.x, n * n, solver.block_size):
            shared_a[i // n * strides[1] + i % n * strides[2]] = a[this, i // n, i % n]
        for i in range(cuda.threadIdx.x, n * k, solver.block_size):
            shared_b[i // k + i % k * solver.ldb] = b[this, i // k, i % k]
        cuda.syncthreads()
        solver.factorize(shared_a, ipiv, info[this:])
        solver.solve(shared_a, ipiv, shared_b, lda=solver.lda, ldb=solver.ldb)
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, n * k, solver.block_size):
            b[this, i // k, i % k] = shared_b[i // k + i % k * solver.ldb]

    a, b = rng.standard_normal((problems, n, n)), rng.standard_normal((problems, n, k))
    a[17, :, 3] = 0
    on_device, info = cuda.to_device(b), cuda.to_device(np.full(problems, -1, np.int32))
    kernel[problems, solver.block_dim](cuda.to_device(a), on_device, info)
    wanted_info = np.zeros(problems, np.int32)
    wanted_info[17] = 4
    np.testing.assert_array_equal(info.copy_to_host(), wanted_info)
    solvable = np.arange(problems) != 17
    wanted = np.linalg.solve(a[solvable].swapaxes(1, 2), b[solvable])
    np.testing.assert_allclose(on_device.copy_to_host()[solvable], wanted, rtol=1e-8, atol=1e-8)
