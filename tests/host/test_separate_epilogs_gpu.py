"""Products on a GPU with the epilog as a step of its own: threads, graphs, memory, special values.

`test_matmul_advanced_gpu.py` compares the numbers of every epilog.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from gpumath.linalg import advanced
from gpumath.linalg.advanced._algorithm import algorithm_from
from tests.helpers.epilogs import epilog_reference
from tests.helpers.failing_managers import ERRORS, MANAGERS, WRONG, fail_everywhere

pytestmark = pytest.mark.gpu

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")


def random(*shape: int, dtype: str = "bfloat16") -> Any:
    return torch.randn(*shape, dtype=getattr(torch, dtype), device="cuda")


@contextmanager
def planned(a: Any, b: Any, epilog: str, **keywords: Any) -> Iterator[tuple[Any, Any]]:
    """Plan a product; give it and the algorithm whose epilog is a step of its own."""
    inputs = keywords.pop("inputs", None)
    with advanced.Matmul(a, b, **keywords) as product:
        algorithms = product.plan(epilog=advanced.MatmulEpilog[epilog], epilog_inputs=inputs)
        others = [algorithm_from((code, 0, 0.0)) for code in product._plan.other_ways]
        yield product, next(one for one in [*algorithms, *others] if one.has_separate_epilog)


def gelu_bias(a: Any, b: Any, bias: Any) -> Any:
    """Return what the epilog computes, in double precision."""
    total = a.double() @ b.double() + bias.double()[:, None]
    return torch.nn.functional.gelu(total, approximate="tanh")


def assert_is_close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found.double(), expected, rtol=1e-2, atol=1e-2)


def test_threads_share_a_plan() -> None:
    """The sums are kept in the workspace, of which each call has its own."""
    a, b = random(200, 64), random(64, 130)
    failures: list[str] = []

    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            bias = torch.full((200,), float(number), dtype=torch.bfloat16, device="cuda")
            expected = gelu_bias(a, b, bias)
            with planned(a, b, "GELU_BIAS", inputs={"bias": bias}) as (product, two_steps):
                for _ in range(100):
                    found = product.execute(algorithm=two_steps)
                    if not torch.allclose(found.double(), expected, rtol=1e-2, atol=1e-2):
                        failures.append(f"thread {number}")
                        return

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("epilog", ["GELU_AUX_BIAS", "BGRADA"])
def test_captures(epilog: str) -> None:
    """A graph repeats all steps on what is in the operands then, without the plan's object."""
    a, b, bias = random(48, 3000), random(3000, 40), random(48)
    inputs = {"bias": bias} if "BIAS" in epilog else None
    with planned(a, b, epilog, inputs=inputs) as (product, two_steps):
        product.execute(algorithm=two_steps)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found, others = product.execute(algorithm=two_steps)
    core.plan_cache_clear()
    a.normal_()
    bias.normal_()
    graph.replay()
    torch.cuda.synchronize()
    total = a.double() @ b.double()
    if inputs is None:
        assert_is_close(found / 100, total / 100)
        assert_is_close(others["bgrada"] / 100, a.double().sum(1) / 100)
    else:
        assert_is_close(found / 100, gelu_bias(a, b, bias) / 100)
        assert_is_close(others["gelu_aux"] / 100, (total + bias.double()[:, None]) / 100)


@pytest.mark.parametrize("manager", MANAGERS)
def test_failing_allocators(manager: str) -> None:
    """Nothing is lost if the memory for the sums cannot be had, and the next call works."""
    a, b, bias = random(40, 32), random(32, 24), random(40)
    failing = MANAGERS[manager]()

    def run() -> Any:
        options = {"allocator": failing}
        with planned(a, b, "GELU_BIAS", inputs={"bias": bias}, options=options) as found:
            product, two_steps = found
            product.execute(algorithm=two_steps, release_workspace=True)
            return product.execute(algorithm=two_steps)

    def check(result: Any) -> None:
        assert_is_close(result, gelu_bias(a, b, bias))

    for error in ERRORS.values():
        assert fail_everywhere(failing, run, check, error) == 2
    for wrong, error in WRONG.values():
        assert fail_everywhere(failing, run, check, error, wrong) == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("epilog", ["RELU", "BIAS", "RELU_BIAS", "GELU_BIAS", "BGRADA"])
def test_what_is_not_a_number_passes(epilog: str, dtype: str) -> None:
    a, b, bias = random(32, 16, dtype=dtype), random(16, 24, dtype=dtype), random(32, dtype=dtype)
    a[3, 4], a[5] = float("nan"), 1.0
    # A row of infinity alone, of one sign: GELU of minus infinity is NaN, as PyTorch's is.
    a[7], b[0] = 0, b[0].abs() + 1
    a[7, 0], bias[9] = float("inf"), float("nan")
    inputs = {"bias": bias} if "BIAS" in epilog else {}
    with planned(a, b, epilog, inputs=inputs or None) as (product, two_steps):
        found = product.execute(algorithm=two_steps)
    found, others = found if isinstance(found, tuple) else (found, {})
    left, right = (each.double().cpu().numpy() for each in (a, b))
    known = {name: value.double().cpu().numpy() for name, value in inputs.items()}
    with np.errstate(invalid="ignore"):
        expected, expected_others = epilog_reference(epilog, left @ right, left, right, known)
    np.testing.assert_allclose(found.double().cpu().numpy(), expected, rtol=1e-2, atol=0.2)
    for name, value in others.items():
        np.testing.assert_allclose(
            value.double().cpu().numpy(), expected_others[name], rtol=1e-2, atol=0.2
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_slopes_of_large_arguments(dtype: str) -> None:
    """GELU's slope is 0 or 1 there; the cube of such an argument can be too large for its type."""
    a, b = random(8, 16, dtype=dtype), random(16, 6, dtype=dtype)
    largest = torch.finfo(a.dtype).max
    arguments = [-float("inf"), -largest, -20, 0, 20, largest, float("inf"), float("nan")]
    aux = torch.tensor(arguments, dtype=a.dtype, device="cuda").expand(6, 8).contiguous().T
    with planned(a, b, "DGELU", inputs={"gelu_aux": aux}) as (product, two_steps):
        found = product.execute(algorithm=two_steps)
    slopes = torch.tensor([0, 0, 0, 0.5, 1, 1, 1, float("nan")], device="cuda").double()
    expected = (a.double() @ b.double()) * slopes[:, None]
    torch.testing.assert_close(found.double(), expected, rtol=1e-2, atol=1e-2, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_shared_right_factor_makes_one_product_by_rows(dtype: str) -> None:
    """A plan computes it so first, without being tuned."""
    a, b = random(5, 40, 900, dtype=dtype), random(900, 72, dtype=dtype)
    with advanced.Matmul(a, b) as product:
        first, *_ = product.plan(epilog=advanced.MatmulEpilog.GELU_AUX)
        assert "by rows" in repr(first)
        found, _ = product.execute()
    assert_is_close(found, torch.nn.functional.gelu(a.double() @ b.double(), approximate="tanh"))
