"""The three kinds of Fourier transforms as operators of PyTorch.

Each operator has what PyTorch asks for: an implementation, a fake one that only makes the result's
shape and strides, derivatives and a rule for ``torch.vmap``. Axes are not negative here, and
``norm`` is ``"none"``, ``"backward"``, ``"ortho"`` or ``"forward"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from gpumath import fft
from gpumath.torch._operator import define

__all__ = ["c2c", "c2r", "r2c"]


def _empty_result(operand: Any, shape: Sequence[Any], dtype: Any) -> Any:
    """Allocate a result whose dimensions have the order in memory that the operand's have.

    The fake implementations call it too, so that they cannot say other strides.
    """
    if operand.is_contiguous():
        return operand.new_empty(shape, dtype=dtype)
    # Gaps and overlaps of the operand are left out.
    strides = torch.empty_like(operand, device="meta").stride()
    order = sorted(range(operand.ndim), key=lambda axis: -strides[axis])
    return torch.empty_permuted(shape, order, dtype=dtype, device=operand.device)


# Every implementation of an operator has all its arguments, though it does not use them.
def _c2c_result(
    operand: Any,
    axes: list[int],  # noqa: ARG001 - as above
    is_forward: bool,  # noqa: ARG001 - as above
    norm: str,  # noqa: ARG001 - as above
) -> Any:
    return torch.empty_like(operand)


def _r2c_result(operand: Any, axes: list[int], norm: str) -> Any:  # noqa: ARG001 - as above
    shape = list(operand.shape)
    shape[axes[-1]] = shape[axes[-1]] // 2 + 1
    return _empty_result(operand, shape, operand.dtype.to_complex())


def _c2r_result(
    operand: Any,
    axes: list[int],
    length: Any,
    norm: str,  # noqa: ARG001 - as above
) -> Any:
    shape = list(operand.shape)
    shape[axes[-1]] = length
    return _empty_result(operand, shape, operand.dtype.to_real())


def _c2c(operand: Any, axes: list[int], is_forward: bool, norm: str) -> Any:
    function = fft.fft if is_forward else fft.ifft
    return _run(function, operand, _c2c_result(operand, axes, is_forward, norm), axes, norm)


def _r2c(operand: Any, axes: list[int], norm: str) -> Any:
    return _run(fft.rfft, operand, _r2c_result(operand, axes, norm), axes, norm)


def _c2r(operand: Any, axes: list[int], length: int, norm: str) -> Any:
    options = {"last_axis_parity": "odd"} if length % 2 else None
    result = _c2r_result(operand, axes, length, norm)
    return _run(fft.irfft, operand, result, axes, norm, options=options)


def _run(
    function: Callable[..., Any], operand: Any, out: Any, axes: list[int], norm: str, **options: Any
) -> Any:
    # A conjugate or a negative is often lazy, as gradients are.
    plain = operand.detach().resolve_conj().resolve_neg()
    return function(plain, axes=axes, out=out, norm=None if norm == "none" else norm, **options)


# The scale of a transform is that of its adjoint, which has the other direction.
_ADJOINT_NORM = {"none": "none", "ortho": "ortho", "backward": "forward", "forward": "backward"}


def _note(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Note what the gradient depends on: all arguments but the elements, and the lengths."""
    ctx.arguments = inputs[1:]
    axis = inputs[1][-1]
    ctx.lengths = inputs[0].shape[axis], output.shape[axis]


# A transform is linear: the tangent of its result is the transform of its operand's.
def _c2c_tangent(ctx: Any, of_operand: Any, *_: Any) -> Any:
    return c2c(of_operand, *ctx.arguments)


def _r2c_tangent(ctx: Any, of_operand: Any, *_: Any) -> Any:
    return r2c(of_operand, *ctx.arguments)


def _c2r_tangent(ctx: Any, of_operand: Any, *_: Any) -> Any:
    return c2r(of_operand, *ctx.arguments)


def _c2c_gradient(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    axes, is_forward, norm = ctx.arguments
    return c2c(gradient, axes, not is_forward, _ADJOINT_NORM[norm]), None, None, None


def _r2c_gradient(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """Apply the adjoint: the real part of the sum over the half that `r2c` returns.

    Along the last axis it is a C2R transform of the halved gradient, because that adds to each
    element its mirror image. Along the other axes it is complex.
    """
    axes, norm = ctx.arguments
    length = ctx.lengths[0]
    adjoint = _ADJOINT_NORM[norm]
    # A new tensor in either case, so that it can be changed.
    half = gradient.clone() if len(axes) == 1 else c2c(gradient, axes[:-1], False, adjoint)
    _scale_mirrored(half, axes[-1], length, 0.5)
    return c2r(half, axes[-1:], length, adjoint), None, None


def _c2r_gradient(ctx: Any, gradient: Any) -> tuple[Any, ...]:
    """Apply the adjoint: elements that stand for their mirror images too count twice."""
    axes, length, norm = ctx.arguments
    half = r2c(gradient, axes, _ADJOINT_NORM[norm])
    _scale_mirrored(half, axes[-1], length, 2.0)
    return half, None, None, None


def _scale_mirrored(half: Any, axis: int, length: Any, factor: float) -> None:
    """Multiply those elements of a half that have a mirror image, in place.

    Element 0 has none, nor has the last one of an even length.
    """
    half.narrow(axis, 1, (length - 1) // 2).mul_(factor)


def _batched(operator: Any) -> Callable[..., tuple[Any, int]]:
    """Make the rule for ``torch.vmap``: the mapped dimension becomes one more of the batch."""

    def rule(
        info: Any,  # noqa: ARG001 - PyTorch passes it
        in_dims: Any,
        operand: Any,
        axes: list[int],
        *arguments: Any,
    ) -> Any:
        moved = operand.movedim(in_dims[0], 0)
        return operator(moved, [axis + 1 for axis in axes], *arguments), 0

    return rule


c2c = define(
    "fft_c2c(Tensor operand, int[] axes, bool is_forward, str norm) -> Tensor",
    _c2c,
    _c2c_result,
    _c2c_gradient,
    _note,
    _c2c_tangent,
    _batched,
)
r2c = define(
    "fft_r2c(Tensor operand, int[] axes, str norm) -> Tensor",
    _r2c,
    _r2c_result,
    _r2c_gradient,
    _note,
    _r2c_tangent,
    _batched,
)
c2r = define(
    "fft_c2r(Tensor operand, int[] axes, SymInt length, str norm) -> Tensor",
    _c2r,
    _c2r_result,
    _c2r_gradient,
    _note,
    _c2r_tangent,
    _batched,
)
