"""What can be read from an `FFT` object."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from gpumath._host.execution import ExecutionCPU, ExecutionCUDA
from gpumath._host.operation import StatefulOperation
from gpumath._host.options import Logger
from gpumath.bindings import core
from gpumath.fft._key import execution_on
from gpumath.fft._options import FFTOptions

__all__ = ["Description", "FFTAttributes"]


class Description(NamedTuple):
    """What is known of a plan when it is gone."""

    problem: core.FftProblem
    device_id: int | None
    device_ids: tuple[int, ...] | None
    num_threads: int | None

    @classmethod
    def of(cls, plan: core.FftPlan) -> Description:
        """Read all from a plan."""
        return cls(plan.problem, plan.device_id, plan.device_ids, plan.num_threads)


class FFTAttributes(StatefulOperation):
    """The properties of `FFT`. They cannot be set: an object is made for one transform.

    The names are nvmath-python's, and as there, all of them can be read after `FFT.free`.
    """

    _plan: core.FftPlan
    _last: Description
    """What the plan was; set when the object is freed."""
    _options: FFTOptions
    _operand: Any

    def _description(self) -> Description:
        return self._last if self._is_freed else Description.of(self._plan)

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes of the transform, counted from the first one."""
        return self._description().problem.axes

    @property
    def device_id(self) -> int | Literal["cpu"]:
        """CUDA device that computes, the first one of several; or ``"cpu"``."""
        device_id = self._description().device_id
        return "cpu" if device_id is None else device_id

    @property
    def execution_options(self) -> ExecutionCPU | ExecutionCUDA:
        """Where the transform is computed, with its defaults filled in."""
        known = self._description()
        if known.device_ids is not None:
            return ExecutionCUDA(device_ids=known.device_ids)
        return execution_on(known.device_id, known.num_threads)

    @property
    def execution_space(self) -> Literal["cpu", "cuda"]:
        """Where the transform is computed."""
        return self.execution_options.name

    @property
    def fft_abstract_type(self) -> str:
        """Kind of the transform: ``"C2C"``, ``"R2C"`` or ``"C2R"``."""
        return self._description().problem.kind

    @property
    def inplace(self) -> bool:
        """Whether the result overwrites the operand."""
        return self._options.inplace

    @property
    def logger(self) -> Logger:
        """Where the object logs."""
        return self._logger

    @property
    def memory_space(self) -> Literal["cpu", "cuda"]:
        """Where operand and result are."""
        return "cpu" if self._device_id is None else "cuda"

    @property
    def operand(self) -> Any:
        """Array that is transformed, as it was given; None once it is released."""
        return self._operand

    @property
    def operand_data_type(self) -> str:
        """Element type of the operand, such as ``"complex64"``."""
        return self._description().problem.input_dtype

    @property
    def operand_dim(self) -> int:
        """Number of dimensions of the operand."""
        return len(self._description().problem.input_shape)

    @property
    def options(self) -> FFTOptions:
        """Options of the transform, with their defaults filled in."""
        return self._options

    @property
    def package(self) -> str:
        """Name of the operand's array library, such as ``"numpy"``."""
        return self._library.name

    @property
    def result_data_type(self) -> str:
        """Element type of the result."""
        return self._description().problem.output_dtype
