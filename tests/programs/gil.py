"""C code without the GIL, beneath a call of the extension, calls functions of the extension."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gpumath.bindings import core
from tests.helpers.dlpack import take
from tests.programs.support.c_abi_table import call
from tests.programs.support.entry import main


class Values(np.ndarray):
    """An array that can be watched."""


def beneath_the_extension(work: Callable[[], object]) -> None:
    """Let the extension call `work`, so that PyO3 counts this thread as one that has the GIL."""
    core.MemoryPointer(0x1000, 1, work).free()


def a_consumer_deletes_a_tensor() -> Any:
    values = np.zeros(3).view(Values)
    alive = weakref.ref(values)
    content = take(core.Array.borrow(values).__dlpack__(max_version=(1, 0)))
    del values
    # A function made in this way releases the GIL, as PyO3 cannot know.
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
        ctypes.cast(content.deleter, ctypes.c_void_p).value
    )
    before = alive() is not None
    beneath_the_extension(lambda: deleter(ctypes.addressof(content)))
    return [before, alive() is None]


def c_code_searches_for_a_library() -> Any:
    found = ctypes.c_int(-1)
    beneath_the_extension(lambda: call("has", b"cufft", found))
    return [found.value, int(core.has("cufft"))]


if __name__ == "__main__":
    main(globals())
