"""The plans of a `Matmul` object, and what they are executed on."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpumath._host.memory_limit import check_memory_limit, memory_limit_bytes
from gpumath._host.operation import StatefulOperation, logged_execution
from gpumath.bindings import core, cublasLt
from gpumath.linalg._product import warn_of_beta
from gpumath.linalg.advanced._algorithm import Algorithm, algorithm_from
from gpumath.linalg.advanced._operands import Operands, layout_of
from gpumath.linalg.advanced._options import MatmulOptions, resolve_scales

__all__ = ["PlannedProduct", "check_algorithm", "checked_algorithms"]


class PlannedProduct(core.MatmulExecutor, StatefulOperation):
    """A product with a plan, of which `Matmul` is the public part."""

    _arrays: Operands
    _options: MatmulOptions
    _choices: dict[str, Any]
    """What the next plan is made of, beside operands."""
    _algorithms: list[Algorithm]
    _first_found: bytes | None
    """The algorithm that planning finds again without being told; None if the user gave one."""
    _plan: core.MatmulPlan
    _has_operands: bool
    _has_other_ways = False
    """Whether autotuning adds algorithms; once after planning, unless the user gave some."""
    _has_new_settings = False
    """Whether an algorithm was changed after planning; the next execution then plans by it."""

    def _execute(
        self, algorithm: Algorithm | None, release_workspace: bool, stream: Any, out: Any
    ) -> Any:
        """Execute with arguments, or what the plan as it is does not do."""
        self._check_ready()
        if algorithm is not None:
            check_algorithm(algorithm)
            plan = self._make_plan(algorithm, stream=stream, out=out)
        else:
            plan = self._plan = self._make_plan(self._chosen, stream=stream)
            self._ready()
            if out is not None:
                plan = self._plan_for(stream=stream, out=out)
        if stream is not None and plan.device_id is None and self._device_id is None:
            self._logger.warning("stream is ignored: no GPU takes part")
        with logged_execution(self._logger, "matmul", plan, self._device_id):
            result = self._run(plan, out, stream)
        if release_workspace:
            self._workspace.release()
        return result

    @property
    def _chosen(self) -> Algorithm | None:
        """The algorithm in use, if it was given, tuned or changed; else planning finds it again."""
        in_use = self._algorithms[0] if self._algorithms else None
        return None if in_use is None or in_use._bytes() == self._first_found else in_use

    def _plan_for(self, **choices: Any) -> core.MatmulPlan:
        """Plan for other memory, by the chosen algorithm if it can be used there."""
        if (chosen := self._chosen) is not None:
            try:
                return self._make_plan(algorithm=chosen, **choices)
            except (ValueError, cublasLt.cuBLASLtError):
                self._logger.info("%r is not for these operands or this out", chosen)
        return self._make_plan(**choices)

    def _make_plan(self, algorithm: Algorithm | None = None, **choices: Any) -> core.MatmulPlan:
        """Make or find a plan, and check it against the user's limit."""
        arrays, limit = self._arrays, self._options.memory_limit
        choices = {**self._choices, **choices}
        if algorithm is not None:
            choices |= {"algorithm": algorithm._bytes(), "limit": 1}
        if limit is not None and limit != MatmulOptions.memory_limit:
            device_id = choices.get("device_id", self._device_id)
            if device_id is not None:
                total = core.Device(device_id).total_memory
                choices["max_workspace"] = memory_limit_bytes(limit, total)
        plan = core.MatmulPlan(
            *(arrays.a, arrays.b, arrays.c),
            inputs=arrays.further or None,
            conjugate=arrays.conjugate,
            **choices,
        )
        check_memory_limit(limit, plan)
        return plan

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Let a block plan; if it raises, everything is as it was before."""
        inputs, attributes = self._arrays.inputs, dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(attributes)
            self._arrays.inputs = inputs
            self._operands = self._arrays.in_order()
            # The next execution finds the plan before, if there was one, and prepares it again.
            self._unprepare()
            raise

    def _take_algorithms(self, given: Sequence[Algorithm]) -> None:
        found = list(given) or [algorithm_from(each) for each in self._plan.algorithms]
        self._algorithms = found
        self._first_found = None if given or not found else found[0]._bytes()
        for algorithm in found:
            algorithm._products.add(self)

    def _add_algorithms(self, added: Iterable[Algorithm]) -> None:
        for algorithm in added:
            self._algorithms.append(algorithm)
            algorithm._products.add(self)
        self._has_other_ways = False

    def _plans_of_other_ways(self, stream: Any) -> list[core.MatmulPlan]:
        """Plan out of place by what is not among the algorithms; leave out what cannot be run."""
        plans = []
        known = {algorithm._bytes() for algorithm in self._algorithms}
        for code in self._plan.other_ways:
            if code in known:
                continue
            algorithm = algorithm_from((code, 0, 0.0))
            try:
                plan = self._make_plan(algorithm, stream=stream, inplace=False)
                self._run(plan, None, stream)
            except Exception as error:  # a user's memory manager may raise any
                self._logger.info("%r is left out: %s", algorithm, error)
            else:
                plans.append(plan)
        return plans

    def _ready(self) -> None:
        """Let the core execute the plan with the operands as they are."""
        arrays = self._arrays
        self._note_operands()
        self._layouts = [layout_of(array) for array in self._operands]
        self._has_new_settings = False
        self._prepare(self._plan, arrays.alpha, arrays.beta, self._setting)

    def _note_new_settings(self) -> None:
        """Take note that one of the algorithms was changed."""
        self._has_new_settings = True
        self._unprepare()

    def _note_operands(self) -> None:
        """Note the operands, and which ones others have to take the place of."""
        arrays = self._arrays
        self._operands = arrays.in_order()
        self._has_addend = arrays.c is not None
        self._further = {*arrays.inputs, *arrays.scales}

    def _check_ready(self) -> None:
        super()._check_ready()
        # What reset_operands_unchecked() took, nobody has looked at.
        self._check_layouts()

    def _check_all_given(self) -> None:
        """Raise ValueError unless there are the arrays that the plan takes, and no others."""
        arrays = self._arrays
        needed = {"a": arrays.a, "b": arrays.b, **arrays.further}
        if self._has_addend:
            needed["c"] = arrays.c
        if missing := sorted(name for name, array in needed.items() if array is None):
            msg = (
                f"operands were released, and {', '.join(missing)} is missing; give all arrays "
                "that the product has"
            )
            raise ValueError(msg)
        if set(arrays.further) != self._further:
            msg = (
                f"inputs and scales are {sorted(arrays.further)}, but this Matmul object was "
                f"planned for {sorted(self._further)}; call plan() again"
            )
            raise ValueError(msg)

    def _check_layouts(self) -> None:
        """Raise ValueError unless the operands are like those that were planned for."""
        for array, layout in zip(self._arrays.in_order(), self._layouts, strict=True):
            found = layout_of(array)
            if found != layout:
                msg = (
                    f"an operand is of (type, shape, strides, device) {found}, but this Matmul "
                    f"object was planned for {layout}; copy it to that, or make a new object"
                )
                raise ValueError(msg)

    def _take(
        self, a: Any, b: Any, c: Any, alpha: Any, beta: Any, scales: object, inputs: Any
    ) -> None:
        """Take what is given in the place of what is there, whatever the layouts.

        ValueError or TypeError unless the product has such arrays and numbers, and all of them.
        """
        arrays = self._arrays
        if c is not None and not self._has_addend:
            msg = "c is given, but this Matmul object was made without one; make a new object"
            raise ValueError(msg)
        arrays.set_factors(a, b)
        arrays.set_addend(c, alpha, beta)
        self._plan.check_scalars(arrays.alpha, arrays.beta)
        if scales is not None:
            arrays.set_scales(resolve_scales(scales))
        if inputs is not None:
            arrays.set_inputs(inputs)
        self._check_all_given()
        warn_of_beta(self._logger, arrays.c, beta)

    def _reset_factors(self, a: Any, b: Any) -> bool:
        """Let the core take other factors, which is the fastest; False if it does not."""
        arrays = self._arrays
        if not self._has_operands or any(arrays.conjugate):
            return False
        a, b = arrays.a if a is None else a, arrays.b if b is None else b
        if not self._try_reset(a, b, *arrays.in_order()[2:]):
            return False
        arrays.a, arrays.b = a, b
        return True

    def _accept(self, conjugate: tuple[bool, bool]) -> None:
        """Make the plan fit operands that have changed; ValueError if it is for other ones."""
        arrays = self._arrays
        operands = arrays.in_order()
        if not self._is_planned:
            self._plan = self._make_plan(limit=1)
            self._note_operands()
            return
        if self._has_new_settings:
            # The next execution makes a plan by them.
            self._check_layouts()
            self._note_operands()
            return
        if arrays.conjugate != conjugate or not self._try_reset(*operands):
            self._check_layouts()
            # They may be aligned or conjugated otherwise.
            chosen = self._chosen
            self._plan = self._plan_for()
            used = [code for code, *_ in self._plan.algorithms]
            if chosen is None or used != [chosen._bytes()]:
                self._take_algorithms([])
        self._ready()

    def _run(self, plan: core.MatmulPlan, out: Any, stream: Any) -> Any:
        arrays = self._arrays
        return plan.run(
            *(arrays.a, arrays.b, out, stream, self._workspace, self._blocking),
            c=arrays.c,
            inputs=arrays.further or None,
            alpha=arrays.alpha,
            beta=arrays.beta,
        )

    def _log_times(self, order: list[int], times: list[float]) -> None:
        if self._logger.isEnabledFor(logging.INFO):
            best = ", ".join(f"{times[number]:.4f}" for number in order[:8])
            self._logger.info(
                "autotuned %d algorithms; the first one took %.4f ms, the fastest ones %s ms",
                *(len(times), times[0], best),
            )

    def _held_operands(self) -> object:
        return True if self._has_operands else None

    def _drop(self) -> None:
        self._unprepare()
        self._operands = []
        for algorithm in self._algorithms:
            algorithm._products.discard(self)
        del self._plan, self._arrays, self._algorithms


def checked_algorithms(algorithms: object) -> list[Algorithm]:
    """Return a list of the algorithms that a user gave; TypeError if there is anything else."""
    if algorithms is None:
        return []
    if not isinstance(algorithms, Iterable):
        msg = f"algorithms is a {type(algorithms).__name__}; a sequence of Algorithm is needed"
        raise TypeError(msg)
    given = list(algorithms)
    for algorithm in given:
        check_algorithm(algorithm)
    return given


def check_algorithm(algorithm: object) -> None:
    """Raise TypeError unless it is an algorithm."""
    if not isinstance(algorithm, Algorithm):
        msg = f"algorithm is a {type(algorithm).__name__}; an Algorithm is needed"
        raise TypeError(msg)
