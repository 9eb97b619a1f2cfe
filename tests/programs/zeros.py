"""Functions called with every argument zero: a process may die in one of them."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.helpers.every_function import outcome, zero
from tests.programs.support.entry import main


def sweep(module: str, specification: str, progress: str, package_folder: str) -> None:
    """Call functions, whose names and inputs are in a JSON file, in the libraries of a folder.

    The name of each is written into the file `progress` before its call, and then what came of it.
    """
    functions: list[Any] = json.loads(Path(specification).read_text())
    rows = importlib.import_module(f"gpumath.bindings._core.{module}")
    public = importlib.import_module(f"gpumath.bindings.{module}")
    sys.path[:] = [package_folder]
    with open(progress, "a") as file:
        for name, inputs in functions:
            for place in (rows, public):
                if place is public and getattr(public, name, None) is getattr(rows, name):
                    continue
                if place is public and name.startswith("_"):
                    continue
                print(name, file=file, flush=True)
                kind = outcome(getattr(place, name), *map(zero, inputs))
                print("", "success" if kind is None else kind.__name__, file=file, flush=True)


if __name__ == "__main__":
    main(globals())
