"""What the three wheels hold, and what they must not hold."""

from __future__ import annotations

import re
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.helpers.repository import PACKAGES, ROOT, code_files, wheel, wheel_files, wheel_text

OWNED = {
    "gpumath-bindings": ("gpumath/bindings/",),
    "gpumath-host": (
        *("gpumath/fft/", "gpumath/linalg/", "gpumath/sparse/", "gpumath/tensor/"),
        *("gpumath/random/", "gpumath/memory/", "gpumath/bench/", "gpumath/_host/"),
        *("gpumath/compat/", "gpumath/torch/"),
    ),
    "gpumath-device": ("gpumath/device/",),
}
TAGS = {
    "gpumath-bindings": "cp311-abi3-manylinux",
    "gpumath-host": "py3-none-any",
    "gpumath-device": "py3-none-any",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_files_are_only_those_the_package_owns(package: str) -> None:
    strays = [name for name in code_files(package) if not name.startswith(OWNED[package])]
    assert strays == []
    suffixes = {Path(name).suffix for name in code_files(package) if not name.endswith("py.typed")}
    # A C ABI; sources of device functions, which NVRTC compiles.
    others = {"gpumath-bindings": {".h", ".pxd"}, "gpumath-device": {".cu"}}
    assert suffixes <= {".py", ".pyi", ".so"} | others.get(package, set()), code_files(package)


def test_no_file_is_in_two_wheels() -> None:
    files = [name for package in PACKAGES for name in code_files(package)]
    assert len(files) == len(set(files))


@pytest.mark.parametrize("package", PACKAGES)
def test_nobody_owns_the_namespace(package: str) -> None:
    taken = {"gpumath/__init__.py", "gpumath/__init__.pyi", "gpumath/py.typed"}
    assert not taken & set(wheel_files(package))


def test_no_package_source_owns_the_namespace() -> None:
    assert not list(ROOT.glob("packages/*/src/gpumath/__init__.py*"))


@pytest.mark.parametrize("package", PACKAGES)
def test_tag(package: str) -> None:
    assert TAGS[package] in wheel(package).name


def test_only_the_bindings_hold_a_binary_and_only_one() -> None:
    binaries = {p: [f for f in wheel_files(p) if f.endswith(".so")] for p in PACKAGES}
    assert binaries == {
        "gpumath-bindings": ["gpumath/bindings/_core.abi3.so"],
        "gpumath-host": [],
        "gpumath-device": [],
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_every_top_package_is_marked_as_typed(package: str) -> None:
    tops = {
        "/".join(name.split("/")[:2])
        for name in code_files(package)
        if name.count("/") >= 2 and not name.startswith("gpumath/_")
    }
    assert tops
    for top in tops:
        assert f"{top}/py.typed" in wheel_files(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_source_reaches_the_wheel(package: str) -> None:
    source = ROOT / "packages" / package / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for pattern in ("*.py", "*.pyi", "py.typed", "*.h", "*.pxd")
        for path in source.rglob(pattern)
    }
    assert wanted
    assert wanted <= set(wheel_files(package))


@pytest.mark.parametrize("package", PACKAGES)
def test_license_and_metadata(package: str) -> None:
    assert wheel_text(package, ".dist-info/licenses/LICENSE") == (ROOT / "LICENSE").read_text()
    metadata = Parser().parsestr(wheel_text(package, ".dist-info/METADATA"))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert len(metadata.get_payload()) > 200  # the README is the long description


@pytest.mark.parametrize("package", PACKAGES)
def test_requirements(package: str) -> None:
    metadata = Parser().parsestr(wheel_text(package, ".dist-info/METADATA"))
    lines = metadata.get_all("Requires-Dist") or []
    names = {re.split(r"[^\w-]", line)[0] for line in lines if "extra ==" not in line}
    expected = {
        "gpumath-bindings": set(),
        "gpumath-host": {"gpumath-bindings", "numpy"},
        "gpumath-device": {"gpumath-bindings", "numba-cuda", "numpy"},
    }
    assert names == expected[package]


@pytest.mark.parametrize("package", PACKAGES)
def test_extras_give_floors_and_no_exact_pins(package: str) -> None:
    metadata = Parser().parsestr(wheel_text(package, ".dist-info/METADATA"))
    for line in metadata.get_all("Requires-Dist") or []:
        assert "==" not in line.split(";")[0], line


def extension() -> bytes:
    with zipfile.ZipFile(wheel("gpumath-bindings")) as archive:
        return archive.read("gpumath/bindings/_core.abi3.so")


def test_the_bindings_need_no_library_of_one_python() -> None:
    # Such an extension can be imported by no other version of Python. It comes from a build without
    # PYO3_BUILD_EXTENSION_MODULE, which maturin sets.
    assert b"libpython" not in extension()


def test_the_bindings_need_no_younger_c_library_than_their_tag_says() -> None:
    path = wheel("gpumath-bindings")
    tag = re.search(r"manylinux_2_(\d+)_", path.name)
    assert tag, path.name
    # The names of the versions of symbols: GLIBC_2.17, and some with three numbers.
    needed = {int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?=[.\0])", extension())}
    assert needed
    assert max(needed) <= int(tag[1])


def test_the_bindings_are_small() -> None:
    assert wheel("gpumath-bindings").stat().st_size <= 12e6
