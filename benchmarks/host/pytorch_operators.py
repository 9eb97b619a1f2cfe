"""Measures a filter step with its gradient: gpumath's operators beside PyTorch's own transforms.

`python benchmarks/host/pytorch_operators.py` needs a GPU. Each row is one size; the columns are
milliseconds for a forward and a backward pass, the median of many: run eagerly, and compiled by
``torch.compile(fullgraph=True)``. The last columns are microseconds of host time for one forward
transform without a gradient, of `gpumath.fft`, of `gpumath.torch.fft` and of `torch.fft`.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

import gpumath.fft
import gpumath.torch.fft

SIZES = ((16, 1024), (256, 4096), (2048, 2048), (8192, 8192))


def ours(x: Any, weights: Any) -> Any:
    spectrum = gpumath.torch.fft.rfftn(x, axes=(0, 1), norm="ortho") * weights
    return gpumath.torch.fft.irfftn(spectrum, s=x.shape, axes=(0, 1), norm="ortho")


def theirs(x: Any, weights: Any) -> Any:
    spectrum = torch.fft.rfftn(x, dim=(0, 1), norm="ortho") * weights
    return torch.fft.irfftn(spectrum, s=x.shape, dim=(0, 1), norm="ortho")


def step_time(function: Callable[..., Any], x: Any, weights: Any) -> float:
    """Milliseconds of a forward and a backward pass."""
    gradient = torch.randn_like(x)
    times = []
    for turn in range(25):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        function(x, weights).backward(gradient)
        end.record()
        end.synchronize()
        if turn >= 5:
            times.append(start.elapsed_time(end))
        x.grad = weights.grad = None
    return statistics.median(times)


def host_time(function: Callable[[], Any]) -> float:
    """Microseconds of host time for a call."""
    times = []
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(50):
            function()
        times.append(1e6 * (time.perf_counter() - start) / 50)
    return statistics.median(times)


def main() -> None:
    warnings.filterwarnings("ignore", message="Torchinductor does not support")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    names = ("gpumath", "torch.fft", "gpumath compiled", "torch.fft compiled")
    print(f"{'float32':>12} " + " ".join(f"{name:>18}" for name in names))
    for size in SIZES:
        x = torch.randn(size, device="cuda", requires_grad=True)
        half = (size[0], size[1] // 2 + 1)
        weights = torch.randn(half, dtype=torch.complex64, device="cuda", requires_grad=True)
        times = [
            step_time(function, x, weights)
            for function in (
                ours,
                theirs,
                torch.compile(ours, fullgraph=True),
                torch.compile(theirs, fullgraph=True),
            )
        ]
        print(f"{size[0]:>6}×{size[1]:<5} " + " ".join(f"{one:15.3f} ms" for one in times))
    z = torch.randn(16, 1024, dtype=torch.complex64, device="cuda")
    rows = {
        "gpumath.fft": lambda: gpumath.fft.fft(z, axes=[1]),
        "gpumath.torch.fft": lambda: gpumath.torch.fft.fft(z, axes=[1]),
        "torch.fft": lambda: torch.fft.fft(z, dim=1),
    }
    for name, call in rows.items():
        print(f"fft of 16×1024, host time of {name}: {host_time(call):.1f} µs")


if __name__ == "__main__":
    main()
