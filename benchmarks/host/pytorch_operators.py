"""Measures steps of training with gpumath's operators, beside PyTorch's own.

`python benchmarks/host/pytorch_operators.py` needs a GPU. The times are medians, in milliseconds,
of a forward and a backward pass: of a filter (two transforms), run eagerly and compiled by
``torch.compile(fullgraph=True)``; and of two layers with GELU in between. The last lines are
microseconds of host time for one forward transform without a gradient. ``--eager`` compiles
nothing, which takes most of the time.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import gpumath.fft
import gpumath.torch.fft
import gpumath.torch.linalg
from gpumath.bench import _report

SIZES = ((16, 1024), (2048, 2048), (8192, 8192))
# Rows of x, width of x and of the result, width in between.
LAYERS = ((256, 256, 1024), (4096, 1024, 4096), (16384, 2048, 8192))


def ours(x: Any, weights: Any) -> Any:
    spectrum = gpumath.torch.fft.rfftn(x, axes=(0, 1), norm="ortho") * weights
    return gpumath.torch.fft.irfftn(spectrum, s=x.shape, axes=(0, 1), norm="ortho")


def theirs(x: Any, weights: Any) -> Any:
    spectrum = torch.fft.rfftn(x, dim=(0, 1), norm="ortho") * weights
    return torch.fft.irfftn(spectrum, s=x.shape, dim=(0, 1), norm="ortho")


def their_layers(x: Any, weight1: Any, bias1: Any, weight2: Any, bias2: Any) -> Any:
    hidden = torch.nn.functional.linear(x, weight1, bias1)
    hidden = torch.nn.functional.gelu(hidden, approximate="tanh")
    return torch.nn.functional.linear(hidden, weight2, bias2)


def step_time(function: Callable[..., Any], *operands: Any) -> float:
    """Milliseconds of a forward and a backward pass."""
    gradient = torch.randn_like(operands[0])
    times = []
    for turn in range(25):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        function(*operands).backward(gradient)
        end.record()
        end.synchronize()
        if turn >= 5:
            times.append(start.elapsed_time(end))
        for operand in operands:
            operand.grad = None
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
    parser = argparse.ArgumentParser()
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    functions = [ours, theirs]
    arguments = parser.parse_args()
    if not arguments.eager:
        functions += [torch.compile(one, fullgraph=True) for one in (ours, theirs)]
    warnings.filterwarnings("ignore", message="Torchinductor does not support")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    names = ("gpumath", "torch.fft", "gpumath compiled", "torch.fft compiled")[: len(functions)]
    print(f"{'float32':>12} " + " ".join(f"{name:>18}" for name in names))
    rows_found: list[tuple[str, dict[str, float]]] = []
    for size in SIZES:
        x = torch.randn(size, device="cuda", requires_grad=True)
        half = (size[0], size[1] // 2 + 1)
        weights = torch.randn(half, dtype=torch.complex64, device="cuda", requires_grad=True)
        times = [step_time(function, x, weights) for function in functions]
        rows_found.append((f"filter {size[0]} × {size[1]}", dict(zip(names, times, strict=True))))
        print(f"{size[0]:>6}×{size[1]:<5} " + " ".join(f"{one:15.3f} ms" for one in times))
    print("two layers with GELU, bfloat16, eagerly")
    for rows, width, hidden in LAYERS:
        shapes = ((rows, width), (hidden, width), (hidden,), (width, hidden), (width,))
        operands = [
            torch.randn(shape, dtype=torch.bfloat16, device="cuda", requires_grad=True)
            for shape in shapes
        ]
        own, other = (
            step_time(function, *operands) for function in (gpumath.torch.linalg.mlp, their_layers)
        )
        layers = f"two layers {rows} × {width} × {hidden}"
        rows_found.append((layers, {"gpumath": own, "PyTorch": other}))
        print(f"{rows}×{width}×{hidden}: gpumath {own:.3f} ms, PyTorch {other:.3f} ms")
    z = torch.randn(16, 1024, dtype=torch.complex64, device="cuda")
    calls = {
        "gpumath.fft": lambda: gpumath.fft.fft(z, axes=[1]),
        "gpumath.torch.fft": lambda: gpumath.torch.fft.fft(z, axes=[1]),
        "torch.fft": lambda: torch.fft.fft(z, dim=1),
    }
    for name, call in calls.items():
        print(f"fft of 16×1024, host time of {name}: {host_time(call):.1f} µs")
    if arguments.json:
        title = "Steps of training with operators of PyTorch"
        found = _report.figures(rows_found, title=title, unit="ms", gpu=True)
        _report.save(arguments.json, found)


if __name__ == "__main__":
    main()
