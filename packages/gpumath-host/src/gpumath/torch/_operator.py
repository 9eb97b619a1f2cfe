"""Makes operators of PyTorch that cost little to call.

``torch.library.custom_op`` makes them too, but calls each of them through several more layers,
which take longer than a small transform or product: see docs/performance-calls.md. Its operators
have no derivatives in ``torch.func`` either, and tangents of zero in forward mode.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType, new_class
from typing import Any

import torch
from torch.autograd import forward_ad

__all__ = ["define", "is_transformed"]

# The operators are defined as long as it lives.
_library = torch.library.Library("gpumath", "DEF")

# Types of arguments that an implementation can be called with. PyTorch replaces tensors of other
# types, and lengths that are symbols, before it calls the operator's implementation.
_PLAIN_TYPES = {torch.Tensor, torch.nn.Parameter, NoneType, bool, int, float, str, list}

_is_batch = torch._C._functorch.is_legacy_batchedtensor


def define(
    schema: str,
    run: Callable[..., Any],
    fake: Callable[..., Any],
    gradient: Callable[..., Any],
    note: Callable[..., None],
    tangent: Callable[..., Any] | None = None,
    batched: Callable[[Any], Callable[..., Any]] | None = None,
) -> Any:
    """Define an operator, and return the function that calls it.

    The function calls the implementation itself where PyTorch would do nothing else. The operator
    is for all that traces or replaces calls, as ``torch.compile`` does.

    Parameters
    ----------
    schema : str
        Name, arguments and results. No argument has a default, because PyTorch leaves out those
        that are equal to theirs.
    run : callable
        The implementation. Its results share no memory with its arguments, and are no views to
        PyTorch, which would refuse to change them in place.
    fake : callable
        Likewise, but it only makes the shapes and strides of results.
    gradient : callable
        Takes the context and the gradients of the results, and returns those of the arguments.
    note : callable
        Takes the context, the arguments and the results, and keeps what the derivatives need.
    tangent : callable, optional
        Takes the context and the tangents of the arguments, and returns those of the results. The
        default refuses to differentiate in forward mode.
    batched : callable, optional
        Makes the rule for ``torch.vmap`` of the function. Without one, the operator has no
        derivatives in ``torch.func``.
    """
    name = schema.partition("(")[0]
    _library.define(schema, tags=[torch.Tag.pt2_compliant_tag])
    # The compiler is not to look into the implementation when a compiled graph calls it.
    _library.impl(name, torch._disable_dynamo(run), "CompositeExplicitAutograd")
    torch.library.register_fake(f"gpumath::{name}", fake, lib=_library)
    operator = getattr(torch.ops.gpumath, name).default

    def compute(*arguments: Any) -> Any:
        if _is_plain(arguments):
            return run(*arguments)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments)

    def forward(ctx: Any, *arguments: Any) -> Any:
        results = compute(*arguments)
        note(ctx, arguments, results)
        return results

    def refuse_tangent(*_: Any) -> Any:
        msg = f"gpumath::{name} has no derivative in forward mode; torch.autograd.grad has one"
        raise RuntimeError(msg)

    def differentiable(**members: Any) -> Any:
        members |= {"backward": gradient, "jvp": tangent or refuse_tangent}
        static = {key: staticmethod(member) for key, member in members.items()}
        return new_class(name, (torch.autograd.Function,), exec_body=lambda it: it.update(static))

    differentiated = differentiable(forward=forward)

    def differentiate(*arguments: Any) -> Any:
        return (differentiated.apply if _is_differentiated(arguments) else compute)(*arguments)

    def call(*arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            return operator(*arguments)
        if torch._C._are_functorch_transforms_active():
            return (transformed.apply if transformed else operator)(*arguments)
        if not _is_plain(arguments):
            return operator(*arguments)
        return (differentiated.apply if _is_differentiated(arguments) else run)(*arguments)

    _library.impl(name, differentiate, "Autograd")
    transformed = None
    if batched is not None:
        torch.library.register_vmap(f"gpumath::{name}", batched(operator), lib=_library)
        # PyTorch wants this form for torch.func; each call of it takes longer.
        transformed = differentiable(forward=compute, setup_context=note, vmap=batched(call))
    return call


def is_transformed() -> bool:
    """Whether ``torch.func`` or forward mode differentiates or maps what is called now.

    It is not so to ``torch.compile``, which has operators alone in its graphs.
    """
    return not torch.compiler.is_compiling() and (
        torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    )


def _is_plain(arguments: tuple[Any, ...]) -> bool:
    """Whether PyTorch only would call the implementation: no mode, no trace, no other tensors."""
    if (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._len_torch_function_stack() > 0
        or torch._C._get_tracing_state() is not None
    ):
        return False
    for argument in arguments:
        kind = type(argument)
        # A batch of gradients that torch.autograd.grad was asked for is of the type Tensor.
        if kind not in _PLAIN_TYPES or (kind is torch.Tensor and _is_batch(argument)):
            return False
    return True


def _is_differentiated(arguments: tuple[Any, ...]) -> bool:
    """Whether a derivative of the result may be asked for, of either mode."""
    if forward_ad._current_level >= 0:
        return True
    needs_gradient: bool = torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments)
    return needs_gradient
