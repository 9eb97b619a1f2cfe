"""The operators of a transform: what a user chooses, checked, and as libmathdx takes it."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from gpumath.bindings import mathdx
from gpumath.bindings.mathdx import (
    CommondxExecution,
    CufftdxApi,
    CufftdxComplexLayout,
    CufftdxDirection,
    CufftdxKnobType,
    CufftdxRealMode,
    CufftdxType,
)
from gpumath.device._architecture import ComputeCapability, as_compute_capability
from gpumath.device._arguments import as_count, is_suggested, one_of
from gpumath.device._compilers import register_loaded_compilers
from gpumath.device._descriptor import Descriptor, compiler_refusal
from gpumath.device._types import REAL_NP_TYPES, as_precision, mathdx_precision, precision_name

__all__ = ["APIS", "KNOBS", "FFTOperators", "knob_values"]

_DIRECTIONS = {"r2c": "forward", "c2r": "inverse"}
APIS = {"register_memory": CufftdxApi.LMEM, "shared_memory": CufftdxApi.SMEM}
_LAYOUTS = {layout.name.lower(): layout for layout in CufftdxComplexLayout}
_MODES = {mode.name.lower(): mode for mode in CufftdxRealMode}
KNOBS = {name: CufftdxKnobType[name.upper()] for name in ("elements_per_thread", "ffts_per_block")}


# No GPU has shared memory for a transform of so many points.
_NO_LARGER_SIZE = 1 << 16


class FFTOperators:
    """The operators of a transform, as `FFT` documents them."""

    def __init__(
        self,
        size: int,
        precision: Any,
        fft_type: Literal["c2c", "r2c", "c2r"],
        execution: Literal["Block", "Thread"],
        *,
        sm: ComputeCapability | int | None = None,
        direction: Literal["forward", "inverse"] | None = None,
        ffts_per_block: int | Literal["suggested"] | None = None,
        elements_per_thread: int | Literal["suggested"] | None = None,
        real_fft_options: Mapping[str, str] | None = None,
    ) -> None:
        register_loaded_compilers()
        self._sm = as_compute_capability(sm)
        self._size = as_count("size", size)
        self._precision = as_precision(precision, "precision", REAL_NP_TYPES)
        self._fft_type = one_of("fft_type", fft_type, ("c2c", "r2c", "c2r"))
        self._execution = one_of("execution", execution, ("Block", "Thread"))
        self._direction = self._checked_direction(direction)
        self._real_fft_options = self._checked_options(real_fft_options)
        knobs = {"ffts_per_block": ffts_per_block, "elements_per_thread": elements_per_thread}
        given = {
            name: value if is_suggested(value) else as_count(name, value)
            for name, value in knobs.items()
            if value is not None
        }
        if given and self._execution == "Thread":
            msg = f"{' and '.join(given)} is given, but with execution='Thread' there is no block"
            raise ValueError(msg)
        self._knobs: dict[str, int] = {k: v for k, v in given.items() if v != "suggested"}
        self._check_supported()
        if given.get("elements_per_thread") == "suggested":
            self._knobs["elements_per_thread"] = self._descriptor.integer("ELEMENTS_PER_THREAD")
            del self._descriptor
        if given.get("ffts_per_block") == "suggested":
            suggested = self._descriptor.integer("SUGGESTED_FFTS_PER_BLOCK")
            self._knobs["ffts_per_block"] = suggested
            del self._descriptor

    def _checked_direction(self, direction: str | None) -> str:
        only = _DIRECTIONS.get(self._fft_type)
        if direction is None and only is None:
            msg = "direction is needed for fft_type='c2c': 'forward' or 'inverse'"
            raise ValueError(msg)
        given = only if direction is None else direction
        chosen = one_of("direction", given, ("forward", "inverse"))
        if only not in (None, chosen):
            msg = f"direction is {chosen!r}, but fft_type={self._fft_type!r} is always {only!r}"
            raise ValueError(msg)
        return chosen

    def _checked_options(self, options: Mapping[str, str] | None) -> dict[str, str] | None:
        if options is None:
            return None
        if self._fft_type == "c2c":
            msg = "real_fft_options is given, but fft_type='c2c' is no real transform"
            raise ValueError(msg)
        allowed = {"complex_layout": tuple(_LAYOUTS), "real_mode": tuple(_MODES)}
        if not isinstance(options, Mapping) or set(options) != set(allowed):
            msg = f"real_fft_options is {options!r}; a dict with {sorted(allowed)} is needed"
            raise ValueError(msg)
        return {
            name: one_of(f"real_fft_options[{name!r}]", options[name], values)
            for name, values in allowed.items()
        }

    def _operators(self, api: str = "register_memory", **changes: int) -> dict[str, Any]:
        operators: dict[str, Any] = {
            "API": int(APIS[api]),
            "SM": self._sm.integer,
            "SIZE": self._size,
            "PRECISION": int(mathdx_precision(self._precision)),
            "TYPE": int(CufftdxType[self._fft_type.upper()]),
            "DIRECTION": int(CufftdxDirection[self._direction.upper()]),
            "EXECUTION": int(CommondxExecution[self._execution.upper()]),
        }
        if self._real_fft_options:
            layout, mode = self._real_fft_options.values()
            operators["REAL_FFT_OPTIONS"] = (int(_LAYOUTS[layout]), int(_MODES[mode]))
        operators |= {name.upper(): value for name, value in self._knobs.items()}
        return operators | changes

    @cached_property
    def _descriptor(self) -> Descriptor:
        return Descriptor("cufftdx", self._operators())

    def _check_supported(self) -> None:
        if _is_supported(self._operators()):
            return
        refusal = compiler_refusal(self._sm)
        if refusal:
            raise ValueError(refusal)
        without_knobs = self._operators()
        for name in KNOBS:
            without_knobs.pop(name.upper(), None)
        if self._knobs and _is_supported(without_knobs):
            valid = knob_values(Descriptor("cufftdx", without_knobs), list(self._knobs))
            advice = f"valid {tuple(self._knobs)}: {', '.join(map(str, sorted(valid)))}"
        elif self._real_fft_options and _is_supported(_without(without_knobs, "REAL_FFT_OPTIONS")):
            advice = "without real_fft_options, it is supported"
        else:
            advice = _nearest_sizes(without_knobs)
        msg = f"cuFFTDx does not support {self!r}; {advice}"
        raise ValueError(msg)

    def __repr__(self) -> str:
        options = {"direction": self._direction, **self._knobs}
        if self._real_fft_options:
            options["real_fft_options"] = self._real_fft_options
        more = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return (
            f"FFT({self._size}, {precision_name(self._precision)}, {self._fft_type!r}, "
            f"{self._execution!r}, sm={self._sm}, {more})"
        )

    @property
    def size(self) -> int:
        """Number of points."""
        return self._size

    @property
    def precision(self) -> Any:
        """Type of real and imaginary parts."""
        return self._precision

    @property
    def fft_type(self) -> str:
        """``'c2c'``, ``'r2c'`` or ``'c2r'``."""
        return self._fft_type

    @property
    def execution(self) -> str:
        """``'Block'`` or ``'Thread'``."""
        return self._execution

    @property
    def direction(self) -> str:
        """``'forward'`` or ``'inverse'``."""
        return self._direction

    @property
    def sm(self) -> ComputeCapability:
        """GPUs that the code is compiled for."""
        return self._sm

    @property
    def real_fft_options(self) -> dict[str, str] | None:
        """Layout and mode of a real transform, if they were given."""
        return self._real_fft_options


def _without(operators: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in operators.items() if key != name}


def _is_supported(operators: Mapping[str, Any]) -> bool:
    try:
        descriptor = Descriptor("cufftdx", operators)
    except mathdx.LibMathDxError:
        return False
    supported = ctypes.c_int(0)
    mathdx.cufftdx_is_supported(descriptor.handle, ctypes.addressof(supported))
    return bool(supported.value)


def knob_values(descriptor: Descriptor, knobs: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the values that cuFFTDx supports for knobs of a descriptor."""
    numbers = [int(KNOBS[knob]) for knob in knobs]
    size = mathdx.cufftdx_get_knob_int64size(descriptor.handle, len(numbers), numbers)
    values = array("q", [0] * size)
    mathdx.cufftdx_get_knob_int64s(descriptor.handle, len(numbers), numbers, size, values)
    return list(zip(*([iter(values)] * len(numbers)), strict=True))


def _nearest_sizes(operators: dict[str, Any]) -> str:
    """Say which sizes next to one that is not supported are."""
    size: int = operators["SIZE"]

    def first(sizes: Callable[[], Any]) -> int | None:
        return next(
            (n for n in sizes() if _is_supported(operators | {"SIZE": n})),
            None,
        )

    larger = first(lambda: range(size + 1, min(size + 2000, _NO_LARGER_SIZE)))
    smaller = first(lambda: range(min(size, _NO_LARGER_SIZE) - 1, 1, -1))
    found = " and ".join(str(n) for n in (smaller, larger) if n)
    return f"the nearest sizes that it supports are {found}" if found else "no size works there"
