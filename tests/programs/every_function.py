"""Wrong and hostile arguments for every function of a module, where no library is found."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from gpumath.bindings.errors import LibraryNotFoundError
from tests.helpers import every_function
from tests.programs.support.entry import main


def wrong_arguments(module: str, specification: str) -> Any:
    """Call the functions of the extension's own module; the specification is a JSON file."""
    rows = importlib.import_module(f"gpumath.bindings._core.{module}")
    functions = json.loads(Path(specification).read_text())
    return every_function.check(rows, functions, LibraryNotFoundError)


def hostile_arguments(module: str, specification: str, seed: int) -> Any:
    """Call the public functions."""
    facade = importlib.import_module(f"gpumath.bindings.{module}")
    functions = json.loads(Path(specification).read_text())
    public = [f for f in functions if not f["name"].startswith("_")]
    return every_function.hurl(facade, public, seed)


if __name__ == "__main__":
    main(globals())
