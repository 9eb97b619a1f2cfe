"""Check that pins on siblings are ranges that hold their versions, and that changelogs are kept.

`python -m tools.pins` prints every problem and fails if there is one.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Package:
    """The parts of a package's pyproject.toml and changelog that releases depend on."""

    name: str
    version: str
    requirements: tuple[str, ...]
    changelog: str


def read_package(folder: Path) -> Package:
    """Read one folder of packages/."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return Package(
        name=project["name"],
        version=project["version"],
        requirements=tuple(project.get("dependencies", ())),
        changelog=(folder / "CHANGELOG.md").read_text(),
    )


def problems(packages: list[Package]) -> list[str]:
    """Describe each pin and changelog that would make a release wrong."""
    found: list[str] = []
    versions = {package.name: package.version for package in packages}
    for package in packages:
        for text in package.requirements:
            requirement = Requirement(text)
            if requirement.name not in versions:
                continue
            operators = {specifier.operator for specifier in requirement.specifier}
            if not {">=", "<"} <= operators:
                found.append(f"{package.name}: {text}: a sibling's pin has a floor and a ceiling")
            elif not requirement.specifier.contains(versions[requirement.name]):
                found.append(f"{package.name}: {text} excludes {versions[requirement.name]}")
        heading = rf"^## {re.escape(package.version)}\b"
        if not re.search(heading, package.changelog, re.MULTILINE):
            found.append(f"{package.name}: CHANGELOG.md has no section '## {package.version}'")
    return found


def main() -> int:
    """Print the problems; return 1 if there are any."""
    packages = [read_package(folder) for folder in sorted((ROOT / "packages").iterdir())]
    found = problems(packages)
    for problem in found:
        print(problem)
    print(f"pins: {len(packages)} packages, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
