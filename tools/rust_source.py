"""Tell comments, strings and code of Rust, C and CUDA files apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Each kind of token that can hold the signs of another one. A lifetime is none of them, because
# no quote ends it.
_TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | \b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)       # a raw string
    | "(?:\\.|[^"\\])*"
    | '(?:\\.[^'\n]*|[^'\\\n])'                     # a character
    """,
    re.DOTALL | re.VERBOSE,
)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod\s+\w+\s*\{")


def comments(text: str) -> Iterator[tuple[int, str]]:
    """List the comments with the offset at which each begins."""
    for token in _TOKEN.finditer(text):
        if token["comment"] is not None:
            yield token.start(), token[0]


def code_only(text: str) -> str:
    """Blank comments, strings and characters; every line keeps its number."""
    return _TOKEN.sub(lambda token: _blank(token[0]), text)


def without_tests(code: str) -> str:
    """Blank the modules that `#[cfg(test)]` is in front of, in the result of `code_only`."""
    while found := _TEST_MODULE.search(code):
        end = _closing_brace(code, found.end())
        code = code[: found.start()] + _blank(code[found.start() : end]) + code[end:]
    return code


def line_of(text: str, offset: int) -> int:
    """Return the number of the line that holds an offset; the first line is 1."""
    return text.count("\n", 0, offset) + 1


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _closing_brace(code: str, start: int) -> int:
    depth = 1
    for brace in re.finditer(r"[{}]", code[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return start + brace.end()
    return len(code)
