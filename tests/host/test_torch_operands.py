"""What PyTorch tensors carry beside their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import fft
from tests.helpers.references import assert_close, random_values

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA device")
    return request.param


def tensor(values: np.ndarray, device: str) -> Any:
    return torch.from_numpy(values).to(device)


def test_lazy_operands_of_an_object_are_refused(device: str) -> None:
    """`reset_operand` refuses them; after `reset_operand_unchecked`, `execute` does."""
    values = random_values((3, 16), np.complex64)
    plain = tensor(values, device)
    for lazy, cure in ((plain.conj(), "resolve_conj"), (torch._neg_view(plain), "resolve_neg")):
        with fft.FFT(plain, axes=[1]) as transform:
            transform.plan()
            for _ in range(2):
                assert_close(transform.execute().cpu().numpy(), values, "C2C", (1,))
            with pytest.raises(ValueError, match=cure):
                transform.reset_operand(lazy)
            transform.reset_operand_unchecked(lazy)
            for _ in range(2):
                with pytest.raises(ValueError, match=cure):
                    transform.execute()
            transform.reset_operand_unchecked(plain)
            for _ in range(2):
                assert_close(transform.execute().cpu().numpy(), values, "C2C", (1,))


def test_functions_transform_lazy_conjugates(device: str, caplog: pytest.LogCaptureFixture) -> None:
    values = random_values((5, 6), np.complex128)
    lazy = tensor(values, device).conj()
    with caplog.at_level("INFO"):
        result = fft.fft(lazy, axes=[1])
    assert "a copy is transformed" in caplog.text
    assert_close(result.cpu().numpy(), values.conj(), "C2C", (1,))
    assert_close(fft.fft(lazy[:, 1:], axes=[0]).cpu().numpy(), values[:, 1:].conj(), "C2C", (0,))
    padded = np.pad(values.conj(), ((0, 0), (0, 3)))
    assert_close(fft.fft(lazy, axes=[1], n=9).cpu().numpy(), padded, "C2C", (1,))
    assert lazy.is_conj()
    np.testing.assert_array_equal(lazy.resolve_conj().cpu().numpy(), values.conj())


def test_functions_transform_lazy_negatives(device: str) -> None:
    values = random_values((5, 6), np.complex128)
    lazy = tensor(values, device).conj().imag
    assert lazy.is_neg()
    assert_close(fft.rfft(lazy, axes=[1]).cpu().numpy(), -values.imag, "R2C", (1,))
    both = torch._neg_view(tensor(values, device).conj())
    assert_close(fft.fft(both, axes=[1]).cpu().numpy(), -values.conj(), "C2C", (1,))


def test_a_lazy_conjugate_is_not_transformed_in_place(device: str) -> None:
    lazy = tensor(random_values((5, 6), np.complex64), device).conj()
    with pytest.raises(ValueError, match=r"lazy conjugation: call its resolve_conj\(\) first"):
        fft.fft(lazy, axes=[1], options={"inplace": True})


def test_a_gradient_is_not_lost_silently(device: str) -> None:
    values = random_values((8,), np.complex128)
    operand = tensor(values, device).requires_grad_()
    with pytest.raises(ValueError, match=r"products of gpumath.torch do. Or call its detach\(\)"):
        fft.fft(operand)
    assert_close(fft.fft(operand.detach()).cpu().numpy(), values, "C2C", (0,))
    with torch.no_grad():
        result = fft.fft(operand)
    assert not result.requires_grad
    assert_close(result.cpu().numpy(), values, "C2C", (0,))


def test_a_parameter_without_gradient(device: str) -> None:
    values = random_values((8,), np.float64)
    operand = torch.nn.Parameter(tensor(values, device), requires_grad=False)
    assert_close(fft.rfft(operand).cpu().numpy(), values, "R2C", (0,))


def test_sparse_tensors_are_refused(device: str) -> None:
    operand = tensor(np.eye(4, dtype=np.complex64), device).to_sparse()
    with pytest.raises(ValueError, match=r"layout torch\.sparse_coo; .* to_dense\(\)"):
        fft.fft(operand)


def test_other_devices_are_refused() -> None:
    operand = torch.empty(4, dtype=torch.complex64, device="meta")
    with pytest.raises(ValueError, match="device meta; CPU and CUDA tensors are accepted"):
        fft.fft(operand)


@pytest.mark.parametrize("dtype", ["bfloat16", "int32", "bool"])
def test_unsupported_element_types(device: str, dtype: str) -> None:
    operand = torch.ones(4, dtype=getattr(torch, dtype), device=device)
    with pytest.raises(ValueError, match=rf"element type (torch\.)?{dtype} is not supported"):
        fft.rfft(operand)


def test_half_precision_on_the_cpu_is_refused() -> None:
    with pytest.raises(ValueError, match="single and double precision"):
        fft.rfft(torch.ones(8, dtype=torch.float16))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
def test_half_precision_on_the_gpu() -> None:
    values = random_values((4, 64), np.float32).astype(np.float16)
    half = fft.rfft(tensor(values, "cuda"), axes=[1])
    assert half.dtype is torch.complex32
    expected = np.fft.rfft(values.astype(np.float64))
    result = torch.view_as_real(half).float().cpu().numpy()
    error = np.linalg.norm(result[..., 0] + 1j * result[..., 1] - expected)
    # Two roundings to 11 bits in each of six stages.
    assert error <= 12 * np.finfo(np.float16).eps * np.linalg.norm(expected)


def test_the_operands_stay_on_the_autograd_tape_of_others(device: str) -> None:
    values = random_values((8,), np.complex128)
    leaf = tensor(values, device).requires_grad_()
    branch = (leaf * 2).detach()
    fft.fft(branch, options={"inplace": True})
    leaf.abs().sum().backward()
    assert leaf.grad is not None
