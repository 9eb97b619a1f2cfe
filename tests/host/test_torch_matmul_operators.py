"""Products as operators of PyTorch: values, gradients, `torch.compile`; epilogs on the GPU."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpumath.linalg.advanced import MatmulEpilog
from tests.helpers.references import random_values

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
linalg = importlib.import_module("gpumath.torch.linalg")
operators = importlib.import_module("gpumath.torch._matmul_operators")

# PyTorch says so where the first work of its thread for gradients is a product of its own.
pytestmark = pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS:UserWarning")

ACTIVATIONS = {
    None: lambda z: z,
    "relu": torch.relu,
    "gelu": lambda z: torch.nn.functional.gelu(z, approximate="tanh"),
}
EPILOGS = ["RELU", "GELU", "BIAS", "RELU_BIAS", "GELU_BIAS"]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA device")
    return request.param


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def tensor(shape: tuple[int, ...], dtype: str = "f8", device: str = "cuda") -> Any:
    """Fresh numbers, which a gradient is asked for."""
    return torch.from_numpy(random_values(shape, dtype)).to(device).requires_grad_()


def wide(*tensors: Any) -> list[Any]:
    """Copies in double precision, for a reference."""
    return [x.detach().double().requires_grad_() for x in tensors]


def assert_same(results: Any, expected: Any, tolerance: float) -> None:
    for result, one in zip(results, expected, strict=True):
        error = torch.linalg.norm(result.double() - one) / torch.linalg.norm(one)
        assert error.item() < tolerance


@pytest.mark.parametrize("name", ["gpumath.torch", "gpumath.torch.linalg"])
def test_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert (outcome.attempted > 0, outcome.failed) == (True, 0)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((4, 3), (3, 5)),
        ((3,), (3, 5)),
        ((4, 3), (3,)),
        ((3,), (3,)),
        ((2, 4, 3), (3, 5)),
        ((2, 4, 3), (2, 3, 5)),
        ((4, 3), (6, 3, 5)),
        ((2, 1, 4, 3), (5, 3, 2)),
    ],
)
def test_products_and_gradients(
    device: str, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    a, b = tensor(first, device=device), tensor(second, device=device)
    result = linalg.matmul(a, b, alpha=1.5)
    torch.testing.assert_close(result, 1.5 * torch.matmul(a, b))
    assert torch.autograd.gradcheck(lambda a, b: linalg.matmul(a, b, alpha=1.5), (a, b))
    assert torch.autograd.gradgradcheck(linalg.matmul, (a, b))


def layer(x: Any, weight: Any) -> Any:
    return linalg.linear(x, weight).square().sum()


def test_compiled_in_one_graph(device: str) -> None:
    x, weight = tensor((2, 6, 8), "f4", device), tensor((5, 8), "f4", device)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for _ in range(2):
        expected = torch.nn.functional.linear(x, weight).square().sum()
        result = compiled(x, weight)
        torch.testing.assert_close(result, expected)
        found = torch.autograd.grad(result, (x, weight))
        torch.testing.assert_close(found, torch.autograd.grad(expected, (x, weight)))


@pytest.mark.parametrize("epilog", EPILOGS)
@pytest.mark.parametrize("shape", [(16, 24, 32), (3, 17, 9, 40)])
def test_epilogs_and_their_gradients(device: str, epilog: str, shape: tuple[int, ...]) -> None:
    *batch, m, n, k = shape
    for dtype, tolerance in (("f4", 1e-5), ("f2", 5e-3)):
        shapes = ((*batch, m, k), (k, n), (m, n))
        a, b, c = (tensor(one, dtype, device) for one in shapes)
        biases = [tensor((m,), dtype, device)]
        if batch:
            biases.append(tensor((*batch, m, 1), dtype, device))
        for bias in biases if "BIAS" in epilog else [None]:
            operands = [x for x in (a, b, c, bias) if x is not None]
            exact = wide(*operands)
            activation = epilog.replace("_BIAS", "").replace("BIAS", "").lower() or None
            z = 0.5 * exact[0] @ exact[1] + 2.0 * exact[2]
            if bias is not None:
                z = z + (exact[3] if exact[3].ndim > 1 else exact[3][:, None])
            expected = ACTIVATIONS[activation](z)
            result = linalg.matmul(
                *(a, b, c),
                alpha=0.5,
                beta=2.0,
                epilog=MatmulEpilog[epilog],
                epilog_inputs=None if bias is None else {"bias": bias},
            )
            # Where the argument of ReLU is about 0, rounding decides about its derivative.
            gradient = torch.randn_like(result) * (z.abs() > 0.02)
            found = torch.autograd.grad(result, operands, gradient)
            wanted = torch.autograd.grad(expected, exact, gradient.double())
            assert_same([result, *found], [expected, *wanted], tolerance)
            assert [x.shape for x in found] == [x.shape for x in operands]


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("has_bias", [True, False])
def test_two_layers(device: str, activation: str, has_bias: bool) -> None:
    for dtype, tolerance in (("f4", 1e-5), ("f2", 1e-2)):
        shapes = ((5, 7, 40), (136, 40), (24, 136))
        x, weight1, weight2 = (tensor(one, dtype, device) for one in shapes)
        bias1 = tensor((136,), dtype, device) if has_bias else None
        bias2 = tensor((24,), dtype, device) if has_bias else None
        operands = [each for each in (x, weight1, bias1, weight2, bias2) if each is not None]
        exact = iter(wide(*operands))
        exact_operands = [
            None if each is None else next(exact) for each in (x, weight1, bias1, weight2, bias2)
        ]
        hidden = torch.nn.functional.linear(*exact_operands[:3])
        expected = torch.nn.functional.linear(ACTIVATIONS[activation](hidden), *exact_operands[3:])
        result = linalg.mlp(x, weight1, bias1, weight2, bias2, activation)
        gradient = torch.randn_like(result)
        # A network's input often has no gradient.
        some = torch.autograd.grad(result, operands[1:], gradient, retain_graph=True)
        found = torch.autograd.grad(result, operands, gradient)
        assert all(torch.equal(*pair) for pair in zip(some, found[1:], strict=True))
        given = [each for each in exact_operands if each is not None]
        wanted = torch.autograd.grad(expected, given, gradient.double())
        assert_same([result, *found], [expected, *wanted], tolerance)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_two_layers_are_differentiated_once_only(device: str, activation: str) -> None:
    x, weight1, weight2 = (tensor(one, "f4", device) for one in ((5, 40), (136, 40), (24, 136)))
    result = linalg.mlp(x, weight1, None, weight2, None, activation)
    (of_x,) = torch.autograd.grad(result.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="can be differentiated once only"):
        torch.autograd.grad(of_x.square().sum(), weight2)


def test_pytorch_s_own_check_of_operators(device: str) -> None:
    # Traced and not, sums may be added up in another order, so they are in double precision.
    a, b, c, bias = (tensor(s, "f8", device) for s in ((2, 24, 32), (32, 20), (24, 20), (24,)))
    check, operator = torch.library.opcheck, torch.ops.gpumath
    check(operator.matmul.default, (a, b, None, None, 0.5, 0.0, "", False))
    check(operator.matmul.default, (a, b, c, bias, 0.5, 2.0, "relu", False))
    one = a[0].detach().requires_grad_()
    check(operator.matmul.default, (one, b, c, bias, 1.0, 2.0, "gelu", True))
    check(operator.matmul_sum_rows.default, (a, b, 0.5))
    for activation in ("relu", "gelu"):
        shapes = ((20, 32), (128, 32), (16, 128), (128,), (16,))
        x, weight1, weight2, bias1, bias2 = (tensor(one, "f8", device) for one in shapes)
        arguments = (x, weight1, bias1, weight2, bias2, activation)
        check(operator.mlp.default, arguments)
        aux = operators.mlp(*arguments)[2].detach()
        gradient = tensor((16, 20), "f8", device).detach()
        arguments = (weight2.detach().mT, gradient, aux, activation)
        check(operator.matmul_activation_gradient.default, arguments)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty:UserWarning")
@pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores:UserWarning")
def test_a_network_that_is_compiled(mode: str) -> None:
    x, weight1, weight2, last = (
        tensor(s, "f4") for s in ((64, 40), (128, 40), (32, 128), (16, 32))
    )
    bias1, bias2, bias3 = tensor((128,), "f4"), tensor((32,), "f4"), tensor((16,), "f4")
    operands = (x, weight1, bias1, weight2, bias2, last, bias3)

    def network(*operands: Any) -> Any:
        x, *layers, last, bias3 = operands
        return linalg.linear(linalg.mlp(x, *layers), last, bias3, "relu").square().sum()

    compiled = torch.compile(network, fullgraph=True, mode=mode)
    for _ in range(3):
        expected = network(*operands)
        result = compiled(*operands)
        torch.testing.assert_close(result, expected)
        found = torch.autograd.grad(result, operands)
        torch.testing.assert_close(found, torch.autograd.grad(expected, operands))


REFUSALS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda a: linalg.matmul(np.ones((2, 2)), a), TypeError, "a is a ndarray, .* takes? tensors"),
    (lambda a: linalg.matmul(a, a, a), ValueError, "c and beta belong together"),
    (lambda a: linalg.matmul(a, a, epilog=MatmulEpilog.DRELU), ValueError, "epilog is DRELU, but"),
    (lambda a: linalg.matmul(a, a, epilog=MatmulEpilog.BIAS), ValueError, r"has \[\], .* 'bias'"),
    (lambda a: linalg.matmul(a, a, epilog_inputs={"bias": a}), ValueError, "needs none"),
    (lambda a: linalg.linear(a, a, activation="tanh"), ValueError, "activation is 'tanh'; allowed"),
    (lambda a: linalg.mlp(a, a, None, a, None, None), ValueError, "activation is None; allowed"),
    (lambda a: linalg.matmul(a, a[:1]), ValueError, "4"),
]


@pytest.mark.parametrize(("use", "error", "message"), REFUSALS)
def test_refusals(use: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use(torch.ones(4, 4, dtype=torch.float64))
