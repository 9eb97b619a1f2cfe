"""The Python in the documents runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.repository import ROOT

DOCUMENTS = [
    ROOT / "README.md",
    *sorted(ROOT.glob("packages/*/README.md")),
    *sorted(path for path in ROOT.glob("docs/**/*.md") if "generated" not in path.parts),
]
BLOCKS = [
    (f"{path.relative_to(ROOT)}:{number}", block)
    for path in DOCUMENTS
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


def test_there_are_blocks() -> None:
    assert any(name.startswith("README.md") for name, _ in BLOCKS)


def needs_gpu(block: str) -> bool:
    """Whether a block has arrays on a device."""
    pattern = r"^import cupy|\"cuda\"|^from numba import cuda"
    return re.search(pattern, block, re.MULTILINE) is not None


@pytest.mark.parametrize(
    ("name", "block"),
    [
        pytest.param(name, block, id=name, marks=[pytest.mark.gpu] if needs_gpu(block) else [])
        for name, block in BLOCKS
    ],
)
def test_block_runs(name: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path))
    if re.search(r"import (cupy|torch)|cupy as|torch as", block):
        pytest.importorskip("cupy" if "cupy" in block else "torch")
    exec(compile(block, name, "exec"), {})


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    # A launch of a kernel in a block of code looks like a link.
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    missing = [t for t in targets if "://" not in t and not (path.parent / t).exists()]
    assert missing == []
