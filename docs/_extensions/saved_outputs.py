"""Shows, below an example that needs a GPU, what it printed and drew on one that measured last.

docs/figures/outputs has the text as JSON: machine, versions, date, and the text of each program by
its path; and the plot of a program as a picture with the program's name. An example that is run
while the site is built is not in it.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
SAVED = ROOT / "docs" / "figures" / "outputs"
FOOTER = "\n.. _sphx_glr_download_"  # as sphinx-gallery begins the links below a program


def add_output(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put what was printed between the program and its links for downloading."""
    folder, _, name = docname.rpartition("/")
    for programs, pages in app.config.example_galleries.items():
        if folder == pages:
            saved = [json.loads(path.read_text()) for path in sorted(SAVED.glob("*.json"))]
            texts = [shown(one, f"{programs}/{name}.py") for one in saved]
            program, links, rest = source[0].partition(FOOTER)
            source[0] = program + "".join(texts) + links + rest


def shown(saved: dict[str, Any], program: str) -> str:
    """Return the section for the output of a program, if it has one."""
    if program not in saved["outputs"]:
        return ""
    versions = ", ".join(f"{name} {number}" for name, number in saved["versions"].items())
    text = textwrap.indent(saved["outputs"][program].rstrip(), "   ")
    title = "What it prints on a GPU"
    picture = SAVED / f"{Path(program).stem}.png"
    plot = ""
    if picture.exists():
        plot = f"\n.. image:: /{picture.relative_to(ROOT)}\n   :alt: What the program draws\n"
    return (
        f"\n\n{title}\n{'-' * len(title)}\n\n{saved['machine']}, {saved['date']}; {versions}:\n\n"
        f".. code-block:: text\n\n{text}\n{plot}"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_config_value("example_galleries", {}, "env")
    app.connect("source-read", add_output)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
