"""Products by kernels of gpumath's own and by cuBLAS, of operands of any strides, on a GPU."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from gpumath.bindings import core
from gpumath.linalg import advanced
from gpumath.linalg.advanced import tuning
from tests.helpers.epilogs import epilog_reference
from tests.helpers.operands import library

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu

# What computes a product beside cuBLASLt.
KINDS = ["is_own_kernel", "is_by_cublas"]
DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8"]
# What a result may be off by, in units of the sums of magnitudes.
BOUNDS = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6, "complex64": 4e-6}
LAYOUTS = ["C", "F", "gaps", "steps", "broadcast", "turned"]
# Rows, columns and depth: vectors, empty sums, outer products, odd, thin and small ones.
EXTENTS = [
    *[(1, 1, 1), (1, 1, 0), (3, 5, 0), (1, 1, 8191), (1, 1000, 2053), (1000, 1, 2053)],
    *[(1, 9, 40), (9, 1, 40), (5000, 1, 3), (1, 5000, 3), (64, 1, 4096), (1, 64, 4096)],
    *[(17, 19, 1), (700, 900, 1), (1000, 333, 8), (301, 2003, 7), (513, 129, 16)],
    *[(16, 16, 16), (7, 13, 200), (64, 64, 64), (33, 65, 127), (100, 20, 65)],
    # Few vectors. cuBLAS is not asked for 4097 narrow products, of which it may lose one.
    *[(1001, 3, 700), (4, 2053, 333), (8, 67, 4099), (803, 7, 1025), (2, 64, 1024), (6, 9000, 64)],
]


CONJUGATED = [(40, 30, 20), (1, 200, 90), (200, 1, 90), (700, 800, 4), (300, 6, 250), (3, 500, 140)]


def numbers(torch: Any, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "int8":
        return torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda")
    return torch.randn(shape, dtype=getattr(torch, dtype), device="cuda")


def matrix(torch: Any, rows: int, columns: int, dtype: str, layout: str, batch: int = 0) -> Any:
    """Return a matrix or a batch of them, of one of `LAYOUTS`."""
    shape = (batch,) if batch else ()
    if layout == "F":
        return numbers(torch, (*shape, columns, rows), dtype).mT
    if layout == "gaps":
        return numbers(torch, (*shape, rows, columns + 16), dtype)[..., :columns]
    if layout == "steps":
        return numbers(torch, (*shape, 2 * rows, 3 * columns), dtype)[..., ::2, ::3]
    if layout == "broadcast":
        return numbers(torch, (*shape, 1, columns), dtype).expand(*shape, rows, columns)
    if layout == "turned":
        return numbers(torch, (rows, columns, *shape), dtype).movedim(-1, 0 if batch else -1)
    return numbers(torch, (*shape, rows, columns), dtype)


def own_product(a: Any, b: Any, **options: Any) -> Any:
    """Return a product planned with gpumath's kernel; fail if there is none."""
    return product_by("is_own_kernel", a, b, **options)


def product_by(
    kind: str, a: Any, b: Any, epilog: dict[str, Any] | None = None, **options: Any
) -> Any:
    """Return a product planned with an algorithm of this kind; fail if there is none."""
    product = advanced.Matmul(a, b, **options)
    plan = partial(product.plan, **(epilog or {}))
    found = [one for one in plan(preferences={"limit": 8}) if getattr(one, kind)]
    assert found
    plan(algorithms=found)
    return product


def check(torch: Any, result: Any, a: Any, b: Any, dtype: str, alpha: complex = 1) -> None:
    wide = torch.complex128 if a.is_complex() else torch.float64
    x, y = a.cpu().to(wide), b.cpu().to(wide)
    expected = torch.matmul(x, y) * alpha
    size = torch.matmul(x.abs(), y.abs()) * abs(alpha)
    assert result.shape == expected.shape
    # The reference rounds too, which counts beside results in double precision.
    double = (a.shape[-1] + 2) * 2.3e-16
    bound = max(BOUNDS.get(dtype, 1e-14), double) * size + (6e-8 if dtype == "float16" else 0)
    if dtype == "int8":
        assert torch.equal(result.cpu().to(wide), expected)
    else:
        assert ((result.cpu().to(wide) - expected).abs() <= bound).all()


def cases() -> Iterator[Any]:
    for number, extents in enumerate(EXTENTS):
        for dtype in DTYPES:
            yield pytest.param(extents, dtype, number, id=f"{extents}-{dtype}")


@pytest.mark.parametrize(("extents", "dtype", "number"), [*cases()])
def test_every_layout_type_and_extent(
    extents: tuple[int, int, int], dtype: str, number: int
) -> None:
    torch = library("torch")
    rows, columns, depth = extents
    for shift in range(3):
        left, right = LAYOUTS[(number + shift) % 6], LAYOUTS[(number // 2 + 3 * shift) % 6]
        batch = random.choice([0, 0, 3])
        a = matrix(torch, rows, depth, dtype, left, batch)
        b = matrix(torch, depth, columns, dtype, right, random.choice([0, batch]))
        alpha = 3 if dtype == "int8" else random.choice([1, -0.5])
        for kind in KINDS[:1] if dtype == "int8" else KINDS:
            with product_by(kind, a, b, alpha=alpha) as product:
                for _ in range(2):
                    check(torch, product.execute(), a, b, dtype, alpha)


@pytest.mark.parametrize("epilog", ["RELU", "BIAS", "RELU_BIAS", "GELU", "GELU_BIAS"])
@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_epilogs(dtype: str, epilog: str) -> None:
    torch = library("torch")
    for number, (rows, columns, depth) in enumerate(EXTENTS):
        batch = random.choice([0, 3])
        left, right = LAYOUTS[number % 6], LAYOUTS[number // 2 % 6]
        a = matrix(torch, rows, depth, dtype, left, batch)
        b = matrix(torch, depth, columns, dtype, right, random.choice([0, batch]))
        inputs = {}
        if "BIAS" in epilog:
            per_entry = matrix(torch, rows, 1, dtype, random.choice(["C", "gaps", "F"]), batch)
            inputs["bias"] = random.choice([per_entry, numbers(torch, (2 * rows,), dtype)[::2]])
        plan = {"epilog": advanced.MatmulEpilog[epilog], "epilog_inputs": inputs or None}
        if is_thin(rows, columns, depth, batch):
            found = advanced.Matmul(a, b).plan(**plan)
            assert not any(one.is_own_kernel for one in found)
            continue
        wide = a.cpu().double(), b.cpu().double()
        total, size = wide[0] @ wide[1], wide[0].abs() @ wide[1].abs() + 3
        with product_by("is_own_kernel", a, b, plan, alpha=-0.5) as product:
            out = numbers(torch, total.shape, dtype)
            results = [product.execute(), product.execute(out=out)]
        known = {name: array.cpu().double().numpy() for name, array in inputs.items()}
        expected, _ = epilog_reference(epilog, -0.5 * total.numpy(), *wide, known)
        bound = max(BOUNDS.get(dtype, 1e-14), (depth + 2) * 2.3e-16)
        for result in results:
            error = (result.cpu().double() - torch.from_numpy(expected)).abs()
            assert (error <= bound * size).all(), (rows, columns, depth, left, right)


def is_thin(rows: int, columns: int, depth: int, batch: int) -> bool:
    """Return whether a product of such extents is for the kernel that has no epilogs."""
    is_large = min(rows, columns) >= 64 and rows * columns * max(batch, 1) >= 264 * 256
    return depth <= 16 and is_large


@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_rectified_numbers_that_are_none(dtype: str) -> None:
    """By the kernel and by cuBLASLt, but for its kernels of addresses that are not aligned."""
    torch = library("torch")
    a, b = matrix(torch, 64, 48, dtype, "C"), matrix(torch, 48, 40, dtype, "C")
    a[3, 4], a[5, 6], a[7, 8] = torch.nan, torch.inf, -torch.inf
    expected = torch.relu(torch.matmul(a.double(), b.double()))
    with advanced.Matmul(a, b) as product:
        found = product.plan(epilog=advanced.MatmulEpilog.RELU)
        assert {one.is_own_kernel for one in found} == {True, False}
        for algorithm in found:
            result = product.execute(algorithm=algorithm)
            assert torch.equal(result.isnan(), expected.isnan())
            assert torch.equal(result == torch.inf, expected == torch.inf)
            assert (result[[3, 5, 7]].nan_to_num(nan=1) >= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_and_a_batch_of_matrices_between_whose_rows_are_those_of_others(dtype: str) -> None:
    torch = library("torch")
    for vectors, rows, depth, batch in [(1, 70, 300, 4), (1, 1000, 65, 3), (5, 333, 257, 2)]:
        turned = numbers(torch, (depth, rows, batch), dtype).permute(2, 1, 0)
        b = matrix(torch, depth, vectors, dtype, random.choice(LAYOUTS))
        for left, right in [(turned, b), (b.mT, turned.mT)]:
            with own_product(left, right) as product:
                check(torch, product.execute(), left, right, dtype)


@pytest.mark.parametrize("batch", [2, 4, 12])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_batches_of_small_elements_that_are_turned(dtype: str, batch: int) -> None:
    torch = library("torch")
    for unit in (1, 4, 4):
        rows, columns, depth = (unit * random.randrange(1, 600 // unit) for _ in range(3))
        a = matrix(torch, rows, depth, dtype, "turned", batch)
        # With one b for all entries, the copies of a become one matrix.
        b = matrix(torch, depth, columns, dtype, *random.choice([("F", 0), ("turned", batch)]))
        product = advanced.Matmul(a, b)
        found = [one for one in product.plan() if not one.is_own_kernel]
        check(torch, product.execute(algorithm=found[0]), a, b, dtype)


@pytest.mark.parametrize("layout", ["gaps", "steps", "broadcast", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_copies_of_lines_of_any_length(dtype: str, layout: str) -> None:
    torch = library("torch")
    for batch in (0, 3):
        rows, depth = random.randrange(400, 700), random.randrange(400, 700)
        if dtype == "int8":
            rows, depth = rows // 4 * 4, depth // 4 * 4
        a = matrix(torch, rows, depth, dtype, layout, batch)
        # No library takes lines of which only every other element is there.
        a = a.repeat_interleave(2, -1)[..., ::2] if layout == "F" else a
        b = matrix(torch, depth, 12, dtype, "C")
        product = advanced.Matmul(a, b)
        found = [one for one in product.plan() if not one.is_own_kernel]
        check(torch, product.execute(algorithm=found[0]), a, b, dtype)


@pytest.mark.parametrize("layout", ["C", "turned"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_entries_of_a_batch_that_stay_apart(dtype: str, layout: str) -> None:
    """Autotuning measures them for a batch whose entries become one matrix, as they are or as
    copies, and each of these algorithms can be named."""
    torch = library("torch")
    a = matrix(torch, 300, 72, dtype, layout, 3)
    b = matrix(torch, 72, 208, dtype, "C")
    product = advanced.Matmul(a, b)
    assert not any(one.is_for_entries_apart for one in product.plan())
    with tuning.using(mode="off"):
        product.autotune(iterations=1)
    found = [one for one in product.algorithms if one.is_for_entries_apart]
    found.sort(key=lambda one: one.is_by_cublas)
    by_cublas = [] if dtype == "int8" else [True]
    assert [one.is_by_cublas for one in found] == [False, *by_cublas]
    for algorithm in found:
        check(torch, product.execute(algorithm=algorithm), a, b, dtype)
        assert product.plan(algorithms=[algorithm]) == [algorithm]
        for _ in range(2):
            check(torch, product.execute(), a, b, dtype)
    # There is nothing to be kept apart.
    alone = advanced.Matmul(a[0], b)
    alone.plan()
    with tuning.using(mode="off"):
        alone.autotune(iterations=1)
    assert not any(one.is_for_entries_apart for one in alone.algorithms)
    alone.plan(algorithms=found[:1])
    check(torch, alone.execute(), a[0], b, dtype)


@pytest.mark.parametrize("dtype", DTYPES[:-1])
def test_one_more_copy(dtype: str) -> None:
    """Autotuning adds algorithms that copy a factor, each of which can be named."""
    torch = library("torch")
    for rows, columns, depth in [(301, 212, 75), (64, 40, 1003), (1, 900, 333), (700, 3, 64)]:
        left, right = random.sample(LAYOUTS, 2)
        a = matrix(torch, rows, depth, dtype, left, random.choice([0, 3]))
        b = matrix(torch, depth, columns, dtype, right, random.choice([0, 3]))
        product = advanced.Matmul(a, b)
        others = product.plan()[:]
        with tuning.using(mode="off"):
            product.autotune(iterations=1)
            count = len(product.algorithms)
            product.autotune(iterations=1)
        assert len(product.algorithms) == count
        copied = [one for one in product.algorithms if one.copied_factor is not None]
        assert {one.copied_factor for one in copied} == {"a", "b"}
        for algorithm in copied:
            check(torch, product.execute(algorithm=algorithm), a, b, dtype)
            assert product.plan(algorithms=[algorithm]) == [algorithm]
            check(torch, product.execute(), a, b, dtype)
            with tuning.using(mode="off"):
                product.autotune(iterations=1)
            assert product.algorithms == [algorithm]
        assert not any(one.copied_factor for one in others)


def test_one_more_copy_and_an_epilog() -> None:
    torch = library("torch")
    a, b = numbers(torch, (4, 300, 70), "float32"), numbers(torch, (70, 130), "float32")
    bias = numbers(torch, (300,), "float32")
    with advanced.Matmul(a, b) as product, tuning.using(mode="off"):
        epilog = advanced.MatmulEpilog.RELU_BIAS
        product.plan(epilog=epilog, epilog_inputs={"bias": bias})
        product.autotune(iterations=1)
        found = {one.copied_factor: product.execute(algorithm=one) for one in product.algorithms}
        assert found.keys() >= {"a", "b"}
        expected = torch.relu(a.double() @ b.double() + bias.double()[:, None])
        for result in found.values():
            torch.testing.assert_close(result.double(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_algorithm_of_a_batch_of_long_sums_can_be_named(dtype: str) -> None:
    """cuBLAS may lose a product of such a sum, so it is not among them."""
    torch = library("torch")
    a = matrix(torch, 8, 7426, dtype, "turned", 4)
    b = matrix(torch, 7426, 131, dtype, "F")
    product = advanced.Matmul(a, b)
    product.plan(preferences={"limit": 12})
    with tuning.using(mode="off"):
        product.autotune(iterations=1)
    found = list(product.algorithms)
    assert [one.is_by_cublas for one in found if one.is_for_entries_apart] == [False]
    for algorithm in found:
        assert product.plan(algorithms=[algorithm]) == [algorithm]
        check(torch, product.execute(), a, b, dtype)


@pytest.mark.parametrize("dtype", DTYPES[:-1])
def test_large_products_by_cublas(dtype: str) -> None:
    torch = library("torch")
    for rows, columns, depth in [(301, 517, 203), (64, 64, 4096), (1, 4000, 3000), (3000, 2, 999)]:
        left, right = random.sample(LAYOUTS, 2)
        a = matrix(torch, rows, depth, dtype, left, random.choice([0, 5]))
        b = matrix(torch, depth, columns, dtype, right, random.choice([0, 5]))
        with product_by("is_by_cublas", a, b, alpha=-0.5) as product:
            check(torch, product.execute(), a, b, dtype, -0.5)


def test_a_call_of_cublas_in_a_graph_and_on_a_stream() -> None:
    """Its own workspace and stream are those of the execution."""
    torch = library("torch")
    a, b = matrix(torch, 64, 2000, "float32", "C"), matrix(torch, 2000, 64, "float32", "F", 4)
    out = torch.empty(4, 64, 64, device="cuda")
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with product_by("is_by_cublas", a, b) as product:
        with torch.cuda.stream(stream):
            check(torch, product.execute(), a, b, "float32")
            check(torch, product.execute(stream=stream), a, b, "float32")
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            product.execute(out=out)
    core.plan_cache_clear()
    a.normal_()
    graph.replay()
    torch.cuda.synchronize()
    check(torch, out, a, b, "float32")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("extents", CONJUGATED)
def test_conjugation(extents: tuple[int, int, int], dtype: str, kind: str) -> None:
    torch = library("torch")
    rows, columns, depth = extents
    a, b = matrix(torch, rows, depth, dtype, "C"), matrix(torch, depth, columns, dtype, "F")
    for left, right in [(a.conj(), b), (a, b.conj()), (a.conj(), b.conj())]:
        with product_by(kind, left, right, alpha=1 - 2j) as product:
            values = left.resolve_conj(), right.resolve_conj()
            check(torch, product.execute(), *values, dtype, 1 - 2j)


@pytest.mark.parametrize("extents", [*CONJUGATED, (2000, 900, 5)])
def test_what_is_no_number_stays_where_it_is(extents: tuple[int, int, int]) -> None:
    torch = library("torch")
    rows, columns, depth = extents
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        a, b = matrix(torch, rows, depth, dtype, "steps"), matrix(torch, depth, columns, dtype, "C")
        a[rows // 2, depth // 2] = torch.nan
        b[depth // 3, columns // 2] = torch.inf
        with own_product(a, b) as product:
            found = product.execute()
        expected = torch.matmul(a.double(), b.double())
        assert torch.equal(found.isnan(), expected.isnan())
        assert torch.equal(found.isinf(), expected.isinf())


def test_a_result_in_another_order_and_without_alignment() -> None:
    torch = library("torch")
    a, b = matrix(torch, 900, 8, "float32", "C"), matrix(torch, 8, 700, "float32", "F")
    for out in (
        numbers(torch, (700, 900), "float32").T,
        numbers(torch, (900 * 700 + 1,), "float32")[1:].view(900, 700),
        numbers(torch, (900, 1400), "float32")[:, ::2],
    ):
        with own_product(a, b) as product:
            assert product.execute(out=out) is out
        check(torch, out, a, b, "float32")


def test_more_elements_than_32_bits_count() -> None:
    torch = library("torch")
    a = torch.randint(-100, 100, (1, 2**31 + 99), dtype=torch.int8, device="cuda")
    ones = torch.ones((2**31 + 99, 1), dtype=torch.int8, device="cuda")
    with own_product(a, ones) as product:
        assert product.execute().item() == a.sum(dtype=torch.int64).item()
    column = torch.randint(-100, 100, (70_000, 1), dtype=torch.int8, device="cuda")
    row = torch.randint(-100, 100, (1, 31_000), dtype=torch.int8, device="cuda")
    with own_product(column, row) as product:
        found = product.execute()
    for start in range(0, 70_000, 10_000):
        part = column[start : start + 10_000].int() * row.int()
        assert torch.equal(found[start : start + 10_000], part)


def test_it_is_an_algorithm_among_others() -> None:
    torch = library("torch")
    a, b = matrix(torch, 64, 64, "float32", "C"), matrix(torch, 64, 64, "float32", "C")
    assert core.MatmulPlan(a, b).engine == "gpumath"
    assert core.MatmulPlan(a, b).workspace_size == 0
    with advanced.Matmul(a, b) as product:
        own, *others = product.plan(preferences={"limit": 6})
        assert own.is_own_kernel
        assert own.algorithm_id == -1
        assert repr(own) == "Algorithm(<a kernel of gpumath's own>)"
        assert own.capabilities.splitk_support == 0
        with pytest.raises(ValueError, match="no settings"):
            own.split_k = 2
        assert not any(other.is_own_kernel for other in others)
        assert sum(other.is_by_cublas for other in others) == 1
        for algorithm in (own, *others):
            check(torch, product.execute(algorithm=algorithm), a, b, "float32")
        product.autotune(iterations=3)
        assert sum(one.is_own_kernel for one in product.algorithms) == 1
        tuned, *_ = product.algorithms
        out = torch.empty(64, 64, device="cuda").T
        assert product.execute(out=out, stream=torch.cuda.current_stream()) is out
        check(torch, out, a, b, "float32")
        assert product.algorithms[0] is tuned
        check(torch, product.execute(), a, b, "float32")
    large = matrix(torch, 900, 900, "float32", "C")
    with advanced.Matmul(large, large) as product:
        product.plan()
        with pytest.raises(ValueError, match="a kernel of gpumath's own"):
            product.execute(algorithm=own)
