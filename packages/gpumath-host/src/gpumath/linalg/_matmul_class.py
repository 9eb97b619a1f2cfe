"""A product of matrices in steps."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from gpumath._host.array_libraries import library_of
from gpumath._host.execution import Execution, resolve_execution
from gpumath._host.operation import (
    StatefulOperation,
    described_place,
    logged_execution,
    warn_of_ignored,
)
from gpumath._host.options import resolve_options
from gpumath.bindings import core
from gpumath.linalg._errors import InvalidMatmulState
from gpumath.linalg._options import MatmulOptions
from gpumath.linalg._product import Product, make_plan, run_plan, warn_of_beta
from gpumath.linalg._qualifiers import Qualifiers

__all__ = ["Matmul"]


class Matmul(core.StructuredMatmulExecutor, StatefulOperation):
    """One product of matrices, or a list of them, made once and computed many times.

    The steps are the constructor, `plan`, `execute`, then any number of `reset_operands` and
    `execute`, and `free`, which leaving a ``with`` block does. After it every method but `free`
    raises `InvalidMatmulState`. An object belongs to the thread that made it.

    Parameters
    ----------
    a, b, c, alpha, beta, qualifiers, options, execution
        As for `matmul`. The operands are read when `execute` is called: changes of their values
        count.
    stream : int or stream object, optional
        Without effect: nothing runs before `execute`.

    Raises
    ------
    ValueError, TypeError, gpumath.bindings.errors.NoDeviceError
        As for `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import linalg
    >>> a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2)
    >>> with linalg.Matmul(a, b, alpha=10) as product:
    ...     product.plan()
    ...     first = product.execute()
    ...     product.reset_operands(b=first)
    ...     second = product.execute()
    >>> second
    array([[ 700., 1000.],
           [1500., 2200.]])
    """

    _name = "Matmul"
    _state_error = InvalidMatmulState
    _reset_name = "reset_operands"

    def __init__(
        self,
        a: Any,
        b: Any,
        /,
        c: Any = None,
        *,
        alpha: Any = None,
        beta: Any = None,
        qualifiers: Qualifiers = None,
        options: MatmulOptions | Mapping[str, Any] | None = None,
        execution: Execution = None,
        stream: Any = None,
    ) -> None:
        if stream is not None:
            core.stream_handle(stream)
        chosen = resolve_options(MatmulOptions, options)
        product = Product.of(a, b, c, alpha, beta, qualifiers)
        self._where = resolve_execution(execution, lambda: core.TensorView(product.first).device_id)
        self._options = replace(chosen)
        self._plan: core.StructuredMatmulPlan | None = make_plan(product, chosen, self._where)
        self._plan.check_scalars(product.alpha, product.beta)
        self._planned_for = (product.scalars, product.qualifiers)
        device_id = core.TensorView(product.first).device_id
        self._begin(library_of(product.first), device_id, chosen)
        warn_of_ignored(self._logger, self._plan, device_id, chosen, self._where, None)
        warn_of_beta(self._logger, c, beta)
        self._logger.info("specified: %r", self._plan)
        # Copies, because the next reset looks at them again, and the user may change his own.
        arguments = {"a": a, "b": b, "c": c, "alpha": alpha, "beta": beta}
        self._arguments = {name: _copied(value) for name, value in arguments.items()}
        self._qualifiers = deepcopy(qualifiers)
        self._has_addend = c is not None
        self._product: Product | None = product
        self._operands = product.operands

    def plan(self, *, stream: Any = None) -> None:
        """Make the product ready to be computed.

        Parameters
        ----------
        stream : int or stream object, optional
            Without effect: planning submits no work.

        Raises
        ------
        InvalidMatmulState
            The object is freed.
        """
        self._check_not_freed()
        if stream is not None:
            core.stream_handle(stream)
        self._is_planned = True
        self._prepare_execution()
        self._finish_planning()

    def _execute(self, stream: Any, out: Any) -> Any:
        """Execute with arguments, or what the plan as it is does not do."""
        self._check_ready()
        product, plan = self._product, self._plan
        assert product is not None, "it was checked"
        assert plan is not None, "it was checked"
        if out is not None:
            plan = make_plan(product, self._options, self._where, out, stream)
        if stream is not None and plan.device_id is None and self._device_id is None:
            self._logger.warning("stream is ignored: no GPU takes part")
        with logged_execution(self._logger, "matmul", plan, self._device_id):
            return run_plan(plan, product, out, stream, self._workspace, self._blocking)

    def execute_unchecked(self, *, stream: Any = None, out: Any = None) -> Any:
        """Compute as `execute` does, whose checks take next to no time.

        Parameters
        ----------
        stream, out
            As for `execute`.

        Returns
        -------
        array or list of array
            As from `execute`.
        """
        return self.execute(stream=stream, out=out)

    def reset_operands(
        self,
        *,
        a: Any = None,
        b: Any = None,
        c: Any = None,
        alpha: Any = None,
        beta: Any = None,
        stream: Any = None,
    ) -> None:
        """Take other operands or numbers; those that are left out stay as they are.

        Parameters
        ----------
        a, b, c : array, or list or tuple of array, optional
            Operands like those of the constructor: of their library, memory, shapes, strides and
            element type. After `release_operands`, all of them are needed.
        alpha, beta : complex, or sequence of complex, optional
            Other numbers.
        stream : int or stream object, optional
            Without effect: the operands are read by `execute`.

        Raises
        ------
        InvalidMatmulState
            The object is freed.
        ValueError
            An operand differs from the first one in more than its values; ``c`` is given, but the
            object was made without; or an operand was released and is missing.
        """
        self._check_not_freed()
        if stream is not None:
            core.stream_handle(stream)
        given = self._merged(a, b, c, alpha, beta)
        if alpha is None and beta is None and self._reset_arrays(given):
            return
        product = Product.of(**given, qualifiers=self._qualifiers)
        self._check_fits(product)
        self._take(given, product)
        self._logger.info("other operands")

    def reset_operands_unchecked(
        self,
        *,
        a: Any = None,
        b: Any = None,
        c: Any = None,
        alpha: Any = None,
        beta: Any = None,
        stream: Any = None,  # noqa: ARG002 - without effect, as in reset_operands
    ) -> None:
        """Take other operands as `reset_operands` does, without looking at their layouts.

        Operands for which the plan does not fit make `execute` raise ValueError.

        Parameters
        ----------
        a, b, c, alpha, beta, stream
            As for `reset_operands`.

        Raises
        ------
        InvalidMatmulState
            The object is freed.
        ValueError
            ``c`` is given, but the object was made without; an operand was released and is
            missing; or other numbers need another plan, and the operands do not fit the first one.
        """
        self._check_not_freed()
        given = self._merged(a, b, c, alpha, beta)
        self._take(given, Product.of(**given, qualifiers=self._qualifiers))

    def release_operands(self) -> None:
        """Drop the references to the operands, and keep the plan for `reset_operands`."""
        self._check_not_freed()
        self._drop_operands()
        self._logger.info("operands released")

    def _prepare_execution(self) -> None:
        """Let the core execute without Python code."""
        product, plan = self._product, self._plan
        if self._is_planned and product is not None and plan is not None:
            is_list = product.count is not None
            self._prepare(plan, product.alpha, product.beta, self._setting, is_list)

    def _merged(self, a: Any, b: Any, c: Any, alpha: Any, beta: Any) -> dict[str, Any]:
        """Return the arguments of the constructor, with others in the place of some.

        ValueError unless they are as many as the constructor got, each one an array or a list.
        """
        new = {"a": a, "b": b, "c": c, "alpha": alpha, "beta": beta}
        given = {
            name: old if new[name] is None else _copied(new[name])
            for name, old in self._arguments.items()
        }
        if c is not None and not self._has_addend:
            msg = "c is given, but this Matmul object was made without one; make a new object"
            raise ValueError(msg)
        for name in ("a", "b", "c") if self._has_addend else ("a", "b"):
            if given[name] is None:
                msg = "the operands were released; give all of them to reset_operands()"
                raise ValueError(msg)
            if new[name] is not None:
                _check_arrays(name, given[name])
        warn_of_beta(self._logger, given["c"], beta)
        return given

    def _reset_arrays(self, given: dict[str, Any]) -> bool:
        """Let the core take arrays for which the plan fits; False if it does not."""
        if self._product is None or self._product.count is not None:
            return False
        operands = [given["a"], given["b"]]
        if self._product.c is not None:
            operands.append(given["c"])
        if not self._reset(operands):
            return False
        a, b, *c = operands
        self._arguments = given
        self._product = replace(self._product, a=a, b=b, c=c[0] if c else None)
        return True

    def _check_fits(self, product: Product) -> None:
        """Raise ValueError unless the product is like the first one but for its values."""
        plan = self._plan
        assert plan is not None, "it was checked"
        device_id = core.TensorView(product.first).device_id
        if plan.accepts(product.a, product.b, product.c) and device_id == self._device_id:
            return
        views = ", ".join(
            f"{view.dtype} of shape {view.shape} and strides {view.strides}"
            for view in map(core.TensorView, product.operands)
        )
        msg = (
            f"the operands are {views}, {described_place(device_id)}, but this Matmul object was "
            f"made for {plan!r}, {described_place(self._device_id)}, and the strides of its "
            "operands; copy them to that layout, or make a new object"
        )
        raise ValueError(msg)

    def _take(self, given: dict[str, Any], product: Product) -> None:
        """Take operands and numbers, and plan again if the numbers are a part of the plan."""
        assert self._plan is not None, "it was checked"
        self._plan.check_scalars(product.alpha, product.beta)
        planned_for = (product.scalars, product.qualifiers)
        if planned_for != self._planned_for:
            self._check_fits(product)
            self._plan = make_plan(product, self._options, self._where)
            self._planned_for = planned_for
        self._arguments, self._product = given, product
        self._operands = product.operands
        self._prepare_execution()

    def _held_operands(self) -> object:
        return self._product

    def _drop_operands(self) -> None:
        self._product = None
        self._arguments |= {"a": None, "b": None, "c": None}
        self._operands = []

    def _drop(self) -> None:
        self._unprepare()
        self._drop_operands()
        self._plan = None


def _copied(value: Any) -> Any:
    """Return a list that the user cannot change, of the user's own arrays or numbers."""
    return list(value) if isinstance(value, list | tuple) else value


def _check_arrays(name: str, operand: Any) -> None:
    """Raise ValueError, which names the operand, unless it is an array or a list of arrays."""
    if not isinstance(operand, list):
        library_of(operand, name)
        return
    for position, each in enumerate(operand):
        library_of(each, f"{name}[{position}]")
