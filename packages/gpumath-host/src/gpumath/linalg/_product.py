"""From the arguments of a product, or of a list of products, to plans and results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpumath._host.arguments import checked_factor
from gpumath._host.execution import ExecutionCPU, ExecutionCUDA
from gpumath._host.memory_limit import check_memory_limit
from gpumath._host.operation import execution_choices
from gpumath._host.options import Logger
from gpumath.bindings import core
from gpumath.linalg._options import MatmulOptions
from gpumath.linalg._qualifiers import GENERAL, Qualifiers, QualifierTuple, resolve_qualifiers

__all__ = ["Product", "make_plan", "run_plan", "warn_of_beta"]


@dataclass(frozen=True, kw_only=True)
class Product:
    """The arguments of one product, or of a list of products of which all lists are as long."""

    a: Any
    b: Any
    c: Any
    alpha: Any
    beta: Any
    qualifiers: list[tuple[QualifierTuple, QualifierTuple]]
    scalars: list[tuple[Any, Any]]
    """Alpha and beta of each product; empty if ``alpha`` and ``beta`` are those of all."""
    count: int | None
    """Length of the lists; None for a single product."""

    @classmethod
    def of(cls, a: Any, b: Any, c: Any, alpha: Any, beta: Any, qualifiers: Qualifiers) -> Product:
        """Check the user's arguments as far as the core does not, and bring them into one form."""
        if c is not None and beta is None:
            msg = "c is given without beta; give beta too, what c is multiplied by"
            raise ValueError(msg)
        alpha, beta = checked_factor("alpha", alpha), checked_factor("beta", beta)
        count = _list_length({"a": a, "b": b, "c": c})
        pairs = resolve_qualifiers(qualifiers, count)
        scalars: list[tuple[Any, Any]] = []
        if count is None:
            for name, number in (("alpha", alpha), ("beta", beta)):
                if isinstance(number, list | tuple):
                    msg = f"{name} is a sequence, but a and b are no lists; give one number"
                    raise ValueError(msg)
        else:
            a, b = _as_list("a", a, count), _as_list("b", b, count)
            c = None if c is None else _as_list("c", c, count)
            if isinstance(alpha, list | tuple) or isinstance(beta, list | tuple):
                alphas = _as_list("alpha", 1 if alpha is None else alpha, count)
                betas = _as_list("beta", 0 if beta is None else beta, count)
                scalars, alpha, beta = list(zip(alphas, betas, strict=True)), None, None
        product = cls(
            a=a,
            b=b,
            c=c,
            alpha=alpha,
            beta=beta,
            qualifiers=pairs,
            scalars=scalars,
            count=count,
        )
        return product._without_lazy_conjugation()

    def __getitem__(self, index: int) -> Product:
        """Return one product of the list."""
        alpha, beta = self.scalars[index] if self.scalars else (self.alpha, self.beta)
        pairs = self.qualifiers if len(self.qualifiers) < 2 else [self.qualifiers[index]]
        return Product(
            a=self.a[index],
            b=self.b[index],
            c=None if self.c is None else self.c[index],
            alpha=alpha,
            beta=beta,
            qualifiers=pairs,
            scalars=[],
            count=None,
        )

    @property
    def first(self) -> Any:
        """The first left factor, which says where the operands are."""
        return self.a if self.count is None else self.a[0]

    @property
    def operands(self) -> list[Any]:
        """All operands, in the order of the core's plans."""
        given = [self.a, self.b] if self.c is None else [self.a, self.b, self.c]
        return given if self.count is None else [each for operands in given for each in operands]

    def _without_lazy_conjugation(self) -> Product:
        """Replace PyTorch's lazily conjugated tensors by qualified ones on the same memory."""
        if not any(map(_is_lazily_conjugated, self.operands)):
            return self
        if self.count is None:
            (a, is_a), (b, is_b) = (_resolve_conjugation(each) for each in (self.a, self.b))
            left, right = self.qualifiers[0] if self.qualifiers else (GENERAL, GENERAL)
            pairs = [(_conjugated(left, is_a), _conjugated(right, is_b))]
            c = self.c.resolve_conj() if _is_lazily_conjugated(self.c) else self.c
            return replace(self, a=a, b=b, c=c, qualifiers=pairs)
        each = [self[index]._without_lazy_conjugation() for index in range(self.count)]
        general = [(GENERAL, GENERAL)]
        return replace(
            self,
            a=[one.a for one in each],
            b=[one.b for one in each],
            c=None if self.c is None else [one.c for one in each],
            qualifiers=[(one.qualifiers or general)[0] for one in each],
        )


def make_plan(
    product: Product,
    options: MatmulOptions,
    where: ExecutionCPU | ExecutionCUDA | None,
    out: Any = None,
    stream: Any = None,
) -> core.StructuredMatmulPlan:
    """Make or find the plan, which computes all products of a list."""
    if options.inplace and product.c is None:
        msg = "options.inplace is True, but there is no c to overwrite; give c and beta"
        raise ValueError(msg)
    if options.inplace and out is not None:
        msg = "out is given, but options.inplace is True, which writes to c; leave one of them out"
        raise ValueError(msg)
    plan = core.StructuredMatmulPlan(
        product.a,
        product.b,
        product.c,
        qualifiers=product.qualifiers,
        scalars=product.scalars,
        inplace=options.inplace,
        **execution_choices(where),
        out=out,
        stream=stream,
    )
    check_memory_limit(options.memory_limit, plan)
    return plan


def run_plan(
    plan: core.StructuredMatmulPlan,
    product: Product,
    out: Any,
    stream: Any,
    workspace: core.Workspace,
    blocking: bool,
) -> Any:
    """Execute what `make_plan` returned."""
    operands = (product.a, product.b, product.c)
    scalars = (product.alpha, product.beta)
    return plan.run(*operands, *scalars, out, stream, workspace, blocking)


def warn_of_beta(logger: Logger, c: Any, beta: Any) -> None:
    """Log that ``beta`` has no effect, if there is nothing that it multiplies."""
    if beta is not None and c is None:
        logger.warning("beta is ignored: there is no c")


def _list_length(operands: dict[str, Any]) -> int | None:
    """Return how many products lists of operands stand for; None if there are no lists.

    A list of one element stands for as many as there are in the others.
    """
    lengths = {
        name: len(operand) if isinstance(operand, list | tuple) else None
        for name, operand in operands.items()
        if operand is not None
    }
    if all(length is None for length in lengths.values()):
        return None
    described = ", ".join(
        f"{name} is {'one array' if length is None else f'a list of {length}'}"
        for name, length in lengths.items()
    )
    counts = {length for length in lengths.values() if length != 1}
    if None in lengths.values() or 0 in counts or len(counts) > 1:
        msg = f"{described}; give single arrays, or lists of as many arrays, or of one for all"
        raise ValueError(msg)
    return counts.pop() if counts else 1


def _as_list(name: str, given: Any, count: int) -> list[Any]:
    items = list(given) if isinstance(given, list | tuple) else [given]
    if len(items) not in (1, count):
        msg = f"{name} has {len(items)} elements for {count} products; give 1 or {count}"
        raise ValueError(msg)
    return items * count if len(items) == 1 else items


def _is_lazily_conjugated(operand: Any) -> bool:
    # Only PyTorch's tensors have the method.
    is_conj = getattr(operand, "is_conj", None)
    return is_conj is not None and bool(is_conj())


def _resolve_conjugation(operand: Any) -> tuple[Any, bool]:
    """Return the operand as it is in memory, and whether its conjugate is meant."""
    if _is_lazily_conjugated(operand):
        return operand.conj(), True
    return operand, False


def _conjugated(qualifier: QualifierTuple, is_conjugated: bool) -> QualifierTuple:
    kind, conjugate, *rest = qualifier
    uplo, diag, incx = rest
    return (kind, conjugate != is_conjugated, uplo, diag, incx)
