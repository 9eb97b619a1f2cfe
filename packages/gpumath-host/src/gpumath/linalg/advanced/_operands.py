"""The operands of a product, from a user's arguments to what the core's plans take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpumath._host.arguments import checked_factor
from gpumath._host.array_libraries import ArrayLibrary, library_of
from gpumath.bindings import core
from gpumath.linalg.advanced._options import MatmulOptions, MatmulQuantizationScales
from gpumath.linalg.advanced._types import matrix_qualifiers_dtype

__all__ = ["Operands", "checked_inputs", "layout_of", "places"]

_NARROW = ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn_x2")


class Operands:
    """The operands of a product and the numbers that they are multiplied by.

    Each array is kept as the core takes it, so a lazy conjugate of PyTorch is the array behind it
    and a flag.
    """

    def __init__(self, library: ArrayLibrary) -> None:
        self.library = library
        self.a: Any = None
        self.b: Any = None
        self.c: Any = None
        self.alpha: Any = None
        self.beta: Any = None
        # By the names that the core has for them.
        self.inputs: dict[str, Any] = {}
        self.scales: dict[str, Any] = {}
        # Whether the scales of a and b are vectors, with one for each block.
        self.has_block_scales = False
        # Whether the user wants the conjugate, and whether the array stands for one already.
        self._qualified = (False, False)
        self._lazy = [False, False]

    def set_factors(self, a: Any, b: Any) -> None:
        """Take a, b, or both; None keeps the one that is there."""
        if a is not None:
            self.a, self._lazy[0] = self._resolved("a", a)
        if b is not None:
            self.b, self._lazy[1] = self._resolved("b", b)

    def set_addend(self, c: Any, alpha: Any, beta: Any) -> None:
        """Take c, alpha and beta; None keeps what is there."""
        if c is not None:
            self.c, is_lazy = self._resolved("c", c)
            if is_lazy:
                msg = "c is a lazy conjugate; call its resolve_conj() first"
                raise ValueError(msg)
        self.alpha = self.alpha if alpha is None else checked_factor("alpha", alpha)
        self.beta = self.beta if beta is None else checked_factor("beta", beta)
        if self.c is not None and self.beta is None:
            msg = "c is given, but beta is not; give beta too, what c is multiplied by"
            raise ValueError(msg)

    def set_scales(self, scales: MatmulQuantizationScales) -> None:
        """Take scales: numbers become arrays in the operands' memory."""
        for name in ("a", "b", "c", "d"):
            value = getattr(scales, name)
            if self.has_block_scales and name in ("a", "b") and isinstance(value, int | float):
                msg = (
                    f"quantization_scales.{name} is {value!r}, but block_scaling=True takes a "
                    "vector with a scale for each block; see helpers.matmul.to_block_scale"
                )
                raise ValueError(msg)
            if value is not None:
                self.scales[f"{name}_scale"] = self._scale(f"quantization_scales.{name}", value)

    def set_inputs(self, inputs: Mapping[str, Any] | None) -> None:
        """Take the inputs of the epilog."""
        for name, value in checked_inputs(inputs).items():
            argument = f"epilog_inputs[{name!r}]"
            if name == "aux_quantization_scale":
                self.inputs[name] = self._scale(argument, value)
            else:
                self._check_library(argument, value)
                self.inputs[name] = value

    def qualify(self, qualifiers: Any) -> None:
        """Take the qualifiers of a, b and c."""
        if qualifiers is None:
            return
        given = np.asarray(qualifiers)
        if given.dtype != matrix_qualifiers_dtype or given.ndim != 1 or given.size not in (2, 3):
            msg = (
                f"qualifiers is of the type {given.dtype} and shape {given.shape}; a NumPy array "
                "of matrix_qualifiers_dtype with an entry for a, b and c is needed"
            )
            raise ValueError(msg)
        flags = [bool(flag) for flag in given["is_conjugate"]]
        if any(flags[2:]):
            msg = (
                "qualifiers[2].is_conjugate is set, but c cannot be conjugated; conjugate it first"
            )
            raise ValueError(msg)
        self._qualified = (flags[0], flags[1])

    def release(self) -> None:
        """Drop all arrays. The names of further ones stay, in the order of the plan."""
        self.a = self.b = self.c = None
        self.inputs, self.scales = dict.fromkeys(self.inputs), dict.fromkeys(self.scales)

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` brings back."""
        given = (self.a, self.b, self.c, self.alpha, self.beta)
        return (*given, dict(self.inputs), dict(self.scales), list(self._lazy))

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Take back what was there when `saved` was called."""
        self.a, self.b, self.c, self.alpha, self.beta, *rest = saved
        self.inputs, self.scales, self._lazy = rest

    @property
    def conjugate(self) -> tuple[bool, bool]:
        """Whether a, and b, are to be conjugated."""
        return (self._qualified[0] ^ self._lazy[0], self._qualified[1] ^ self._lazy[1])

    @property
    def further(self) -> dict[str, Any]:
        """All but a, b and c, in the order of plans."""
        return {**self.inputs, **self.scales}

    def in_order(self) -> list[Any]:
        """Return all arrays in the order of plans."""
        arrays = [self.a, self.b, self.c, *self.further.values()]
        return [array for array in arrays if array is not None]

    def check_scales(self) -> None:
        """Raise ValueError if a scale of an 8-bit operand is missing."""
        for name in ("a", "b"):
            dtype = core.TensorView(getattr(self, name)).dtype
            if dtype in _NARROW and f"{name}_scale" not in self.scales:
                msg = (
                    f"{name} is of type {dtype}, but quantization_scales has no {name}; give the "
                    "number that its elements are multiplied by, 1 for none, or with "
                    "block_scaling=True a vector"
                )
                raise ValueError(msg)

    def _resolved(self, name: str, operand: Any) -> tuple[Any, bool]:
        self._check_library(name, operand)
        if self.library.name == "torch" and operand.is_conj():
            return operand.conj(), True
        return operand, False

    def _check_library(self, name: str, operand: Any) -> None:
        found = library_of(operand, name)
        if found is not self.library:
            msg = (
                f"{name} is of the library {found.name}, but a is of {self.library.name}; convert "
                "one of them"
            )
            raise ValueError(msg)

    def _scale(self, name: str, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self.library.scalar(self.a, float(value))
        self._check_library(name, value)
        return value


def checked_inputs(inputs: Any) -> dict[str, Any]:
    """Return a copy of ``epilog_inputs``; TypeError unless it is a dictionary with names."""
    if inputs is None:
        return {}
    if not isinstance(inputs, Mapping):
        msg = (
            f"epilog_inputs is a {type(inputs).__name__}; a dictionary such as {{'bias': array}} "
            "is needed"
        )
        raise TypeError(msg)
    for name in inputs:
        if not isinstance(name, str):
            msg = f"epilog_inputs has the key {name!r}; names such as 'bias' are needed"
            raise TypeError(msg)
    return dict(inputs)


def places(device_id: int | None, options: MatmulOptions) -> dict[str, Any]:
    """Return the arguments that tell the core's plans where to compute.

    Operands in host memory go to the GPU, and to the CPU where there is none.
    """
    if device_id is not None:
        return {"execution": None}
    if core.Device.count() == 0:
        return {"execution": "cpu"}
    return {"execution": "cuda", "device_id": options.device_id}


def layout_of(array: Any) -> tuple[Any, ...]:
    """Return what a plan depends on: extents and strides, but no strides that do not matter."""
    view = core.TensorView(array)
    is_empty = 0 in view.shape
    strides = (
        0 if is_empty or extent == 1 else stride
        for extent, stride in zip(view.shape, view.strides, strict=True)
    )
    return view.dtype, view.shape, tuple(strides), view.device_id
