"""The report on the libraries, and their versions by raw C calls."""

from __future__ import annotations

import ctypes
from typing import Any

from gpumath.bindings.__main__ import collect
from tests.programs.support.entry import main


def report() -> Any:
    return collect()


def versions(libraries: list[tuple[str, str]], symbols: dict[str, str]) -> dict[str, str]:
    """Return what libraries, of these names and paths, tell by these C functions."""
    told = {}
    for name, path in libraries:
        symbol = symbols.get(name)
        if symbol is None:
            told[name] = ""
            continue
        ask = getattr(ctypes.CDLL(path, ctypes.RTLD_GLOBAL), symbol)
        n = (ctypes.c_int * 3)(-1, -1, -1)
        if symbol.endswith("GetProperty"):
            statuses = [ask(i, ctypes.byref(n, 4 * i)) for i in range(3)]
        else:
            statuses = [ask(*(ctypes.byref(n, 4 * i) for i in range(3)))]
        assert not any(statuses), (name, statuses)
        if name == "runtime":
            n[0], n[1] = n[0] // 1000, n[0] % 1000 // 10
        told[name] = ".".join(str(i) for i in n if i >= 0)
    return told


if __name__ == "__main__":
    main(globals())
