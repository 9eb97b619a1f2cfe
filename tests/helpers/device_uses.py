"""Every kind of call that needs the GPU, on objects that were made while it could be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpumath import fft, memory
from gpumath.bindings import core, errors

KINDS: tuple[Any, ...] = ("device", "pinned", "managed", "host")


class DeviceObjects:
    """One of each: streams, events, arrays in all memories and a planned transform."""

    def __init__(self) -> None:
        self.stream, self.event = core.Stream(), core.Event()
        self.arrays = [memory.empty((4, 8), "complex64", kind=kind) for kind in KINDS]
        self.capsules = [array.__dlpack__(max_version=(1, 0)) for array in self.arrays]
        self.on_device = self.arrays[0]
        self.values = np.ones((4, 8), np.complex64)
        self.transform = fft.FFT(self.values, axes=[1], execution="cuda")
        self.transform.plan()
        self.transform.execute()
        self.near = fft.FFT(self.on_device, axes=[1])
        self.near.plan()
        self.results = [self.near.execute(stream=stream) for stream in (None, self.stream)]
        self.stream.synchronize()

    def uses(self) -> dict[str, Callable[[], object]]:
        """What asks the driver for something, by name."""
        address, stream = self.on_device.ptr, self.stream
        return {
            "make a stream": core.Stream,
            "make an event": core.Event,
            "record on a stream": stream.record,
            "record": self.event.record,
            "query": self.event.query,
            "wait for an event": self.event.synchronize,
            "wait for a stream": stream.synchronize,
            "wait for any stream": lambda: core.synchronize_stream(stream),
            "wait, come what may": lambda: core.synchronize_stream(stream, interruptible=False),
            "wait for the device": lambda: core.Device(0).synchronize(),
            "order": lambda: core.order_streams(0, stream),
            "ask for memory": lambda: core.Device(0).memory_info(),
            "allocate": lambda: core.allocate(100),
            "copy": lambda: core.copy(address, address + 8, 8),
            "device array": lambda: memory.empty(3),
            "pinned array": lambda: memory.empty(3, kind="pinned"),
            "managed array": lambda: memory.empty(3, kind="managed"),
            "view": lambda: core.TensorView(self.on_device, stream=stream),
            "capsule": lambda: self.on_device.__dlpack__(stream=stream.handle),
            "plan": lambda: core.FftPlan(self.values, execution="cuda", cached=False),
            "function": lambda: fft.fft(self.on_device, axes=[1]),
            "function on the host": lambda: fft.fft(self.values, axes=[1], execution="cuda"),
            "object": lambda: fft.FFT(self.on_device, axes=[0]).plan(),
            "execute": self.near.execute,
            "execute on the host": self.transform.execute,
        }


def heard(use: Callable[[], object]) -> tuple[str, str, int, str] | None:
    """Return class, C function, status and text of what a use raises."""
    try:
        use()
    except errors.StickyError as error:
        return type(error).__name__, error.first.function, int(error.first.status), str(error)
    except errors.LibraryError as error:
        return type(error).__name__, error.function, int(error.status), str(error)
    except errors.GpumathError as error:
        return type(error).__name__, "", 0, str(error)
    return None


def cpu_error() -> float:
    """Error of a transform on the CPU, with more than one thread."""
    values = np.random.default_rng().standard_normal((64, 1024))
    result = fft.rfft(values, axes=[1], execution=fft.ExecutionCPU(num_threads=2))
    return float(abs(result - np.fft.rfft(values)).max())
