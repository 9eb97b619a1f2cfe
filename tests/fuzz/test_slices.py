"""A short slice of each fuzz module."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import modules, run

SECONDS = 6


@pytest.mark.parametrize("name", modules())
def test_slice(name: str) -> None:
    assert run(name, SECONDS) is None
