"""Where an operation runs: on the CPU, on a CUDA device, or on several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

from gpumath._host.arguments import checked_integer
from gpumath._host.fields import from_fields

__all__ = ["Execution", "ExecutionCPU", "ExecutionCUDA", "resolve_execution"]


@dataclass(frozen=True, kw_only=True)
class ExecutionCPU:
    """Run an operation on the CPU.

    Parameters
    ----------
    num_threads : int, optional
        Limit on the threads that compute an operation at once, the calling one included; ``None``
        means one for each core that the process may use. The embedded engine's threads belong to
        one pool of the process, whose size does not depend on this limit. Results for different
        limits may differ in their last bits.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.ExecutionCPU(num_threads=2).name
    'cpu'
    """

    name: ClassVar[Literal["cpu"]] = "cpu"
    num_threads: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a number of threads that is not allowed."""
        if self.num_threads is not None:
            count = _checked_count("ExecutionCPU", "num_threads", self.num_threads, lowest=1)
            object.__setattr__(self, "num_threads", count)


@dataclass(frozen=True, kw_only=True, repr=False)
class ExecutionCUDA:
    """Run an operation on a CUDA device, or on several devices together.

    Parameters
    ----------
    device_id : int, optional
        Ordinal of the device that operands in host memory are copied to. By default 0, or None if
        ``device_ids`` is given. An operand in device memory is computed on its own device,
        whatever ``device_id`` says.
    device_ids : sequence of int, optional
        Ordinals of two or more distinct devices that work together. The operand is in host memory
        or in the memory of one of them. Its data is spread over the devices, and the result is
        copied to where the operand is. The call blocks until the result is there.

    Raises
    ------
    ValueError
        An ordinal is negative or not an integer; ``device_ids`` has fewer than two ordinals or
        repeats one; or both arguments are given.

    Notes
    -----
    Which layouts and sizes several devices can compute depends on the operation: see its
    documentation, such as the page on several GPUs for Fourier transforms. A device that does not
    exist raises `gpumath.bindings.errors.NoDeviceError` when the operation uses it.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.ExecutionCUDA(device_id=1)
    ExecutionCUDA(device_id=1)
    >>> fft.ExecutionCUDA(device_ids=[0, 1])
    ExecutionCUDA(device_ids=(0, 1))
    """

    name: ClassVar[Literal["cuda"]] = "cuda"
    device_id: int | None = None
    device_ids: Sequence[int] | None = None

    def __post_init__(self) -> None:
        """Set the default device, and raise ValueError for ordinals that are not allowed."""
        if self.device_ids is None:
            if self.device_id is None:
                object.__setattr__(self, "device_id", 0)
            ordinal = _checked_count("ExecutionCUDA", "device_id", self.device_id, lowest=0)
            object.__setattr__(self, "device_id", ordinal)
            return
        if self.device_id is not None:
            msg = "ExecutionCUDA: device_id and device_ids are both given; leave one of them out"
            raise ValueError(msg)
        # As a tuple, because it is immutable and hashable.
        object.__setattr__(self, "device_ids", _distinct_ordinals(self.device_ids))

    def __repr__(self) -> str:
        """Return the call that makes an equal object."""
        field = "device_id" if self.device_ids is None else "device_ids"
        return f"ExecutionCUDA({field}={getattr(self, field)!r})"


Execution: TypeAlias = (
    ExecutionCPU | ExecutionCUDA | Literal["cpu", "cuda", "CPU", "CUDA"] | Mapping[str, Any] | None
)

# A tuple, because Python would make a union of the types in each call.
_OBJECTS = (ExecutionCPU, ExecutionCUDA)
_CLASSES: dict[str, type[ExecutionCPU | ExecutionCUDA]] = {
    "cpu": ExecutionCPU,
    "cuda": ExecutionCUDA,
}


def resolve_execution(
    execution: object, find_device: Callable[[], int | None]
) -> ExecutionCPU | ExecutionCUDA | None:
    """Turn a user's ``execution`` argument into an object; None runs where the operand is.

    A dictionary without a name means the same as None, with these fields; ``find_device`` returns
    the device of the operand, None in host memory.
    """
    if execution is None or isinstance(execution, _OBJECTS):
        return execution
    if isinstance(execution, str):
        return _of_name(execution)
    if isinstance(execution, Mapping):
        fields = dict(execution)
        chosen = _class_for(fields.pop("name", "cpu" if find_device() is None else "cuda"))
        return from_fields(chosen, f"execution {chosen.name!r}", fields)
    msg = (
        f"execution is a {type(execution).__name__}; ExecutionCPU, ExecutionCUDA, 'cpu', 'cuda', "
        "a dictionary of their fields, or None is accepted"
    )
    raise ValueError(msg)


@cache
def _of_name(name: str) -> ExecutionCPU | ExecutionCUDA:
    """Return the execution of this name with defaults. It is frozen, so one serves all calls."""
    return _class_for(name)()


def _class_for(name: object) -> type[ExecutionCPU | ExecutionCUDA]:
    if isinstance(name, str) and name.lower() in _CLASSES:
        return _CLASSES[name.lower()]
    msg = f"execution is {name!r}; 'cpu' and 'cuda' are allowed"
    raise ValueError(msg)


def _checked_count(owner: str, field: str, value: Any, lowest: int) -> int:
    """Return a count as an int, also one of NumPy; ValueError if it is not allowed."""
    return checked_integer(f"{owner}: {field}", value, lowest=lowest, wrong_type=ValueError)


def _distinct_ordinals(given: object) -> tuple[int, ...]:
    """Return the ordinals of several devices as a tuple; ValueError if they are not allowed."""
    listed = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    ordinals = tuple(_checked_count("ExecutionCUDA", "device_ids", one, lowest=0) for one in listed)
    if len(ordinals) < 2 or len(set(ordinals)) < len(ordinals):
        msg = (
            f"ExecutionCUDA: device_ids is {given!r}; a sequence of at least two distinct ordinals "
            "is needed, such as [0, 1]; for one device there is device_id"
        )
        raise ValueError(msg)
    return ordinals
