"""Hand-written files stay readable."""

from __future__ import annotations

import shutil
import statistics

import pytest

from tests.helpers.repository import ROOT
from tools import file_sizes


@pytest.fixture
def hand_written() -> list[object]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} is not under git's control")
    return list(file_sizes.hand_written(ROOT))


def test_no_file_is_over_the_limit(hand_written: list) -> None:
    assert file_sizes.too_long(hand_written) == []


@pytest.mark.parametrize("suffix", [".rs", ".py"])
def test_median(hand_written: list, suffix: str) -> None:
    sizes = [file_sizes.line_count(path) for path in hand_written if path.suffix == suffix]
    assert statistics.median(sizes) <= 200
