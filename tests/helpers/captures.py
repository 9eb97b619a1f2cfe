"""Three ways to capture work into a CUDA graph, with the operands of every library."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core, driver
from tests.helpers.cases import Case
from tests.helpers.elements import read, write
from tests.helpers.operands import Source, library


class Captured:
    """A stream that is or was captured, and its graph."""

    def __init__(self) -> None:
        self.launch: Callable[[], object] | None = None

    def replay(self) -> None:
        """Run the graph once, and wait for the device."""
        assert self.launch is not None, "the capture has not ended"
        self.launch()
        core.Device(0).synchronize()

    def check_replays(self, case: Case, operand: Any, result: Any) -> None:
        """Replay with fresh values in the operand, several times, and compare every result."""
        for _ in range(3):
            values = case.values()
            write(operand, values)
            self.replay()
            case.check(read(result), values)
            if result is not operand:
                np.testing.assert_array_equal(read(operand), values, "the operand has changed")


@dataclass(frozen=True)
class Pair:
    """Who captures, and whose operands are transformed while it does."""

    way: str
    source: Source

    def __str__(self) -> str:
        """Name of a test's variant."""
        return f"{self.way}_captures_{self.source}"

    def operand(self, values: np.ndarray) -> Any:
        """Operand on the device with a copy of these values."""
        return self.source.operand(values.copy(), (...,))

    def stream(self) -> Any:
        """A new stream of the library that captures."""
        if self.way == "driver":
            return core.Stream()
        module = library(self.way)
        if self.way == "cupy":
            return module.cuda.Stream(non_blocking=True)
        if not module.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA device")
        return module.cuda.Stream()

    @property
    def current_is_captured(self) -> bool:
        """Whether the captured stream is the current one of the operand's library."""
        return self.way == self.source.library

    def argument(self, stream: Any) -> Any:
        """Return the argument ``stream=`` that sends work to the captured stream."""
        return None if self.current_is_captured else stream

    @contextmanager
    def capture(self, stream: Any, *, relaxed: bool = False) -> Iterator[Captured]:
        """Capture what is put on the stream; it is the library's current one, if it has such.

        It is captured in the strictest mode, in which no call of the process may allocate, wait or
        query, unless ``relaxed``, which is CuPy's default.
        """
        core.Device(0).synchronize()
        capture = {"torch": _by_torch, "cupy": _by_cupy, "driver": _by_driver}[self.way]
        # The collector could free device memory of earlier tests, which would break the capture.
        gc.disable()
        try:
            with capture(stream, relaxed) as captured:
                yield captured
        finally:
            gc.enable()


@contextmanager
def _by_torch(stream: Any, relaxed: bool) -> Iterator[Captured]:
    torch = library("torch")
    captured, graph = Captured(), torch.cuda.CUDAGraph()
    mode = "relaxed" if relaxed else "global"
    with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
        yield captured
    captured.launch = graph.replay


@contextmanager
def _by_cupy(stream: Any, relaxed: bool) -> Iterator[Captured]:
    runtime = library("cupy").cuda.runtime
    captured = Captured()
    relaxed_mode, strict_mode = runtime.streamCaptureModeRelaxed, runtime.streamCaptureModeGlobal
    with stream:
        stream.begin_capture(relaxed_mode if relaxed else strict_mode)
        try:
            yield captured
        except BaseException:
            with suppress(Exception):  # the first error counts
                stream.end_capture()
            raise
        graph = stream.end_capture()
    captured.launch = lambda: graph.launch(stream)


@contextmanager
def _by_driver(stream: Any, relaxed: bool) -> Iterator[Captured]:
    captured = Captured()
    modes = driver.StreamCaptureMode
    with primary_context():
        driver.stream_begin_capture(stream.handle, modes.RELAXED if relaxed else modes.GLOBAL)
        try:
            yield captured
        except BaseException:
            with suppress(driver.CUDAError):  # the first error counts
                driver.graph_destroy(driver.stream_end_capture(stream.handle))
            raise
        graph = driver.stream_end_capture(stream.handle)
        executable = driver.graph_instantiate_with_flags(graph, 0)
        driver.graph_destroy(graph)

    def launch() -> None:
        with primary_context():
            driver.graph_launch(executable, stream.handle)

    captured.launch = launch
    weakref.finalize(captured, _destroy, executable).atexit = False


def _destroy(executable: int) -> None:
    with primary_context():
        driver.graph_exec_destroy(executable)


@contextmanager
def primary_context() -> Iterator[None]:
    """Make the first device's context current, for calls of the raw driver."""
    driver.init(0)
    device = driver.device_get(0)
    driver.ctx_push_current(driver.device_primary_ctx_retain(device))
    try:
        yield
    finally:
        driver.ctx_pop_current()
        driver.device_primary_ctx_release(device)


PAIRS = [
    Pair(way, Source(name, memory))
    for way, name, memory in [
        ("torch", "torch", "cuda"),
        ("torch", "cupy", "cuda"),
        ("torch", "gpumath", "device"),
        ("cupy", "cupy", "cuda"),
        ("cupy", "torch", "cuda"),
        ("cupy", "numba", "cuda"),
        ("driver", "cupy", "cuda"),
        ("driver", "torch", "cuda"),
        ("driver", "numba", "cuda"),
        ("driver", "gpumath", "device"),
        ("driver", "gpumath", "managed"),
    ]
]

# One for each way.
WAYS = [pair for pair in PAIRS if pair.current_is_captured] + [PAIRS[-2]]
