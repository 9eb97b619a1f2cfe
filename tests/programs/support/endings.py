"""Objects that are there when a process ends, and the ways in which it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


class HostObjects:
    """Arrays in host memory, and a planned transform on the CPU."""

    def __init__(self) -> None:
        from gpumath import fft, memory

        values = np.random.default_rng().standard_normal((8, 1000)).astype("complex64")
        self.arrays = [memory.empty(1000, "complex64", kind="host"), memory.from_dlpack(values)]
        self.capsules = [array.__dlpack__(max_version=(1, 0)) for array in self.arrays]
        self.near = fft.FFT(values, axes=[1], execution=fft.ExecutionCPU(num_threads=2))
        self.near.plan()
        self.results = [self.near.execute(), fft.fft(self.arrays[0])]


def import_objects(machine: str) -> Callable[[], Any]:
    """Import gpumath; return the class whose objects use the CPU ("cpu") or a device."""
    if machine == "cpu":
        import gpumath.fft
        import gpumath.memory  # noqa: F401 - HostObjects uses both

        return HostObjects
    from tests.helpers.device_uses import DeviceObjects

    return DeviceObjects


def end(how: str) -> None:
    """End the process; "end" returns, for a process that ends where its program does."""
    if how == "sys.exit":
        sys.exit(0)
    if how == "os._exit":
        os._exit(0)
    if how == "exception":
        raise SystemExit
    assert how == "end"
