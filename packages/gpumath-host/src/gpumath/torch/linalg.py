"""Products of PyTorch tensors with epilogs, with derivatives and inside ``torch.compile``.

`matmul` is `gpumath.linalg.advanced.matmul` for tensors that require a gradient. `linear` and `mlp`
are one and two layers of a network, in the order of PyTorch's own functions. ``torch.autocast``
converts their operands as it does for PyTorch's products.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch

from gpumath.linalg.advanced import MatmulEpilog
from gpumath.torch import _matmul_operators as operators
from gpumath.torch._operator import is_transformed

__all__ = ["linear", "matmul", "mlp"]

# Activation function and bias of the epilogs that have a gradient here.
_EPILOGS: dict[MatmulEpilog | None, tuple[str, bool]] = {
    None: ("", False),
    MatmulEpilog.DEFAULT: ("", False),
    MatmulEpilog.RELU: ("relu", False),
    MatmulEpilog.GELU: ("gelu", False),
    MatmulEpilog.BIAS: ("", True),
    MatmulEpilog.RELU_BIAS: ("relu", True),
    MatmulEpilog.GELU_BIAS: ("gelu", True),
}


def matmul(
    a: Any,
    b: Any,
    /,
    c: Any = None,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    epilog: MatmulEpilog | None = None,
    epilog_inputs: Mapping[str, Any] | None = None,
) -> Any:
    """Compute ``epilog(alpha * a @ b + beta * c)``; see `gpumath.linalg.advanced.matmul`.

    Parameters
    ----------
    a, b : torch.Tensor
        Vectors, matrices or batches of matrices.
    c : torch.Tensor, optional
        What is added.
    alpha, beta : float, optional
        What the product and ``c`` are multiplied by; they are constants for the gradient.
    epilog : MatmulEpilog, optional
        RELU, GELU, BIAS, RELU_BIAS or GELU_BIAS. What their gradients need is kept by PyTorch.
    epilog_inputs : dict, optional
        ``bias``: a tensor of shape (m,) or (..., m, 1), which is added to each column.

    Returns
    -------
    torch.Tensor
        The result, which can be differentiated by ``a``, ``b``, ``c`` and the bias.

    Raises
    ------
    TypeError
        An operand is not a tensor.
    ValueError
        The epilog has no gradient here, its inputs are not those that it needs, or the operands do
        not fit each other.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import linalg
    >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> linalg.matmul(a, a.detach(), alpha=0.5).sum().backward()
    >>> a.grad
    tensor([[1.5000, 3.5000],
            [1.5000, 3.5000]])
    """
    _check_tensors(a=a, b=b)
    activation, has_bias = _resolved_epilog(epilog)
    inputs = dict(epilog_inputs or {})
    if set(inputs) != ({"bias"} if has_bias else set()):
        needed = "'bias'" if has_bias else "none"
        msg = f"epilog_inputs has {sorted(inputs)}, but this epilog needs {needed}"
        raise ValueError(msg)
    if (c is None) is not (beta is None):
        msg = "c and beta belong together, but only one of them is given"
        raise ValueError(msg)
    bias = inputs.get("bias")
    for name, operand in (("c", c), ("bias", bias)):
        if operand is not None:
            _check_tensors(**{name: operand})
    a, b, c, bias = _as_autocast(a, b, c, bias)
    rows, columns = a.ndim == 1, b.ndim == 1
    first = a.unsqueeze(0) if rows else a
    second = b.unsqueeze(1) if columns else b
    # One large product instead of many small ones, also for the gradient of b.
    batch = None
    if first.ndim > 2 and second.ndim == 2 and c is None and bias is None:
        batch, first = first.shape[:-1], first.reshape(-1, first.shape[-1])
    # GELU's gradient needs its argument.
    keeps = activation == "gelu" and _is_differentiated(a, b, c, bias)
    result, _ = operators.matmul(
        *(first, second, c, bias),
        1.0 if alpha is None else alpha,
        0.0 if beta is None else beta,
        activation,
        keeps,
    )
    if batch is not None:
        result = result.reshape(*batch, result.shape[-1])
    if columns:
        result = result.squeeze(-1)
    return result.squeeze(-1 if columns else -2) if rows else result


def linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    activation: Literal["relu", "gelu"] | None = None,
) -> Any:
    """Compute ``activation(x @ weight.T + bias)``, as one product with an epilog.

    Parameters
    ----------
    x : torch.Tensor
        Tensor of shape (..., k).
    weight : torch.Tensor
        Matrix of shape (n, k).
    bias : torch.Tensor, optional
        Vector of n.
    activation : {'relu', 'gelu'}, optional
        Activation function; GELU by its approximation with tanh.

    Returns
    -------
    torch.Tensor
        Tensor of shape (..., n).

    Raises
    ------
    TypeError
        An argument is not a tensor.
    ValueError
        ``activation`` is not an allowed value, or the shapes do not fit.

    Examples
    --------
    >>> import torch
    >>> from gpumath.torch import linalg
    >>> linalg.linear(torch.ones(3, 2), torch.eye(2)).shape
    torch.Size([3, 2])
    """
    _check_tensors(x=x, weight=weight)
    _check_activation(activation, (None, "relu", "gelu"))
    name = "_".join(
        part for part in ((activation or "").upper(), "BIAS" * (bias is not None)) if part
    )
    rows = _rows(x)
    result = matmul(
        weight,
        rows.mT,
        epilog=MatmulEpilog[name] if name else None,
        epilog_inputs=None if bias is None else {"bias": bias},
    )
    return _shaped(result.mT, x)


def mlp(
    x: Any,
    weight1: Any,
    bias1: Any,
    weight2: Any,
    bias2: Any,
    activation: Literal["relu", "gelu"] = "gelu",
) -> Any:
    """Compute two layers with an activation function in between.

    That is ``linear(linear(x, weight1, bias1, activation), weight2, bias2)``, but in the backward
    pass the derivative of the activation function and the gradients of the biases are epilogs of
    products too. The result can be differentiated once; in ``torch.func`` and in forward mode, two
    calls of `linear` compute it, which can be differentiated any number of times.

    Parameters
    ----------
    x : torch.Tensor
        Tensor of shape (..., k).
    weight1, weight2 : torch.Tensor
        Matrices of the shapes (h, k) and (n, h).
    bias1, bias2 : torch.Tensor or None
        Vectors of h and n.
    activation : {'relu', 'gelu'}, default: 'gelu'
        Activation function; GELU by its approximation with tanh.

    Returns
    -------
    torch.Tensor
        Tensor of shape (..., n).

    Raises
    ------
    TypeError
        An argument is not a tensor.
    ValueError
        ``activation`` is not an allowed value, or the shapes do not fit.
    """
    _check_tensors(x=x, weight1=weight1, weight2=weight2)
    _check_activation(activation, ("relu", "gelu"))
    if is_transformed():
        # Any derivative can be asked for then.
        return linear(linear(x, weight1, bias1, activation), weight2, bias2)
    x, weight1, bias1, weight2, bias2 = _as_autocast(x, weight1, bias1, weight2, bias2)
    result, _, _ = operators.mlp(_rows(x), weight1, bias1, weight2, bias2, activation)
    return _shaped(result, x)


def _rows(x: Any) -> Any:
    """Return a matrix of the vectors along the last dimension."""
    # A view costs as much as a small product, even if nothing changes.
    return x if x.ndim == 2 else x.reshape(-1, x.shape[-1])


def _shaped(result: Any, x: Any) -> Any:
    """Return the rows of a result with the dimensions of `x` before the last one."""
    return result if x.ndim == 2 else result.reshape(*x.shape[:-1], result.shape[-1])


def _as_autocast(*operands: Any) -> tuple[Any, ...]:
    """Convert operands as ``torch.autocast`` does for PyTorch's own products."""
    device = operands[0].device.type
    if not torch.is_autocast_enabled(device):
        return operands
    dtype = torch.get_autocast_dtype(device)
    return tuple(
        x.to(dtype) if x is not None and x.is_floating_point() and x.dtype != torch.float64 else x
        for x in operands
    )


def _check_tensors(**operands: Any) -> None:
    for name, operand in operands.items():
        if not isinstance(operand, torch.Tensor):
            msg = (
                f"{name} is a {type(operand).__name__}, but the functions of gpumath.torch take "
                "tensors; gpumath.linalg.advanced takes arrays of every library"
            )
            raise TypeError(msg)


def _check_activation(activation: object, allowed: tuple[object, ...]) -> None:
    if activation not in allowed:
        msg = f"activation is {activation!r}; allowed are {', '.join(map(repr, allowed))}"
        raise ValueError(msg)


def _resolved_epilog(epilog: MatmulEpilog | None) -> tuple[str, bool]:
    # PyTorch's compiler looks up a member of an enumeration, but cannot make one.
    if epilog not in _EPILOGS:
        allowed = ", ".join(key.name for key in _EPILOGS if key is not None)
        msg = (
            f"epilog is {getattr(epilog, 'name', epilog)}, but those with a gradient are "
            f"{allowed}; PyTorch keeps what a backward pass needs. gpumath.linalg.advanced.matmul "
            "has the others"
        )
        raise ValueError(msg)
    return _EPILOGS[epilog]


def _is_differentiated(*operands: Any) -> bool:
    return is_transformed() or (
        torch.is_grad_enabled()
        and any(operand is not None and operand.requires_grad for operand in operands)
    )
