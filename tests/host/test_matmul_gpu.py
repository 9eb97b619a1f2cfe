"""Products on the GPU: layouts, streams, graphs and memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import linalg
from gpumath.bindings import core, errors
from tests.helpers.captures import PAIRS, WAYS, Pair
from tests.helpers.elements import read, write
from tests.helpers.managers import AsyncManager, Counted, Manager
from tests.helpers.operands import NEAR_GPU, STREAMS, Source, library, stream_of
from tests.helpers.products import DTYPES, check_product, matrix, nan_like

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("source", NEAR_GPU, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_library_and_memory(source: Source, dtype: str) -> None:
    a, b = matrix((70, 33), dtype), matrix((33, 90), dtype)
    left, right = source.operand(a, (...,)), source.operand(b, (...,))
    if source.is_on_gpu:
        # cuBLASLt's kernels for small matrices of float64 are faster.
        expected = "gpumath" if dtype == "float32" else "cublaslt"
        assert core.MatmulPlan(left, right).engine == expected
    for execution in (None, "cuda", "cpu"):
        check_product(read(linalg.matmul(left, right, execution=execution)), a, b)


# Shape, and strides in elements, that cuBLASLt does not take.
COPIED = [
    ((6, 7), (14, 2)),
    ((6, 7), (2, 12)),
    ((6, 7), (0, 1)),
    ((6, 7), (3, 1)),
]


@pytest.mark.parametrize(("shape", "strides"), COPIED)
@pytest.mark.parametrize("name", ["a", "b"])
def test_copied_layouts(
    gpu_space: Space, name: str, shape: tuple[int, int], strides: tuple[int, int]
) -> None:
    flat = np.random.default_rng().random(200).astype(np.float32)
    steps = [4 * step for step in strides]
    odd = np.lib.stride_tricks.as_strided(flat, shape, steps)
    other = matrix(shape[::-1], "float32")
    if gpu_space.library == "torch":
        operand = library("torch").from_numpy(flat).cuda().as_strided(shape, strides)
    else:
        cupy = library("cupy")
        operand = cupy.ndarray(shape, "float32", cupy.asarray(flat).data, steps)
    pair = [operand, gpu_space.array(other)]
    values = [odd, other]
    if name == "b":
        pair.reverse()
        values.reverse()
    plan = core.MatmulPlan(*pair, limit=2)
    assert (plan.engine, plan.copies) == ("gpumath", 0)
    by_cublaslt = core.MatmulPlan(*pair, algorithm=plan.algorithms[1][0])
    assert (by_cublaslt.engine, by_cublaslt.copies) == ("cublaslt", 1)
    check_product(gpu_space.numpy(linalg.matmul(*pair)), *values)
    check_product(gpu_space.numpy(by_cublaslt.run(*pair)), *values)


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("depth", [735, 736])
def test_copies_for_tensor_cores(gpu_space: Space, depth: int, orders: str) -> None:
    """Lines of 735 or 1001 halves begin at no multiples of 16 bytes, those of 736 and 1000 do."""
    a, b = matrix((1001, depth), "float16", orders[0]), matrix((depth, 1000), "float16", orders[1])
    left, right = (
        gpu_space.array(each) if order == "C" else gpu_space.array(each.T).T
        for each, order in zip((a, b), orders, strict=True)
    )
    copies = 1 + (orders[1] == "F") if depth == 735 else int(orders[0] == "F")
    plan = core.MatmulPlan(left, right)
    assert plan.copies == copies
    a, b = a.astype(np.float64), b.astype(np.float64)
    error = np.abs(gpu_space.numpy(plan.run(left, right)) - a @ b)
    assert (error <= 0.002 * (np.abs(a) @ np.abs(b))).all(), error.max()


def test_a_copied_out(gpu_space: Space) -> None:
    a, b = matrix((6, 4), "float32"), matrix((4, 5), "float32")
    out = gpu_space.array(nan_like((6, 10), "float32"))
    linalg.matmul(gpu_space.array(a), gpu_space.array(b), out=out[:, ::2])
    check_product(gpu_space.numpy(out)[:, ::2], a, b)
    assert np.isnan(gpu_space.numpy(out)[:, 1::2]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [0, 1, 2, 3, 4])
def test_any_alignment(gpu_space: Space, dtype: str, lead: int) -> None:
    """Plans for other alignments of the same layouts are others."""
    a, b = matrix((96, 64), dtype), matrix((64, 128), dtype)
    for leads in [(0, 0, 0), (lead, 0, 0), (0, lead, 0), (0, 0, lead)]:
        left, right = (gpu_space.array(each, at) for each, at in zip((a, b), leads, strict=False))
        out = gpu_space.array(nan_like((96, 128), dtype), leads[2])
        check_product(gpu_space.numpy(linalg.matmul(left, right, out=out)), a, b)


def test_a_plan_refuses_another_alignment(gpu_space: Space) -> None:
    a = matrix((8, 8), "float32")
    aligned, unaligned = gpu_space.array(a), gpu_space.array(a, 1)
    with pytest.raises(ValueError, match="alignment"):
        core.MatmulPlan(aligned, aligned).run(unaligned, aligned)
    check_product(read(core.MatmulPlan(unaligned, unaligned).run(aligned, unaligned)), a, a)


@pytest.mark.parametrize("name", STREAMS)
def test_streams(gpu_space: Space, name: str) -> None:
    """The stream waits for the current one, on which the operands are still being written."""
    a, b = matrix((256, 256), "float32"), matrix((256, 256), "float32")
    left, right = gpu_space.array(np.zeros_like(a)), gpu_space.array(b)
    source = gpu_space.array(a)
    work = gpu_space.array(np.ones(1 << 26, np.float32))
    stream = stream_of(name)
    linalg.matmul(left, right, stream=stream)
    core.Device(0).synchronize()
    for _ in range(100):
        work *= 1.0001
    left[...] = source
    result = linalg.matmul(left, right, stream=stream)
    core.Device(0).synchronize()
    check_product(gpu_space.numpy(result), a, b)


def test_blocking_waits() -> None:
    a = matrix((2048, 2048), "float32")
    operand = library("cupy").asarray(a)
    stream = stream_of("cupy")
    linalg.matmul(operand, operand, stream=stream, options={"blocking": True})
    assert stream.done


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("depth", [0, 40])
def test_a_captured_product_is_replayed(pair: Pair, depth: int) -> None:
    a, b = matrix((30, depth), "float32"), matrix((depth, 50), "float32")
    left, right = pair.operand(a), pair.operand(b)
    out = pair.operand(nan_like((30, 50), "float32"))
    stream = pair.stream()
    linalg.matmul(left, right, out=out)
    with pair.capture(stream) as captured:
        linalg.matmul(left, right, out=out, stream=pair.argument(stream))
    for _ in range(3):
        a, b = matrix((30, depth), "float32"), matrix((depth, 50), "float32")
        if depth:
            write(left, a)
            write(right, b)
        write(out, nan_like((30, 50), "float32"))
        captured.replay()
        check_product(read(out), a, b)


@pytest.mark.parametrize("pair", WAYS, ids=str)
def test_a_graph_outlives_the_plan(pair: Pair) -> None:
    a, b = matrix((64, 4096), "float32"), matrix((4096, 64), "float32")
    left, right = pair.operand(a), pair.operand(b)
    out = pair.operand(nan_like((64, 64), "float32"))
    stream = pair.stream()
    linalg.matmul(left, right, out=out)
    with pair.capture(stream) as captured:
        linalg.matmul(left, right, out=out, stream=pair.argument(stream))
    core.plan_cache_clear()
    write(out, nan_like((64, 64), "float32"))
    captured.replay()
    check_product(read(out), a, b)


@pytest.mark.parametrize("pair", WAYS, ids=str)
def test_what_cannot_be_captured(pair: Pair) -> None:
    """A refusal leaves the capture as it was: the product before it is replayed."""
    a, b, c = (matrix((extent, extent), "float32") for extent in (31, 8, 29))
    operand, out = pair.operand(c), pair.operand(c)
    other, first, second = (pair.operand(b) for _ in range(3))
    stream = pair.stream()
    argument = pair.argument(stream)
    core.plan_cache_clear()
    linalg.matmul(other, other, out=first)
    linalg.matmul(a, a, execution="cuda")
    with pair.capture(stream) as captured:
        linalg.matmul(other, other, out=second, stream=argument)
        with pytest.raises(errors.InvalidStateError, match="a plan is made"):
            linalg.matmul(operand, operand, out=out, stream=argument)
        with pytest.raises(errors.InvalidStateError, match="blocking=True waits"):
            linalg.matmul(other, other, out=first, stream=argument, options={"blocking": True})
        with pytest.raises(errors.InvalidStateError, match="a is in host memory"):
            linalg.matmul(a, a, execution="cuda", stream=stream)
    captured.replay()
    check_product(read(second), b, b)
    linalg.matmul(operand, operand, out=out)
    check_product(read(out), c, c)


def with_workspace(source: Source) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """Return matrices for whose product cuBLASLt needs a workspace, also as operands."""
    for extent, depth in [(64, 1 << 16), (32, 1 << 18), (128, 1 << 15), (16, 1 << 20)]:
        a, b = matrix((extent, depth), "float32"), matrix((depth, extent), "float32")
        left, right = source.operand(a, (...,)), source.operand(b, (...,))
        if core.MatmulPlan(left, right, execution="cuda").workspace_size:
            return a, b, left, right
    pytest.skip("cuBLASLt needs no workspace for any of these sizes")


@pytest.mark.parametrize(
    "source", [Source("numpy", "cpu"), Source("cupy", "cuda"), Source("torch", "cuda")], ids=str
)
@pytest.mark.parametrize("make", [Manager, AsyncManager])
def test_workspace_of_the_users_manager(source: Source, make: type[Counted]) -> None:
    a, b, left, right = with_workspace(source)
    size = core.MatmulPlan(left, right, execution="cuda").workspace_size
    manager = make()
    result = linalg.matmul(left, right, execution="cuda", options={"allocator": manager})
    check_product(read(result), a, b)
    assert (manager.requests, manager.in_use) == ([size], 0)


def test_the_memory_limit() -> None:
    a, b, left, right = with_workspace(Source("cupy", "cuda"))
    size = core.MatmulPlan(left, right).workspace_size
    with pytest.raises(errors.OutOfMemoryError, match=str(size)):
        linalg.matmul(left, right, options={"memory_limit": size - 1})
    check_product(read(linalg.matmul(left, right, options={"memory_limit": size})), a, b)


def test_plans_of_several_threads(gpu_space: Space) -> None:
    """A plan of one thread runs in others, each of which has a handle of its own."""
    a, b = matrix((65, 300), "float64"), matrix((300, 65), "float64")
    left, right = gpu_space.array(a), gpu_space.array(b)
    plan = core.MatmulPlan(left, right)
    results: list[Any] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            stream = stream_of("core")
            for _ in range(50):
                out = gpu_space.array(nan_like((65, 65), "float64"))
                plan.run(left, right, out, stream)
                linalg.matmul(left, right, out=out, stream=stream)
            stream.synchronize()
            results.append(out)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for result in results:
        check_product(gpu_space.numpy(result), a, b)


def test_operands_in_two_memories() -> None:
    cupy = library("cupy")
    torch = library("torch")
    a = matrix((4, 4), "float32")
    with pytest.raises(ValueError, match="b is of the library cupy, but a is of numpy"):
        linalg.matmul(a, cupy.asarray(a))
    on_host = torch.from_numpy(a)
    for pair in [(on_host, on_host.cuda()), (on_host.cuda(), on_host)]:
        with pytest.raises(ValueError, match=r"in host memory.*copy one of them"):
            linalg.matmul(*pair)
        with pytest.raises(ValueError, match=r"out is of .*and the result of"):
            linalg.matmul(pair[0], pair[0], out=pair[1].clone())


def test_several_devices_are_refused() -> None:
    if core.Device.count() < 2:
        pytest.skip("there is only one CUDA device")
    a = matrix((4, 4), "float32")
    with pytest.raises(ValueError, match="device_ids names several devices, but matmul uses one"):
        linalg.matmul(a, a, execution=linalg.ExecutionCUDA(device_ids=[0, 1]))
    torch = library("torch")
    first = torch.from_numpy(a).cuda(0)
    with pytest.raises(ValueError, match=r"on CUDA device 1.*copy one of them"):
        linalg.matmul(first, first.cuda(1))
    second = first.cuda(1)
    check_product(linalg.matmul(second, second).cpu().numpy(), a, a)


def test_operands_bring_their_own_device() -> None:
    """Whatever ``device_id`` says, which is for operands in host memory."""
    torch = library("torch")
    a = matrix((4, 4), "float32")
    operand = torch.from_numpy(a).cuda(0)
    result = linalg.matmul(operand, operand, execution=linalg.ExecutionCUDA(device_id=1))
    assert result.device == operand.device
    check_product(result.cpu().numpy(), a, a)
