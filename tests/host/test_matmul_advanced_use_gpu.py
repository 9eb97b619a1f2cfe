"""Products by cuBLASLt in use: libraries, threads, streams, graphs, memory and large matrices."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core, errors
from gpumath.linalg import advanced
from tests.helpers.managers import AsyncManager, Manager

pytestmark = pytest.mark.gpu

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
RELU_BIAS = advanced.MatmulEpilog.RELU_BIAS


def random(*shape: int, dtype: Any = None) -> Any:
    return torch.randn(*shape, dtype=dtype or torch.float32, device="cuda")


def relu_bias(a: Any, b: Any, bias: Any) -> Any:
    """Return what the epilog computes, in double precision."""
    return (a.double() @ b.double() + bias.double()[:, None]).relu()


def is_close(found: Any, expected: Any) -> bool:
    return bool(torch.allclose(found.double(), expected, rtol=1e-4, atol=1e-4))


@pytest.mark.parametrize("kind", ["numpy", "cupy", "torch", "gpumath"])
def test_every_library(kind: str) -> None:
    rng = np.random.default_rng()
    arrays = [rng.standard_normal(shape).astype("f4") for shape in [(17, 9), (9, 30), (17,)]]
    expected = np.maximum(arrays[0] @ arrays[1] + arrays[2][:, None], 0)
    given: list[Any] = list(arrays)
    if kind == "cupy":
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        given = [cupy.asarray(each) for each in arrays]
    elif kind == "torch":
        given = [torch.from_numpy(each).cuda() for each in arrays]
    elif kind == "gpumath":
        given = [core.Array.borrow(each) for each in arrays]
    a, b, bias = given
    result = advanced.matmul(a, b, epilog=RELU_BIAS, epilog_inputs={"bias": bias})
    assert type(result) is type(a)
    if kind == "cupy":
        result = result.get()
    elif kind == "torch":
        result = result.cpu().numpy()
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_narrow_types_of_numpy_and_cupy(name: str) -> None:
    types = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    rng = np.random.default_rng()
    a, b = (
        rng.uniform(-1, 1, shape).astype(getattr(types, name)) for shape in [(32, 64), (64, 16)]
    )
    scales = {"a": 1, "b": 1} if name.startswith("float8") else None
    options = {"result_type": "float32"}
    found = advanced.matmul(a, b, options=options, quantization_scales=scales)
    expected = a.astype("f8") @ b.astype("f8")
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_threads_share_a_plan() -> None:
    """Addresses of the epilog belong to the plan's description, which all threads use."""
    a, b = random(64, 64), random(64, 64)
    failures: list[str] = []

    def work(number: int) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            bias = torch.full((64,), float(number), device="cuda")
            expected = relu_bias(a, b, bias)
            for _ in range(200):
                found = advanced.matmul(a, b, epilog=RELU_BIAS, epilog_inputs={"bias": bias})
                if not is_close(found, expected):
                    failures.append(f"thread {number}")
                    return

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_stream_of_the_users() -> None:
    a, b, bias = random(512, 512), random(512, 512), random(512)
    stream = torch.cuda.Stream()
    with advanced.Matmul(a, b) as product:
        product.plan(epilog=RELU_BIAS, epilog_inputs={"bias": bias}, stream=stream)
        for given in (stream, stream.cuda_stream):
            found = product.execute(stream=given)
            stream.synchronize()
            assert is_close(found, relu_bias(a, b, bias))
        product.autotune(iterations=2, stream=stream)
        found = product.execute(stream=stream, release_workspace=True)
        stream.synchronize()
        assert is_close(found, relu_bias(a, b, bias))


def test_autotuning_times_the_stream_of_the_operands(caplog: pytest.LogCaptureFixture) -> None:
    """Events on another stream would not wait: no GPU computes 10^15 of float32 a second."""
    n = 4096
    a, b = random(n, n), random(n, n)
    torch.cuda.synchronize()
    side = torch.cuda.stream(torch.cuda.Stream())
    with side, advanced.tuning.using(mode="off"), advanced.Matmul(a, b) as product:
        product.plan(preferences={"limit": 2})
        with caplog.at_level("INFO"):
            product.autotune(iterations=3)
    fastest = re.search(r"the fastest ones ([0-9.]+)", caplog.text)
    assert fastest is not None
    assert float(fastest[1]) * 1e-3 > 2 * n**3 / 1e15


@pytest.mark.parametrize("is_copied", [False, True])
def test_captures(is_copied: bool) -> None:
    """A graph repeats the product on what is in the operands then, without the plan's object."""
    base = random(64, 96)
    a = base[:, ::2] if is_copied else base[:, :48]
    b, bias, out = random(48, 40), random(64), torch.empty(40, 64, device="cuda").T
    product = advanced.Matmul(a, b)
    product.plan(epilog=RELU_BIAS, epilog_inputs={"bias": bias})
    product.execute(out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        product.execute(out=out)
        new = product.execute()
    product.free()
    core.plan_cache_clear()
    base.normal_()
    graph.replay()
    torch.cuda.synchronize()
    expected = relu_bias(a, b, bias)
    assert is_close(out, expected)
    assert is_close(new, expected)


def test_what_is_not_a_number_passes() -> None:
    a, b = random(32, 16), random(16, 24)
    a[3, 4], a[5, 6] = float("nan"), float("inf")
    with np.errstate(invalid="ignore"):
        expected = a.cpu().numpy() @ b.cpu().numpy()
    found = advanced.matmul(a, b)
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("manager", [Manager, AsyncManager])
def test_workspace_of_an_allocator(manager: Any) -> None:
    allocator = manager()
    a, b = random(640, 960)[:, ::2], random(480, 400)
    options = {"allocator": allocator}
    found = advanced.matmul(a, b, options=options)
    assert is_close(found, a.double() @ b.double())
    assert allocator.requests
    assert allocator.in_use == 0
    with pytest.raises(errors.OutOfMemoryError, match="memory_limit"):
        advanced.matmul(a, b, options={"memory_limit": 1000})


def test_limits_on_the_workspace() -> None:
    a, b = random(64, 16384), random(16384, 64)
    for limit in ("1 MiB", 100_000, 1):
        with advanced.Matmul(a, b, options={"memory_limit": limit}) as product:
            most = max(algorithm.workspace_size for algorithm in product.plan())
            assert most <= (1 << 20 if limit == "1 MiB" else limit)
            assert is_close(product.execute() / 100, (a.double() @ b.double()) / 100)


def test_other_operands() -> None:
    a, b, bias = random(40, 24), random(24, 56), random(40)
    c = random(40, 56)
    with advanced.Matmul(a, b, c, alpha=2, beta=3) as product:
        product.plan(epilog=RELU_BIAS, epilog_inputs={"bias": bias})
        for _ in range(3):
            expected = (2 * (a.double() @ b.double()) + 3 * c.double() + bias[:, None]).relu()
            assert is_close(product.execute(), expected)
            a, bias = random(40, 24), random(40)
            product.reset_operands(a=a, epilog_inputs={"bias": bias})
        unaligned = random(40 * 24 + 1)[1:].view(40, 24)
        product.reset_operands(a=unaligned, alpha=1, beta=0)
        expected = (unaligned.double() @ b.double() + bias[:, None]).relu()
        assert is_close(product.execute(), expected)


@pytest.mark.parametrize("strategy", [None, "performant", "eager"])
def test_emulated_products(strategy: Any) -> None:
    """They are exact enough, and what cuBLASLt says of emulation agrees with itself."""
    if not core.has("cublasLt.emulation_desc_create"):
        pytest.skip("this cuBLASLt has no descriptions of emulations")
    a, b = random(256, 256), random(256, 256)
    types = advanced.MatmulComputeType
    for compute, left, right, bound in [
        (types.COMPUTE_32F_EMULATED_16BFX9, a, b, 1e-4),
        (types.COMPUTE_64F_EMULATED_FIXEDPOINT, a.double(), b.double(), 1e-11),
    ]:
        is_double = compute == types.COMPUTE_64F_EMULATED_FIXEDPOINT
        options = {"compute_type": compute, "emulation_strategy": strategy}
        options["mantissa_bit_count"] = is_double
        with advanced.Matmul(left, right, options=options) as product:
            [algorithm, *_] = product.plan()
            found = product.execute()
        expected = left.double() @ right.double()
        result, others = found if is_double else (found, {})
        assert (result.double() - expected).abs().max().item() < bound * 256
        if is_double:
            bits = int(others["mantissa_bit_count"])
            assert 50 < bits < 120 if algorithm.is_emulated else bits == -1
        if is_double and core.Device(0).compute_capability == (9, 0):
            assert algorithm.is_emulated is (strategy == "eager")


def test_a_handle_of_the_users() -> None:
    from gpumath.bindings import cublasLt

    a, b = random(48, 24), random(24, 40)
    handle = cublasLt.create()
    found = advanced.matmul(a, b, options={"handle": handle, "sm_count_target": 16})
    assert is_close(found, a.double() @ b.double())
    with advanced.Matmul(a, b, options={"handle": handle}) as product:
        assert product.applicable_algorithm_ids()
    cublasLt.destroy(handle)
