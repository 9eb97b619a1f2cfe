"""The public API is what api-surface/*.txt says."""

from __future__ import annotations

import difflib

import pytest

from tests.helpers.repository import require_checkout
from tools import api_surface


@pytest.mark.parametrize("package", list(api_surface.TOP_MODULES))
def test_surface_is_the_committed_one(package: str) -> None:
    require_checkout()
    committed = (api_surface.SNAPSHOTS / f"{package}.txt").read_text()
    found = api_surface.surface(package)
    change = "\n".join(
        difflib.unified_diff(committed.splitlines(), found.splitlines(), lineterm="")
    )
    assert not change, f"run `nox -s surface` if this is meant:\n{change}"
