"""Where operands can be and where transforms can run, so that each test runs for all of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from tests.helpers.elements import read, write_memory


@dataclass(frozen=True)
class Space:
    """An array library, the memory that its operands are in, and where the transform runs."""

    library: str
    memory: str
    execution: str

    def __str__(self) -> str:
        """Name of the test's variant."""
        return f"{self.library}_in_{self.memory}_on_{self.execution}"

    @property
    def is_direct(self) -> bool:
        """Whether the transform runs where the operand is."""
        return self.memory == self.execution

    def skip_if_absent(self) -> None:
        """Skip the test if the library is not there, or has no GPU where one is needed."""
        if self.library == "gpumath":
            return
        title = {"numpy": "NumPy", "cupy": "CuPy", "torch": "PyTorch"}[self.library]
        if find_spec(self.library) is None:
            pytest.skip(f"{title} is not installed")
        if self.library == "torch" and self.memory == "cuda":
            import torch

            if not torch.cuda.is_available():
                pytest.skip("this PyTorch has no CUDA device")

    def array(self, values: Any, lead: int = 0) -> Any:
        """Operand with the elements and the strides of a NumPy array, gaps included.

        It is in a block of memory that has ``lead`` more elements before it, where its library can.
        """
        flat, start = flatten(np.asarray(values))
        strides = [stride // values.itemsize for stride in values.strides]
        if self.library == "gpumath":
            kind: Any = "host" if self.memory == "cpu" else "device"
            array = core.Array(values.shape, values.dtype, kind=kind, strides=strides)
            if values.size:
                write_memory(array, flat)
            return array
        flat, start = np.concatenate([flat[:lead], flat]), start + lead
        if self.library == "numpy":
            return np.ndarray(
                values.shape, values.dtype, flat, start * values.itemsize, values.strides
            )
        if self.library == "cupy":
            import cupy

            block = cupy.asarray(flat)
            memory = block.data + start * values.itemsize
            return cupy.ndarray(values.shape, values.dtype, memory, values.strides)
        import torch

        if any(stride < 0 for stride in strides):
            pytest.skip("PyTorch has no negative strides")
        return torch.from_numpy(flat).to(self.memory).as_strided(values.shape, strides, start)

    def numpy(self, array: Any) -> np.ndarray:
        """Copy of an operand or a result in a NumPy array."""
        if self.library == "numpy":
            return np.array(array)
        if self.library == "cupy":
            return np.asarray(array.get())
        if self.library == "gpumath":
            return read(array)
        return array.cpu().numpy().copy()

    def assert_is_alike(self, result: Any) -> None:
        """Check that a result is of the operand's library and in the same memory."""
        assert type(result).__module__.partition(".")[0] == self.library
        assert core.TensorView(result).device == self.memory


def flatten(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Copy of the memory that an array spans, gaps included, and the index of its first element."""
    if values.size == 0:
        return np.empty(1, values.dtype), 0
    forward = values[tuple(slice(None, None, -1 if s < 0 else 1) for s in values.strides)]
    reach = [
        (n - 1) * s // values.itemsize for n, s in zip(values.shape, values.strides, strict=True)
    ]
    span = 1 + sum(abs(step) for step in reach)
    flat = np.lib.stride_tricks.as_strided(forward, (span,), (values.itemsize,)).copy()
    return flat, -sum(step for step in reach if step < 0)


ON_CPU = [Space("numpy", "cpu", "cpu"), Space("torch", "cpu", "cpu")]
OWN_ON_CPU = [Space("gpumath", "cpu", "cpu")]
OWN_ON_GPU = [Space("gpumath", "cuda", "cuda")]
ON_GPU = [Space("cupy", "cuda", "cuda"), Space("torch", "cuda", "cuda")]
TO_GPU = [Space("numpy", "cpu", "cuda"), Space("torch", "cpu", "cuda")]
TO_CPU = [Space("cupy", "cuda", "cpu"), Space("torch", "cuda", "cpu")]


def parameters(*groups: list[Space]) -> list[Any]:
    """Variants for a fixture; those with a GPU in them are marked so."""
    return [
        pytest.param(
            space,
            id=str(space),
            marks=[] if space.memory == space.execution == "cpu" else [pytest.mark.gpu],
        )
        for group in groups
        for space in group
    ]
