"""Where a computation runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar, Literal, TypeAlias

__all__ = ["Execution", "ExecutionCPU", "ExecutionCUDA", "resolve_execution"]


@dataclass(frozen=True, kw_only=True)
class ExecutionCPU:
    """Run on the CPU.

    Parameters
    ----------
    num_threads : int, optional
        Number of threads, the calling one included; ``None`` means all cores that the process may
        use.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.ExecutionCPU(num_threads=2).name
    'cpu'
    """

    name: ClassVar[Literal["cpu"]] = "cpu"
    num_threads: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers of threads that cannot be."""
        if self.num_threads is not None:
            _check_count("ExecutionCPU", "num_threads", self.num_threads, lowest=1)


@dataclass(frozen=True, kw_only=True)
class ExecutionCUDA:
    """Run on a CUDA device.

    Parameters
    ----------
    device_id : int, default: 0
        Ordinal of the device that operands in host memory are copied to. An operand in device
        memory is computed on its own device, whatever ``device_id`` says.

    Examples
    --------
    >>> from gpumath import fft
    >>> fft.ExecutionCUDA(device_id=1)
    ExecutionCUDA(device_id=1)
    """

    name: ClassVar[Literal["cuda"]] = "cuda"
    device_id: int = 0

    def __post_init__(self) -> None:
        """Refuse device ordinals that cannot be."""
        _check_count("ExecutionCUDA", "device_id", self.device_id, lowest=0)


Execution: TypeAlias = (
    ExecutionCPU | ExecutionCUDA | Literal["cpu", "cuda"] | Mapping[str, Any] | None
)

_CLASSES: dict[str, type[ExecutionCPU | ExecutionCUDA]] = {
    "cpu": ExecutionCPU,
    "cuda": ExecutionCUDA,
}


def resolve_execution(execution: object) -> ExecutionCPU | ExecutionCUDA | None:
    """Turn the user's ``execution`` argument into an object; None means where the operand is."""
    if execution is None or isinstance(execution, ExecutionCPU | ExecutionCUDA):
        return execution
    if isinstance(execution, str):
        return _class_for(execution)()
    if isinstance(execution, Mapping):
        fields = dict(execution)
        if "name" not in fields:
            msg = f'execution is {fields}; a dictionary needs the key "name", "cpu" or "cuda"'
            raise ValueError(msg)
        chosen = _class_for(fields.pop("name"))
        known = [field.name for field in dataclass_fields(chosen)]
        if unknown := fields.keys() - set(known):
            msg = (
                f"execution {chosen.name!r} has no option {', '.join(map(repr, sorted(unknown)))}; "
                f"it has {', '.join(known)}"
            )
            raise ValueError(msg)
        return chosen(**fields)
    msg = (
        f"execution is a {type(execution).__name__}; ExecutionCPU, ExecutionCUDA, 'cpu', 'cuda', "
        "a dictionary with the key 'name', or None is accepted"
    )
    raise ValueError(msg)


def _class_for(name: object) -> type[ExecutionCPU | ExecutionCUDA]:
    if isinstance(name, str) and name in _CLASSES:
        return _CLASSES[name]
    msg = f"execution is {name!r}; 'cpu' and 'cuda' are allowed"
    raise ValueError(msg)


def _check_count(owner: str, field: str, value: object, lowest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
        msg = f"{owner}: {field} is {value!r}; an integer of at least {lowest} is needed"
        raise ValueError(msg)
