"""Pins, versions and changelogs of the packages agree."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from tests.helpers.repository import PACKAGES, ROOT, require_checkout
from tools import pins


def test_pins_and_changelogs() -> None:
    require_checkout()
    packages = [pins.read_package(folder) for folder in sorted((ROOT / "packages").iterdir())]
    assert {package.name for package in packages} == set(PACKAGES)
    assert pins.problems(packages) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_installed_version_is_the_checkouts(package: str) -> None:
    require_checkout()
    assert version(package) == pins.read_package(ROOT / "packages" / package).version
