"""
A wave packet in a CUDA graph
=============================

Let a wave packet swing in a trap: a thousand equal steps, replayed from one graph.

Run it with::

    python examples/host/fft/05_graph.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from _report import choose_execution

from gpumath import fft

POINTS, STEPS = 1024, 1000
EXTENT, TIME_STEP = 32.0, 2 * np.pi / STEPS  # a thousand steps are one full swing


def advance(psi: Any, potential: Any, kinetic: Any) -> None:
    """Advance the wave function by one step of the split-step method, in place."""
    psi *= potential
    fft.fft(psi, out=psi)
    psi *= kinetic
    fft.ifft(psi, out=psi)
    psi *= potential


x = (np.arange(POINTS) / POINTS - 0.5) * EXTENT
momentum = 2 * np.pi * fft.fftfreq(POINTS, EXTENT / POINTS)
start = np.exp(-((x - 5) ** 2) / 2) + 0j  # the packet rests to the right of the middle
potential = np.exp(-0.25j * TIME_STEP * x**2)  # half a step in the potential of the trap
kinetic = np.exp(-0.5j * TIME_STEP * momentum**2) / POINTS  # transforms are not scaled
arrays: list[Any] = [start.copy(), potential, kinetic]
step: Callable[[], object] = partial(advance, *arrays)
if choose_execution() == "cuda" and find_spec("torch"):
    import torch

    arrays = [torch.from_numpy(array).cuda() for array in arrays]
    advance(*arrays)  # makes the plan, which is not possible during the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        advance(*arrays)
    arrays[0].copy_(torch.from_numpy(start))
    step = graph.replay
    print("steps    : replays of a CUDA graph")
else:
    print("steps    : calls on the CPU, because a CUDA graph needs a GPU and PyTorch")

for swing in (0.5, 1.0):
    for _ in range(STEPS // 2):
        step()
    density = np.abs(np.asarray(arrays[0].tolist())) ** 2
    position = float((x * density).sum() / density.sum())
    print(f"after {swing} swings the packet is at {position:+.3f}")
if abs(position - 5) > 0.01:
    sys.exit("after a full swing the packet should be where it started, at +5")
