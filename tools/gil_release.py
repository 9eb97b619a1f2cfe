"""Check that one file alone of the bindings releases the GIL.

What must hold whenever the GIL is released can then be read and changed in one place. `python -m
tools.gil_release` prints every other call of `detach` and fails if there is one.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.rust_source import code_only, line_of

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "packages/gpumath-bindings/rust/src"
# Relative to the folder; generated files are looked at too.
DOOR = "gil.rs"
_CALL = re.compile(r"(?:\.|::)\s*detach\s*\(")


def releases(source: str) -> list[int]:
    """Return the lines of a Rust file that release the GIL."""
    code = code_only(source)
    return [line_of(code, call.start()) for call in _CALL.finditer(code)]


def breaches(root: Path) -> list[str]:
    """Describe every release of the GIL outside the one file."""
    folder = root / FOLDER
    return [
        f"{path.relative_to(root).as_posix()}:{line}: only {DOOR} calls detach; use what it offers"
        for path in sorted(folder.rglob("*.rs"))
        if path != folder / DOOR
        for line in releases(path.read_text())
    ]


def main() -> int:
    """Print the breaches; return 1 if there are any."""
    found = breaches(ROOT)
    for breach in found:
        print(breach)
    print(f"GIL: {len(found)} calls of detach outside {DOOR}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
