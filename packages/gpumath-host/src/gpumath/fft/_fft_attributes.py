"""What can be read from an `FFT` object."""

from __future__ import annotations

from typing import Any, Literal

from gpumath._host.execution import ExecutionCPU, ExecutionCUDA
from gpumath._host.operation import StatefulOperation
from gpumath._host.options import Logger
from gpumath.bindings import core
from gpumath.fft._key import execution_of_plan
from gpumath.fft._options import FFTOptions

__all__ = ["FFTAttributes"]


class FFTAttributes(StatefulOperation):
    """The properties of `FFT`. They cannot be set: an object is made for one transform.

    The names are nvmath-python's. After `FFT.free`, those that need the plan raise
    `InvalidFFTState`.
    """

    _plan: core.FftPlan
    _options: FFTOptions
    _operand: Any

    def _live_plan(self) -> core.FftPlan:
        self._check_not_freed()
        return self._plan

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes of the transform, counted from the first one."""
        return self._live_plan().axes

    @property
    def device_id(self) -> int | Literal["cpu"]:
        """CUDA device that computes, the first one of several; or ``"cpu"``."""
        device_id = self._live_plan().device_id
        return "cpu" if device_id is None else device_id

    @property
    def execution_options(self) -> ExecutionCPU | ExecutionCUDA:
        """Where the transform is computed, with its defaults filled in."""
        plan = self._live_plan()
        if plan.device_ids is not None:
            return ExecutionCUDA(device_ids=plan.device_ids)
        return execution_of_plan(plan)

    @property
    def execution_space(self) -> Literal["cpu", "cuda"]:
        """Where the transform is computed."""
        return self.execution_options.name

    @property
    def fft_abstract_type(self) -> str:
        """Kind of the transform: ``"C2C"``, ``"R2C"`` or ``"C2R"``."""
        return self._live_plan().kind

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
        return self._live_plan().input_dtype

    @property
    def operand_dim(self) -> int:
        """Number of dimensions of the operand."""
        return len(self._live_plan().input_shape)

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
        return self._live_plan().output_dtype
