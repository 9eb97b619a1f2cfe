"""Check that no static is a lock that a forked child could find held.

`gpumath_core::process` has what statics may be instead. `python -m tools.process_locks` prints
every other one and fails if there is one.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.rust_source import code_only, line_of, without_tests

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("crates", "packages/gpumath-bindings/rust/src")
# It makes the locks of a process new in a child.
DOOR = "crates/gpumath-core/src/process.rs"
_STATIC = re.compile(r"\bstatic\s+(?:mut\s+)?(\w+)\s*:([^=;]*)")
_LOCK = re.compile(r"\b(?:Mutex|RwLock|Condvar|Once|OnceLock|OnceCell|LazyLock)\b")
_NEW_IN_A_CHILD = re.compile(r"^\s*(?:\w+::)*PerProcess\s*<")
# Cells of PyO3 that are locked without the GIL while their value is made.
_PYO3_CELL = re.compile(r"\bPyOnceLock\b|\bpyo3\s*::\s*(?:\{[^}]*\bintern\b|intern\b)")


def breaches_in(source: str) -> list[tuple[int, str]]:
    """Return line and text of each breach in a Rust file."""
    code = without_tests(code_only(source))
    found = [
        (line_of(code, static.start()), f"the static {static[1]} is a lock")
        for static in _STATIC.finditer(code)
        if _LOCK.search(static[2]) and not _NEW_IN_A_CHILD.match(static[2])
    ]
    return found + [
        (line_of(code, cell.start()), "PyO3's own cells are locks")
        for cell in _PYO3_CELL.finditer(code)
    ]


def breaches(root: Path) -> list[str]:
    """Describe every static lock outside the one file."""
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.rs"))]
    return [
        f"{path.relative_to(root).as_posix()}:{line}: {text}, which a forked child could find "
        "held; use PerProcess or SetOnce of gpumath_core::process"
        for path in paths
        if path != root / DOOR and "tests" not in path.relative_to(root).parts
        for line, text in breaches_in(path.read_text())
    ]


def main() -> int:
    """Print the breaches; return 1 if there are any."""
    found = breaches(ROOT)
    for breach in found:
        print(breach)
    print(f"locks: {len(found)} that a forked child could find held")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
