"""Check that no hand-written source file is longer than 500 lines.

`python -m tools.file_sizes` prints the medians and every file that is too long, and fails if there
is one.
"""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 500
GENERATED_FOLDERS = {"generated", "_generated", "_core"}


def hand_written(root: Path, suffixes: tuple[str, ...] = (".rs", ".py")) -> list[Path]:
    """List the files under version control that end in a suffix and that no program wrote."""
    # Files that are not committed yet count too; ignored ones do not.
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    paths = [root / line for line in listing.splitlines() if line.endswith(suffixes)]
    return [
        path
        for path in paths
        if path.is_file() and not GENERATED_FOLDERS & set(path.relative_to(root).parts)
    ]


def too_long(paths: list[Path], limit: int = LIMIT) -> list[tuple[Path, int]]:
    """Return the files over the limit with their number of lines."""
    sizes = [(path, line_count(path)) for path in paths]
    return [(path, lines) for path, lines in sizes if lines > limit]


def line_count(path: Path) -> int:
    """Count the lines of a file."""
    return len(path.read_text().splitlines())


def main() -> int:
    """Print the medians and the offenders; return 1 if there are any."""
    paths = hand_written(ROOT)
    for suffix in (".rs", ".py"):
        sizes = [line_count(path) for path in paths if path.suffix == suffix]
        median = statistics.median(sizes)
        print(f"{suffix}: {len(sizes)} files, median {median:.0f} lines, longest {max(sizes)}")
    offenders = too_long(paths)
    for path, lines in offenders:
        print(f"{path.relative_to(ROOT)}: {lines} lines, split it at {LIMIT}")
    return 1 if offenders else 0


if __name__ == "__main__":
    raise SystemExit(main())
