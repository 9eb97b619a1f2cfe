"""Writes the page with the plots of docs/figures, which `python -m gpumath.bench --json` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from gpumath.bench._report import plot

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"
GENERATED = ROOT / "docs" / "generated"

INTRODUCTION = """# Plots

Each point is the time of one library for one row, divided by gpumath's time: to the right of the
line, that library took longer. The rows are named by the operand's shape and the axes that are
transformed. `python -m gpumath.bench --plot FILE` draws such a plot of your machine.
[Performance](../performance.md) has the times, and says how they were measured.
"""


def write_plots(_app: Sphinx) -> None:
    """Draw each file of figures, and write the page that shows them."""
    GENERATED.mkdir(parents=True, exist_ok=True)
    sections = [INTRODUCTION]
    for path in sorted(FIGURES.glob("*.json")):
        found = json.loads(path.read_text())
        plot(found, GENERATED / f"{path.stem}.svg")
        sections.append(section(found, f"{path.stem}.svg"))
    (GENERATED / "plots.md").write_text("\n".join(sections))


def section(found: dict[str, Any], picture: str) -> str:
    """Return the part of the page for one file of figures."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return (
        f"## {found['title']}\n\n{found['machine']}, {found['date']}; {versions}; "
        f"`{found['command']}`.\n\n![{found['title']}]({picture})\n"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("builder-inited", write_plots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
