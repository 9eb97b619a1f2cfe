"""What every operation has: its phases, its log, and its limits.

An operation states what its plans are made of, what its options are and what its executions take.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol, Self

from gpumath._host.array_libraries import ArrayLibrary
from gpumath._host.execution import ExecutionCPU, ExecutionCUDA
from gpumath._host.options import Logger, OperationOptions
from gpumath.bindings import core, errors

__all__ = [
    "Plan",
    "StatefulOperation",
    "described_place",
    "execution_choices",
    "logged_execution",
    "logger_of",
    "warn_of_ignored",
]

_ROOT_LOGGER = logging.getLogger()


class Plan(Protocol):
    """What the plans of all operations have."""

    @property
    def device_id(self) -> int | None: ...
    @property
    def device_ids(self) -> tuple[int, ...] | None: ...
    @property
    def workspace_size(self) -> int: ...


class StatefulOperation:
    """An operation in steps: it is made, planned, executed any number of times, and freed.

    A subclass derives from the core's executor too, which keeps the operands and executes what
    needs no Python code. It sets the class variables, and calls `_begin` in its constructor and
    `_finish_planning` at the end of its ``plan``.
    """

    _name: ClassVar[str]
    """Name of the class in messages."""
    _state_error: ClassVar[type[errors.InvalidStateError]]
    _reset_name: ClassVar[str] = "reset_operand"
    """Name of the method that takes other operands, in messages."""

    _is_planned = False
    _is_freed = False

    def _begin(
        self, library: ArrayLibrary, device_id: int | None, options: OperationOptions
    ) -> None:
        """Note where the operands are (None: in host memory), and what all operations take."""
        self._library = library
        self._device_id = device_id
        self._workspace = core.Workspace(options.allocator)
        self._blocking = options.blocking is True
        self._logger = logger_of(options)
        self._setting = (library.name, device_id, self._workspace, self._blocking, self._logger)
        """What the core's executors take to execute by themselves."""

    def _finish_planning(self) -> None:
        self._is_planned = True
        self._logger.info("planned")

    def _check_not_freed(self) -> None:
        if self._is_freed:
            msg = f"this {self._name} object is freed; make a new one"
            raise self._state_error(msg)

    def _check_has_operands(self, before: str) -> None:
        if self._held_operands() is None:
            msg = (
                f"this {self._name} object has no operand; call its {self._reset_name}() before "
                f"{before}"
            )
            raise self._state_error(msg)

    def _check_ready(self) -> None:
        """Raise the state error unless there is something to execute."""
        self._check_not_freed()
        if not self._is_planned:
            msg = f"this {self._name} object is not planned; call its plan() before execute()"
            raise self._state_error(msg)
        self._check_has_operands("execute()")

    def free(self) -> None:
        """Free the workspace and drop the operand. Freeing twice does nothing."""
        if self._is_freed:
            return
        self._is_freed = True
        self._is_planned = False
        self._drop()
        try:
            self._workspace.release()
        except Exception:
            self._logger.critical("the workspace could not be freed", exc_info=True)
        self._logger.info("freed")

    def _held_operands(self) -> object:
        """Return what is executed on; None if there is nothing."""
        raise NotImplementedError

    def _drop(self) -> None:
        """Drop the plan and the operands."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._check_not_freed()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.free()


def execution_choices(where: ExecutionCPU | ExecutionCUDA | None) -> dict[str, Any]:
    """Return the arguments that tell the core's plans where to compute."""
    choices: dict[str, Any] = {"execution": None if where is None else where.name}
    if isinstance(where, ExecutionCUDA):
        choices |= {"device_id": where.device_id, "device_ids": where.device_ids}
    elif isinstance(where, ExecutionCPU):
        choices["num_threads"] = where.num_threads
    return choices


def logger_of(options: OperationOptions) -> Logger:
    """Return the user's logger, or the root logger."""
    return _ROOT_LOGGER if options.logger is None else options.logger


@contextmanager
def logged_execution(
    logger: Logger, label: str, plan: Plan, device_id: int | None
) -> Iterator[None]:
    """Log how long an execution took that gets operands on ``device_id`` (None: host memory)."""
    start = time.perf_counter()
    yield
    elapsed = 1e3 * (time.perf_counter() - start)
    copied = ""
    if plan.device_ids is not None:
        copied = f", operand and result spread over the CUDA devices {plan.device_ids}"
    elif (plan.device_id is None) != (device_id is None):
        device = plan.device_id if device_id is None else device_id
        copied = f", operand and result copied between host memory and device {device}"
    logger.info("%s: %.3f ms of host time%s", label, elapsed, copied)


def warn_of_ignored(
    logger: Logger,
    plan: Plan,
    device_id: int | None,
    options: OperationOptions,
    where: ExecutionCPU | ExecutionCUDA | None,
    stream: object,
) -> None:
    """Log the choices that have no effect for operands on ``device_id`` (None: host memory)."""
    if plan.device_id is None and device_id is None:
        for name, value in (
            ("stream", stream),
            ("allocator", options.allocator),
            ("memory_limit", options.memory_limit),
        ):
            if value is not None:
                logger.warning("%s is ignored: no GPU takes part", name)
    if plan.device_ids is not None:
        if options.allocator is not None:
            logger.warning("allocator is ignored: it serves executions on one device only")
    elif isinstance(where, ExecutionCUDA) and device_id not in (None, where.device_id):
        logger.warning(
            "device_id %d is ignored: the operand is on CUDA device %d", where.device_id, device_id
        )


def described_place(device_id: int | None) -> str:
    """Say where operands are, for messages."""
    return "in host memory" if device_id is None else f"on CUDA device {device_id}"
