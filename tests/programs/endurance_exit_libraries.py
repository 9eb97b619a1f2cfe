"""The end of the interpreter with objects of gpumath and of CuPy or PyTorch, in any order."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.programs.support.endings import end
from tests.programs.support.entry import main


def held_by(library: str) -> list[Any]:
    """Make an array and a stream of a library."""
    if library == "torch":
        import torch

        return [torch.ones(8, 16, dtype=torch.complex64, device="cuda"), torch.cuda.Stream()]
    import cupy

    return [cupy.ones((8, 16), "complex64"), cupy.cuda.Stream(non_blocking=True)]


def other_libraries_at_the_end(library: str, order: str, how: str) -> None:
    """Import a library before gpumath, after it, or after its first use, and use both."""
    # Global, so that the interpreter frees them when it takes this module apart.
    global first, held, kept, transform, result, again
    if order == "before":
        importlib.import_module(library)
    from gpumath import fft, memory
    from tests.helpers.device_uses import DeviceObjects

    if order == "between":
        first = DeviceObjects()
    held = held_by(library)
    kept = DeviceObjects()
    transform = fft.FFT(held[0], axes=[1])
    transform.plan()
    result = transform.execute(stream=held[1])
    again = fft.fft(memory.from_dlpack(held[0]), axes=[1])
    sys.kept = [kept, transform, result, again, held]  # type: ignore[attr-defined]  # a late place
    end(how)


if __name__ == "__main__":
    main(globals())
