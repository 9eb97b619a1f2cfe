"""Where the checkout and its built wheels are."""

from __future__ import annotations

import os
import re
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gpumath-bindings", "gpumath-host", "gpumath-device")


def require_checkout() -> None:
    """Skip where only tests and wheels were taken along."""
    if not (ROOT / "Cargo.toml").exists():
        pytest.skip(f"not a checkout: {ROOT} has no Cargo.toml")


def wheel(package: str) -> Path:
    """Return the built wheel of a package, or skip."""
    dist = Path(os.environ.get("GPUMATH_TEST_DIST", ROOT / "dist"))
    found = sorted(dist.glob(f"{package.replace('-', '_')}-*.whl"))
    if not found:
        pytest.skip(f"no wheel of {package} in {dist}: run nox -s wheels")
    assert len(found) == 1, f"stale wheels: {found}"
    return found[0]


@cache
def wheel_files(package: str) -> tuple[str, ...]:
    """List the files in a package's wheel, its metadata included."""
    with zipfile.ZipFile(wheel(package)) as archive:
        return tuple(name for name in archive.namelist() if not name.endswith("/"))


def wheel_text(package: str, suffix: str) -> str:
    """Return the text of the one file of a wheel whose name ends in `suffix`."""
    (name,) = [name for name in wheel_files(package) if name.endswith(suffix)]
    with zipfile.ZipFile(wheel(package)) as archive:
        return archive.read(name).decode()


def code_files(package: str) -> tuple[str, ...]:
    """List the files of a wheel outside its .dist-info folder."""
    return tuple(name for name in wheel_files(package) if not re.search(r"\.dist-info/", name))
