"""Makes operators of PyTorch that cost little to call.

``torch.library.custom_op`` makes them too, but calls each of them through several more layers,
which take longer than a small transform or product: see docs/performance-calls.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["define"]

# The operators are defined as long as it lives.
_library = torch.library.Library("gpumath", "DEF")


def define(
    schema: str,
    run: Callable[..., Any],
    fake: Callable[..., Any],
    gradient: Callable[..., Any],
    note: Callable[..., None],
    batched: Callable[[Any], Callable[..., Any]] | None = None,
) -> Any:
    """Define an operator, and return it.

    Parameters
    ----------
    schema : str
        Name, arguments and results. No argument has a default, because PyTorch leaves out those
        that are equal to theirs.
    run : callable
        The implementation. Its results share no memory with its arguments.
    fake : callable
        Likewise, but it only makes the shapes and strides of results.
    gradient : callable
        Takes the context and the gradients of the results, and returns those of the arguments.
    note : callable
        Takes the context, the arguments and the results, and keeps what `gradient` needs.
    batched : callable, optional
        Makes the rule for ``torch.vmap`` of the operator.
    """
    name = schema.partition("(")[0]
    _library.define(schema, tags=[torch.Tag.pt2_compliant_tag])
    # The compiler is not to look into the implementation when a compiled graph calls it.
    _library.impl(name, torch._disable_dynamo(run), "CompositeExplicitAutograd")
    torch.library.register_fake(f"gpumath::{name}", fake, lib=_library)
    operator = getattr(torch.ops.gpumath, name).default

    def run_below(*arguments: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments)

    class Differentiable(torch.autograd.Function):  # type: ignore[misc]  # torch is Any to mypy
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            results = run_below(*arguments)
            note(ctx, arguments, results)
            return results

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradient(ctx, *gradients)

    def differentiate(*arguments: Any) -> Any:
        needs_gradient = torch.is_grad_enabled() and any(
            isinstance(argument, torch.Tensor) and argument.requires_grad for argument in arguments
        )
        return Differentiable.apply(*arguments) if needs_gradient else run_below(*arguments)

    _library.impl(name, differentiate, "Autograd")
    if batched is not None:
        torch.library.register_vmap(f"gpumath::{name}", batched(operator), lib=_library)
    return operator
