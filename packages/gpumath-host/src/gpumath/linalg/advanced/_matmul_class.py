"""A product of matrices in steps."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any

from gpumath._host.arguments import checked_integer
from gpumath._host.array_libraries import library_of
from gpumath._host.options import resolve_options
from gpumath.bindings import core
from gpumath.linalg._errors import InvalidMatmulState
from gpumath.linalg._product import warn_of_beta
from gpumath.linalg.advanced._algorithm import Algorithm, algorithm_from
from gpumath.linalg.advanced._algorithm_ids import algorithm_ids
from gpumath.linalg.advanced._autotune import median_times
from gpumath.linalg.advanced._operands import Operands, places
from gpumath.linalg.advanced._options import (
    MatmulOptions,
    MatmulPlanPreferences,
    MatmulQuantizationScales,
    resolve_preferences,
    resolve_scales,
)
from gpumath.linalg.advanced._planned_product import PlannedProduct, checked_algorithms
from gpumath.linalg.advanced._tuning import ProductTuning
from gpumath.linalg.advanced._types import dtype_name, strategy_number

__all__ = ["Matmul"]


class Matmul(PlannedProduct):
    """A product ``epilog(alpha * a @ b + beta * c)``, made once and run many times.

    The steps are the constructor, `plan`, perhaps `autotune`, `execute`, then any number of
    `reset_operands` and `execute`, and `free`, which leaving a ``with`` block does. After it every
    method but `free` raises `InvalidMatmulState`. An object belongs to the thread that made it.

    Parameters
    ----------
    a, b : array
        As for `matmul`. They are read when `execute` is called: changes of their values count.
    c : array, optional
        What is added.
    alpha, beta : number, optional
        What the product and ``c`` are multiplied by. With ``c``, ``beta`` is needed.
    qualifiers : numpy.ndarray, optional
        Array of `matrix_qualifiers_dtype` with an entry for ``a``, ``b`` and ``c``.
    quantization_scales : MatmulQuantizationScales or dict, optional
        Scales of operands and results of 8-bit floating-point types.
    options : MatmulOptions or dict, optional
        Types, working in place, limits and more; see `MatmulOptions`.
    stream : int or stream object, optional
        Without effect: nothing runs before `execute`.

    Raises
    ------
    ValueError, TypeError
        As for `matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.linalg import advanced
    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> with advanced.Matmul(a, a) as product:
    ...     algorithms = product.plan()
    ...     first = product.execute()
    ...     product.reset_operands(a=first)
    ...     second = product.execute()
    >>> second
    array([[ 37.,  54.],
           [ 81., 118.]])
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
        qualifiers: Any = None,
        quantization_scales: MatmulQuantizationScales | Mapping[str, Any] | None = None,
        options: MatmulOptions | Mapping[str, Any] | None = None,
        stream: Any = None,
    ) -> None:
        if stream is not None:
            core.stream_handle(stream)
        # A copy, because later plans look at it again, and the user may change his own.
        chosen = replace(resolve_options(MatmulOptions, options))
        # None would keep what is there.
        library_of(b, "b")
        self._arrays = Operands(library_of(a, "a"))
        self._arrays.qualify(qualifiers)
        self._arrays.set_factors(a, b)
        self._arrays.set_addend(c, alpha, beta)
        self._arrays.has_block_scales = chosen.block_scaling
        self._arrays.set_scales(resolve_scales(quantization_scales))
        self._arrays.check_scales()
        device_id = core.TensorView(self._arrays.a).device_id
        self._begin(self._arrays.library, device_id, chosen)
        self._options = chosen
        self._has_operands = True
        self._algorithms = []
        self._choices = {
            **places(device_id, chosen),
            "inplace": chosen.inplace,
            "compute_type": None if chosen.compute_type is None else index(chosen.compute_type),
            "scale_type": dtype_name("scale_type", chosen.scale_type),
            "result_type": dtype_name("result_type", chosen.result_type),
            "result_amax": chosen.result_amax,
            "block_scaling": chosen.block_scaling,
            "emulation_strategy": strategy_number(chosen.emulation_strategy),
            "mantissa_bit_count": chosen.mantissa_bit_count,
            "sm_count_target": index(chosen.sm_count_target),
            "fast_accumulation": chosen.fast_accumulation,
            "handle": 0 if chosen.handle is None else index(chosen.handle),
        }
        warn_of_beta(self._logger, c, beta)
        # What is wrong with the operands is said now, before a GPU is asked for anything.
        self._plan = self._make_plan(limit=1)
        self._plan.check_scalars(self._arrays.alpha, self._arrays.beta)
        self._note_operands()

    def applicable_algorithm_ids(self, limit: int = 8) -> list[int]:
        """Return the numbers of algorithms for these types, whatever the layouts.

        Parameters
        ----------
        limit : int, default: 8
            Most numbers that are returned.

        Returns
        -------
        list of int
            Numbers as `Algorithm.algorithm_id` has them; empty on the CPU.

        Raises
        ------
        ValueError, TypeError
            ``limit`` is no integer of at least 1.
        """
        self._check_not_freed()
        most = checked_integer("limit", limit, lowest=1)
        return algorithm_ids(self._plan, self._choices["handle"], most)

    def plan(
        self,
        *,
        preferences: MatmulPlanPreferences | Mapping[str, Any] | None = None,
        algorithms: Sequence[Algorithm] | None = None,
        epilog: int | None = None,
        epilog_inputs: Mapping[str, Any] | None = None,
        stream: Any = None,
    ) -> list[Algorithm]:
        """Choose the epilog, and find algorithms. It can be called again with other choices.

        Parameters
        ----------
        preferences : MatmulPlanPreferences or dict, optional
            What algorithms are chosen by, and how many.
        algorithms : sequence of Algorithm, optional
            Algorithms to use instead of asking cuBLASLt for some.
        epilog : MatmulEpilog, optional
            What is done with the sum before it is stored.
        epilog_inputs : dict, optional
            Inputs of the epilog: ``bias``, ``relu_aux``, ``gelu_aux``, ``aux_quantization_scale``.
        stream : int or stream object, optional
            Stream that is not being captured, on which `execute` will run.

        Returns
        -------
        list of Algorithm
            What `algorithms` is: the best one first. Empty on the CPU.

        Raises
        ------
        ValueError
            The epilog does not fit the operands or its inputs; the message says what does. The plan
            before, if there is one, stays.
        TypeError
            An argument has a wrong type.
        InvalidMatmulState
            The object is freed, or its operands were released.
        """
        self._check_not_freed()
        self._check_has_operands("plan()")
        chosen = resolve_preferences(preferences)
        given = checked_algorithms(algorithms)
        choices = {
            **self._choices,
            **chosen.as_choices(),
            "epilog": None if epilog is None else checked_integer("epilog", epilog),
        }
        start = time.perf_counter()
        with self._all_or_nothing():
            self._arrays.inputs = {}
            self._arrays.set_inputs(epilog_inputs)
            self._choices = choices
            self._plan = self._make_plan(algorithm=given[0] if given else None, stream=stream)
            self._take_algorithms(given)
            self._has_other_ways = not given
            self._ready()
            self._tuning = ProductTuning(self, not given, stream)
        if self._logger.isEnabledFor(logging.INFO):
            elapsed = 1e3 * (time.perf_counter() - start)
            self._logger.info(
                "%r in %.3f ms: %d algorithms, %d copies to another layout, %d bytes of workspace",
                *(self._plan, elapsed, len(self._algorithms), self._plan.copies),
                self._plan.workspace_size,
            )
        self._finish_planning()
        return self._algorithms

    @property
    def algorithms(self) -> list[Algorithm]:
        """The algorithms of the plan, the best one first: `execute` uses that one."""
        self._check_not_freed()
        if not self._is_planned:
            msg = "this Matmul object is not planned; call its plan() before asking for algorithms"
            raise self._state_error(msg)
        return self._algorithms

    def autotune(
        self,
        iterations: int = 10,
        prune: int | None = None,
        release_workspace: bool = False,
        stream: Any = None,
    ) -> None:
        """Measure the algorithms, and sort `algorithms` by their times.

        Unless `plan` was given algorithms, others are added first: with one more copy of a factor
        (`Algorithm.copied_factor`), with lines padded or as they are (`Algorithm.pads_lines`), with
        entries of a batch apart that others join (`Algorithm.is_for_entries_apart`), or with the
        epilog as a step of its own (`Algorithm.has_separate_epilog`). What the device has no memory
        for is left out.

        The fastest one is kept on disk for later plans of such a product, in other processes too;
        nothing is measured if it is known already: see `gpumath.linalg.advanced.tuning`.

        Parameters
        ----------
        iterations : int, default: 10
            Measurements of each algorithm, of which the median counts. Algorithms within 10 % of
            the fastest are measured four times as often again, if that takes less than 1 ms.
        prune : int, optional
            Number of algorithms to keep; all by default.
        release_workspace : bool, default: False
            Free the workspace on the GPU afterwards.
        stream : int or stream object, optional
            CUDA stream to work on, as for `matmul`.

        Raises
        ------
        InvalidMatmulState
            The object is freed or not planned, or its operands were released.
        ValueError
            ``iterations`` or ``prune`` is no integer of at least 1.
        """
        self._check_ready()
        iterations = checked_integer("iterations", iterations, lowest=1, wrong_type=ValueError)
        if prune is not None:
            prune = checked_integer("prune", prune, lowest=1, wrong_type=ValueError)
        device_id = self._plan.device_id
        if device_id is None or not self._algorithms:
            self._logger.info("there is nothing to tune: no GPU takes part")
            return
        if not self._tuning.is_measured:
            del self._algorithms[len(self._algorithms) if prune is None else prune :]
            return
        # Out of place, so that every run finds the same c.
        plans = [
            self._make_plan(algorithm=algorithm, stream=stream, inplace=False)
            for algorithm in self._algorithms
        ]
        if adds_ways := self._has_other_ways:
            ways = self._plans_of_other_ways(stream)
            self._add_algorithms(algorithm_from(plan.algorithms[0]) for plan in ways)
            plans += ways
        runs = [lambda plan=plan: self._run(plan, None, stream) for plan in plans]
        # The stream that the plans run on: events on another one would not wait for them.
        used = core.current_stream(self._arrays.a) if stream is None else core.stream_handle(stream)
        times = median_times(runs, iterations, device_id, used)
        order = sorted(range(len(times)), key=times.__getitem__)
        self._log_times(order, times)
        self._algorithms[:] = [self._algorithms[number] for number in order[:prune]]
        self._tuning.keep(self._algorithms[0], times[order[0]])
        self._plan = self._make_plan(algorithm=self._algorithms[0], stream=stream)
        self._ready()
        if release_workspace or adds_ways:
            # The fastest algorithm may need less of it than others did.
            self._workspace.release()

    def reset_operands(
        self,
        *,
        a: Any = None,
        b: Any = None,
        c: Any = None,
        alpha: Any = None,
        beta: Any = None,
        quantization_scales: MatmulQuantizationScales | Mapping[str, Any] | None = None,
        epilog_inputs: Mapping[str, Any] | None = None,
        stream: Any = None,
    ) -> None:
        """Take other operands, for which the plan fits too.

        Parameters
        ----------
        a, b, c, alpha, beta, quantization_scales, epilog_inputs : optional
            As for the constructor and `plan`; what is left out stays as it is. After
            `release_operands` all arrays are needed.
        stream : int or stream object, optional
            Without effect: the operands are read by `execute`.

        Raises
        ------
        ValueError
            An operand differs from the one before in more than its values.
        InvalidMatmulState
            The object is freed.
        """
        self._check_not_freed()
        if stream is not None:
            core.stream_handle(stream)
        arrays = self._arrays
        others = (c, alpha, beta, quantization_scales, epilog_inputs)
        if all(other is None for other in others) and self._reset_factors(a, b):
            return
        before, conjugate = arrays.saved(), arrays.conjugate
        try:
            self._take(a, b, c, alpha, beta, quantization_scales, epilog_inputs)
            self._accept(conjugate)
        except BaseException:
            arrays.restore(before)
            raise
        self._has_operands = True
        self._logger.info("other operands")

    def reset_operands_unchecked(
        self,
        *,
        a: Any = None,
        b: Any = None,
        c: Any = None,
        alpha: Any = None,
        beta: Any = None,
        quantization_scales: MatmulQuantizationScales | Mapping[str, Any] | None = None,
        epilog_inputs: Mapping[str, Any] | None = None,
        stream: Any = None,  # noqa: ARG002 - operands are read by execute()
    ) -> None:
        """Take other operands as `reset_operands` does, without looking at their layouts.

        Operands for which the plan does not fit make `execute` raise ValueError.
        """
        self._check_not_freed()
        arrays = self._arrays
        before, conjugate = arrays.saved(), arrays.conjugate
        try:
            self._take(a, b, c, alpha, beta, quantization_scales, epilog_inputs)
        except BaseException:
            arrays.restore(before)
            raise
        self._has_operands = True
        self._operands = arrays.in_order()
        if self._has_new_settings or arrays.conjugate != conjugate:
            # The next execution makes a plan for them.
            self._unprepare()
        elif self._is_planned and (alpha is not None or beta is not None):
            self._prepare(self._plan, arrays.alpha, arrays.beta, self._setting)

    def release_operands(self) -> None:
        """Drop the references to the operands, and keep the plan for `reset_operands`."""
        self._check_not_freed()
        self._arrays.release()
        self._operands = []
        self._has_operands = False
        self._logger.info("operands released")
