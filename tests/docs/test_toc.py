"""Every page of the documentation has its place on the site."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.helpers.repository import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML, which comes with Sphinx, is not installed")


def test_a_page_that_the_order_does_not_name_is_a_guide(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    order = (ROOT / "docs" / "_toc.yml").read_text()
    (tmp_path / "docs" / "_toc.yml").write_text(order)
    for page in ("index", "fft", "linalg-of-the-future", "brand-new"):
        (tmp_path / "docs" / f"{page}.md").write_text(f"# {page}\n")
    path = ROOT / "docs" / "_extensions" / "toc.py"
    spec = importlib.util.spec_from_file_location("toc", path)
    assert spec is not None
    assert spec.loader is not None
    toc = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(toc)
    written = yaml.safe_load((tmp_path / toc.write(tmp_path)).read_text())
    guides = written["subtrees"][0]["entries"][1]
    assert guides["file"] == "docs/guides"
    # The others are named, or match a pattern.
    before = yaml.safe_load(order)["subtrees"][0]["entries"][1]["entries"]
    assert guides["entries"] == [*before, {"file": "docs/brand-new"}]
