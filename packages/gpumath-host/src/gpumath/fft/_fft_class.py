"""A Fourier transform in steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gpumath._host.array_libraries import library_of
from gpumath._host.execution import Execution
from gpumath._host.operation import logged_execution
from gpumath.bindings import core
from gpumath.fft._device_callable import DeviceCallable, resolve_callback
from gpumath.fft._errors import InvalidFFTState
from gpumath.fft._fft_attributes import Description, FFTAttributes
from gpumath.fft._key import FFTKey, key_from_metadata, key_of_operand, key_of_plan
from gpumath.fft._make_plan import has_same_strides, make_plan, plan_of_same_calls, set_up
from gpumath.fft._options import (
    Direction,
    FFTDirection,
    FFTOptions,
    choose_direction,
    resolve_direction,
)

__all__ = ["FFT"]


class FFT(core.FftExecutor, FFTAttributes):
    """One Fourier transform, made once and run many times.

    The steps are the constructor, `plan`, `execute`, then any number of `reset_operand` and
    `execute`, and `free`, which leaving a ``with`` block does. After it every method but `free`
    raises `InvalidFFTState`. An object belongs to the thread that made it.

    Parameters
    ----------
    operand : array
        NumPy array, CuPy array, PyTorch tensor, or any array with ``__dlpack__``,
        ``__cuda_array_interface__`` or the buffer protocol, of at least one dimension and of any
        strides, with elements of type float32, float64, complex64 or complex128 (float16 and
        complex32 too on a GPU). It is read when `execute` is called: changes of its values count.
    axes : sequence of int, optional
        Axes to transform along, each once; negative ones count from the end. By default all axes.
        The other axes are a batch.
    options : FFTOptions or dict, optional
        Kind of transform, layout of the result, working in place and more; see `FFTOptions`.
    execution : ExecutionCUDA, ExecutionCPU, {'cuda', 'cpu'} or dict, optional
        Where to compute. By default where the operand is. A NumPy array with ``'cuda'`` is copied
        to the GPU and the result copied back; an array on the GPU with ``'cpu'`` the other way.
    stream : int or stream object, optional
        Without effect: nothing runs before `execute`.

    Raises
    ------
    ValueError, TypeError, UnsupportedLayoutError, gpumath.bindings.errors.NoDeviceError
        As for `fft`; besides, ValueError for an option that is not among the allowed.

    Notes
    -----
    Properties tell what an object was made for: `axes`, `options`, `execution_options`, `operand`,
    `logger` and others, of the names that nvmath-python has.

    The operand of a C2R transform is left as it is, so it can be executed again without
    `reset_operand`; nvmath-python raises RuntimeError there.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> a = np.array([1, 1j, -1, -1j])
    >>> with fft.FFT(a) as transform:
    ...     transform.plan()
    ...     first = transform.execute()
    ...     transform.reset_operand(first)
    ...     second = transform.execute(direction="inverse")
    >>> second / a.size
    array([ 1.+0.j,  0.+1.j, -1.+0.j,  0.-1.j])
    """

    _name = "FFT"
    _state_error = InvalidFFTState

    def __init__(
        self,
        operand: Any,
        /,
        *,
        axes: Sequence[int] | None = None,
        options: FFTOptions | Mapping[str, Any] | None = None,
        execution: Execution = None,
        stream: Any = None,
    ) -> None:
        if stream is not None:
            core.stream_handle(stream)
        library = library_of(operand)
        self._plan, device_id, options, self._choices = set_up(
            library, operand, None, axes, options, execution, stream=stream
        )
        self._begin(library, device_id, options)
        self._options: FFTOptions = options
        self._operand = operand
        self._direction: FFTDirection | None = None
        self._overwriting: core.FftPlan | None = self._plan if self._plan.inplace else None

    def plan(
        self,
        *,
        prolog: DeviceCallable | Mapping[str, Any] | None = None,
        epilog: DeviceCallable | Mapping[str, Any] | None = None,
        stream: Any = None,
        direction: Direction | None = None,
    ) -> None:
        """Make the transform ready to run.

        Parameters
        ----------
        prolog, epilog : DeviceCallable or dict, optional
            Device functions, from `compile_prolog` and `compile_epilog`, that give the operand's
            elements and store the result's; on a GPU only.
        stream : int or stream object, optional
            Without effect: planning submits no work.
        direction : FFTDirection, {'forward', 'inverse'} or int, optional
            Direction of every `execute` that follows. By default each of them chooses.

        Raises
        ------
        ValueError
            The direction is not a direction, or not that of an R2C or C2R transform; a callback
            is no device function, or there is no GPU for it.
        InvalidFFTState
            The object is freed, or there are callbacks and its operand was released.
        """
        self._check_not_freed()
        if stream is not None:
            core.stream_handle(stream)
        prolog, epilog = resolve_callback("prolog", prolog), resolve_callback("epilog", epilog)
        # Always anew with callbacks: what is at the address of one may have changed.
        if prolog or epilog or self._choices["prolog"] or self._choices["epilog"]:
            self._check_has_operands("plan()")
            choices = {**self._choices, "prolog": prolog, "epilog": epilog}
            self._plan = make_plan(self._operand, **choices, stream=stream)
            self._choices = choices
            self._overwriting = self._plan if self._plan.inplace else None
        self._direction = (
            None if direction is None else resolve_direction(direction, self._plan.kind)
        )
        self._prepare_plan()
        self._finish_planning()

    def _prepare_plan(self) -> None:
        """Let the core execute the plan."""
        kind = self._plan.kind
        direction = choose_direction(None, self._direction, kind)
        is_free = self._direction is None and kind == "C2C"
        self._prepare(self._plan, direction, is_free, self._setting)

    def _fit(self, operand: Any) -> None:
        """Make the plan fit ``operand``, whose batch may have another shape, or raise ValueError.

        Programs of nvmath-python give such operands, because the key there does not tell shapes
        apart that the same call of cuFFT transforms.
        """
        plan = plan_of_same_calls(
            self._library, self._plan, self._device_id, operand, self._choices
        )
        if plan is not self._plan:
            self._plan = plan
            self._overwriting = plan if plan.inplace else None
            if self._is_planned:
                self._prepare_plan()

    def _execute(
        self, direction: Direction | None, stream: Any, release_workspace: bool, out: Any
    ) -> Any:
        """Execute with arguments, or what the plan as it is does not do."""
        self._check_ready()
        operand = self._operand
        self._fit(operand)
        sign = choose_direction(direction, self._direction, self._plan.kind)
        plan = self._plan
        if not plan.fits(operand, out):
            # Another view of the operand, or real numbers that are not aligned like complex ones.
            plan = self._plan_into(operand, out, stream)
        if stream is not None and plan.device_id is None and self._device_id is None:
            self._logger.warning("stream is ignored: no GPU takes part")
        with logged_execution(self._logger, sign.name, plan, self._device_id):
            result = plan.run(operand, out, sign, stream, self._workspace, self._blocking)
        if release_workspace:
            self._workspace.release()
        return result

    def _plan_into(self, operand: Any, out: Any, stream: Any) -> core.FftPlan:
        """Give the plan for an ``out`` that may be the operand; ValueError if it does not fit."""
        if out is operand and self._overwriting is not None:
            return self._overwriting
        plan = make_plan(operand, **self._choices, out=out, stream=stream)
        if plan.inplace:
            self._overwriting = plan
        elif not has_same_strides(plan, self._plan):
            msg = (
                f"out has the strides {plan.output_strides}, and this FFT object was planned for "
                f"{self._plan.output_strides}; give an array of the layout of get_output_layout(), "
                "or use the function, which plans for any strides"
            )
            raise ValueError(msg)
        return plan

    def _reset_operand(self, operand: Any, stream: Any) -> None:
        self._check_not_freed()
        if stream is not None:
            core.stream_handle(stream)
        self._fit(operand)
        self._operand = operand
        self._logger.info("another operand")

    def reset_operand_unchecked(self, operand: Any, *, stream: Any = None) -> None:  # noqa: ARG002
        """Take another operand as `reset_operand` does, without looking at it.

        An operand for which the plan does not fit makes `execute` raise ValueError.
        """
        self._operand = operand

    def release_operand(self) -> None:
        """Drop the reference to the operand, and keep the plan for `reset_operand`."""
        self._check_not_freed()
        self._operand = None
        self._logger.info("operand released")

    def get_input_layout(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the operand's shape and its strides, in elements."""
        self._check_not_freed()
        return self._plan.input_shape, self._plan.input_strides

    def get_output_layout(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the result's shape and its strides, in elements."""
        self._check_not_freed()
        return self._plan.output_shape, self._plan.output_strides

    def get_key(
        self,
        *,
        prolog: DeviceCallable | Mapping[str, Any] | None = None,
        epilog: DeviceCallable | Mapping[str, Any] | None = None,
    ) -> FFTKey:
        """Return what the plan depends on, as a value: with other keys plans can be shared.

        Parameters
        ----------
        prolog, epilog : DeviceCallable or dict, optional
            Those that `plan` gets; None means none, whatever `plan` got.

        Returns
        -------
        FFTKey
            Equal to that of every operand for which the plan fits too.

        Raises
        ------
        InvalidFFTState
            The object is freed.
        ValueError, TypeError
            A callback is no device function, or there is one and the transform runs on the CPU.

        Examples
        --------
        >>> import numpy as np
        >>> from gpumath import fft
        >>> a, b = np.ones(8, np.complex64), np.zeros(8, np.complex64)
        >>> with fft.FFT(a) as transform:
        ...     transform.get_key() == fft.FFT.create_key(b)
        True
        """
        self._check_not_freed()
        return key_of_plan(self._plan, prolog, epilog)

    @staticmethod
    def create_key(
        operand: Any,
        *,
        axes: Sequence[int] | None = None,
        options: FFTOptions | Mapping[str, Any] | None = None,
        execution: Execution = None,
        prolog: DeviceCallable | Mapping[str, Any] | None = None,
        epilog: DeviceCallable | Mapping[str, Any] | None = None,
    ) -> FFTKey:
        """Return the key of the transform that these arguments would make, without a plan.

        Parameters
        ----------
        operand, axes, options, execution
            As for `FFT`.
        prolog, epilog : DeviceCallable or dict, optional
            As for `plan`. Their code counts by its content, their data by its address.

        Returns
        -------
        FFTKey
            A value for comparisons and dictionaries. Whether cuFFT covers the operand's strides is
            not looked at.

        Raises
        ------
        ValueError, TypeError
            As for `FFT` and `plan`.

        Examples
        --------
        >>> import numpy as np
        >>> from gpumath import fft
        >>> plans = {}
        >>> for rows in (2, 3, 2):
        ...     a = np.ones((rows, 4), np.complex64)
        ...     key = fft.FFT.create_key(a, axes=[1])
        ...     if key not in plans:
        ...         plans[key] = fft.FFT(a, axes=[1])
        >>> len(plans)
        2
        """
        return key_of_operand(operand, axes, options, execution, prolog, epilog)

    @staticmethod
    def create_key_from_metadata(
        shape: Sequence[int],
        dtype: Any,
        memory_space: Literal["cpu", "cuda"],
        *,
        strides: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        options: FFTOptions | Mapping[str, Any] | None = None,
        execution: Execution = None,
        prolog: DeviceCallable | Mapping[str, Any] | None = None,
        epilog: DeviceCallable | Mapping[str, Any] | None = None,
    ) -> FFTKey:
        """Return the key of a transform of an operand that need not be there.

        Parameters
        ----------
        shape : sequence of int
            Extent of each dimension of the operand.
        dtype : str or dtype
            Its element type, such as ``"complex64"``.
        memory_space : {'cpu', 'cuda'}
            Where it would be, and so where to compute, unless ``execution`` says otherwise.
        strides : sequence of int, optional
            Distance between its neighbours along each dimension, in elements; by default those of
            C order.
        axes, options, prolog, epilog
            As for `create_key`.
        execution : ExecutionCUDA, ExecutionCPU, {'cuda', 'cpu'} or dict, optional
            Its ``device_id`` is also the device of an operand in device memory; 0 by default.

        Returns
        -------
        FFTKey
            Equal to that of `create_key` for such an operand. Of a real one in device memory it is
            assumed that its address is aligned like a complex number's, as in all new arrays.

        Raises
        ------
        ValueError, TypeError
            As for `create_key`; a layout cannot be in any memory.

        Examples
        --------
        >>> from gpumath import fft
        >>> key = fft.FFT.create_key_from_metadata((64, 100), "float32", "cuda", axes=[1])
        >>> key.problem.output_shape
        (64, 51)
        """
        return key_from_metadata(
            *(shape, dtype, memory_space, strides, axes, options, execution, prolog, epilog)
        )

    def _held_operands(self) -> object:
        return self._operand

    def _drop(self) -> None:
        self._unprepare()
        self._operand = self._overwriting = None
        self._last = Description.of(self._plan)
        del self._plan
