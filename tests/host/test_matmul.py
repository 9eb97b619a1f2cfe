"""Products of two matrices, of every library, against NumPy in double precision."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft, linalg, memory
from gpumath.bindings import core
from tests.helpers.elements import gaps_of, read, write
from tests.helpers.operands import library
from tests.helpers.products import DTYPES, ORDERS, SIZES, check_product, matrix, nan_like

if TYPE_CHECKING:
    from tests.helpers.spaces import Space


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_size(space: Space, size: tuple[int, int, int], dtype: str) -> None:
    rows, depth, columns = size
    a, b = matrix((rows, depth), dtype), matrix((depth, columns), dtype)
    left, right = space.array(a), space.array(b)
    result = linalg.matmul(left, right, execution=space.execution)
    space.assert_is_alike(result)
    assert core.TensorView(result).shape == (rows, columns)
    check_product(space.numpy(result), a, b)
    np.testing.assert_array_equal(space.numpy(left), a, "a has changed")
    np.testing.assert_array_equal(space.numpy(right), b, "b has changed")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("orders", [(a, b) for a in ORDERS for b in ORDERS], ids=str)
def test_every_order(space: Space, orders: tuple[str, str], dtype: str) -> None:
    for rows, depth, columns in [(5, 7, 3), (64, 33, 130)]:
        a, b = matrix((rows, depth), dtype, orders[0]), matrix((depth, columns), dtype, orders[1])
        result = linalg.matmul(space.array(a), space.array(b), execution=space.execution)
        assert core.TensorView(result).strides == (columns, 1), "the result is in C order"
        check_product(space.numpy(result), a, b)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_out_in_every_order(space: Space, orders: str, order: str) -> None:
    for rows, depth, columns in [(6, 4, 9), (130, 20, 70), (3, 0, 2), (3, 2, 0), (1, 5, 1)]:
        a = matrix((rows, depth), "float32", orders[0])
        b = matrix((depth, columns), "float32", orders[1])
        out = space.array(matrix((rows, columns), "float32", order))
        write(out, nan_like((rows, columns), "float32"))
        before = gaps_of(out) if rows * columns else None
        left, right = space.array(a), space.array(b)
        assert linalg.matmul(left, right, out=out, execution=space.execution) is out
        check_product(read(out) if rows * columns else np.zeros((rows, columns), "float32"), a, b)
        if before is not None:
            np.testing.assert_array_equal(gaps_of(out), before, "memory of others has changed")


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_strides_on_the_cpu(cpu_space: Space, dtype: str) -> None:
    rng = np.random.default_rng()
    for _ in range(40):
        rows, depth, columns = (int(extent) for extent in rng.integers(1, 40, 3))
        a, b, out = (
            scattered(rng, shape, dtype, backwards=cpu_space.library != "torch")
            for shape in [(rows, depth), (depth, columns), (rows, columns)]
        )
        target = cpu_space.array(out)
        before = gaps_of(target)
        linalg.matmul(cpu_space.array(a), cpu_space.array(b), out=target)
        check_product(read(target), a, b)
        np.testing.assert_array_equal(gaps_of(target), before, "memory of others has changed")


def scattered(
    rng: np.random.Generator, shape: tuple[int, int], dtype: str, *, backwards: bool
) -> np.ndarray:
    """Return a matrix with steps between its elements, perhaps transposed, perhaps backwards."""
    steps = [int(step) for step in rng.integers(1, 4, 2)]
    is_transposed = rng.random() < 0.5
    extents = [count * step for count, step in zip(shape, steps, strict=True)]
    base = rng.uniform(-1, 1, extents[::-1] if is_transposed else extents).astype(dtype)
    base = base.T if is_transposed else base
    signs = rng.choice([1, -1], 2) if backwards else (1, 1)
    chosen: np.ndarray = base[:: steps[0], :: steps[1]][:: signs[0], :: signs[1]]
    return chosen


def test_rows_that_share_memory(cpu_space: Space) -> None:
    line, b = matrix((1, 7), "float64"), matrix((7, 5), "float64")
    a = cpu_space.array(line)
    many = a.expand(9, 7) if cpu_space.library == "torch" else np.broadcast_to(a, (9, 7))
    result = linalg.matmul(many, cpu_space.array(b))
    check_product(cpu_space.numpy(result), np.repeat(line, 9, 0), b)


def test_one_array_twice(space: Space) -> None:
    a = matrix((33, 33), "float64")
    operand = space.array(a)
    check_product(space.numpy(linalg.matmul(operand, operand, execution=space.execution)), a, a)
    result = linalg.matmul(operand, operand.T, execution=space.execution)
    check_product(space.numpy(result), a, a.T)


@pytest.mark.parametrize("threads", [1, 2, 3, 64])
@pytest.mark.parametrize("size", [(700, 65, 90), (90, 65, 700), (1000, 300, 1)], ids=str)
def test_any_number_of_threads(size: tuple[int, int, int], threads: int) -> None:
    rows, depth, columns = size
    a, b = matrix((rows, depth), "float32"), matrix((depth, columns), "float32", "F")
    check_product(linalg.matmul(a, b, execution=linalg.ExecutionCPU(num_threads=threads)), a, b)


def test_calls_of_many_threads() -> None:
    pairs = [(matrix((150, 99), "float64"), matrix((99, 140), "float64")) for _ in range(8)]
    failures: list[BaseException] = []

    def work(a: np.ndarray, b: np.ndarray) -> None:
        try:
            for _ in range(10):
                check_product(linalg.matmul(a, b), a, b)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("wrap", [memoryview, memory.from_dlpack])
def test_operands_of_no_known_library(wrap: Any) -> None:
    a, b = matrix((5, 8), "float32"), matrix((8, 3), "float32")
    result = linalg.matmul(wrap(a), wrap(b))
    assert isinstance(result, memory.Array)
    check_product(read(result), a, b)
    out = memory.empty((5, 3), "float32", kind="host")
    assert linalg.matmul(wrap(a), wrap(b), out=out) is out
    check_product(read(out), a, b)


def test_jax_operands() -> None:
    jax = library("jax")
    a, b = matrix((5, 8), "float32"), matrix((8, 3), "float32")
    left, right = (jax.device_put(each, jax.devices("cpu")[0]) for each in (a, b))
    check_product(read(linalg.matmul(left, right)), a, b)


# What is refused, with what the message has to say.
A, B = np.ones((3, 4)), np.ones((4, 5))
REFUSED: list[tuple[Any, Any, list[str]]] = [
    (A.astype(complex), B, ["a is of type complex128", "b is of type float64", "convert"]),
    (A, B.astype(int), ["b is of type int64"]),
    (A, B.astype(np.float16), ["b is of type float16"]),
    (A[:, :3], B[None], ["a needs as many columns"]),
    (A[None].repeat(2, 0), B[None].repeat(3, 0), ["batch dimensions that", "shape (2, 3, 4)"]),
    (np.ones(()), B, ["a is of", "matrices and vectors"]),
    (A, B.astype(np.float32), ["a is of type float64", "b is of type float32"]),
    (A, A, ["shape (3, 4)", "as many columns as b has rows"]),
    (A, B.tolist(), ["a is one array", "b is a list"]),
    (1.0, B, ["a is a float"]),
    (A, None, ["b is a NoneType"]),
    (A, np.ma.asarray(B), ["b is a", "Masked"]),
    (A, memoryview(B), ["b is of the library any other array class", "a is of numpy"]),
]


@pytest.mark.parametrize(("a", "b", "words"), REFUSED)
@pytest.mark.parametrize("execution", [None, "cpu", "cuda"])
def test_refused_operands(a: Any, b: Any, words: list[str], execution: Any) -> None:
    """Also for a GPU that is not there: nothing is asked of it before."""
    with pytest.raises(ValueError, match=r"^[ab] (is|has)|out") as caught:
        linalg.matmul(a, b, execution=execution)
    for word in words:
        assert word in str(caught.value)


def test_operands_of_two_libraries() -> None:
    torch = library("torch")
    with pytest.raises(ValueError, match="b is of the library torch, but a is of numpy"):
        linalg.matmul(A, torch.ones(4, 5, dtype=torch.float64))
    with pytest.raises(ValueError, match="out is of the library numpy, but a is of torch"):
        linalg.matmul(torch.ones(3, 4), torch.ones(4, 5), out=np.ones((3, 5), np.float32))


def test_tensors_that_are_more_than_their_elements() -> None:
    torch = library("torch")
    a, b = torch.ones(3, 4), torch.ones(4, 5, requires_grad=True)
    with pytest.raises(ValueError, match="b requires a gradient"):
        linalg.matmul(a, b)


READ_ONLY = np.ones((3, 5))
READ_ONLY.flags.writeable = False
WRONG_OUTS: list[tuple[Any, str]] = [
    (np.ones((5, 3)), r"out is of type float64, shape \(5, 3\)"),
    (np.ones((3, 5), np.float32), "out is of type float32"),
    (np.ones(15), r"shape \(15,\)"),
    (READ_ONLY, "out is read-only"),
    (np.lib.stride_tricks.as_strided(np.ones(5), (3, 5), (0, 8)), "its elements overlap"),
    ([[0.0] * 5] * 3, "out is a list"),
    (memoryview(np.ones((3, 5))), "out is of the library"),
]


@pytest.mark.parametrize(("out", "match"), WRONG_OUTS)
@pytest.mark.parametrize("execution", [None, "cuda"])
def test_refused_outs(out: Any, match: str, execution: Any) -> None:
    with pytest.raises(ValueError, match=match):
        linalg.matmul(A, B, out=out, execution=execution)


def test_out_and_an_operand_overlap(space: Space) -> None:
    block = matrix((8, 8), "float64")
    whole = space.array(block)
    other = space.array(matrix((4, 8), "float64"))
    for a, b, out in [
        (whole[:4], whole, whole[:4]),
        (other, whole, whole[2:6]),
        (whole[3:7], whole.T, whole[:4]),
    ]:
        with pytest.raises(ValueError, match=r"out and [ab] overlap in memory"):
            linalg.matmul(a, b, out=out, execution=space.execution)
    np.testing.assert_array_equal(space.numpy(whole), block)
    # Different parts of one block of memory.
    linalg.matmul(whole[:4, :4], whole[:4, 4:], out=whole[4:, :4], execution=space.execution)
    check_product(space.numpy(whole)[4:, :4], block[:4, :4], block[:4, 4:])


def test_a_plan_refuses_other_operands() -> None:
    plan = core.MatmulPlan(A, B)
    assert (plan.device_id, plan.device_ids, plan.workspace_size) == (None, None, 0)
    assert plan.engine == "embedded"
    assert repr(plan) == 'MatmulPlan(dtype="float64", shapes=[[3, 4], [4, 5]], engine="embedded")'
    for a, b, out, match in [
        (A.T, B, None, "a is of"),
        (A, B.astype(np.float32), None, "b is of"),
        (A, np.asfortranarray(B), None, "b is of"),
        (A, B, np.ones((3, 5), order="F"), "out is of"),
    ]:
        with pytest.raises(ValueError, match=f"{match}.*the plan was made for"):
            plan.run(a, b, out)
    both = np.ones((3, 9))
    plan = core.MatmulPlan(both[:, :4], B)
    with pytest.raises(ValueError, match="out and a overlap in memory"):
        plan.run(both[:, :4], B, np.lib.stride_tricks.as_strided(both, (3, 5), (40, 8)))
    assert core.MatmulPlan(A[:0], B).engine == "none"


@pytest.fixture
def empty_cache() -> Iterator[None]:
    limit = core.plan_cache_info().limit
    core.plan_cache_clear()
    yield
    core.set_plan_cache_limit(limit)
    core.plan_cache_clear()


@pytest.mark.usefixtures("empty_cache")
def test_plans_are_cached() -> None:
    # Small products need no plan, and larger ones than these are small for one thread.
    a, b = matrix((160, 170), "float32"), matrix((170, 180), "float32")
    for count in range(4):
        linalg.matmul(a.copy(), b)
        info = core.plan_cache_info()
        assert (info.misses, info.hits, info.size) == (1, count, 1)
    linalg.matmul(a, b, out=np.empty((160, 180), np.float32))
    assert core.plan_cache_info().misses == 1, "the problem is that of a new result"
    linalg.matmul(a, b, out=np.empty((160, 180), np.float32, order="F"))
    linalg.matmul(np.asfortranarray(a), b)
    linalg.matmul(a.astype(float), b.astype(float))
    assert core.plan_cache_info().size == 4


@pytest.mark.usefixtures("empty_cache")
def test_transforms_and_products_share_the_cache() -> None:
    a, b = matrix((160, 170), "float32"), matrix((170, 180), "float32")
    core.set_plan_cache_limit(3)
    linalg.matmul(a, b)
    for length in (5, 6, 7):
        fft.fft(np.ones(length, complex))
    info = core.plan_cache_info()
    assert (info.size, info.misses) == (3, 4)
    linalg.matmul(a, b)
    assert core.plan_cache_info().misses == 5, "the transforms have displaced its plan"
    core.plan_cache_clear()
    assert core.plan_cache_info().size == 0
    core.set_plan_cache_limit(0)
    check_product(linalg.matmul(a, b), a, b)
    assert core.plan_cache_info().size == 0


def test_options(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("products")
    options = {"logger": logger, "blocking": True, "allocator": None, "memory_limit": "10%"}
    with caplog.at_level(logging.INFO, "products"):
        linalg.matmul(A, B, options=options, stream=1)
    texts = [record.message for record in caplog.records]
    assert "stream is ignored: no GPU takes part" in texts
    assert "memory_limit is ignored: no GPU takes part" in texts
    assert any(text.startswith("specified: StructuredMatmulPlan(") for text in texts)
    assert any(text.startswith("matmul: ") for text in texts)
    check_product(linalg.matmul(A, B, options=linalg.MatmulOptions(blocking=True)), A, B)


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        ({"options": {"inplace": True}}, ValueError, "no c to overwrite"),
        ({"options": {"blocking": False}}, ValueError, "blocking is False"),
        ({"options": {"allocator": object()}}, TypeError, "memalloc"),
        ({"options": {"memory_limit": "much"}}, ValueError, "much"),
        ({"options": 3}, TypeError, "MatmulOptions"),
        ({"execution": "gpu"}, ValueError, "'gpu'"),
        ({"stream": "x"}, TypeError, "stream"),
    ],
)
def test_refused_options(keywords: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        linalg.matmul(A, B, **keywords)
