"""The core's own kernels as they are committed: from their source, and assembled for real."""

from __future__ import annotations

import re

import pytest

from gpumath.bindings import errors, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType
from gpumath_codegen import seal
from gpumath_codegen.kernels import OUTPUT, SOURCE, origin
from tests.helpers.compiler import compiled, kernels, linked
from tests.helpers.repository import ROOT, require_checkout


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


def names() -> set[str]:
    source = (ROOT / SOURCE).read_text()
    scaled = re.findall(r"^SCALE\((\w+),", source, re.MULTILINE)
    copied = re.findall(r"^COPY\((\w+),", source, re.MULTILINE)
    assert scaled
    assert copied
    return {f"scale_{name}" for name in scaled} | {f"copy_{name}" for name in copied}


def test_the_code_is_that_of_the_source() -> None:
    """`nox -s kernels -- --check`, which downloads the compiler, compares the code itself."""
    text = (ROOT / OUTPUT).read_text()
    assert not seal.broken(text)
    assert origin((ROOT / SOURCE).read_text()) in text.partition("\n")[0]


def test_every_driver_and_device_understands_it() -> None:
    """PTX 8.0 is that of CUDA 12.0, which knows no older device than those of sm_50."""
    text = (ROOT / OUTPUT).read_text()
    assert re.findall(r"^\.(version|target) (\S+)$", text, re.MULTILINE) == [
        ("version", "8.0"),
        ("target", "sm_50"),
    ]
    assert {*re.findall(r"\.entry (\w+)\(", text)} == names()


@pytest.mark.parametrize("architecture", [75, 80, 90, 100, 120])
def test_it_is_assembled(architecture: int) -> None:
    try:
        nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    ptx = (ROOT / OUTPUT).read_bytes()
    cubin = linked([(InputType.PTX, ptx)], f"-arch=sm_{architecture}")
    # Beside them there is a function that divides.
    assert names() <= kernels(cubin)


def test_new_compilers_take_the_source() -> None:
    try:
        nvrtc.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    ptx = compiled((ROOT / SOURCE).read_text(), "-arch=compute_90").decode()
    assert {*re.findall(r"\.entry (\w+)\(", ptx)} == names()
