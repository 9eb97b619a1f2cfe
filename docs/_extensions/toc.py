"""Completes the order of pages in docs/_toc.yml by the pages that it does not name."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml


def write(root: Path) -> str:
    """Write the complete order for sphinx-external-toc, and return where, relative to the root."""
    toc = yaml.safe_load((root / "docs" / "_toc.yml").read_text())
    named = list(patterns(toc))
    pages = sorted(f"docs/{path.stem}" for path in (root / "docs").glob("*.md"))
    new = [page for page in pages if not any(fnmatch(page, pattern) for pattern in named)]
    sections = toc["subtrees"][0]["entries"]
    guides = next(section for section in sections if section["file"] == "docs/guides")
    guides["entries"] += [{"file": page} for page in new]
    target = root / "docs" / "generated" / "toc.yml"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(yaml.safe_dump(toc, sort_keys=False))
    return target.relative_to(root).as_posix()


def patterns(entry: Any) -> Iterator[str]:
    """Yield every page, and every pattern of pages, that an entry names."""
    for key, value in entry.items():
        if key in ("root", "file", "glob"):
            yield value
        elif key in ("subtrees", "entries"):
            for below in value:
                yield from patterns(below)
