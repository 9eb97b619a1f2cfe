"""Reads a rules file: decisions whose keys are C names, or expressions that match C names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from gpumath_codegen import api

# The words in a summary for the letter of the element type in a BLAS-like name.
_PRECISION = {
    "S": "single precision",
    "D": "double precision",
    "C": "single-precision complex",
    "Z": "double-precision complex",
    "H": "half precision",
}
_EXPRESSION = re.compile(r"[\[\](){}|?*+.\\]")


class Rules:
    """The decisions about one library, looked up by the key of a function.

    Attributes
    ----------
    keys : list of str
        The key of each function of the facts: its name, or if several functions have the name, its
        symbol or ``name@since``.
    """

    def __init__(self, path: Path, functions: list[api.Function]) -> None:
        self.data: dict[str, Any] = tomllib.loads(path.read_text())
        self.keys = [_key(function, functions) for function in functions]
        self._summaries = self._matched(self.data["summary"])
        self._decisions = self._matched(self.data.get("function", {}))
        self._keep_gil = self._matched(dict.fromkeys(self.data.get("keep_gil", []), True))
        self._core_calls = self._matched(dict.fromkeys(self.data.get("core_calls", []), True))

    def decision(self, key: str) -> dict[str, Any]:
        """Return the ``[function.X]`` table of a function, or an empty one."""
        decision: dict[str, Any] = self._decisions.get(key, ({}, {}))[0]
        return decision

    def keeps_gil(self, key: str) -> bool:
        """Return whether a call is too short to pay for releasing the GIL."""
        return key in self._keep_gil

    def core_calls(self, key: str) -> bool:
        """Return whether gpumath-core calls the function itself."""
        return key in self._core_calls

    def summary(self, key: str) -> str:
        """Return the first line of a function's documentation."""
        if key not in self._summaries:
            raise SystemExit(f"{key}: no summary in the rules")
        text, groups = self._summaries[key]
        words = {"T": _PRECISION.get(groups.get("T", ""), "")}
        text = text.format(**{**groups, **words}) if groups else text
        return f"{text} 64-bit sizes." if key.endswith("_64") else text

    def _matched(self, table: dict[str, Any]) -> dict[str, tuple[Any, dict[str, str]]]:
        """Return the entry of each function: by its key, or by the one expression that matches."""
        found: dict[str, tuple[Any, dict[str, str]]] = {}
        sources: dict[str, str] = {}
        exact = {key: value for key, value in table.items() if key in self.keys}
        unknown = [key for key in table if key not in exact and not _EXPRESSION.search(key)]
        for expression in [key for key in table if key not in exact and key not in unknown]:
            keys = dict.fromkeys(self.keys)
            matches = [match for key in keys if (match := re.fullmatch(expression, key))]
            unknown += [] if matches else [expression]
            for match in matches:
                key = match.string
                if key in sources and key not in exact:
                    raise SystemExit(f"{key}: both {sources[key]} and {expression} match")
                sources[key] = expression
                groups = {name: text or "" for name, text in match.groupdict().items()}
                found[key] = (table[expression], groups)
        if unknown:
            raise SystemExit(
                f"rules name functions that no header declares: {', '.join(sorted(unknown))}"
            )
        return found | {key: (value, {}) for key, value in exact.items()}


def _key(function: api.Function, functions: list[api.Function]) -> str:
    same = [other for other in functions if other.name == function.name]
    if len(same) == 1:
        return function.name
    if len([other for other in same if other.symbol == function.symbol]) == 1:
        return function.symbol
    return f"{function.name}@{function.since}"
