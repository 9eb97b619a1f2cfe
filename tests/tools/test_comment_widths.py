"""The checker of widths tells comments from strings, in Rust and in C."""

from __future__ import annotations

import pytest

from tools.comment_widths import too_wide

WIDE = "x" * 97


@pytest.mark.parametrize(
    "text",
    [
        f"// {WIDE}y",
        f"/// {WIDE}",
        f"//! {WIDE}",
        f"/* {WIDE}y */",
        f"let a = 1; // {WIDE}",
        f"let a = 'a'; // {WIDE}",
        f'let a = "\\""; // {WIDE}',
        f'let a = r#"""#; // {WIDE}',
        f"fn f<'a>(x: &'a str) {{}} // {WIDE}",
        f"let quote = '\"'; // {WIDE}",
        f"let quotes = ['\\'', '\"']; // {WIDE}",
    ],
)
def test_a_wide_comment_is_found(text: str) -> None:
    width = len(text)
    assert too_wide(f"fn first() {{}}\n{text}\n") == [(2, width)]


def test_each_line_of_a_block_comment_is_judged_alone() -> None:
    lines = ["/* short", f" * {WIDE}", f" * {WIDE}y", " */ int f(void);"]
    assert too_wide("\n".join(lines)) == [(3, 101)]


@pytest.mark.parametrize(
    "text",
    [
        f"// {WIDE}",
        f'let a = "// {WIDE}y";',
        f'let a = r"// {WIDE}\\";',
        f'let a = br#"// {WIDE}" /* "#;',
        f'let a = "\\\\"; let b = "// {WIDE}";',
        f'let a = "{"x" * 120}";',
        f"/* short */ {'x' * 120}",
        f'#define TEXT "/* {WIDE}y"',
    ],
)
def test_other_lines_may_be_wider(text: str) -> None:
    assert too_wide(text) == []
