"""Check that no comment in a hand-written Rust, C or CUDA file is wider than 100 columns.

rustfmt wraps code, but neither comments nor strings. `python -m tools.comment_widths` prints every
line that is too wide, and fails if there is one.
"""

from __future__ import annotations

from pathlib import Path

from tools.file_sizes import hand_written
from tools.rust_source import comments, line_of

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 100
SUFFIXES = (".rs", ".c", ".h", ".cpp", ".cu")


def too_wide(text: str, limit: int = LIMIT) -> list[tuple[int, int]]:
    """Return the number and the width of each line that has a comment beyond the limit."""
    found: dict[int, int] = {}
    for start, comment in comments(text):
        first = line_of(text, start)
        column = start - (text.rfind("\n", 0, start) + 1)
        for number, line in enumerate(comment.splitlines(), first):
            # Where the comment ends: code after it on the same line is rustfmt's concern.
            width = column + len(line) if number == first else len(line)
            if width > limit:
                found[number] = width
    return sorted(found.items())


def main() -> int:
    """Print the offenders; return 1 if there are any."""
    paths = hand_written(ROOT, SUFFIXES)
    offenders = [(path, *line) for path in paths for line in too_wide(path.read_text())]
    for path, number, width in offenders:
        print(f"{path.relative_to(ROOT)}:{number}: {width} columns, wrap the comment at {LIMIT}")
    print(f"comment widths: {len(paths)} files, {len(offenders)} lines that are too wide")
    return 1 if offenders else 0


if __name__ == "__main__":
    raise SystemExit(main())
