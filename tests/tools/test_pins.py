"""The pin checker finds what is planted for it."""

from __future__ import annotations

import pytest

from tools.pins import Package, problems

CHANGELOG = "# Changelog\n\n## 0.2.0\n\n- Something.\n"


def packages(pin: str, changelog: str = CHANGELOG) -> list[Package]:
    return [
        Package("base", "0.2.0", (), CHANGELOG),
        Package("user", "0.2.0", (pin, "numpy>=1.25"), changelog),
    ]


def test_a_range_that_holds_the_version_is_fine() -> None:
    assert problems(packages("base>=0.2,<0.3")) == []


@pytest.mark.parametrize("pin", ["base>=0.1,<0.2", "base>=0.2", "base==0.2.0", "base", "base<0.3"])
def test_other_pins_are_found(pin: str) -> None:
    assert len(problems(packages(pin))) == 1


def test_a_version_without_changelog_is_found() -> None:
    found = problems(packages("base>=0.2,<0.3", changelog="## 0.1.0\n\n## 0.2.00\n"))
    assert len(found) == 1
    assert "0.2.0" in found[0]
