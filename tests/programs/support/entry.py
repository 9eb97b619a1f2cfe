"""The way into a program of the tests: a function, and its arguments as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any


def main(functions: dict[str, Any]) -> None:
    """Call the function that the command line names, and write its result as JSON.

    The command line has one text: the function's name, its arguments, and the folders that replace
    sys.path before the call, or null.
    """
    name, arguments, folders = json.loads(sys.argv[1])
    if folders is not None:
        sys.path[:] = folders
    result = functions[name](*arguments)
    if result is not None:
        sys.stdout.write(json.dumps(result))
