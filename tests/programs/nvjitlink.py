"""nvJitLink in a process of its own."""

from __future__ import annotations

import ctypes
from typing import Any

from gpumath.bindings import nvjitlink
from tests.programs.support.entry import main


def version_is_that_of_the_library(path: str) -> Any:
    raw = ctypes.CDLL(path)
    numbers = [ctypes.c_uint(), ctypes.c_uint()]
    assert raw.nvJitLinkVersion(*map(ctypes.byref, numbers)) == 0
    return [number.value for number in numbers]


def no_architecture_ends_the_process() -> Any:
    outcomes = {"created": 0, "ValueError": 0, "nvJitLinkError": 0}
    for kind in ("sm", "compute", "lto"):
        for number in [*range(132), 200, 999, 1000, 2**31, 10**30]:
            for suffix in ("", "a", "f", "x"):
                try:
                    handle = nvjitlink.create(2, [f"-arch={kind}_{number}{suffix}", "-lto"])
                except (ValueError, nvjitlink.nvJitLinkError) as error:
                    outcomes[type(error).__name__] += 1
                else:
                    outcomes["created"] += 1
                    nvjitlink.destroy(handle)
    return outcomes


if __name__ == "__main__":
    main(globals())
