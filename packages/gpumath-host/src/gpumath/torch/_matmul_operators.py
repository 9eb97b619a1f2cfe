"""Products of matrices with epilogs as operators of PyTorch.

The first results have their matrices in the order that cuBLASLt writes them in: by columns where
the epilog tells rows from columns, else by rows. The auxiliary ones are as the epilogs of the
derivatives take them: by columns, padded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gpumath.linalg import advanced
from gpumath.torch._operator import define

__all__ = ["activation_gradient", "matmul", "mlp", "sum_rows"]


def _multiply(a: Any, b: Any, c: Any, epilog: str, inputs: Any = None, **scales: Any) -> Any:
    """Multiply with an epilog; return the result and the dictionary of auxiliary outputs."""
    found = advanced.matmul(
        *(a.detach().resolve_neg(), b.detach().resolve_neg()),
        None if c is None else c.detach().resolve_conj().resolve_neg(),
        **scales,
        epilog=advanced.MatmulEpilog[epilog] if epilog else None,
        epilog_inputs=inputs,
    )
    return found if isinstance(found, tuple) else (found, {})


def _name(activation: str, keeps_aux: bool, bias: Any) -> str:
    """Return the name of a forward epilog; empty for none."""
    parts = (activation.upper(), "AUX" * keeps_aux, "BIAS" * (bias is not None))
    return "_".join(part for part in parts if part)


def _bias(bias: Any) -> dict[str, Any] | None:
    return None if bias is None else {"bias": bias.detach().resolve_neg()}


def _ordered(result: Any, by_columns: bool) -> Any:
    """Return a result with the order in memory that the fake implementation says.

    PyTorch would refuse to change it in place if it were a view of another tensor; `data` is none.
    """
    return (result.mT.contiguous().mT if by_columns else result.contiguous()).data


def _shape(a: Any, b: Any) -> tuple[Any, ...]:
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (*batch, a.shape[-2], b.shape[-1])


def _empty(a: Any, shape: Any, by_columns: bool, dtype: Any = None) -> Any:
    *batch, m, n = shape
    if by_columns:
        return a.new_empty((*batch, n, m), dtype=dtype).mT
    return a.new_empty(shape, dtype=dtype)


def _empty_aux(a: Any, shape: Any, activation: str) -> Any:
    """Make what keeps the argument of an activation function: bits for ReLU, numbers for GELU."""
    *batch, m, n = shape
    if activation == "relu":
        return _empty(a, (*batch, (m + 127) // 128 * 16, n), True, torch.uint8)
    return _empty(a, (*batch, (m + 7) // 8 * 8, n), True)


def _matmul(
    a: Any,
    b: Any,
    c: Any,
    bias: Any,
    alpha: float,
    beta: float,
    activation: str,
    keeps_argument: bool,
) -> tuple[Any, Any]:
    scales = {"alpha": alpha} if c is None else {"alpha": alpha, "beta": beta}
    epilog = _name(activation, keeps_argument, bias)
    result, auxiliary = _multiply(a, b, c, epilog, _bias(bias), **scales)
    argument = auxiliary["gelu_aux"].data if keeps_argument else a.new_empty(0)
    return _ordered(result, keeps_argument or bias is not None), argument


def _matmul_fake(
    a: Any,
    b: Any,
    c: Any,  # noqa: ARG001 - every implementation of an operator has all its arguments
    bias: Any,
    alpha: float,  # noqa: ARG001 - as above
    beta: float,  # noqa: ARG001 - as above
    activation: str,
    keeps_argument: bool,
) -> tuple[Any, Any]:
    shape = _shape(a, b)
    argument = _empty_aux(a, shape, activation) if keeps_argument else a.new_empty(0)
    return _empty(a, shape, keeps_argument or bias is not None), argument


def _note_matmul(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
    a, b, c, bias, *ctx.choices = inputs
    result, argument = output
    *_, activation, keeps_argument = ctx.choices
    ctx.set_materialize_grads(False)
    # A result that is not kept can be changed in place by the user.
    slopes = result if activation == "relu" else argument if keeps_argument else None
    ctx.save_for_backward(a, b, slopes)
    ctx.save_for_forward(a, b, slopes)
    ctx.shapes = tuple(None if x is None else x.shape for x in (result, c, bias))


def _matmul_gradient(ctx: Any, gradient: Any, of_argument: Any) -> tuple[Any, ...]:
    a, b, slopes = ctx.saved_tensors
    alpha, beta, activation, keeps_argument = ctx.choices
    shape, c_shape, bias_shape = ctx.shapes
    if gradient is None:
        gradient = a.new_zeros(shape)
    gradient = _times_slopes(gradient, activation, slopes)
    if keeps_argument and of_argument is not None:
        gradient = gradient + of_argument[..., : shape[-2], :]
    needs_a, needs_b, needs_c, needs_bias, *_ = ctx.needs_input_grad
    of_a = of_b = of_c = of_bias = None
    if needs_a and needs_bias:
        # One product gives both: the sums of the rows cost no pass of their own.
        of_a, of_bias = sum_rows(gradient, b.mH, alpha)
    elif needs_a:
        of_a = _product(gradient, b.mH, alpha)
    elif needs_bias:
        of_bias = gradient.sum(-1)
    if needs_b:
        of_b = _product(a.mH, gradient, alpha).sum_to_size(b.shape)
    if needs_c:
        of_c = (beta * gradient).sum_to_size(c_shape)
    if of_a is not None:
        of_a = of_a.sum_to_size(a.shape)
    if of_bias is not None:
        # A bias is a vector of m, or has the shape (..., m, 1).
        wide = of_bias.unsqueeze(-1)
        of_bias = (
            wide.sum_to_size((*bias_shape, 1)).squeeze(-1)
            if len(bias_shape) == 1
            else wide.sum_to_size(bias_shape)
        )
    return of_a, of_b, of_c, of_bias, None, None, None, None


def _times_slopes(derivative: Any, activation: str, slopes: Any) -> Any:
    """Multiply by the derivative of ReLU, of this result, or of GELU, of this padded argument."""
    if activation == "relu":
        return derivative * (slopes > 0)
    if activation == "gelu":
        argument = slopes[..., : derivative.shape[-2], :]
        return torch.ops.aten.gelu_backward(derivative, argument, approximate="tanh")
    return derivative


def _matmul_tangent(ctx: Any, of_a: Any, of_b: Any, of_c: Any, of_bias: Any, *_: Any) -> Any:
    a, b, slopes = ctx.saved_tensors
    alpha, beta, activation, keeps_argument = ctx.choices
    shape, *_ = ctx.shapes
    tangent = _product_tangent(a, b, of_a, of_b, alpha)
    if of_c is not None:
        tangent = tangent + beta * of_c
    if of_bias is not None:
        tangent = tangent + (of_bias.unsqueeze(-1) if of_bias.ndim == 1 else of_bias)
    of_argument = tangent.new_empty(0)
    if keeps_argument:
        padding = (0, 0, 0, slopes.shape[-2] - shape[-2])
        of_argument = torch.nn.functional.pad(tangent, padding)
    return _times_slopes(tangent, activation, slopes), of_argument


def _product_tangent(a: Any, b: Any, of_a: Any, of_b: Any, alpha: float) -> Any:
    if of_a is None and of_b is None:
        return a.new_zeros(_shape(a, b))
    if of_a is None:
        return _product(a, of_b, alpha)
    tangent = _product(of_a, b, alpha)
    return tangent if of_b is None else tangent + _product(a, of_b, alpha)


def _product(a: Any, b: Any, alpha: float = 1.0) -> Any:
    result, _ = matmul(a, b, None, None, alpha, 0.0, "", False)
    return result


def _sum_rows(a: Any, b: Any, alpha: float) -> tuple[Any, Any]:
    result, auxiliary = _multiply(a, b, None, "BGRADA", alpha=alpha)
    sums = auxiliary["bgrada"].reshape(result.shape[:-1])
    return _ordered(result, False), _ordered(sums, False)


def _sum_rows_fake(a: Any, b: Any, alpha: float) -> tuple[Any, Any]:  # noqa: ARG001 - as above
    shape = _shape(a, b)
    return _empty(a, shape, False), a.new_empty(shape[:-1])


def _note_sum_rows(
    ctx: Any,
    inputs: tuple[Any, ...],
    output: Any,  # noqa: ARG001 - PyTorch passes it
) -> None:
    a, b, ctx.alpha = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(a, b)
    ctx.save_for_forward(a, b)


def _sum_rows_gradient(ctx: Any, gradient: Any, of_sums: Any) -> tuple[Any, ...]:
    a, b = ctx.saved_tensors
    of_a = of_b = None
    if gradient is not None:
        of_a = _product(gradient, b.mH, ctx.alpha).sum_to_size(a.shape)
        of_b = _product(a.mH, gradient, ctx.alpha).sum_to_size(b.shape)
    if of_sums is not None:
        rows = of_sums.unsqueeze(-1).sum_to_size((*a.shape[:-1], 1)).expand_as(a)
        of_a = rows if of_a is None else of_a + rows
    return of_a, of_b, None


def _sum_rows_tangent(ctx: Any, of_a: Any, of_b: Any, *_: Any) -> tuple[Any, Any]:
    a, b = ctx.saved_tensors
    tangent = _product_tangent(a, b, of_a, of_b, ctx.alpha)
    return tangent, a.new_zeros(tangent.shape[:-1]) if of_a is None else of_a.sum(-1)


def _with_batch_first(*operands: tuple[Any, int | None]) -> list[Any]:
    """Make the mapped dimension the first of the batch of those operands that have it."""
    ndim = max(x.ndim + (dim is None) for x, dim in operands if x is not None)
    return [
        x if dim is None else x.movedim(dim, 0)[(slice(None), *[None] * (ndim - x.ndim))]
        for x, dim in operands
    ]


def _batched_matmul(operator: Any) -> Callable[..., Any]:
    def rule(
        info: Any, in_dims: Any, a: Any, b: Any, c: Any, bias: Any, *choices: Any
    ) -> tuple[Any, Any]:
        of_a, of_b, of_c, of_bias, *_ = in_dims
        if of_a is None and of_b is None:
            # The results have the factors' batch, also where only what is added is mapped.
            a, of_a = a.expand(info.batch_size, *a.shape), 0
        if bias is not None and bias.ndim == (1 if of_bias is None else 2):
            bias = bias.unsqueeze(-1)
        operands = _with_batch_first((a, of_a), (b, of_b), (c, of_c), (bias, of_bias))
        keeps_argument = choices[-1]
        return operator(*operands, *choices), (0, 0 if keeps_argument else None)

    return rule


def _batched_sum_rows(operator: Any) -> Callable[..., Any]:
    def rule(info: Any, in_dims: Any, a: Any, b: Any, alpha: float) -> tuple[Any, Any]:
        of_a, of_b, _ = in_dims
        if of_a is None:
            # The sums have the batch of the first factor.
            a, of_a = a.expand(info.batch_size, *a.shape), 0
        return operator(*_with_batch_first((a, of_a), (b, of_b)), alpha), (0, 0)

    return rule


def _activation_gradient(a: Any, b: Any, aux: Any, activation: str) -> tuple[Any, Any]:
    name = activation.upper()
    inputs = {f"{activation}_aux": aux}
    result, auxiliary = _multiply(a, b, None, f"D{name}_BGRAD", inputs)
    sums = auxiliary[f"d{activation}_bgrad"].reshape(result.shape[:-1])
    return _ordered(result, True), _ordered(sums, False)


def _activation_gradient_fake(
    a: Any,
    b: Any,
    aux: Any,  # noqa: ARG001 - as above
    activation: str,  # noqa: ARG001 - as above
) -> tuple[Any, Any]:
    shape = _shape(a, b)
    return _empty(a, shape, True), a.new_empty(shape[:-1])


def _note_nothing(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keep nothing: there is no gradient."""


def _refuse_gradient(
    ctx: Any,  # noqa: ARG001 - PyTorch passes it
    *gradients: Any,  # noqa: ARG001 - as above
) -> Any:
    msg = (
        "gpumath.torch.linalg.mlp can be differentiated once only; two calls of linear can be any "
        "number of times"
    )
    raise RuntimeError(msg)


def _mlp(
    x: Any, weight1: Any, bias1: Any, weight2: Any, bias2: Any, activation: str
) -> tuple[Any, Any, Any]:
    # Of the transposed products, because a bias is added to columns: their results by columns are
    # the wanted ones by rows.
    hidden, auxiliary = _multiply(weight1, x.mT, None, _name(activation, True, bias1), _bias(bias1))
    hidden = _ordered(hidden, True)
    result, _ = _multiply(weight2, hidden, None, _name("", False, bias2), _bias(bias2))
    aux = auxiliary[f"{activation}_aux"]
    return _ordered(result.mT, False), hidden.mT.data, aux.data


def _mlp_fake(
    x: Any,
    weight1: Any,
    bias1: Any,  # noqa: ARG001 - as above
    weight2: Any,
    bias2: Any,  # noqa: ARG001 - as above
    activation: str,
) -> tuple[Any, Any, Any]:
    rows, width = x.shape[0], weight1.shape[0]
    aux = _empty_aux(x, (width, rows), activation)
    return x.new_empty((rows, weight2.shape[0])), x.new_empty((rows, width)), aux


def _note_mlp(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, Any, Any]) -> None:
    x, weight1, _, weight2, _, ctx.activation = inputs
    # Only the first result has a gradient; zeros for the others would be written for nothing.
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, weight1, weight2, *output[1:])


def _mlp_gradient(ctx: Any, gradient: Any, *_: Any) -> tuple[Any, ...]:
    """Go back through both layers.

    The derivative of the activation function and the sums for the biases are epilogs of products
    that are needed anyway.
    """
    x, weight1, weight2, hidden, aux = ctx.saved_tensors
    needs_x, needs_weight1, needs_bias1, _, needs_bias2, _ = ctx.needs_input_grad
    of_weight2, of_bias2 = sum_rows(gradient.mT, hidden, 1.0)
    of_hidden, of_bias1 = activation_gradient(weight2.mT, gradient.mT, aux, ctx.activation)
    return (
        _product(of_hidden.mT, weight1) if needs_x else None,
        _product(of_hidden, x) if needs_weight1 else None,
        of_bias1 if needs_bias1 else None,
        of_weight2,
        of_bias2 if needs_bias2 else None,
        None,
    )


matmul = define(
    "matmul(Tensor a, Tensor b, Tensor? c, Tensor? bias, float alpha, float beta, str activation, "
    "bool keeps_argument) -> (Tensor, Tensor)",
    _matmul,
    _matmul_fake,
    _matmul_gradient,
    _note_matmul,
    _matmul_tangent,
    _batched_matmul,
)
sum_rows = define(
    "matmul_sum_rows(Tensor a, Tensor b, float alpha) -> (Tensor, Tensor)",
    _sum_rows,
    _sum_rows_fake,
    _sum_rows_gradient,
    _note_sum_rows,
    _sum_rows_tangent,
    _batched_sum_rows,
)
activation_gradient = define(
    "matmul_activation_gradient(Tensor a, Tensor b, Tensor aux, str activation) -> "
    "(Tensor, Tensor)",
    _activation_gradient,
    _activation_gradient_fake,
    _refuse_gradient,
    _note_nothing,
)
mlp = define(
    "mlp(Tensor x, Tensor weight1, Tensor? bias1, Tensor weight2, Tensor? bias2, "
    "str activation) -> (Tensor, Tensor, Tensor)",
    _mlp,
    _mlp_fake,
    _mlp_gradient,
    _note_mlp,
)
