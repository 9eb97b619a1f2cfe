"""Writes the page with a plot and a table of each file in docs/figures.

`python -m gpumath.bench --json FILE` and the scripts in benchmarks/ write such files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from gpumath.bench._report import plot, table

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"
GENERATED = ROOT / "docs" / "generated"

INTRODUCTION = """# Plots

Each point is the time of one library for one row, divided by gpumath's time: to the right of the
line, that library took longer. Where nothing is compared, bars are times. The rows of transforms
are named by the operand's shape and the axes that are transformed. `python -m gpumath.bench --plot
FILE` draws such a plot of your machine. [Performance](../performance.md) says how all was measured.
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


def link_plots(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Make a link of the words that announce the page, which exists on the site only."""
    if docname == "docs/performance":
        words = "the page of plots"
        source[0] = source[0].replace(words, f"[{words}](generated/plots.md)", 1)


def section(found: dict[str, Any], picture: str) -> str:
    """Return the part of the page for one file of figures."""
    heading, versions, *lines = table(found).splitlines()
    return (
        f"## {found['title']}\n\n{heading}.\n\n`{found['command']}`; {versions}.\n\n"
        f"![{found['title']}]({picture})\n" + "\n".join(lines) + "\n"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("builder-inited", write_plots)
    app.connect("source-read", link_plots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
