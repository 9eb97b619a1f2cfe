"""Derivatives of PyTorch operators beyond `backward`: `torch.func`, forward mode; and autocast.

What PyTorch computes in double precision is the reference.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from gpumath.linalg.advanced import MatmulEpilog
from tests.helpers.references import random_values

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
fft = importlib.import_module("gpumath.torch.fft")
linalg = importlib.import_module("gpumath.torch.linalg")

# PyTorch says so where the first work of its thread for gradients is a product of its own.
pytestmark = pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS:UserWarning")

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "": lambda z: z,
    "relu": torch.relu,
    "gelu": lambda z: torch.nn.functional.gelu(z, approximate="tanh"),
}
BIAS = {
    "": MatmulEpilog.BIAS,
    "relu": MatmulEpilog.RELU_BIAS,
    "gelu": MatmulEpilog.GELU_BIAS,
}
TRANSFORMS = {
    "C2C": (lambda x: fft.fft(x, axes=[-1]), torch.fft.fft, "c16"),
    "inverse": (lambda x: fft.ifftn(x[None])[0], torch.fft.ifftn, "c16"),
    "R2C": (lambda x: fft.rfft(x, axes=[-1]), torch.fft.rfft, "f8"),
    "C2R": (
        lambda x: fft.irfft(x, axes=[-1], n=7, norm="ortho"),
        lambda x: torch.fft.irfft(x, n=7, norm="ortho"),
        "c16",
    ),
}
ALL = (0, 1, 2, 3)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA device")
    return request.param


def tensor(shape: tuple[int, ...], device: str, dtype: str = "f8") -> Any:
    return torch.from_numpy(random_values(shape, dtype)).to(device)


def operands(device: str) -> list[Any]:
    """Factors, what is added to the product, and a bias."""
    return [tensor(shape, device) for shape in ((3, 4), (4, 5), (3, 5), (3,))]


def ours(activation: str) -> Callable[..., Any]:
    def function(a: Any, b: Any, c: Any, bias: Any) -> Any:
        inputs = {"bias": bias}
        options = {"epilog": BIAS[activation], "epilog_inputs": inputs}
        return linalg.matmul(a, b, c, alpha=0.5, beta=-2, **options)

    return function


def theirs(activation: str) -> Callable[..., Any]:
    return lambda a, b, c, bias: ACTIVATIONS[activation](0.5 * a @ b - 2 * c + bias[:, None])


def their_layers(x: Any, weight1: Any, bias1: Any, weight2: Any, bias2: Any) -> Any:
    linear = torch.nn.functional.linear
    return linear(ACTIVATIONS["gelu"](linear(x, weight1, bias1)), weight2, bias2)


def layers(device: str) -> list[Any]:
    """The arguments of two layers."""
    return [tensor(shape, device) for shape in ((3, 4), (6, 4), (6,), (2, 6), (2,))]


def energy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a real number of a result, whose derivative has all its elements."""
    return lambda *x: function(*x).abs().square().sum()


def assert_same(change: Callable[..., Any], own: Any, other: Any, *arguments: Any) -> None:
    """Check that a changed function has the results of the other one changed so."""
    torch.testing.assert_close(change(own)(*arguments), change(other)(*arguments))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_derivatives_of_products(device: str, activation: str) -> None:
    func, arguments = torch.func, operands(device)
    own, other = ours(activation), theirs(activation)
    for change in (func.jacrev, func.jacfwd):
        assert_same(lambda f, c=change: c(f, ALL), own, other, *arguments)
    for change in (func.grad, func.hessian, lambda f, n: func.jacrev(func.jacrev(f, n), n)):
        assert_same(lambda f, c=change: c(f, ALL), energy(own), energy(other), *arguments)


@pytest.mark.parametrize("mapped", list(product([True, False], repeat=4))[:-1])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_mapped_products(device: str, activation: str, mapped: tuple[bool, ...]) -> None:
    func, own, other = torch.func, ours(activation), theirs(activation)
    dims = tuple(dim if one else None for dim, one in zip((0, 1, 2, 1), mapped, strict=True))
    arguments = [
        one if dim is None else torch.stack([one, -one, 2 * one], dim)
        for one, dim in zip(operands(device), dims, strict=True)
    ]
    assert_same(lambda f: func.vmap(f, dims), own, other, *arguments)
    assert_same(lambda f: func.grad(energy(func.vmap(f, dims)), ALL), own, other, *arguments)
    for change in (func.grad, func.hessian):
        own_energy, other_energy = energy(own), energy(other)
        assert_same(
            lambda f, c=change: func.vmap(c(f, ALL), dims), own_energy, other_energy, *arguments
        )


def test_mapped_functions_that_are_compiled(device: str) -> None:
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        torch._dynamo.reset()
        return torch.compile(torch.vmap(function), fullgraph=True, backend="aot_eager")

    arguments = [torch.stack([one, 2 * one]) for one in operands(device)]
    assert_same(compiled, ours("gelu"), theirs("gelu"), *arguments)
    for own, other, dtype in TRANSFORMS.values():
        assert_same(compiled, own, other, tensor((3, 6), device, dtype))


def test_two_layers(device: str) -> None:
    func, arguments = torch.func, layers(device)
    for change in (func.grad, func.hessian):
        own, other = energy(linalg.mlp), energy(their_layers)
        assert_same(lambda f, c=change: c(f, (0, 1, 2, 3, 4)), own, other, *arguments)
    networks = [torch.stack([one, 1 - one]) for one in arguments[1:]]
    dims = (None, 0, 0, 0, 0)
    assert_same(lambda f: func.vmap(f, dims), linalg.mlp, their_layers, arguments[0], *networks)


@pytest.mark.parametrize(("own", "other", "dtype"), TRANSFORMS.values(), ids=TRANSFORMS)
def test_derivatives_of_transforms(device: str, own: Any, other: Any, dtype: str) -> None:
    func, x = torch.func, tensor((3, 6), device, dtype)
    for change in (func.grad, lambda f: func.vmap(func.grad(f))):
        assert_same(change, energy(own), energy(other), x)
    assert_same(lambda f: lambda x: func.jvp(f, (x,), (x + 1,)), own, other, x)
    if dtype == "f8":
        for change in (func.jacfwd, func.hessian):
            assert_same(change, energy(own), energy(other), x)
    for strategy in ("reverse-mode", "forward-mode"):
        options = {"vectorize": True, "strategy": strategy}

        def change(f: Any, options: Any = options) -> Any:
            return lambda x: torch.autograd.functional.jacobian(f, x, **options)

        assert_same(change, energy(own), energy(other), x)


def test_forward_mode(device: str) -> None:
    """What has a tangent has one in the result too, also where nothing asks for a gradient."""
    forward_ad = torch.autograd.forward_ad

    def tangent(function: Callable[..., Any]) -> Callable[..., Any]:
        def derivative(*arguments: Any) -> Any:
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(one, 2 * one + 1) for one in arguments]
                return forward_ad.unpack_dual(function(*duals)).tangent

        return derivative

    for own, other, dtype in TRANSFORMS.values():
        assert_same(tangent, own, other, tensor((3, 6), device, dtype))
    for activation in ACTIVATIONS:
        assert_same(tangent, ours(activation), theirs(activation), *operands(device))
    assert_same(tangent, linalg.mlp, their_layers, *layers(device))
    with forward_ad.dual_level():
        arguments = [forward_ad.make_dual(one, one) for one in layers(device)]
        with pytest.raises(RuntimeError, match="gpumath::mlp has no derivative in forward mode"):
            torch.ops.gpumath.mlp.default(*arguments, "gelu")


def test_results_can_be_changed_in_place(device: str) -> None:
    """As layers do that add their input to their result."""
    x, weight, bias = (tensor(s, device).requires_grad_() for s in ((4, 4), (4, 4), (4,)))
    for activation in (None, "gelu"):
        changed = linalg.linear(x, weight, bias, activation)
        changed += x
        expected = ACTIVATIONS[activation or ""](torch.nn.functional.linear(x, weight, bias)) + x
        found = torch.autograd.grad(changed.square().sum(), (x, weight, bias))
        wanted = torch.autograd.grad(expected.square().sum(), (x, weight, bias))
        torch.testing.assert_close([changed, *found], [expected, *wanted])
    result = linalg.mlp(x, weight, bias, weight, bias)
    result *= 2
    torch.testing.assert_close(result, 2 * their_layers(x, weight, bias, weight, bias))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast(device: str, dtype: str) -> None:
    """Results have the asked type, gradients the operands', and errors are as PyTorch's."""
    kind = getattr(torch, dtype)
    arguments = [one.float().requires_grad_() for one in layers(device)]

    def found_by(function: Callable[..., Any]) -> list[Any]:
        result = function(*arguments).float()
        return [result, *torch.autograd.grad(result.sum(), arguments)]

    def two_calls(x: Any, weight1: Any, bias1: Any, weight2: Any, bias2: Any) -> Any:
        return linalg.linear(linalg.linear(x, weight1, bias1, "gelu"), weight2, bias2)

    exact = found_by(their_layers)
    with torch.autocast(device, dtype=kind):
        assert {linalg.mlp(*arguments).dtype, two_calls(*arguments).dtype} == {kind}
        wide = arguments[0].double()
        assert linalg.matmul(wide, wide.mT).dtype == torch.float64
        others, *own = [found_by(one) for one in (their_layers, linalg.mlp, two_calls)]
    for found in own:
        for one, other, wanted in zip(found, others, exact, strict=True):
            assert one.dtype == torch.float32
            error, allowed = (torch.linalg.norm(x - wanted) for x in (one, other))
            assert error <= 3 * allowed + 0.01 * torch.linalg.norm(wanted)


class Marked(torch.Tensor):  # type: ignore[misc]  # torch is Any to mypy
    """Another type of tensor, as libraries derive them."""


def test_what_watches_calls_sees_them(device: str) -> None:
    x = tensor((4, 6), device)
    called = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]  # as above
        def __torch_dispatch__(
            self, operator: Any, types: Any, arguments: Any = (), keywords: Any = None
        ) -> Any:
            called.append(str(operator))
            return operator(*arguments, **(keywords or {}))

    with Watch():
        fft.rfft(x)
        linalg.matmul(x, x.mT)
    assert {"gpumath.fft_r2c.default", "gpumath.matmul.default"} <= set(called)
    traced = torch.jit.trace(lambda x: linalg.matmul(x, x.mT), x)
    torch.testing.assert_close(traced(2 * x), 4 * x @ x.mT)
    marked = fft.rfft(x.as_subclass(Marked))
    assert type(marked) is Marked
    torch.testing.assert_close(marked.as_subclass(torch.Tensor), torch.fft.rfftn(x))
