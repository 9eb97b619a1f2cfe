"""Threads that call transforms and judge every result on the device, without waiting for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.helpers.operands import library


class NumpyWorker:
    """NumPy on one thread, and the worst error so far."""

    stream = None

    def __init__(self, _: Any) -> None:
        self.worst = 0.0

    def judge(self, result: Any, expected: Any, limit: float) -> None:
        """Compare a result; no element may be off by more than the limit."""
        self.worst = np.maximum(self.worst, np.abs(result - expected).max() / limit)

    def worst_error(self) -> float:
        """Return the largest error so far, divided by the limit."""
        return float(self.worst)


class CupyWorker:
    """CuPy on one thread and one stream; the worst error so far stays on the device."""

    def __init__(self, stream: Any) -> None:
        self.cupy = library("cupy")
        self.stream = stream or self.cupy.cuda.Stream.null
        self.stream.use()
        self.worst = self.cupy.zeros((), "float64")

    def judge(self, result: Any, expected: Any, limit: float) -> None:
        error = self.cupy.abs(self.cupy.asarray(result) - expected).max() / limit
        self.cupy.maximum(self.worst, error.astype("float64"), out=self.worst)

    def worst_error(self) -> float:
        return float(self.worst.get())


class TorchWorker:
    """PyTorch on one thread and one stream; the worst error so far stays on the device."""

    def __init__(self, stream: Any) -> None:
        self.torch = library("torch")
        self.stream = stream or self.torch.cuda.default_stream()
        self.torch.cuda.set_stream(self.stream)
        self.worst = self.torch.zeros((), dtype=self.torch.float64, device="cuda")

    def judge(self, result: Any, expected: Any, limit: float) -> None:
        error = (result - expected).abs().max() / limit
        self.worst = self.torch.maximum(self.worst, error.double())

    def worst_error(self) -> float:
        return float(self.worst.item())


class OwnWorker(CupyWorker):
    """gpumath's arrays on a stream of CuPy, which judges them."""

    def judge(self, result: Any, expected: Any, limit: float) -> None:
        super().judge(self.cupy.from_dlpack(result), expected, limit)


WORKERS: dict[str, Callable[[Any], Any]] = {
    "cupy": CupyWorker,
    "torch": TorchWorker,
    "gpumath": OwnWorker,
}


def new_stream(name: str) -> Any:
    """A stream for the worker of that name."""
    if name == "torch":
        return library("torch").cuda.Stream()
    return library("cupy").cuda.Stream(non_blocking=True)
