"""Transforms as operators of PyTorch: values, gradients, `torch.compile` and `torch.vmap`."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.helpers.references import random_values, relative_error

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
fft = importlib.import_module("gpumath.torch.fft")
operators = importlib.import_module("gpumath.torch._fft_operators")

NORMS = ("none", "backward", "ortho", "forward")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA device")
    return request.param


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def tensor(shape: tuple[int, ...], dtype: str, device: str, order: tuple[int, ...] = ()) -> Any:
    """Fresh numbers; ``order`` is that of the dimensions in memory."""
    values = torch.from_numpy(random_values(shape, dtype)).to(device)
    if not order:
        return values
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return values.permute(order).contiguous().permute(inverse)


def values_of(x: Any) -> np.ndarray:
    return x.detach().resolve_conj().resolve_neg().cpu().numpy()


def close(result: Any, expected: np.ndarray) -> bool:
    """Whether a result is what NumPy computes in double precision."""
    eps = torch.finfo(result.dtype).eps
    return relative_error(values_of(result), expected) < 20 * eps


@pytest.mark.parametrize("name", ["gpumath.torch", "gpumath.torch.fft"])
def test_examples(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert (outcome.attempted > 0, outcome.failed) == (True, 0)


@pytest.mark.parametrize("precision", [4, 8])
@pytest.mark.parametrize("order", [(), (2, 0, 1), (1, 2, 0)])
def test_values(device: str, precision: int, order: tuple[int, ...]) -> None:
    z = tensor((4, 6, 7), f"c{2 * precision}", device, order)
    r = tensor((4, 6, 7), f"f{precision}", device, order)
    wide, wide_r = values_of(z).astype("c16"), values_of(r).astype("f8")
    half = np.fft.rfftn(wide_r, axes=(0, 2))
    h = torch.from_numpy(half.astype(values_of(z).dtype)).to(device)
    cases = [
        (fft.fft(z, axes=[1], n=5), np.fft.fft(wide, 5, 1)),
        (fft.fft(z.conj(), axes=[0, -1]), np.fft.fftn(wide.conj(), axes=(0, 2))),
        (fft.ifft(z, axes=[2], n=9, norm="backward"), np.fft.ifft(wide, 9, 2)),
        (fft.ifft(z), np.fft.ifftn(wide, norm="forward")),
        (fft.rfft(z.conj().imag, axes=[1]), np.fft.rfft(-wide.imag, axis=1)),
        (fft.rfft(r, axes=[2, 0], s=[-1, 3]), np.fft.rfftn(wide_r, (7, 3), (2, 0))),
        (fft.irfft(h, axes=[0, 2], s=[4, 7], norm="backward"), wide_r),
        (fft.fftn(z, s=(3, 8)), np.fft.fftn(wide, (3, 8), (1, 2))),
        (fft.ifft2(z, norm=None), np.fft.ifft2(wide)),
        (fft.fft2(z, axes=(0, 1)), np.fft.fft2(wide, axes=(0, 1))),
        (fft.ifftn(z, norm="ortho"), np.fft.ifftn(wide, norm="ortho")),
        (fft.rfft2(r), np.fft.rfft2(wide_r)),
        (fft.rfftn(r, norm="forward"), np.fft.rfftn(wide_r, norm="forward")),
        (fft.irfftn(h, s=(4, 7), axes=(0, 2)), wide_r),
        (fft.irfft2(fft.rfft2(r), s=(6, 7)), wide_r),
        (fft.irfft(fft.rfft(r[:1, :, :6], axes=[2]), axes=[2]), 6 * wide_r[:1, :, :6]),
    ]
    for number, (result, expected) in enumerate(cases):
        assert close(result, expected), number
        assert result.device == z.device
        assert result.dtype in (z.dtype, r.dtype)


def test_the_order_in_memory_is_the_operand_s(device: str) -> None:
    z, r = (tensor((4, 6, 8), kind, device, (1, 2, 0)) for kind in ("c8", "f4"))
    assert fft.fft(z, axes=[1]).stride() == z.stride()
    assert fft.rfft(r, axes=[2]).stride() == (1, 20, 4)
    assert fft.fft(z[:1].expand(4, 6, 8), axes=[1]).shape == (4, 6, 8)


def test_gradients(device: str) -> None:
    """Of first order for each norm, set of axes and parity, against differences."""
    z = tensor((2, 3, 4), "c16", device).requires_grad_()
    r = tensor((2, 3, 4), "f8", device).requires_grad_()
    for norm, axes in zip(NORMS, ([2], [0], [2, 0], [2, 0, 1]), strict=True):
        cases: list[tuple[Callable[[Any], Any], Any]] = [
            (lambda x, a=axes, n=norm: operators.c2c(x, a, True, n), z),
            (lambda x, a=axes, n=norm: operators.c2c(x, a, False, n), z),
            (lambda x, a=axes, n=norm: operators.r2c(x, a, n), r),
        ]
        for length in (2 * z.shape[axes[-1]] - 2, 2 * z.shape[axes[-1]] - 1):
            cases.append((lambda x, a=axes, m=length, n=norm: operators.c2r(x, a, m, n), z))
        for function, x in cases:
            assert torch.autograd.gradcheck(function, (x,), check_batched_grad=True)


def test_gradients_of_second_order(device: str) -> None:
    z = tensor((2, 3), "c16", device).requires_grad_()
    r = tensor((2, 3), "f8", device).requires_grad_()
    check = torch.autograd.gradgradcheck
    assert check(lambda x: operators.r2c(x, [0, 1], "ortho"), (r,))
    assert check(lambda x: operators.c2r(x, [0, 1], 4, "none"), (z,))
    assert check(lambda x: operators.c2c(x, [1], True, "forward"), (z,))


def test_pytorch_s_own_check_of_operators(device: str) -> None:
    z = tensor((3, 4, 5), "c8", device, (2, 0, 1)).requires_grad_()
    r = tensor((3, 4, 5), "f4", device, (2, 0, 1)).requires_grad_()
    torch.library.opcheck(torch.ops.gpumath.fft_c2c.default, (z, [0, 2], True, "none"))
    torch.library.opcheck(torch.ops.gpumath.fft_r2c.default, (r, [2, 1], "ortho"))
    repeated = tensor((1, 4, 5), "c8", device).expand(4, 4, 5).requires_grad_()
    torch.library.opcheck(torch.ops.gpumath.fft_c2r.default, (repeated, [0, 2], 9, "backward"))


def step(x: Any, weights: Any) -> Any:
    """Filter a real tensor, as a layer of a network does."""
    spectrum = fft.rfftn(x, axes=(0, 1), norm="ortho") * weights
    mixed = fft.ifft(fft.fft(spectrum.conj(), axes=[2]), axes=[2], norm="backward")
    return fft.irfftn(mixed, s=x.shape[:2], axes=(0, 1), norm="ortho").square().sum()


def test_compiled_in_one_graph(device: str) -> None:
    x = tensor((6, 9, 4), "f8", device).requires_grad_()
    weights = tensor((6, 5, 4), "c16", device).requires_grad_()
    expected = step(x, weights)
    gradients = torch.autograd.grad(expected, (x, weights))
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for _ in range(2):
        result = compiled(x, weights)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(torch.autograd.grad(result, (x, weights)), gradients)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.filterwarnings("ignore:Torchinductor does not support code:UserWarning")
# PyTorch's first capture has nothing in it.
@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty:UserWarning")
def test_compiled_by_inductor(mode: str) -> None:
    """Also inside the CUDA graphs that PyTorch captures."""
    x = tensor((32, 50, 4), "f4", "cuda").requires_grad_()
    weights = tensor((32, 26, 4), "c8", "cuda").requires_grad_()
    compiled = torch.compile(step, fullgraph=True, mode=mode)
    for _ in range(4):
        x = torch.randn_like(x).requires_grad_()
        expected = step(x, weights)
        gradients = torch.autograd.grad(expected, (x, weights))
        result = compiled(x, weights)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(torch.autograd.grad(result, (x, weights)), gradients)


def test_one_graph_serves_every_length(device: str) -> None:
    def function(x: Any) -> Any:
        return fft.irfft(2 * fft.rfft(x, axes=[1]), axes=[1], n=x.shape[1], norm="backward")

    graphs = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph

    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=backend)
    for length in (8, 9, 31):
        x = tensor((3, length), "f8", device)
        torch.testing.assert_close(compiled(x), 2 * x)
    assert len(graphs) == 1


def test_mapped_over_any_dimension(device: str) -> None:
    z, r = tensor((4, 3, 6), "c16", device), tensor((4, 3, 6), "f8", device)
    for dim in (0, 1, 2):
        mapped = torch.vmap(lambda x: fft.fft(x, axes=[-1]), in_dims=dim)(z)
        others = [axis for axis in range(3) if axis != dim]
        assert close(mapped.movedim(0, dim), np.fft.fft(values_of(z), axis=others[-1]))
        mapped = torch.vmap(lambda x: fft.irfft(fft.rfft(x), s=x.shape), in_dims=dim)(r)
        points = r.numel() // r.shape[dim]
        assert close(mapped.movedim(0, dim), points * values_of(r))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
def test_half_precision() -> None:
    x = tensor((4, 64), "f4", "cuda").half().requires_grad_()
    result = fft.rfft(x, axes=[1])
    assert result.dtype == torch.complex32
    expected = np.fft.rfft(values_of(x).astype("f8"))
    assert relative_error(values_of(result.to(torch.complex64)), expected) < 0.01


REFUSALS: list[tuple[str, Callable[[Any, Any], Any], type[Exception], str]] = [
    ("array", lambda z, r: fft.fft(np.ones(3, "c8")), TypeError, "ndarray.*gpumath.fft takes"),
    ("real", lambda z, r: fft.fft(r), ValueError, "complex tensors.*float64; use rfft"),
    ("complex", lambda z, r: fft.rfft(z), ValueError, "real tensors.*complex128; use fft"),
    ("real, inverse", lambda z, r: fft.irfft(r), ValueError, "complex tensors"),
    ("axis", lambda z, r: fft.fft(z, axes=[2]), ValueError, "axis 2 is out of range.* 2 dim"),
    ("twice", lambda z, r: fft.fft(z, axes=[1, -1]), ValueError, r"\(1, -1\); each axis"),
    ("no axes", lambda z, r: fft.fft(z, axes=[]), ValueError, "axes is empty"),
    ("norm", lambda z, r: fft.fft(z, norm="none"), ValueError, "norm is 'none'"),
    ("n and s", lambda z, r: fft.fft(z, n=3, s=[3]), ValueError, "n and s are given"),
    ("n, two axes", lambda z, r: fft.fft(z, n=3), ValueError, "n has 1 lengths.* 2 axes"),
    ("n is 0", lambda z, r: fft.fft(z, n=0, axes=[0]), ValueError, "n is 0; lengths are"),
    ("long s", lambda z, r: fft.fftn(z, s=(1, 2, 3)), ValueError, "3 lengths.* 2 dimensions"),
    ("no points", lambda z, r: fft.irfft(z[:, :1]), ValueError, "pass n=1"),
    ("integers", lambda z, r: fft.rfft(r.int()), ValueError, "int32"),
]


@pytest.mark.parametrize(("use", "error", "message"), [case[1:] for case in REFUSALS])
def test_refusals(use: Callable[[Any, Any], Any], error: type[Exception], message: str) -> None:
    z = torch.ones(4, 6, dtype=torch.complex128)
    with pytest.raises(error, match=message):
        use(z, z.real)
